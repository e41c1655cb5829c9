"""Draws all sections of a site in two dimensions, with readers' questions over them, as one HTML file."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import Manifest, OpenIndex, open_index
from mkdocs_semsearch.artifact.atomic_files import remove_old_parts, replace_file
from mkdocs_semsearch.artifact.fields import facet_column
from mkdocs_semsearch.artifact.manifest import CHUNKS, PAGES, VECTORS
from mkdocs_semsearch.errors import ConfigurationError, SemsearchError, reason
from mkdocs_semsearch.insights.questions import Group, failing_groups, least_similarity, question_groups, read_questions
from mkdocs_semsearch.insights.report import read_part, render_page
from mkdocs_semsearch.insights.search_records import Search
from mkdocs_semsearch.searching.chunk_map import first_of_runs
from mkdocs_semsearch.searching.records import absolute_url
from mkdocs_semsearch.searching.searcher import Searcher
from mkdocs_semsearch.wording import counted

FEWEST_SECTIONS = 10
PERPLEXITY = 30.0
"""Effective number of neighbours of a section in t-SNE; the default of scikit-learn."""

NEAREST, SHARPNESS = 10, 0.02
"""Number of nearest sections that determine the place of a question, and the difference in similarity at which the
weight of a section falls to 1/e.

Of 100 questions about NetBox (2,609 sections), 70 have a section of the answer's page among the ten sections that are
nearest in the picture; with the median of ten neighbours (Kobak and Berens), 46 have.
"""

MOST_GROUPS = 300
WIDTH = 1000.0
"""Width of the picture, in SVG units."""

MARGIN = 30.0
MOST_COLOURS = 8
"""Number of values of a facet with a colour of their own; rarer values are grey."""

COLOURS = ("#2f7ed8", "#d2691e", "#2c9a4b", "#d6404e", "#8f63d8", "#12939f", "#d14f9b", "#98740f")
OTHER = "#7d8590"
"""Each colour has a contrast of at least 3:1 with the light and with the dark background (WCAG 2.2, 1.4.11)."""

_MARK = '<meta name="generator" content="semsearch map">'

Projection = Callable[[NDArray[np.float32]], NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class SectionDot:
    """One section of the picture.

    Attributes:
        x, y: where it is drawn.
        title: its headings, outermost first.
        page: path of its page.
        url: its URL, or a path from the site's root.
        value: its position in the legend.
    """

    x: float
    y: float
    title: str
    page: str
    url: str
    value: int


@dataclass(frozen=True, slots=True)
class AskedGroup:
    """Questions with the same meaning, drawn as one square of the map.

    Attributes:
        x, y: where it is drawn.
        group: the questions.
        failing: whether the report lists them as questions without a good answer.
        nearest: the section that is nearest in meaning.
        similarity: similarity to that section.
    """

    x: float
    y: float
    group: Group
    failing: bool
    nearest: SectionDot
    similarity: float


@dataclass(frozen=True, slots=True)
class SiteMap:
    """The contents of the map.

    Attributes:
        site: name of the site.
        facet: label of the facet that gives the colours.
        legend: its values with the number of sections, most frequent first; the last entry may combine all others.
        sections: the dots.
        questions: the marks, those with most searches first.
        failing: the marks without a good answer, in the order of the report.
        height: height of the picture.
    """

    site: str
    facet: str
    legend: tuple[tuple[str, int], ...]
    sections: tuple[SectionDot, ...]
    questions: tuple[AskedGroup, ...]
    failing: tuple[AskedGroup, ...]
    height: float


def make_site_map(
    index_dir: Path,
    searcher: Searcher,
    *,
    facet: str | None = None,
    searches: Sequence[Search] = (),
    projection: Projection | None = None,
) -> SiteMap:
    """Draws the map of an index.

    Args:
        index_dir: the index.
        searcher: a searcher of the same index; its encoder embeds the questions.
        facet: a declared facet, or `page.section`, `page.kind`, `page.language`; by default the first that
            distinguishes pages.
        searches: records whose questions are drawn on the map.
        projection: places the sections; by default `project`.

    Raises:
        SemsearchError: the chunks are in a cluster, there are too few sections, or there is no such facet.
        ConfigurationError: the extra `map` is not installed.
    """
    index = open_index(index_dir)
    sections, vectors = _sections(index)
    if len(sections) < FEWEST_SECTIONS:
        raise SemsearchError(f"This index has {counted(len(sections), 'section')}: a map needs {FEWEST_SECTIONS}.")
    label, values = _values(index, sections, facet)
    legend = _legend(values)
    places = {value: place for place, (value, _) in enumerate(legend)}
    points, height = _fitted((projection or project)(vectors))
    dots = _dots(sections, points, [places.get(value, len(legend) - 1) for value in values], index.manifest)
    questions = read_questions(searches, searcher)
    groups = question_groups(questions, least_similarity(searcher))
    vector_of = {question.text: question.vector for question in questions}
    unanswered = [g for g in failing_groups(groups) if g.answer is None or not searcher.has_page(g.answer)]
    failing = {group.question: place for place, group in enumerate(unanswered)}
    often = sorted(groups, key=lambda group: (group.question not in failing, -group.searches))[:MOST_GROUPS]
    marks = []
    for group in sorted(often, key=lambda group: -group.searches):
        point, nearest, similarity = place_question(vector_of[group.question], vectors, points)
        is_failing = group.question in failing
        marks.append(AskedGroup(*_rounded(point), group, is_failing, dots[nearest], round(similarity, 2)))
    return SiteMap(
        site=index.manifest.site_name or "",
        facet=label,
        legend=tuple(legend),
        sections=dots,
        questions=tuple(marks),
        failing=tuple(sorted((m for m in marks if m.failing), key=lambda mark: failing[mark.group.question])),
        height=height,
    )


def _dots(
    sections: Sequence[Mapping[str, Any]], points: NDArray[np.float64], values: Sequence[int], manifest: Manifest
) -> tuple[SectionDot, ...]:
    """Returns the dot of every section; `values` are places in the legend."""
    return tuple(
        SectionDot(
            *_rounded(point),
            title=" › ".join(section["heading_hierarchy"]),
            page=section["path"],
            url=_address(manifest, section),
            value=value,
        )
        for section, point, value in zip(sections, points, values, strict=True)
    )


def project(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Projects vectors to two dimensions so that neighbours stay neighbours.

    By t-SNE (van der Maaten and Hinton: Visualizing data using t-SNE, JMLR 2008) over the k-NN graph of the sections,
    as scikit-learn does it. It starts from the two principal components, which preserves large distances (Kobak and
    Berens: The art of using t-SNE for single-cell transcriptomics, Nature Communications 2019). Equal vectors give
    equal places.

    Args:
        vectors: float32 `[n, d]`, unit rows, at least four.

    Returns:
        float64 `[n, 2]`.

    Raises:
        ConfigurationError: the extra `map` is not installed.
    """
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise ConfigurationError("The map needs an extra: run pip install 'mkdocs-semsearch[map]'.") from None
    perplexity = min(PERPLEXITY, (len(vectors) - 1) / 3)
    found = TSNE(perplexity=perplexity, init="pca", random_state=0, n_jobs=1).fit_transform(vectors)
    return np.asarray(found, np.float64)


def place_question(
    vector: NDArray[np.float32], sections: NDArray[np.float32], points: NDArray[np.float64]
) -> tuple[NDArray[np.float64], int, float]:
    """Places a question at the mean of the points of its nearest sections, weighted by similarity.

    A question with an answer is placed on it. A question whose nearest sections are scattered is placed between them.

    Args:
        vector: vector of the question, float32 `[d]`.
        sections: float32 `[n, d]`.
        points: points of the sections, `[n, 2]`.

    Returns:
        The place, the nearest section and the similarity to it.
    """
    similarity = sections @ vector
    nearest = np.argsort(-similarity, kind="stable")[:NEAREST]
    best = float(similarity[nearest[0]])
    weights = np.exp((similarity[nearest] - best) / SHARPNESS)
    return weights @ points[nearest] / weights.sum(), int(nearest[0]), best


def _sections(index: OpenIndex) -> tuple[list[dict[str, Any]], NDArray[np.float32]]:
    """Returns every section with the columns of its page, and the mean of its chunks' vectors, unit length."""
    import pyarrow.parquet as pq

    if not (index.build_dir / CHUNKS).is_file():
        raise SemsearchError("The chunks of this index are in a cluster: map an index whose store is embedded.")
    pages = pq.read_table(index.build_dir / PAGES).to_pylist()
    columns = ["page", "section", "heading_hierarchy", "anchor"]
    chunks = pq.read_table(index.build_dir / CHUNKS, columns=columns).to_pylist()
    pages_of, sections = (np.array([chunk[name] for chunk in chunks]) for name in ("page", "section"))
    first = np.flatnonzero(first_of_runs(pages_of) | first_of_runs(sections)).tolist()
    if not first:
        return [], np.zeros((0, 0), np.float32)
    stored = np.load(index.build_dir / VECTORS, allow_pickle=False).astype(np.float32)
    sums = np.add.reduceat(stored, first, axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return [chunks[row] | pages[chunks[row]["page"]] for row in first], sums / np.maximum(lengths, 1e-9)


def _values(index: OpenIndex, sections: Sequence[Mapping[str, Any]], facet: str | None) -> tuple[str, list[str]]:
    """Returns the label of a facet, and its value for every section: the first one of a list, empty for none."""
    declared = {item.name: item.label for item in index.manifest.facets}
    columns = {name: (label, facet_column(name)) for name, label in declared.items()}
    for name, label in (("page.section", "Section"), ("page.kind", "Kind"), ("page.language", "Language")):
        columns[name] = (declared.get(name, label), name.removeprefix("page."))
    if facet is not None and facet not in columns:
        raise SemsearchError(f"There is no facet {facet!r}: choose one of {', '.join(columns)}.")
    tried = [facet] if facet is not None else ["page.section", *declared, "page.kind", "page.language"]
    found: list[tuple[str, list[str]]] = []
    for name in tried:
        label, column = columns[name]
        found.append((label, [_first(section.get(column)) for section in sections]))
        if len(set(found[-1][1])) > 1:
            return found[-1]
    return found[0]


def _first(value: object) -> str:
    if isinstance(value, list):
        return str(value[0]) if value else ""
    return "" if value is None else str(value)


def _legend(values: Sequence[str]) -> list[tuple[str, int]]:
    counts = Counter(value for value in values if value)
    legend = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = len(values) - sum(count for _, count in legend[:MOST_COLOURS])
    return [*legend[:MOST_COLOURS], *([("", rest)] if rest else [])]


def _fitted(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Scales the points to `WIDTH`; returns them with the height of the picture."""
    low, size = points.min(axis=0), np.ptp(points, axis=0)
    if size[1] > size[0]:  # a wide picture fits a screen better
        points, low, size = points[:, ::-1], low[::-1], size[::-1]
    scale = (WIDTH - 2 * MARGIN) / max(float(size[0]), 1e-9)
    return (points - low) * scale + MARGIN, round(float(size[1]) * scale + 2 * MARGIN, 1)


def _rounded(point: NDArray[np.float64]) -> tuple[float, float]:
    return round(float(point[0]), 1), round(float(point[1]), 1)


def _address(manifest: Manifest, section: Mapping[str, Any]) -> str:
    return absolute_url(manifest.site_url, section["url"] + (f"#{section['anchor']}" if section["anchor"] else ""))


def site_map_html(site_map: SiteMap) -> str:
    """Returns the map as a page that loads nothing, in light and dark; without scripts it shows the picture alone."""
    script = read_part("site_map.js")
    return render_page(
        "site_map.html.jinja",
        map=site_map,
        width=WIDTH,
        mark=_MARK,
        colours=[COLOURS[place] if value else OTHER for place, (value, _) in enumerate(site_map.legend)],
        note=_note,
        labels=_labels(site_map.sections),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _note(mark: AskedGroup) -> str:
    failures, searches = mark.group.failures, mark.group.searches
    asked = f"{failures:g} of {searches} searches failed" if mark.failing else counted(searches, "search")
    return f"{asked}. Nearest, similarity {mark.similarity:.2f}:"


def _labels(sections: Sequence[SectionDot]) -> list[tuple[float, float, str]]:
    """Returns the title of every page with the point of its most central section, pages with many sections first."""
    pages: dict[str, list[SectionDot]] = {}
    for dot in sections:
        pages.setdefault(dot.page, []).append(dot)
    labels = []
    for dots in sorted(pages.values(), key=len, reverse=True):
        places = np.array([(dot.x, dot.y) for dot in dots])
        middle = dots[int(np.argmin(((places - np.median(places, axis=0)) ** 2).sum(axis=1)))]
        labels.append((middle.x, middle.y, dots[0].title.split(" › ")[0]))
    return labels


def check_map_file(file: Path) -> bool:
    """Checks that a map can be written to a file; returns whether it would replace an earlier map.

    Raises:
        SemsearchError: another file has that name, or its folder does not exist.
    """
    if file.is_dir():
        raise SemsearchError(f"{file} is a folder: name a file in it.")
    if not file.parent.is_dir():
        raise SemsearchError(f"{file} cannot be written: there is no folder {file.parent}.")
    if not file.is_file():
        return False
    try:
        with file.open(encoding="utf-8", errors="replace") as stream:
            if _MARK in stream.read(2000):
                return True
    except OSError as error:
        raise SemsearchError(f"{file} cannot be read: {reason(error)}.") from None
    raise SemsearchError(f"{file} exists and is not a map: name another file, or delete it.")


def write_site_map(file: Path, html: str) -> bool:
    """Writes a map in one step, so that nobody sees half a file.

    Returns:
        Whether an earlier map was replaced.

    Raises:
        SemsearchError: another file has that name, or it cannot be written.
    """
    earlier = check_map_file(file)
    try:
        remove_old_parts(file.parent, file.name)
        replace_file(file, html)
    except OSError as error:
        raise SemsearchError(f"{file} cannot be written: {reason(error)}.") from None
    return earlier
