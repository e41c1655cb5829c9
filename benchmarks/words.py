"""Measures only the lexical part of an index: its size on disk beside the other parts, and the time of queries.

Questions are headings of the index, filters follow its order as front matter follows folders, phrases are two to four
words of its texts; the common phrase is made of its two commonest words. Milliseconds of processor time.

    python benchmarks/words.py SITE/semsearch-index … --json words.json
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mkdocs_semsearch.artifact import OpenIndex, open_index
from mkdocs_semsearch.lexical.index import LexicalIndex
from mkdocs_semsearch.lexical.question import read_question
from mkdocs_semsearch.searching.tables import Tables

QUESTIONS, PHRASES = 100, 300
SHARES = (0.5, 0.1, 0.01)
RUN = 25
"""Neighbouring chunks that a filter keeps or drops together."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", nargs="+", type=Path, metavar="INDEX")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    figures = {str(folder): measured(open_index(folder, verify=False)) for folder in given.indexes}
    for folder, found in figures.items():
        print(folder)
        for name, value in found.items():
            print(f"  {name:<34} {value:>9.2f}")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measured(index: OpenIndex) -> dict[str, float]:
    manifest, build_dir = index.manifest, index.build_dir
    tables = Tables.load(build_dir, manifest)
    lexical = LexicalIndex.load(build_dir, manifest.chunks, manifest.lexical, tables.exact_texts)
    found: dict[str, float] = {"chunks": manifest.chunks} | sizes(index)
    choose, generator = random.Random(0), np.random.default_rng(0)
    headings = sorted({path[-1] for path in tables.heading_paths()})
    asked = [read_question(text) for text in choose.choices(headings, k=QUESTIONS)]
    found["ms: the best thousand"] = statistics.median(times(lambda one: lexical.search(one, None, 1000), asked))
    found["ms: every hit"] = statistics.median(times(lambda one: lexical.search(one, None, manifest.chunks), asked))
    for share in SHARES:
        allowed = np.repeat(generator.random(manifest.chunks // RUN + 1) < share, RUN)[: manifest.chunks]
        best = max(200, round(1000 * share))
        under = times(lambda one: lexical.search(one, allowed, best), asked)  # noqa: B023  (run at once)
        found[f"ms: the best of {share:.0%}"] = statistics.median(under)
    texts = list(tables.exact_texts(np.array(choose.sample(range(manifest.chunks), min(PHRASES, manifest.chunks)))))
    spent = sorted(times(lambda phrase: lexical.phrase_rows([phrase]), list(phrases(texts, choose))))
    found |= {"ms: a phrase": statistics.median(spent), "ms: the slowest phrase": spent[-1]}
    common = " ".join(word for word, _ in Counter(" ".join(texts).lower().split()).most_common(2))
    found["ms: the common phrase"] = times(lambda phrase: lexical.phrase_rows([phrase]), [common])[0]
    return found


def sizes(index: OpenIndex) -> dict[str, float]:
    """Returns the bytes per chunk of every part, and of the words by the kind of Tantivy's files."""
    parts: Counter[str] = Counter()
    for file in index.manifest.files:
        path = Path(file.path)
        if path.parts[0] != "encoder":
            parts[path.parts[0] if len(path.parts) == 1 else f"{path.parts[0]} {path.suffix}"] += file.size
    parts["all but the encoder"] = parts.total()
    return {f"bytes: {name.strip()}": size / max(1, index.manifest.chunks) for name, size in sorted(parts.items())}


def phrases(texts: Iterable[str], choose: random.Random) -> Iterable[str]:
    for text in texts:
        words = text.replace('"', " ").split()
        begin = choose.randrange(max(1, len(words) - 1))
        yield " ".join(words[begin : begin + choose.randint(2, 4)])


def times(run: Callable[[Any], object], given: Sequence[Any]) -> list[float]:
    spent = []
    for one in given:
        started = time.thread_time()
        run(one)
        spent.append((time.thread_time() - started) * 1000)
    return spent


if __name__ == "__main__":
    main()
