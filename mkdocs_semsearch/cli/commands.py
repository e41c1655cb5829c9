"""Runs the command `semsearch`; its subcommands call the same functions as the plugin and the server."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.artifact.manifest import DEFAULT_INDEX_DIR
from mkdocs_semsearch.cli.arguments import build_parser, parse_arguments
from mkdocs_semsearch.errors import ConfigurationError, QueryError, SemsearchError

if TYPE_CHECKING:
    from mkdocs_semsearch.insights.store import InsightStore
    from mkdocs_semsearch.serving.settings import ServerSettings
    from mkdocs_semsearch.site.pipeline import Settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    _write_anything()
    parser = build_parser(_COMMANDS)
    given = parse_arguments(parser, arguments)
    command: Callable[[argparse.Namespace], int] | None = getattr(given, "command", None)
    if command is None:
        parser.print_help()
        return 2
    from mkdocs_semsearch.serving.responses import is_panic

    try:
        code = command(given)
        sys.stdout.flush()  # here, so that a closed pipe is caught below
        return code
    except SemsearchError as error:
        print(f"semsearch: {error}", file=sys.stderr)
        return 2 if isinstance(error, QueryError) and error.field in _USAGE_FIELDS else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has closed the pipe. Without this, Python would report the error again while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except BaseException as error:
        if not is_panic(error):
            raise
        _say(f"A library failed ({error}): check the index with `semsearch inspect --verify`.")
        return 1


_CONFIG_FILES = ("mkdocs.yml", "mkdocs.yaml", "properdocs.yml", "zensical.toml")
_USAGE_FIELDS = ("filters", "limit", "min_score", "offset", "query")


def _write_anything() -> None:
    """Makes standard output print escapes for characters that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _print_json(value: Any) -> None:
    can_write_all = (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(value, ensure_ascii=not can_write_all, indent=2))


def _index(given: argparse.Namespace) -> int:
    try:
        from mkdocs_semsearch.site.built_site import index_built_site
        from mkdocs_semsearch.site.pipeline import EmbeddingProgress, StaticSettings
        from mkdocs_semsearch.site.source_files import load_site_config
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"`semsearch index` needs {error.name}, which is not installed here: pip install mkdocs-semsearch."
        ) from None

    config_file = given.config or next((Path(name) for name in _CONFIG_FILES if Path(name).is_file()), None)
    config = load_site_config(config_file) if config_file else None
    settings = _settings(config.plugin_options if config else {}, config_file)
    settings = replace(settings, index_dir=given.index or settings.index_dir)
    if given.static:
        settings = replace(settings, static=replace(settings.static, mode="always"))
    elif settings.static.mode == "auto" and not given.widget:
        # A site that does not get the search box has no use for the files.
        settings = replace(settings, static=StaticSettings("never"))
    progress = EmbeddingProgress(_say)
    try:
        report = index_built_site(given.site_dir, settings, config, widget=given.widget, progress=progress)
    finally:
        progress.close()
    for misfit in report.misfits:
        _say(f"warning: {misfit}")
    if report.build.warning:
        _say(f"warning: {report.build.warning}")
    print(f"Indexed {report.build}")
    return 0


def _settings(options: Mapping[str, Any], config_file: Path | None) -> Settings:
    try:
        from mkdocs_semsearch.plugin.options import read_settings
    except ImportError:
        raise ConfigurationError("`semsearch index` needs MkDocs for reading options: pip install mkdocs.") from None
    return read_settings(options, config_file)


def _leave_cores_to_other_questions() -> None:
    """Limits NumPy to one thread, because more threads spin after each matrix product; call before importing it."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _fit_into_address_space(settings: ServerSettings) -> None:
    """Makes libraries reserve less if the address space is limited; call before PyArrow is imported."""
    from mkdocs_semsearch.artifact import read_manifest
    from mkdocs_semsearch.serving.admission import keep_within_limit

    size = 0
    for place in [place for _, place in settings.indexes] or [settings.index]:
        with contextlib.suppress(SemsearchError):  # it is published, or not built yet
            size += read_manifest(Path(place)).size
    keep_within_limit(size)


def _server_settings(given: argparse.Namespace) -> ServerSettings:
    """Reads the settings of a server: from the flags that have their names, else from the environment."""
    from mkdocs_semsearch.serving.settings import ServerSettings, parse_named_index

    names = {field.name for field in fields(ServerSettings)}
    flags: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in vars(given).items() if name in names
    }
    flags["indexes"] = tuple(map(parse_named_index, given.named_index))
    return ServerSettings.from_environment(None, **flags)


def _serve(given: argparse.Namespace) -> int:
    _leave_cores_to_other_questions()
    settings = _server_settings(given)
    _fit_into_address_space(settings)
    from mkdocs_semsearch.serving.admission import is_loopback
    from mkdocs_semsearch.serving.app import create_app
    from mkdocs_semsearch.serving.server import run

    if not settings.hosts and is_loopback(given.host):  # a web page could lead its own name to this machine
        settings = replace(settings, hosts=("localhost",))
    if given.site is not None and not given.site.is_dir():
        raise SemsearchError(f"There is no built site in {given.site}: run `mkdocs build` first, or name its folder.")
    run(
        create_app(dict(settings.indexes) or settings.index, site_dir=given.site, settings=settings),
        given.host,
        given.port,
        log_level=settings.log_level,
        log_format=settings.log_format,
        reuse_port=given.reuse_port,
        on_start=lambda url: _announce(url, given.site),
    )
    return 0


def _announce(url: str, site: Path | None) -> None:
    what = "Site and search" if site is not None else "Search server"
    print(f"{what} on {url} (API: {url}docs, stop with Ctrl+C)", flush=True)


def _query(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.cli.arguments import parse_filter
    from mkdocs_semsearch.cli.text import no_results_text, results_text
    from mkdocs_semsearch.opening import open_engine
    from mkdocs_semsearch.searching import Equals, SearchQuery, to_json
    from mkdocs_semsearch.serving.settings import ServerSettings

    settings = ServerSettings.from_environment()
    query = SearchQuery(
        given.text or "",
        limit=settings.default_limit if given.limit is None else given.limit,
        offset=given.offset,
        granularity=given.granularity,
        mode="hybrid" if given.mode == "static" else given.mode,
        min_score=settings.min_score if given.min_score is None else given.min_score,
        filters=(*map(parse_filter, given.filter), *(Equals("tags", tag) for tag in given.tag)),
        facets=tuple(given.facet),
        language=given.language,
        sort=given.sort,
        include_weak=given.include_weak,
        correct=not given.literal,
        explain=given.explain,
    )
    with open_engine("static" if given.mode == "static" else given.engine)(_index_place(given.index)) as searcher:
        response = searcher.search(query)
        if given.format == "json":
            _print_json(to_json(response))
        elif response.results:
            print(results_text(response))
        else:
            print(no_results_text(query, response, searcher))
    return 0


def _mcp(given: argparse.Namespace) -> int:
    _leave_cores_to_other_questions()
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise SemsearchError("The MCP server needs an extra: pip install 'mkdocs-semsearch[mcp]'.")
    settings = _server_settings(given)
    _fit_into_address_space(settings)
    from mkdocs_semsearch.serving.encoder_pool import EncoderPool
    from mkdocs_semsearch.serving.live_index import LiveIndex
    from mkdocs_semsearch.serving.mcp import run_stdio

    encoders = EncoderPool()
    several = {name: LiveIndex.at(place, encoders=encoders) for name, place in settings.indexes}
    run_stdio(several or LiveIndex.at(settings.index))
    return 0


def _inspect(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.artifact import open_index
    from mkdocs_semsearch.cli.text import inspection, inspection_text

    found = inspection(open_index(_index_dir(given.index), verify=given.verify), verified=given.verify)
    if given.format == "json":
        _print_json(found)
    else:
        print(inspection_text(found))
    return 0


def _insights(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.insights.store import InsightStore, first_hour

    action, *rest = given.words if given.words[:1] in (["forget"], ["export"]) else ["report", "", *given.words]
    what, place = (*rest, "", "")[:2]
    if len(rest) > 2 or (action != "report" and not what):
        raise SemsearchError("Write insights [DIR], insights forget TEXT [DIR] or insights export FILE.parquet [DIR].")
    store = InsightStore.existing(_insights_dir(place))
    since = first_hour(given.since)
    if action == "forget":
        print(f"Deleted {store.forget(what)} records.")
    elif given.export_queries:
        print(f"Wrote {_export_queries(store, since, Path(given.export_queries))} into {given.export_queries}.")
    elif action == "export":
        print(f"Wrote {store.export(Path(what), since)} records into {what}.")
    else:
        _report(given, store, since)
    return 0


def _export_queries(store: InsightStore, since: str, file: Path) -> str:
    from mkdocs_semsearch.insights.questions import labelled_questions

    found = labelled_questions(store.read(since))
    try:
        file.write_text("".join(json.dumps(item, ensure_ascii=False) + "\n" for item in found), encoding="utf-8")
    except OSError as error:
        raise SemsearchError(f"{file} cannot be written: {error.strerror}.") from None
    return f"{len(found)} question{'s' if len(found) != 1 else ''}"


def _report(given: argparse.Namespace, store: InsightStore, since: str) -> None:
    from mkdocs_semsearch.insights.report import make_report, report_html, report_text
    from mkdocs_semsearch.searching import open_searcher

    with open_searcher(_index_dir(given.index)) as searcher:
        report = make_report(store.read(since), searcher, dropped=store.counters().get("dropped", 0))
    if given.format == "json":
        _print_json(report.to_json())
    elif given.format == "html":
        print(report_html(report))
    else:
        print(report_text(report))


def _insights_dir(given: str) -> Path:
    place = given or os.environ.get("SEMSEARCH_INSIGHTS", "")
    if not place:
        raise SemsearchError("Name the folder of the records, or set SEMSEARCH_INSIGHTS.")
    return Path(place)


def _lint(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.insights.lint import RULES, findings_in, github_annotation
    from mkdocs_semsearch.insights.store import InsightStore
    from mkdocs_semsearch.searching import open_searcher
    from mkdocs_semsearch.site.source_files import load_site_config

    unknown = sorted(set(given.quiet) - set(RULES))
    if unknown:
        raise SemsearchError(f"There is no rule {unknown[0]!r}: the rules are {', '.join(RULES)}.")
    config_file = given.config or next((Path(name) for name in _CONFIG_FILES if Path(name).is_file()), None)
    config = load_site_config(config_file) if config_file else None
    in_navigation = None if config is None or config.nav is None else config.nav.__contains__
    searches = InsightStore.existing(Path(given.insights)).read() if given.insights else []
    reached = {search.opened for search in searches if search.opened}
    folder = _index_dir(given.index)
    with open_searcher(folder) as searcher:
        found = findings_in(folder, searcher, quiet=given.quiet, in_navigation=in_navigation, reached=reached)
    docs_dir = os.path.relpath(config.docs_dir) if config else "docs"
    if given.format == "json":
        _print_json([finding.to_json() for finding in found])
    for finding in found if given.format != "json" else ():
        print(github_annotation(finding, docs_dir) if given.format == "github" else finding)
    _say(f"{len(found)} findings")
    return 1 if found and given.strict else 0


def _map(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.insights.site_map import make_site_map, site_map_html, write_site_map
    from mkdocs_semsearch.insights.store import InsightStore, first_hour
    from mkdocs_semsearch.searching import open_searcher

    since = first_hour(given.since)
    searches = InsightStore.existing(Path(given.insights)).read(since) if given.insights else []
    folder = _index_dir(given.index)
    with open_searcher(folder) as searcher:
        drawn = make_site_map(folder, searcher, facet=given.facet, searches=searches)
    replaced = write_site_map(given.output, site_map_html(drawn))
    groups = f", {len(drawn.questions)} groups of questions" if given.insights else ""
    print(f"{'Replaced' if replaced else 'Wrote'} {given.output}: {len(drawn.sections)} sections{groups}.")
    return 0


def _tune(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.insights.tune import fit_semantic_share, write_semantic_share
    from mkdocs_semsearch.searching import open_searcher
    from mkdocs_semsearch.searching.evaluation import read_queries
    from mkdocs_semsearch.site.source_files import load_site_config

    with open_searcher(_index_dir(given.index)) as searcher:
        found = fit_semantic_share(searcher, read_queries(given.queries))
    if given.format == "json":
        _print_json(found.to_json())
    else:
        print(
            f"{found.questions} questions. MRR@10 of those held out: {found.held_out_before:.4f} with the share of "
            f"meaning {found.before:g}, {found.held_out:.4f} with the share that the others chose (standard error "
            f"{found.error:.4f}). Best over all: {found.share:g}."
        )
    if not found.helps:
        _say("nothing to change: held-out questions gain no more than chance")
    elif given.dry_run:
        _say(f"not written: ranking: {{semantic: {found.share:g}}}")
    else:
        options = {"semantic": found.share}
        file = given.config
        write_semantic_share(file, found.share, lambda: load_site_config(file).plugin_options.get("ranking") == options)
        _say(f"{file} has the line `ranking: {{semantic: {found.share:g}}}` now: build again; delete it to undo this")
    return 0


def _requirements(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.serving.server import sidecar_requirements

    print("\n".join(sidecar_requirements(given.extra)))
    return 0


def _eval(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.cli.text import evaluation_text
    from mkdocs_semsearch.opening import open_engine
    from mkdocs_semsearch.searching.evaluation import evaluate_indexes, read_queries

    queries = read_queries(given.queries)
    by_section = given.granularity in ("section", "chunk")
    found = evaluate_indexes(
        _named_indexes(given.index),
        queries,
        mode=given.mode,
        by_section=by_section,
        engine=open_engine(given.engine),
    )
    figures = {"engine": given.engine, "mode": given.mode, "granularity": "section" if by_section else "page"}
    figures |= found.figures()
    if given.format == "json":
        _print_json(figures)
    else:
        print(evaluation_text(figures, found, misses=given.misses))
    if not found.judged:
        raise SemsearchError(f"No question of {given.queries} has its answer in this index: nothing was measured.")
    if given.min_mrr is not None and found.mrr < given.min_mrr:
        raise SemsearchError(f"MRR@10 is {found.mrr:.4f}, below the {given.min_mrr} asked for.")
    return 0


def _named_indexes(given: Sequence[str]) -> dict[str | None, str]:
    """Reads `DIR` or any number of `corpus=DIR`."""
    if len(given) > 1 or (given and "=" in given[0] and not Path(given[0]).is_dir()):
        pairs = [item.partition("=") for item in given]
        if not all(name and separator and folder for name, separator, folder in pairs):
            raise SemsearchError("Give one INDEX, or for each a corpus and its folder: fastapi=a/semsearch-index.")
        return {name: folder for name, _, folder in pairs}
    return {None: _index_place(given[0] if given else None)}


def _index_place(given: str | None) -> str:
    return given or os.environ.get("SEMSEARCH_INDEX") or DEFAULT_INDEX_DIR


def _index_dir(given: str | None) -> Path:
    """Returns the folder of an index, or of the local copy of one that is published at a URL."""
    from mkdocs_semsearch.serving.published_index import local_folder

    return local_folder(_index_place(given))


def _say(line: str) -> None:
    print(f"semsearch: {line}", file=sys.stderr)


_COMMANDS = {
    "index": _index,
    "serve": _serve,
    "query": _query,
    "mcp": _mcp,
    "inspect": _inspect,
    "insights": _insights,
    "lint": _lint,
    "map": _map,
    "tune": _tune,
    "requirements": _requirements,
    "eval": _eval,
}
