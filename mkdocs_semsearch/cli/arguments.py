"""Defines the arguments of the command `semsearch` with their help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

QUESTIONS = "search-questions.jsonl"
"""File for questions of readers, in which authors correct them by hand."""

_EPILOG = """\
examples:
  semsearch index site/ --config mkdocs.yml       index a site that is already built
  semsearch serve --site site/                    search server and site on http://127.0.0.1:8765/
  semsearch query "rotate api keys" --filter tags=security --filter year=2023..2025
  semsearch inspect --verify                      what is in the index, every hash checked
  semsearch eval questions.jsonl --min-mrr 0.8    fail a CI job when search quality drops

INDEX is the folder that `mkdocs build` or `semsearch index` wrote; by default the variable SEMSEARCH_INDEX, else
semsearch-index in this folder. Exit codes: 0 success (also without results), 1 failure, 2 wrong usage.
"""

_INDEX = "folder of the index, or URL of a published one; default: SEMSEARCH_INDEX, else semsearch-index"

_INDEX_OF_RECORDS = f"{_INDEX}; NAME=INDEX takes only the records of this one of several indexes"

CONFIG_FILES = ("mkdocs.yml", "mkdocs.yaml", "properdocs.yml", "zensical.toml")
_FOUND = f"the first of {', '.join(CONFIG_FILES)} that is in this folder"

_FILTERS = """\
filters (all must hold):
  tags=security           the field has this value         year=2023..2025       a range, both ends included
  status=draft,review     any of these values              date=2024-01-01..     from a day on
  status!=draft           not this value                   author?               the field has a value
  page.path^=guide/       the text starts with this        chunk.kind=code       a field that the indexer adds

a question may begin with a dash: semsearch query --no-livereload
put two dashes before one that is an option of this command, or begins with -h: semsearch query -- --limit
"""

_MAP = """\
examples:
  semsearch map                                          map.html from semsearch-index
  semsearch map --facet tags --output tags.html          coloured by the first tag of each page
  semsearch map --insights /var/lib/semsearch --since 30d

The file loads nothing: open it in a browser, or send it to somebody. Sections near each other say similar things.
Squares are questions; orange ones have no good answer. Many orange squares where there are no sections show that a page
is missing. An earlier map is replaced, any other file is not.
"""


def parse_arguments(parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parses a command line; ends the process with code 2 if it is wrong.

    The question of `semsearch query` may begin with a dash: an unknown flag is the question if there is no other.
    Arguments that may be missing may also follow an option, `semsearch eval FILE --misses INDEX`: argparse ends their
    list at the option. After `--` they may begin with a dash.
    """
    given, unknown = parser.parse_known_args(arguments)
    parser = getattr(given, "parser", parser)  # that of the subcommand, for its usage
    following = getattr(given, "following", "")
    at = unknown.index("--") if "--" in unknown else len(unknown)
    if following and not any(word.startswith("-") for word in unknown[:at]):
        unknown = unknown[:at] + unknown[at + 1 :]
        taken = getattr(given, following)
        if isinstance(taken, list):
            setattr(given, following, taken + unknown)
            unknown = []
        elif taken is None and unknown:
            setattr(given, following, unknown.pop(0))
    if len(unknown) == 1 and getattr(given, "text", "") is None:
        given.text = typed_text(unknown.pop())
    if unknown:
        is_question = hasattr(given, "text") and not unknown[0].startswith("-")
        advice = " (put a question of several words into quotes)" if is_question else ""
        parser.error(f"unrecognized arguments: {' '.join(unknown)}{advice}")
    if getattr(given, "text", "") is None and not (given.filter or given.tag):
        parser.error("the following arguments are required: TEXT, or --filter to list pages")
    return given


def typed_text(given: str) -> str:
    """Reads the bytes of an argument that Python could not read as UTF-8: in the locale C it reads only ASCII."""
    try:
        return given.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    except UnicodeEncodeError:  # half of a pair, from a shell on Windows
        return given


def _path(given: str) -> Path:
    """Returns a path; an empty one, such as of a variable that is not set, would be the current folder."""
    if not given:
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(given)


def _path_text(given: str) -> str:
    """Returns a path as it was given; an empty one is refused."""
    _path(given)
    return given


def build_parser(commands: Mapping[str, Callable[[argparse.Namespace], int]]) -> argparse.ArgumentParser:
    """Builds the parser; the parsed namespace has the chosen command under `command` and its parser under `parser`.

    Args:
        commands: name of every command to the function that runs it.
    """
    from importlib.metadata import version

    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="semsearch",
        description="Documentation search that understands questions and always finds literal matches.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("--version", action="version", version=f"semsearch {version('mkdocs-semsearch')}")
    subparsers = parser.add_subparsers(metavar="COMMAND", title="commands")
    for name, (summary, add_arguments, options) in _COMMANDS.items():
        sub = subparsers.add_parser(name, help=summary, description=summary, formatter_class=raw, **options)
        sub.set_defaults(command=commands[name], parser=sub)
        add_arguments(sub)
    return parser


def _add_index_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "site_dir", nargs="?", type=_path, metavar="SITE_DIR", help="default: site_dir of the config, else site"
    )
    sub.add_argument(
        "--config",
        type=_path,
        metavar="mkdocs.yml",
        help=f"options of the plugin, and the docs folder that front matter is read from; default: {_FOUND}",
    )
    sub.add_argument("--index", type=_path, metavar="DIR", help="where to write; default: index_dir of the config")
    sub.add_argument(
        "--widget", action="store_true", help="also copy the search box into SITE_DIR/assets/semsearch (for Zensical)"
    )
    sub.add_argument(
        "--static", action="store_true", help="also write the search without a server into SITE_DIR/semsearch"
    )


def _add_serve_arguments(sub: argparse.ArgumentParser) -> None:
    _add_indexes(sub)
    sub.add_argument("--site", type=_path, metavar="SITE_DIR", help="serve this built site from the same origin")
    sub.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    sub.add_argument("--port", type=int, default=8765, help="default: %(default)s; 0 for any free port")
    sub.add_argument(
        "--cors-origin",
        dest="cors_origins",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="allow requests from pages of this origin; repeat for more",
    )
    sub.add_argument("--cors-origin-regex", metavar="RE", help="allow requests from pages whose whole origin matches")
    sub.add_argument("--rate-limit", metavar="N/UNIT", help="limit for each client address, such as 60/minute")
    sub.add_argument(
        "--client-header",
        metavar="NAME",
        help="header in which your proxy writes the client's address (X-Forwarded-For)",
    )
    sub.add_argument(
        "--max-concurrent", type=int, metavar="N", help="requests at a time; further ones get 503 (default: 64)"
    )
    sub.add_argument("--request-seconds", type=float, metavar="S", help="time limit of a request (default: 10)")
    sub.add_argument(
        "--token-file", type=_path_text, metavar="FILE", help="answer only requests with a bearer token from this file"
    )
    sub.add_argument("--reuse-port", action="store_true", help="let several of these processes share the port")
    sub.add_argument("--log-level", choices=("debug", "info", "warning", "error"), help="default: info")
    sub.add_argument("--log-format", choices=("text", "json"), help="default: text")
    sub.add_argument("--log-queries", action="store_true", help="log the text of questions too")
    sub.add_argument(
        "--insights",
        type=_path_text,
        metavar="DIR",
        help="record in this folder what readers search for, without names",
    )


def _add_insights_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "words",
        nargs="*",
        metavar="DIR | forget TEXT | export FILE",
        help="folder of the records (default: the variable SEMSEARCH_INSIGHTS); forget TEXT deletes the records that "
        "contain a text, export FILE writes all into a Parquet file: the folder may follow",
    )
    sub.add_argument(
        "--export-queries",
        nargs="?",
        const="",
        metavar="FILE",
        help="write questions with the page that most searches opened, for semsearch eval; without a FILE into "
        f"{QUESTIONS}, unless that exists",
    )
    sub.set_defaults(following="words")
    sub.add_argument("--index", metavar="INDEX", help=_INDEX_OF_RECORDS)
    sub.add_argument("--format", choices=("text", "json", "html"), help="of the report; default: text")
    sub.add_argument(
        "--since", default="", metavar="DAY", help="records from this day on (2026-11-01), or of the last days (30d)"
    )


def _add_lint_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("index", nargs="?", metavar="INDEX", help=_INDEX_OF_RECORDS)
    sub.add_argument(
        "--config",
        type=_path,
        metavar="mkdocs.yml",
        help=f"navigation and docs folder; default: {_FOUND}",
    )
    sub.add_argument("--insights", metavar="DIR", help="recorded searches: pages that readers opened are not orphans")
    sub.add_argument("--quiet", action="append", default=[], metavar="RULE", help="leave a rule out; repeat for more")
    sub.add_argument("--strict", action="store_true", help="exit with 1 if there is any problem")
    sub.add_argument("--format", choices=("text", "json", "github"), default="text", help="default: %(default)s")


def _add_map_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("index", nargs="?", metavar="INDEX", help=_INDEX_OF_RECORDS)
    sub.add_argument(
        "--facet", metavar="FIELD", help="field for the colours; default: page.section, if pages differ in it"
    )
    sub.add_argument("--insights", metavar="DIR", help="recorded searches: their questions are drawn on the map")
    sub.add_argument(
        "--since", default="", metavar="DAY", help="questions from this day on (2026-11-01), or of the last days (30d)"
    )
    sub.add_argument(
        "--output", type=_path, default=Path("map.html"), metavar="FILE", help="where to write (default: %(default)s)"
    )


def _add_tune_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("queries", type=_path, metavar="QUERIES.jsonl", help="as for semsearch eval, at least 60 of them")
    sub.add_argument("index", nargs="?", metavar="INDEX", help=_INDEX)
    sub.set_defaults(following="index")
    sub.add_argument(
        "--config",
        type=_path,
        default=Path("mkdocs.yml"),
        metavar="mkdocs.yml",
        help="file to write the weight into (default: %(default)s)",
    )
    sub.add_argument("--dry-run", action="store_true", help="write nothing")
    _add_format(sub)


def _add_query_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "text",
        nargs="?",
        type=typed_text,
        metavar="TEXT",
        help='the question, or a phrase in "double quotes"; - reads it from standard input; without it, the pages that '
        "pass the filters are listed",
    )
    sub.add_argument("--index", metavar="DIR", help=_INDEX)
    sub.add_argument("--limit", type=int, metavar="N", help="maximum number of results, 1 to 50 (default: 10)")
    sub.add_argument("--offset", type=int, default=0, metavar="N", help="results to skip (default: %(default)s)")
    _add_granularity(sub, "section")
    _add_mode(sub, "static")
    for name, value, meaning in (
        ("--filter", "EXPR", "see below"),
        ("--tag", "TAG", "as --filter tags=TAG"),
        ("--facet", "FIELD", "count the values of this field"),
    ):
        sub.add_argument(
            name, action="append", default=[], type=typed_text, metavar=value, help=f"{meaning}; repeat for more"
        )
    sub.add_argument(
        "--language", default="", metavar="TAG", help="language of the reader, like uk: pages in others score lower"
    )
    sub.add_argument(
        "--sort",
        choices=("relevance", "newest"),
        default="relevance",
        help="default: %(default)s; newest: by last change",
    )
    sub.add_argument("--min-score", type=float, metavar="S", help="lowest score of a result, 0 to 1 (default: 0)")
    sub.add_argument(
        "--include-weak", action="store_true", help="append weaker results, which do not match, marked weak"
    )
    sub.add_argument("--literal", "--no-correct", action="store_true", help="do not correct typos")
    sub.add_argument("--explain", action="store_true", help="show the parts of each score")
    _add_format(sub)


def _add_inspect_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("index", nargs="?", metavar="INDEX", help=_INDEX)
    sub.add_argument("--verify", action="store_true", help="compare every file with its hash")
    _add_format(sub)


def _add_requirements_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--extra", action="append", default=[], choices=("mcp", "qdrant", "tokenizers"), help="add what an extra needs"
    )


def _add_eval_arguments(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "queries",
        type=_path,
        metavar="QUERIES.jsonl",
        help='lines {"query": "…", "answer_page": "guide/auth.md"}; optional: answer_anchor, also_pages, also_anchors, '
        "corpus",
    )
    place = f"{_INDEX}; or CORPUS=INDEX for each corpus"
    # Without a default, argparse would require one.
    sub.add_argument("index", nargs="*", default=[], metavar="INDEX", help=place)
    sub.set_defaults(following="index")
    _add_granularity(sub, "page")
    _add_mode(sub)
    sub.add_argument("--min-mrr", type=float, metavar="X", help="exit 1 when MRR@10 is below X")
    sub.add_argument(
        "--misses",
        action="store_true",
        help="list the questions whose answer is not the first result, or not in the index",
    )
    _add_format(sub)


def _add_indexes(sub: argparse.ArgumentParser) -> None:
    """Adds the argument for one index, or several by name."""
    group = sub.add_mutually_exclusive_group()
    group.add_argument("index", nargs="?", metavar="INDEX", help=_INDEX)
    group.add_argument(
        "--index",
        dest="named_index",
        action="append",
        default=[],
        metavar="[NAME=]INDEX",
        help="the same, or one of several indexes, which answer under their names and all together; repeat for more",
    )


def _add_granularity(sub: argparse.ArgumentParser, default: str) -> None:
    sub.add_argument(
        "--granularity",
        choices=("section", "page", "chunk", "document"),
        default=default,
        help="default: %(default)s; chunk is section, document is page",
    )


def _add_mode(sub: argparse.ArgumentParser, *more: str) -> None:
    sub.add_argument(
        "--mode",
        choices=("hybrid", "semantic", "lexical", *more),
        default="hybrid",
        help="rank by meaning, by words, or by both (default: %(default)s)"
        + ("; static: by both, as --engine static does" if more else ""),
    )
    sub.add_argument(
        "--engine",
        choices=("sidecar", "static"),
        default="sidecar",
        help="static: search as a browser does without a server; INDEX may then be a built site, too",
    )


def _add_format(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--format", choices=("text", "json"), default="text", help="default: %(default)s")


_COMMANDS: Mapping[str, tuple[str, Callable[[argparse.ArgumentParser], None], Mapping[str, Any]]] = {
    "index": (
        "index a site that is already built (MkDocs, ProperDocs, Zensical or plain HTML)",
        _add_index_arguments,
        {},
    ),
    "serve": ("answer questions over HTTP; with --site also serve the site", _add_serve_arguments, {}),
    "insights": ("report what readers searched for, and what they did not find", _add_insights_arguments, {}),
    "lint": ("report what keeps readers from finding pages", _add_lint_arguments, {}),
    "map": (
        "draw all sections in two dimensions, coloured by a facet, with readers' questions over them (extra `map`)",
        _add_map_arguments,
        {"epilog": _MAP},
    ),
    "tune": ("fit the weight of the semantic score to questions about this site", _add_tune_arguments, {}),
    "query": ("run one query", _add_query_arguments, {"epilog": _FILTERS, "allow_abbrev": False}),
    "mcp": ("answer an agent over stdio by the Model Context Protocol (extra `mcp`)", _add_indexes, {}),
    "inspect": ("show what is in an index", _add_inspect_arguments, {}),
    "requirements": (
        "list the packages that a search server needs, for pip install -r",
        _add_requirements_arguments,
        {},
    ),
    "eval": ("measure search quality over questions with known answers", _add_eval_arguments, {}),
}
"""Every command with its summary, the function that adds its arguments, and options of its parser."""
