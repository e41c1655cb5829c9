from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_semsearch.artifact.fields import FACET_TYPES, FacetDeclaration
from mkdocs_semsearch.chunking import Chunker, ChunkSettings, Document
from mkdocs_semsearch.chunking.front_matter import excludes_from_search, plain_front_matter, read_front_matter

NOTHING = object()


def typed(kind: str, yaml_value: str) -> tuple[Any, tuple[str, ...]]:
    """Returns the typed value of `field: …`, and the reported warnings."""
    source = f"---\nfield: {yaml_value}\n---\n"
    header = read_front_matter(source)
    assert header.problem is None
    chunker = Chunker(ChunkSettings(), [FacetDeclaration("field", kind, "Field")], len)  # type: ignore[arg-type]
    page = chunker.chunk(Document("a/b.md", "a/b/", "A", "", front_matter=header.values))
    assert page is not None
    return page.facets.get("field", NOTHING), chunker.warnings()


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("string", "draft", "draft"),
        ("string", "2026", "2026"),
        ("string", "'1.10'", "1.10"),
        ("string", "2026-01-02", "2026-01-02"),
        ("string", "' two  words '", "two words"),
        ("list", "[a, b, a]", ("a", "b")),
        ("list", "solo", ("solo",)),
        ("list", "a, b", ("a, b",)),
        ("list", "2026", ("2026",)),
        ("list", "[a, null, ~, '']", ("a",)),
        ("list", "[2026, 2026-01-02]", ("2026", "2026-01-02")),
        ("integer", "2023", 2023),
        ("integer", "'2023'", 2023),
        ("integer", "-5", -5),
        ("integer", "010", 8),
        ("number", "1.5", 1.5),
        ("number", "3", 3),
        ("number", "'2.5'", 2.5),
        ("date", "2026-01-02", datetime.date(2026, 1, 2)),
        ("date", "2026-01-02 10:00:00", datetime.date(2026, 1, 2)),
        ("date", "2026-01-02T23:59:00+02:00", datetime.date(2026, 1, 2)),
        ("date", "'2026-01-02'", datetime.date(2026, 1, 2)),
        ("date", "{created: 2026-01-02, updated: 2026-03-04}", datetime.date(2026, 1, 2)),
        ("boolean", "true", True),
        ("boolean", "NO", False),
        ("boolean", "'yes'", True),
    ],
)
def test_values_that_fit(kind: str, value: str, expected: object) -> None:
    found, warnings = typed(kind, value)
    assert found == expected
    assert type(found) is type(expected)
    assert warnings == ()


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        ("string", "1.10", NOTHING),
        ("string", "NO", NOTHING),
        ("string", "[a]", NOTHING),
        ("string", "{a: b}", NOTHING),
        ("string", "2026-01-02 10:00:00", NOTHING),
        ("list", "[a, true]", ("a",)),
        ("list", "[a, 1.10]", ("a",)),
        ("list", "[a, [b]]", ("a",)),
        ("list", "{a: b}", NOTHING),
        ("integer", "1.0", NOTHING),
        ("integer", "true", NOTHING),
        ("integer", "soon", NOTHING),
        ("integer", "[1]", NOTHING),
        ("integer", "99999999999999999999", NOTHING),
        ("number", ".nan", NOTHING),
        ("number", ".inf", NOTHING),
        ("number", "true", NOTHING),
        ("number", "1e999", NOTHING),
        ("date", "2026", NOTHING),
        ("date", "20260102", NOTHING),
        ("date", "January", NOTHING),
        ("date", "'2026-13-02'", NOTHING),
        ("boolean", "1", NOTHING),
        ("boolean", "maybe", NOTHING),
    ],
)
def test_values_that_do_not_fit_are_left_out_and_reported(kind: str, value: str, kept: object) -> None:
    found, warnings = typed(kind, value)
    assert found == kept
    (sentence,) = warnings
    assert "'field'" in sentence
    assert kind in sentence
    assert "a/b.md" in sentence


def test_a_float_for_text_says_how_to_write_it() -> None:
    _, (sentence,) = typed("string", "1.10")
    assert "quote it" in sentence


@pytest.mark.parametrize(
    ("kind", "value", "described"),
    [
        ("string", "NO", "the boolean false: quote it"),
        ("list", "[true]", "the boolean true: quote it"),
        ("integer", "true", "the boolean true;"),
        ("integer", "1.5", "the number 1.5;"),
        ("string", "1.5", "the number 1.5: quote it"),
        ("boolean", "1", "the number 1;"),
        ("integer", "2026-01-02", "the date 2026-01-02;"),
        ("string", "2026-01-02 10:00:00", "the time 2026-01-02 10:00:00;"),
        ("date", "[1]", "a list;"),
        ("date", "soon", "'soon';"),
    ],
)
def test_a_value_is_described_with_the_names_of_yaml(kind: str, value: str, described: str) -> None:
    _, (sentence,) = typed(kind, value)
    assert f"but a/b.md has {described}" in sentence


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("[release, 10.1]", ("release", "10.1")),
        ("[1.10, NO, 2026-01-02 10:00:00]", ("1.10", "NO", "2026-01-02 10:00:00")),
        ("3.10", ("3.10",)),
        ("[a, {b: c}]", ("a",)),
        ("{a: b}", None),
    ],
)
def test_a_default_facet_reads_scalars_as_written_and_reports_nothing(value: str, kept: object) -> None:
    source = f"---\ntags: {value}\ntested with: 3.10\n---\n"
    chunker = Chunker(ChunkSettings(), [FacetDeclaration("tags", "list", "Tags")], len, facets_declared=False)
    page = chunker.chunk(Document("a.md", "a/", "A", "", read_front_matter(source).values, source))
    assert page is not None
    assert page.facets.get("tags") == kept
    assert chunker.warnings() == ()


def test_a_default_facet_without_a_source_takes_the_number_that_was_read() -> None:
    chunker = Chunker(ChunkSettings(), [FacetDeclaration("tags", "list", "Tags")], len, facets_declared=False)
    page = chunker.chunk(Document("a.html", "a/", "A", "", {"tags": ["release", 10.1, True]}))
    assert page is not None
    assert page.facets["tags"] == ("release", "10.1", "true")


@pytest.mark.parametrize("kind", FACET_TYPES)
@pytest.mark.parametrize("value", ["", "~", "''", "'  '", "null"])
def test_a_missing_value_is_not_reported(kind: str, value: str) -> None:
    assert typed(kind, value) == (NOTHING, ())


def test_a_field_is_reported_once_with_an_example_and_a_count() -> None:
    chunker = Chunker(ChunkSettings(), [FacetDeclaration("year", "integer", "Year")], len)
    for name in ("c", "a", "b"):
        chunker.chunk(Document(f"{name}.md", "", "", "", front_matter={"year": f"soon {name}"}))
        chunker.chunk(Document(f"{name}.md", "", "", "", front_matter={"year": f"soon {name}"}))
    assert chunker.warnings() == (
        "Front matter field 'year' is declared as integer, but a.md has 'soon a'; the value is left out "
        "(2 more pages with values that do not fit).",
    )


def test_each_misspelt_key_of_search_is_reported() -> None:
    chunker = Chunker(ChunkSettings(), [], len)
    for path, search in (("a.md", {"keyword": ["x"], "excldue": True}), ("b.md", {"excldue": True, "weight": 2})):
        chunker.chunk(Document(path, "", "", "", front_matter={"search": search}))
    keys = "Front matter field 'search' has the keys exclude, boost, kind, keywords, lint"
    assert chunker.warnings() == (
        f"{keys}, but a.md has 'excldue' (did you mean exclude?); the value is left out "
        "(1 more page with values that do not fit).",
        f"{keys}, but a.md has 'keyword' (did you mean keywords?); the value is left out.",
    )


@pytest.mark.parametrize(
    ("written", "warnings"),
    [
        ("[good, 404, '3.10', 2.5, 2026-01-02]", ()),
        ("word", ()),
        ("404", ()),
        ("\n  - good\n  -", ()),
        (
            "[good, {bad: one}, [nested], 3.10, no, 010, null]",
            (
                "Front matter field 'search.keywords' must be a list of words, quoted if YAML does not read them as "
                "text, but a.md has a mapping, a list, the boolean false; the value is left out.",
                "Front matter field 'search.keywords' needs quotes around words and numbers that YAML reads in another "
                "way, but a.md has 3.10 (read as 3.1), 010 (read as 8), null (read as nothing).",
            ),
        ),
        (
            f"{[f'word {number}' for number in range(60)]}",
            ("Front matter field 'search.keywords' has at most 50 words, but a.md has 60; the others are left out.",),
        ),
    ],
)
def test_keywords_that_are_not_used_as_they_are_written_are_reported(written: str, warnings: tuple[str, ...]) -> None:
    source = f"---\nsearch: {{keywords: {written}}}\n---\n"
    chunker = Chunker(ChunkSettings(), [], len)
    chunker.chunk(Document("a.md", "", "", "", read_front_matter(source).values, source))
    assert chunker.warnings() == warnings


@pytest.mark.parametrize(
    ("values", "excluded"),
    [
        ({"search": {"exclude": True}}, True),
        ({"search": {"exclude": "yes"}}, True),
        ({"search": {"exclude": 1}}, True),
        ({"search": {"exclude": False}}, False),
        ({"search": {"exclude": "false"}}, False),
        ({"search": {"exclude": None}}, False),
        ({"search": {}}, False),
        ({"search": "exclude"}, False),
        ({"search": None}, False),
        ({}, False),
    ],
)
def test_exclusion(values: dict[str, Any], excluded: bool) -> None:
    assert excludes_from_search(values) is excluded
    says = isinstance(values.get("search"), dict) and values["search"].get("exclude") is not None
    assert excludes_from_search(values, otherwise=True) is (excluded if says else True)


def test_front_matter_becomes_json() -> None:
    header = read_front_matter(
        "---\nno: 1\n2026: x\n2026-01-02: y\n~: z\ndate: 2026-01-02\nat: 2026-01-02T03:04:05Z\n"
        "nested: {a: [1, {b: .inf}]}\nset: !!set {b, a}\nraw: !!binary aGk=\n__extends: private\ntime: 12:30:45\n---\n"
    )
    plain = plain_front_matter(header.values)
    assert plain == {
        "false": 1,
        "2026": "x",
        "2026-01-02": "y",
        "null": "z",
        "date": "2026-01-02",
        "at": "2026-01-02T03:04:05+00:00",
        "nested": {"a": [1, {"b": "inf"}]},
        "set": ["a", "b"],
        "raw": "hi",
        "time": 45045,
    }
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [*a]",
        "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
        "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]",
        "a: " + "[" * 200 + "]" * 200,
        'a: "\\ud800 \\0 x"',
    ],
    ids=["itself", "laughs", "deep", "surrogate"],
)
def test_hostile_yaml_stays_small(text: str) -> None:
    header = read_front_matter(f"---\n{text}\n---\n")
    plain = plain_front_matter(header.values)
    assert len(json.dumps(plain, allow_nan=False)) < 200_000
    json.dumps(plain, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize(
    "text", ["a: [", "- x", "a:text", "a: !!python/object:os.x {}", "a: b: c", "a: 2026-99-99", "? [a]\n: b"]
)
def test_broken_yaml_is_reported_and_ignored(text: str) -> None:
    header = read_front_matter(f"---\n{text}\n---\nBody\n")
    assert header.values == {}
    assert header.problem


def test_the_line_of_an_error_in_the_front_matter_is_that_of_the_page() -> None:
    header = read_front_matter("---\ntitle: A\nsummary: Note: read this\n---\n# A\n")
    assert header.problem == "mapping values are not allowed in this context (line 3)"


@pytest.mark.parametrize("source", ["---\ntags: [a]\n\n# Title\n", "---\ntags:\n- a\n---"])
def test_front_matter_without_an_end_is_reported(source: str) -> None:
    assert read_front_matter(source).problem == "no line --- ends it"


@pytest.mark.parametrize("source", ["---\njust text\n---\n# H\n", "---\nText below a line.\n", "---\n\n# Title\n"])
def test_a_page_that_begins_with_a_thematic_break_has_no_front_matter(source: str) -> None:
    header = read_front_matter(source)
    assert (header.values, header.problem, header.body_start) == ({}, None, 0)


def test_the_body_starts_after_the_front_matter() -> None:
    source = "---\r\na: 1\r\n---\r\nBody"
    header = read_front_matter(source)
    assert (header.values, source[header.body_start :]) == ({"a": 1}, "Body")
    source = "Title: My page\nTags: a\n    b\n\nBody"
    header = read_front_matter(source)
    assert (header.values, source[header.body_start :]) == ({"title": "My page", "tags": "a b"}, "Body")
    assert read_front_matter("# Body\n").body_start == 0
    assert read_front_matter("---\n---\nBody").values == {}


YAML_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates() | st.datetimes() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.booleans() | st.none(), inner),
    max_leaves=8,
)


@given(st.sampled_from(FACET_TYPES), YAML_VALUES)
def test_any_value_is_typed_or_reported(kind: str, value: object) -> None:
    chunker = Chunker(ChunkSettings(), [FacetDeclaration("field", kind, "Field")], len)  # type: ignore[arg-type]
    page = chunker.chunk(Document("a.md", "", "", "", front_matter={"field": value, "search": value}))
    if page is None:
        return
    json.dumps(page.front_matter, allow_nan=False, ensure_ascii=False).encode("utf-8")
    expected = {
        "string": str,
        "list": tuple,
        "integer": int,
        "number": (int, float),
        "date": datetime.date,
        "boolean": bool,
    }
    if "field" in page.facets:
        assert isinstance(page.facets["field"], expected[kind])  # type: ignore[arg-type]
