"""Excerpts: where they are cut, marks on matching words, and complete Markdown."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mkdocs_semsearch.lexical.question import read_question
from mkdocs_semsearch.searching.excerpts import MAX_CHARACTERS, make_excerpt
from tests.made_index import made_page, opened

FILLER = "Nothing to see in this long sentence that goes on and on without an end in sight. "


@pytest.fixture(scope="module")
def searcher(tmp_path_factory):
    words = (
        "rotating keys",
        "the restore command",
        "日本語の検索は難しい",
        "site_url in python",
        *["filler text"] * 20,
    )
    pages = [made_page(f"{number}.md", text) for number, text in enumerate(words)]
    with opened(tmp_path_factory.mktemp("excerpts") / "index", pages) as searcher:
        yield searcher


def matcher_of(searcher, query):
    lexical = searcher._backend._sides.lexical
    return lexical.matcher(lexical.read(read_question(query)))


def excerpt(searcher, query, content):
    return make_excerpt(content, matcher_of(searcher, query))


def marked(found):
    return [found.text[start:end] for start, end in found.highlights]


def test_a_short_text_is_shown_whole(searcher):
    found = excerpt(searcher, "rotate key", "Rotating keys is easy.\n\nRotate each key.")
    assert found.text == "Rotating keys is easy.\n\nRotate each key."
    assert marked(found) == ["Rotating", "keys", "Rotate", "key"]


@pytest.mark.parametrize("shift", range(0, 40, 3))
def test_code_in_a_line_is_not_cut(searcher, shift):
    text = "x" * shift + " " + "some words and `mkdocs serve --dirty` here " * 30 + "rotating keys " + "`a b c d` " * 60
    found = excerpt(searcher, "rotate key", text)
    assert marked(found)[:2] == ["rotating", "keys"]
    assert set(re.findall("`[^`]*`", found.text)) <= {"`mkdocs serve --dirty`", "`a b c d`"}
    assert found.text.count("`") % 2 == 0
    assert len(found.text) <= MAX_CHARACTERS + 4


def test_no_match_shows_the_beginning(searcher):
    found = excerpt(searcher, "zebra", f"The beginning.\n\n{FILLER * 20}")
    assert found.text.startswith("The beginning.")
    assert found.highlights == ()
    assert excerpt(searcher, "zebra", "") == excerpt(searcher, "zebra", "\n\n \n") == type(found)("", ())


def nearest(word):
    return lambda sentences: next((i for i, sentence in enumerate(sentences) if word in sentence), None)


def test_no_match_shows_the_nearest_sentence(searcher):
    matcher = matcher_of(searcher, "zebra")
    content = f"The beginning.\n\n{FILLER * 9}The striped animal sleeps. {FILLER * 9}\n\n- a giraffe"
    found = make_excerpt(content, matcher, nearest("striped"))
    assert found.text.startswith("… The striped animal sleeps. Nothing")
    assert found.highlights == ()
    assert make_excerpt(content, matcher, nearest("giraffe")).text == "- a giraffe"
    assert make_excerpt(content, matcher, nearest("unheard of")) == make_excerpt(content, matcher)


def test_the_nearest_sentence_is_shown_rather_than_what_introduces_its_block(searcher):
    matcher = matcher_of(searcher, "zebra")
    block = f"{FILLER * 2}The striped animal sleeps."
    long, short = ("The rules hold for each of the animals, their keepers and their many guests" * 2 + ":", "Rules:")
    assert make_excerpt(f"{long}\n\n{block}", matcher, nearest("striped")).text == block
    assert make_excerpt(f"{short}\n\n{block}", matcher, nearest("striped")).text == f"{short}\n\n{block}"


def test_words_that_match_go_before_the_nearest_sentence(searcher):
    content = f"{FILLER * 9}\n\nHere the keys are rotated."
    matcher = matcher_of(searcher, "rotate keys")
    assert make_excerpt(content, matcher, nearest("Nothing")) == make_excerpt(content, matcher)


def test_the_block_with_most_words_is_taken_and_cut_at_a_sentence(searcher):
    content = f"{FILLER * 3}\n\n{FILLER * 5}Here the keys are rotated. {FILLER * 5}"
    found = excerpt(searcher, "rotate keys", content)
    assert found.text.startswith("… Here the keys are rotated.")
    assert found.text.endswith(" …")
    assert marked(found) == ["keys", "rotated"]
    assert len(found.text) <= MAX_CHARACTERS + 4


def test_no_sentence_ends_after_an_abbreviation(searcher):
    sentence = "Change them often (e.g. rotate keys each year)."
    content = f"{FILLER * 5}{sentence} {FILLER * 5}"
    assert excerpt(searcher, "rotate keys", content).text.startswith(f"… {sentence}")


def test_a_last_word_that_is_not_finished_is_marked(searcher):
    assert marked(excerpt(searcher, "rest", "Restore with the restore command.")) == ["Restore", "restore"]


def test_the_corrected_word_is_marked(searcher):
    assert marked(excerpt(searcher, "comand", "The restore command.")) == ["command"]


def test_parts_of_identifiers(searcher):
    assert marked(excerpt(searcher, "siteUrl", "Set site_url or the url.")) == ["site_url", "url"]


@pytest.mark.parametrize(
    ("query", "content", "wanted"),
    [
        ("1.28", "Use 1.28, v1.28 or 1.28.3, not 28, 11.28, 1.281 or 2.1.28.", ["1.28", "v1.28", "1.28"]),
        ("v3.0.4 keys", "v3.0.4, 3.0.4 and v3.1.4 have keys", ["v3.0.4", "3.0.4", "keys"]),
        ("sync --dry-run now", "`--dry-run` or dry-run, --dry", ["--dry-run", "dry-run", "dry"]),
        ("sync --dry-r", "`--dry-run`", ["--dry-run"]),
        (
            "app.kubernetes.io/name x",
            "the app.kubernetes.io/name, app, name",
            ["app.kubernetes.io/name", "app", "name"],
        ),
        ("@app.get decorator", "with @app.get() or app.getter", ["@app.get", "app"]),
        ("C++ code", "C++ and c++17, not C or c#", ["C++", "c++"]),
        ("use .NET here", "ASP.NET or .net, a net", [".NET", ".net", "net"]),
        ("a List<T> type", "List<T> and T", ["List<T>"]),
        ("src/a_b.py", "in src/a_b.py, a_b", ["src/a_b.py"]),
        ("${MY_URL}", "$MY_URL and MY_URL", ["MY_URL", "MY_URL"]),
    ],
)
def test_identifiers_are_marked_whole(searcher, query, content, wanted):
    assert marked(excerpt(searcher, query, content)) == wanted


@pytest.mark.parametrize(
    ("query", "block"), [("set sync.wave", "This is sync.wave."), ('sync_wave("x")', 'Call sync_wave("y").')]
)
def test_a_block_with_the_whole_identifier_goes_before_one_with_its_parts(searcher, query, block):
    assert excerpt(searcher, query, f"wave and sync. {FILLER * 5}\n\n{block}").text == block


LIST = "\n".join(f"- entry number {number} of a long list" for number in range(30))


def test_what_a_text_introduces_is_shown_with_it(searcher):
    found = excerpt(searcher, "rotate keys", f"To rotate keys:\n\n{LIST}")
    assert found.text.startswith("To rotate keys:\n\n- entry number 0 of a long list\n- entry number 1 of")
    assert found.text.endswith(" of a long list\n…")
    assert len(found.text) <= MAX_CHARACTERS + 2
    code = "\n".join(f"restore --number {number}" for number in range(30))
    found = excerpt(searcher, "rotate keys", f"To rotate keys:\n\n```sh\n{code}\n```")
    assert found.text.startswith("To rotate keys:\n\n```sh\nrestore --number 0\nrestore --number 1\n")
    assert found.text.endswith("\n```")
    found = excerpt(searcher, "rotate keys", f"To rotate keys, {'and so on ' * 28}:\n\n{FILLER * 9}")
    assert found.text.endswith("without an end in sight. Nothing to see in this long sentence …")


def test_what_introduces_a_text_is_shown_before_it(searcher):
    steps = "1. Stop the server.\n2. Rotate the keys."
    assert excerpt(searcher, "rotate keys", f"Filler.\n\nDo this:\n\n{steps}\n\nEnd.").text.startswith(
        f"Do this:\n\n{steps}"
    )
    found = excerpt(searcher, "restore", "Filler.\n\nrun.sh\n\n```sh\nrestore --all\n```")
    assert found.text == "run.sh\n\n```sh\nrestore --all\n```"
    assert marked(found) == ["restore"]
    found = excerpt(searcher, "entry", f"Filler.\n\nHere they are:\n\n{LIST.replace('entry', 'one', 20)}")
    assert found.text.startswith("… - entry number 20")  # there would be no room for the words
    found = excerpt(searcher, "rotate keys", f"A key:\n\n- Rotate the keys.\n{LIST}")
    assert found.text.startswith("A key:\n\n- Rotate the keys.\n- entry number 0")
    assert found.text.endswith(" of a long list\n…")
    assert len(found.text) <= MAX_CHARACTERS + 2


@pytest.mark.parametrize(
    "before", [f"{FILLER * 3}See:", "Do this.", "```sh\nif x:\n```"], ids=["long", "other", "code"]
)
def test_only_a_short_text_that_introduces_another_is_shown_before_it(searcher, before):
    assert excerpt(searcher, "restore", f"{before}\n\n- Restore it.").text == "- Restore it."


@pytest.mark.parametrize(("letters", "continued"), [(190, True), (200, False)])
def test_an_excerpt_goes_on_where_enough_of_the_next_block_fits(searcher, letters, continued):
    text = "Rotate keys. ".ljust(letters, "x")
    found = excerpt(searcher, "rotate keys", f"{text}\n\n{FILLER * 9}")
    assert found.text.startswith(f"{text}\n\nNothing to see" if continued else text)
    assert (len(found.text) > len(text)) is continued
    assert len(found.text) <= MAX_CHARACTERS + 2


@pytest.mark.parametrize("label", ["Keys", "Picture of a restore"])
def test_a_label_is_shown_with_the_beginning_of_what_follows(searcher, label):
    found = excerpt(searcher, "restore keys", f"{label}\n\n{FILLER * 9}\n\nMore.")
    assert found.text.startswith(f"{label}\n\nNothing to see in this long sentence")
    assert found.text.endswith(" …")
    assert len(found.text) <= MAX_CHARACTERS + 2


def test_code_is_shown_with_its_file_name(searcher):
    code = "\n".join(f"restore --number {number}" for number in range(30))
    found = excerpt(searcher, "rotate keys", f"To rotate keys:\n\nrun.sh\n\n```sh\n{code}\n```")
    assert found.text.startswith("To rotate keys:\n\nrun.sh\n\n```sh\nrestore --number 0\nrestore --number 1\n")
    assert len(found.text) <= MAX_CHARACTERS + len("```sh\n\n```")


def test_a_long_name_is_left_out_rather_than_cut(searcher):
    name = "https://docs.example.org/" + "path-" * 10 + "end"
    found = excerpt(searcher, "rotate keys", f"Rotate keys. {'x' * 280} {name} and more")
    assert found.text == f"Rotate keys. {'x' * 280} …"
    long = f"`argocd repo add {'--option value ' * 8}`"
    found = excerpt(searcher, "rotate keys", f"Rotate keys {long} in {'x' * 140} or `{name}`")
    assert found.text.endswith(f"{'x' * 140} or …")


def test_scripts_without_spaces_mark_what_matches_not_the_whole_sentence(searcher):
    content = "これは日本語の検索についての長い文です。検索は難しい。"
    assert marked(excerpt(searcher, "日本語", content)) == ["日本語"]
    assert marked(excerpt(searcher, "検索", content)) == ["検索", "検索"]
    mixed = "MkDocsで日本語を使う"
    assert marked(excerpt(searcher, "mkdocs", mixed)) == ["MkDocs"]


CODE = "\n".join(f"line_{number} = {number}  # {'restore' if number == 60 else 'other'}" for number in range(120))


@pytest.mark.parametrize("fence", ["```", "````", "~~~", "~~~~~", "``````"])
@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("language", ["python", ""])
def test_code_keeps_whole_lines_inside_its_own_fence(searcher, fence, closed, language):
    inner = CODE.replace("line_59 = 59", "```") if len(fence) > 3 and fence[0] == "`" else CODE
    content = f"Before.\n\n{fence}{language}\n{inner}\n{fence if closed else ''}"
    found = excerpt(searcher, "restore", content.rstrip("\n"))
    first, *lines, last = found.text.split("\n")
    assert (first, last) == (f"{fence}{language}", fence)
    assert lines[0] == "line_60 = 60  # restore"
    assert set(lines) <= set(inner.split("\n"))
    assert marked(found) == ["restore"]


def test_short_code_without_its_closing_fence_gets_one(searcher):
    found = excerpt(searcher, "restore", "Before it.\n\n~~~sh\nrestore")
    assert found.text == "~~~sh\nrestore\n~~~"
    assert marked(found) == ["restore"]
    assert excerpt(searcher, "restore", "```\n").text in ("```\n```", "")


def test_the_language_of_a_fence_is_not_part_of_the_text(searcher):
    found = excerpt(searcher, "python", "```python\nprint('python')\n```")
    assert found.highlights == ((17, 23),)


def test_a_match_far_into_a_long_line_of_code_is_shown(searcher):
    found = excerpt(searcher, "restore", f"```\n{'x' * 1000} restore {'y' * 1000}\n```")
    assert marked(found) == ["restore"]


def test_commented_options_begin_with_the_option_not_with_the_comment_of_the_one_before(searcher):
    options = "\n".join(
        f"#{name}: 1\n#   {meaning} " + "which is explained here at some length\n#   and in a second line."
        for name, meaning in (
            ("restore_speed", "How fast a rotation is, at some depth,"),
            ("keys_depth", "How deep keys are,"),
            ("zebra", "The animal,"),
            ("keys_of_zebra", "What the animal opens,"),
            ("other", "Another number,"),
        )
    )
    found = excerpt(searcher, "keys_depth", f"```\n{options}\n```")
    assert found.text.startswith("```\n#keys_depth: 1\n#   How deep keys are, which is")
    assert marked(found)[:2] == ["keys_depth", "keys"]
    found = excerpt(searcher, "rotation with keys_depth", f"```\n{options}\n```")
    assert found.text.startswith("```\n#   How fast a rotation is, at some depth,")


@pytest.mark.parametrize("query", ["keys", "other"], ids=["whole", "cut"])
def test_code_neither_begins_nor_ends_with_an_empty_line(searcher, query):
    lines = "\n".join(["", "", "keys = 1", "", "# " + "x" * 290, "", "y = 2", "other = 3", "", "z" * 310, "", ""])
    first, *inner, last = excerpt(searcher, query, f"```sh\n{lines}\n```").text.split("\n")
    assert (first, last) == ("```sh", "```")
    assert inner[0].startswith(query)
    assert inner[-1]


def test_an_item_that_begins_an_excerpt_keeps_its_number_and_loses_its_indentation(searcher):
    for sign in ("12. ", "  - "):
        found = excerpt(
            searcher, "restore", f"Before\n{FILLER.replace('. ', '')}\n" * 5 + f"{sign}Restore it.\n{FILLER * 3}"
        )
        assert found.text.startswith(f"… {sign.lstrip()}Restore it.")


def test_the_row_of_a_table_is_not_divided(searcher):
    row = "| `auto` | It writes files. It restores keys. It ends. |\n"
    table = "| a | b |\n" + "| no | Nothing at all here. |\n" * 15 + row + "| no | Nothing at all here. |\n" * 15
    assert excerpt(searcher, "restore", table).text.startswith(f"… {row}")
    found = make_excerpt(table, matcher_of(searcher, "zebra"), nearest("restores"))
    assert found.text.startswith(f"… {row}")


@pytest.mark.parametrize("width", range(20))
def test_no_bars_are_left_of_a_row_that_is_cut_off(searcher, width):
    table = f"| keys | {'x' * width} |\n" + "| one | two |\n" * 40
    text = excerpt(searcher, "keys", table).text
    assert not re.search(r"\n[\s|]*…$", text)
    assert text.endswith(" …")


BLOCKS = st.one_of(
    st.lists(st.sampled_from(["restore", "keys", "Rotated,", "the", "filler.", "日本語", "x" * 400, "\u00a0", "é",
                              "😀"]), min_size=1, max_size=80).map(" ".join),
    st.text(max_size=400),
    st.builds(
        lambda fence, language, lines, closed: "\n".join([fence + language, *lines, *([fence] if closed else [])]),
        st.sampled_from(["```", "~~~", "````"]),
        st.sampled_from(["", "python", " restore"]),
        st.lists(st.sampled_from(["restore --all", "x = 1", "", "y" * 400, "    keys"]), max_size=40),
        st.booleans(),
    ),
)  # fmt: skip


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    content=st.lists(BLOCKS, max_size=6).map("\n\n".join),
    query=st.sampled_from(["restore", "rotate keys", "日本語", "comand rest", "x", "zebra", "キー", "é"]),
    nearest=st.sampled_from([None, lambda sentences: len(sentences) - 1, lambda sentences: len(sentences) // 2]),
)
def test_marks_are_inside_and_point_at_words_that_match(searcher, content, query, nearest):
    matcher = searcher._backend._sides.lexical.matcher(read_question(query))
    found = make_excerpt(content, matcher, nearest)
    end_before = 0
    for start, end in found.highlights:
        assert end_before <= start < end <= len(found.text)
        assert matcher.stems_in(found.text[start:end])
        end_before = end
    assert not _ends_inside_code(found.text), found.text
    longest = max((len(word) for word in content.split()), default=0)
    assert len(found.text) <= 2 * MAX_CHARACTERS + 40 + longest


def _ends_inside_code(text):
    """Whether a fence is left open, by the rules of CommonMark."""
    mark = ""
    for line in text.split("\n"):
        match = re.match(r"(`{3,}|~{3,})(.*)", line)
        if match and not mark:
            mark = match[1]
        elif match and match[1].startswith(mark) and not match[2].strip(" \t"):
            mark = ""
    return bool(mark)
