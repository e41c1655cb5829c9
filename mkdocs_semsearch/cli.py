"""The command `semsearch`: thin commands over the same functions that the plugin and the server use."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mkdocs_semsearch.artifact.layout import DEFAULT_INDEX_DIR
from mkdocs_semsearch.errors import QueryError, SemsearchError

__all__ = ["main"]

_EPILOG = """\
examples:
  semsearch index site/ --config mkdocs.yml       index a site that is already built
  semsearch serve --site site/                    search server and site on http://127.0.0.1:8765/
  semsearch query "rotate api keys" --filter tags=security --filter year=2023..2025
  semsearch inspect --verify                      what is in the index, every hash checked
  semsearch eval questions.jsonl --min-mrr 0.8    fail a CI job when search quality drops

INDEX is the folder that `mkdocs build` or `semsearch index` wrote; by default the variable SEMSEARCH_INDEX, else
semsearch-index in this folder. Exit codes: 0 fine (no results is fine), 1 failed, 2 wrong usage.
"""

_FILTERS = """\
filters (all must hold):
  tags=security           the field has this value         year=2023..2025       a range, both ends included
  status=draft,review     any of these values              date=2024-01-01..     from a day on
  status!=draft           not this value                   author?               the field has a value
  page.path^=guide/       the text starts with this        chunk.kind=code       what the indexer found out itself
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    _write_anything()
    parser = _parser()
    given = parser.parse_args(arguments)
    command: Callable[[argparse.Namespace], int] | None = getattr(given, "command", None)
    if command is None:
        parser.print_help()
        return 2
    try:
        code = command(given)
        sys.stdout.flush()  # here, where a reader that has gone away can still be told from a failure
        return code
    except SemsearchError as error:
        print(f"semsearch: {error}", file=sys.stderr)
        return 2 if isinstance(error, QueryError) and error.field in _USAGE_FIELDS else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has seen enough; without this Python complains once more while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


_USAGE_FIELDS = ("filters", "limit", "min_score", "offset", "query")


def _write_anything() -> None:
    """Lets a terminal of another encoding show what it can, and escapes of the rest."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _print_json(value: Any) -> None:
    can_write_all = (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(value, ensure_ascii=not can_write_all, indent=2))


def _index(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.built_site import index_built_site
    from mkdocs_semsearch.progress import EmbeddingProgress

    progress = EmbeddingProgress(_say)
    try:
        report = index_built_site(
            given.site_dir, config_file=given.config, index_dir=given.index, widget=given.widget, progress=progress
        )
    finally:
        progress.close()
    for misfit in report.misfits:
        _say(f"warning: {misfit}")
    print(f"Indexed {report.build}")
    return 0


def _serve(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.serving.app import create_app
    from mkdocs_semsearch.serving.server import run
    from mkdocs_semsearch.serving.settings import ServerSettings

    settings = ServerSettings.from_environment(
        index=given.index,
        cors_origins=tuple(given.cors_origin),
        cors_origin_regex=given.cors_origin_regex,
        rate_limit=given.rate_limit,
        log_level=given.log_level,
    )
    if given.site is not None and not given.site.is_dir():
        raise SemsearchError(f"There is no built site in {given.site}: run `mkdocs build` first, or name its folder.")
    app = create_app(
        settings.index,
        site_dir=given.site,
        cors_origins=settings.cors_origins,
        cors_origin_regex=settings.cors_origin_regex,
        default_limit=settings.default_limit,
        min_score=settings.min_score,
        rate_limit=settings.rate_limit,
        mcp_hosts=settings.mcp_hosts,
    )
    run(app, given.host, given.port, log_level=settings.log_level, on_start=lambda url: _announce(url, given.site))
    return 0


def _announce(url: str, site: Path | None) -> None:
    what = "Site and search" if site is not None else "Search server"
    print(f"{what} on {url} (API: {url}docs, stop with Ctrl+C)", flush=True)


def _query(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.cli_text import no_results_text, results_text
    from mkdocs_semsearch.searching import SearchQuery, open_searcher, to_json
    from mkdocs_semsearch.searching.expressions import parse_filter
    from mkdocs_semsearch.serving.settings import ServerSettings

    query = SearchQuery(
        given.text,
        limit=10 if given.limit is None else given.limit,
        offset=given.offset,
        granularity=given.granularity,
        mode=given.mode,
        min_score=0.0 if given.min_score is None else given.min_score,
        filters=tuple(parse_filter(expression) for expression in given.filter),
        facets=tuple(given.facet),
        explain=given.explain,
    )
    settings = ServerSettings.from_environment(default_limit=given.limit, min_score=given.min_score)
    query = query.with_limit(settings.default_limit).with_min_score(settings.min_score)
    with open_searcher(_index_dir(given.index)) as searcher:
        response = searcher.search(query)
        if given.format == "json":
            _print_json(to_json(response))
        elif response.results:
            print(results_text(response))
        else:
            print(no_results_text(response, searcher))
    return 0


def _mcp(given: argparse.Namespace) -> int:
    from importlib.util import find_spec

    from mkdocs_semsearch.serving.live_index import LiveIndex

    if find_spec("mcp") is None:
        raise SemsearchError("The MCP server needs an extra: pip install 'mkdocs-semsearch[mcp]'.")
    from mkdocs_semsearch.serving.mcp import run_stdio

    source = LiveIndex.at(_index_place(given.index))
    source.start()
    try:
        run_stdio(source)
    finally:
        source.close()
    return 0


def _inspect(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.artifact import open_index
    from mkdocs_semsearch.cli_text import inspection, inspection_text

    found = inspection(open_index(_index_dir(given.index), verify=given.verify), verified=given.verify)
    if given.format == "json":
        _print_json(found)
    else:
        print(inspection_text(found))
    return 0


def _eval(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.cli_text import evaluation_text
    from mkdocs_semsearch.searching.evaluation import evaluate_indexes, read_queries

    queries = read_queries(given.queries)
    found = evaluate_indexes(
        _named_indexes(given.index), queries, mode=given.mode, by_section=given.granularity == "section"
    )
    figures = {"mode": given.mode, "granularity": given.granularity, **found.figures()}
    if given.format == "json":
        _print_json(figures)
    else:
        print(evaluation_text(figures, found, misses=given.misses))
    if not found.judged:
        raise SemsearchError(f"No question of {given.queries} has its answer in this index: nothing was measured.")
    if given.min_mrr is not None and found.mrr < given.min_mrr:
        raise SemsearchError(f"MRR@10 is {found.mrr:.4f}, below the {given.min_mrr} asked for.")
    return 0


def _named_indexes(given: Sequence[str]) -> dict[str | None, Path]:
    """Reads `DIR` or any number of `corpus=DIR`."""
    if len(given) > 1 or (given and "=" in given[0] and not Path(given[0]).is_dir()):
        pairs = [item.partition("=") for item in given]
        if not all(name and separator and folder for name, separator, folder in pairs):
            raise SemsearchError("Give one INDEX, or for each a corpus and its folder: fastapi=a/semsearch-index.")
        return {name: _index_dir(folder) for name, _, folder in pairs}
    return {None: _index_dir(given[0] if given else None)}


def _index_place(given: str | None) -> str:
    return given or os.environ.get("SEMSEARCH_INDEX") or DEFAULT_INDEX_DIR


def _index_dir(given: str | None) -> Path:
    """Returns the folder of an index, or of the local copy of one that is published at a URL."""
    from mkdocs_semsearch.serving.published_index import local_folder

    return local_folder(_index_place(given))


def _say(line: str) -> None:
    print(f"semsearch: {line}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    from importlib.metadata import version

    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="semsearch",
        description="Documentation search that understands the question and never loses the literal hit.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("--version", action="version", version=f"semsearch {version('mkdocs-semsearch')}")
    commands = parser.add_subparsers(metavar="COMMAND", title="commands")

    def command(name: str, run: Callable[[argparse.Namespace], int], summary: str, **kwargs: Any) -> Any:
        sub = commands.add_parser(name, help=summary, description=summary, formatter_class=raw, **kwargs)
        sub.set_defaults(command=run)
        return sub

    sub = command("index", _index, "index a site that is already built (MkDocs, ProperDocs, Zensical or plain HTML)")
    sub.add_argument("site_dir", nargs="?", type=Path, default=Path("site"), metavar="SITE_DIR", help="default: site")
    sub.add_argument(
        "--config",
        type=Path,
        metavar="mkdocs.yml",
        help="options of the plugin, and the docs folder that front matter is read from; default: mkdocs.yml in this "
        "folder when it is there",
    )
    sub.add_argument("--index", type=Path, metavar="DIR", help="where to write; default: index_dir of the config")
    sub.add_argument(
        "--widget", action="store_true", help="also copy the search box into SITE_DIR/assets/semsearch (for Zensical)"
    )

    sub = command("serve", _serve, "answer questions over HTTP; with --site also serve the site")
    sub.add_argument("index", nargs="?", metavar="INDEX", help="folder of the index, or URL of a published one")
    sub.add_argument("--site", type=Path, metavar="SITE_DIR", help="serve this built site from the same origin")
    sub.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    sub.add_argument("--port", type=int, default=8765, help="default: %(default)s; 0 takes a free one")
    sub.add_argument(
        "--cors-origin", action="append", default=[], metavar="ORIGIN", help="pages from here may ask; repeat for more"
    )
    sub.add_argument("--cors-origin-regex", metavar="RE", help="pages whose whole origin matches may ask")
    sub.add_argument("--rate-limit", metavar="N/UNIT", help="for each client address, such as 60/minute")
    sub.add_argument("--log-level", choices=("debug", "info", "warning", "error"))

    sub = command("query", _query, "ask one question", epilog=_FILTERS)
    sub.add_argument("text", metavar="TEXT", help='the question; "a phrase in double quotes" must occur')
    sub.add_argument("--index", metavar="DIR", help="folder of the index, or URL of a published one")
    sub.add_argument("--limit", type=int, metavar="N", help="results wanted, 1 to 50 (default: 10)")
    sub.add_argument("--offset", type=int, default=0, metavar="N", help="results skipped")
    sub.add_argument("--granularity", choices=("section", "page"), default="section", help="default: %(default)s")
    _add_mode(sub)
    sub.add_argument("--filter", action="append", default=[], metavar="EXPR", help="see below; repeat for more")
    sub.add_argument("--facet", action="append", default=[], metavar="FIELD", help="count the values of this field")
    sub.add_argument("--min-score", type=float, metavar="S", help="least cosine similarity, 0 to 1")
    sub.add_argument("--explain", action="store_true", help="show the parts of each score")
    _add_format(sub)

    sub = command("mcp", _mcp, "answer an agent over stdio by the Model Context Protocol (extra `mcp`)")
    sub.add_argument("index", nargs="?", metavar="INDEX", help="folder of the index, or URL of a published one")

    sub = command("inspect", _inspect, "tell what is in an index")
    sub.add_argument("index", nargs="?", metavar="INDEX", help="folder of the index, or URL of a published one")
    sub.add_argument("--verify", action="store_true", help="compare every file with its hash")
    _add_format(sub)

    sub = command("eval", _eval, "measure search quality over questions with known answers")
    sub.add_argument(
        "queries",
        type=Path,
        metavar="QUERIES.jsonl",
        help='lines {"query": "…", "answer_page": "guide/auth.md"}; answer_anchor, also_pages and corpus are optional',
    )
    sub.add_argument("index", nargs="*", metavar="INDEX", help="folder of the index, or CORPUS=DIR for each corpus")
    sub.add_argument("--granularity", choices=("section", "page"), default="page", help="default: %(default)s")
    _add_mode(sub)
    sub.add_argument("--min-mrr", type=float, metavar="X", help="exit 1 when MRR@10 is below X")
    sub.add_argument("--misses", action="store_true", help="list the questions whose answer is not the first result")
    _add_format(sub)
    return parser


def _add_mode(sub: argparse.ArgumentParser) -> None:
    sub.add_argument(
        "--mode",
        choices=("hybrid", "semantic", "lexical"),
        default="hybrid",
        help="rank by meaning, by words, or by both (default: %(default)s)",
    )


def _add_format(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("--format", choices=("text", "json"), default="text", help="default: %(default)s")
