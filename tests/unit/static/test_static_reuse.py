"""A bundle that reuses parts of the previous one has the same bytes as one that is written from scratch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mkdocs_semsearch.artifact import WEIGHTS
from mkdocs_semsearch.static import bundle_writer
from mkdocs_semsearch.static.bundle_writer import write_bundle
from tests.made_index import built, declared, made_page
from tests.unit.static.test_static_bundle import table

FACETS = declared("tags")
PAGES = (
    made_page(
        "keys.md",
        "Rotating a key needs the role of an administrator.",
        [
            "The access token expires after ninety days.",
            "Call `client.rotate_keys()` again.\n\n```python\nretry()\n```",
        ],
        facets={"tags": ("security",)},
        front_matter={"search": {"keywords": ["credentials"]}},
        title="Rotate keys",
    ),
    made_page("install.md", "Installation on Debian takes a minute.", "Migrations ran.", title="Install"),
    made_page("café.md", "Le café est fermé. Wörter mit Umlauten.", title="Café", language="fr"),
    made_page("empty.md", "", title=""),
    made_page("options.md", "Options of the command.", "More options.", headings=["", "Install"], title="Options"),
    *(made_page(f"filler/{n}.md", f"Nothing of interest in chapter {n}.") for n in range(9)),
)
GERMAN = (
    made_page("a.md", "Die Datenbankverbindung ist offen.", language="de"),
    made_page("b.md", "Eine Verbindung zur Datenbank.", language="de"),
    made_page("c.md", "A connection to a database.", language="en"),
)


def edited(pages, path, text):
    """Returns the pages with another text in the first chunk of one page."""
    return tuple(
        replace(page, chunks=(replace(page.chunks[0], content=text), *page.chunks[1:])) if page.path == path else page
        for page in pages
    )


EDITED = edited(PAGES, "keys.md", "Rotating a key needs `newname()` and nothing else.")
EDITS = {
    "nothing": (PAGES, PAGES, {}),
    "a text": (PAGES, EDITED, {}),
    "a text of a page in two shards": (PAGES, edited(PAGES, "install.md", "Long words. " * 900), {}),
    "a page at the beginning": (PAGES, (made_page("new.md", "A new page about tokens."), *PAGES), {}),
    "a page in the middle": (PAGES, (*PAGES[:3], made_page("new.md", "A new page."), *PAGES[3:]), {}),
    "a page less": (PAGES, (*PAGES[:1], *PAGES[2:]), {}),
    "only one page left": (PAGES, PAGES[:1], {}),
    "no page left": (PAGES, (), {}),
    "first pages": ((), PAGES, {}),
    "another name of a page": (PAGES, (replace(PAGES[0], path="rotate.md", url="rotate/"), *PAGES[1:]), {}),
    "another title of a page": (PAGES, (*PAGES[:1], replace(PAGES[1], title="Set up"), *PAGES[2:]), {}),
    "another order": (PAGES, PAGES[::-1], {}),
    "other keywords": (PAGES, (replace(PAGES[0], front_matter={"search": {"keywords": ["secrets"]}}), *PAGES[1:]), {}),
    "another language": (PAGES, (*PAGES[:2], replace(PAGES[2], language="en"), *PAGES[3:]), {}),
    "synonyms": (PAGES, PAGES, {"synonyms": {"k8s": ("token",)}}),
    "a pinned page": (PAGES, PAGES, {"pins": {"how to start": "install.md"}}),
    "facets": (PAGES, PAGES, {"facets": ()}),
    "the language of the site": (PAGES, PAGES, {"language": "de"}),
    "compounds": (GERMAN, edited(GERMAN, "b.md", "Eine Verbindung."), {}),
    "the last page with compounds": (GERMAN, GERMAN[2:], {}),
    "the first pages with compounds": (PAGES, (*PAGES, *GERMAN), {}),
}


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def index_of(tmp_path_factory):
    """Returns the index of some pages; the same pages and options are built only once."""
    made = {}

    def index_of(pages, **options):
        key = repr((pages, options))
        if key not in made:
            made[key] = tmp_path_factory.mktemp("index")
            built(made[key], pages, **{"facets": FACETS, **options})
        return made[key]

    return index_of


def from_scratch(place, index):
    write_bundle(index, place / "scratch", table())
    return files(place / "scratch")


def after(place, *indexes, damage=lambda memory: None):
    """Writes one bundle after the other; returns the files of the last one."""
    for index in indexes:
        if index is indexes[-1]:
            damage(place / "memory")
        write_bundle(index, place / "site", table(), memory=place / "memory")
    return files(place / "site")


@pytest.mark.parametrize(("before", "pages", "options"), EDITS.values(), ids=EDITS)
def test_an_edit_leads_to_the_same_files_as_a_build_from_scratch(tmp_path, index_of, before, pages, options):
    index = index_of(pages, **options)
    assert after(tmp_path, index_of(before), index) == from_scratch(tmp_path, index)


def test_many_edits_lead_to_the_same_files_as_a_build_from_scratch(tmp_path, index_of):
    pages = [PAGES]
    for number in range(4):
        pages.append(edited(pages[-1], f"filler/{number}.md", f"Edit {number} of `name_{number}`."))
    indexes = list(map(index_of, pages))
    assert after(tmp_path, *indexes) == from_scratch(tmp_path, indexes[-1])


def flipped(place):
    def damage(memory):
        content = bytearray(memory.read_bytes())
        content[int(place * (len(content) - 1))] ^= 0x10
        memory.write_bytes(content)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        *(flipped(place) for place in (0, 0.01, 0.2, 0.5, 0.8, 1)),
        lambda memory: memory.write_bytes(memory.read_bytes()[:-9]),
        lambda memory: memory.write_bytes(b""),
        lambda memory: memory.unlink(),
        lambda memory: (memory.unlink(), memory.mkdir()),
    ],
)
def test_a_damaged_cache_entry_is_ignored(tmp_path, index_of, damage):
    index = index_of(EDITED)
    assert after(tmp_path, index_of(PAGES), index, damage=damage) == from_scratch(tmp_path, index)


def test_only_the_changed_page_is_split_into_words(tmp_path, index_of, monkeypatch):
    """Without this the cost of an edit would grow with the whole site."""
    split, chunk_text = [], bundle_writer._chunk_text

    def spy(chunk, added):
        split.append(tuple(chunk["heading_hierarchy"]))
        return chunk_text(chunk, added)

    monkeypatch.setattr(bundle_writer, "_chunk_text", spy)
    after(tmp_path, index_of(PAGES), index_of(EDITED))
    assert split == [chunk.heading_hierarchy for page in (*PAGES, PAGES[0]) for chunk in page.chunks]


def test_parts_that_other_code_wrote_are_not_used(tmp_path, index_of, monkeypatch):
    def other_code(memory):
        monkeypatch.setattr(bundle_writer, "code_digest", lambda: b"other")
        monkeypatch.setattr(bundle_writer, "terms_of", lambda text: [])

    index = index_of(edited(PAGES, "filler/3.md", "Another text."))
    assert after(tmp_path, index_of(PAGES), index, damage=other_code) == from_scratch(tmp_path, index)


def test_a_bundle_of_other_weights_is_not_taken_from_the_cache(monkeypatch):
    before = bundle_writer.code_digest.__wrapped__()
    monkeypatch.setitem(WEIGHTS, "static_nothing", WEIGHTS["static_nothing"] | {"enough": 0.9})
    assert bundle_writer.code_digest.__wrapped__() != before
