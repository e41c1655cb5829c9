"""The subcommands of `semsearch`; they call the same functions as the plugin and the server."""

from __future__ import annotations

import argparse
import contextlib
import json
import logging
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs_semsearch.cli.arguments import CONFIG_FILES, QUESTIONS, typed_text
from mkdocs_semsearch.cli.indexes import check_corpora, index_dir, index_place, named_indexes, one_of_several, opener
from mkdocs_semsearch.cli.streams import say, write_nothing_more
from mkdocs_semsearch.errors import ConfigurationError, SemsearchError, reason
from mkdocs_semsearch.wording import counted

if TYPE_CHECKING:
    from mkdocs_semsearch.insights.search_records import Search
    from mkdocs_semsearch.insights.store import InsightStore
    from mkdocs_semsearch.serving.settings import ServerSettings
    from mkdocs_semsearch.site.source_files import SiteConfig

log = logging.getLogger(__name__)

MANY_SEARCHES = 2000
"""Number of searches from which on a report says that it takes a while."""


def _index(given: argparse.Namespace) -> int:
    try:
        from mkdocs_semsearch.plugin.options import check_place, read_settings
        from mkdocs_semsearch.site.built_site import index_built_site
        from mkdocs_semsearch.site.pipeline import EmbeddingProgress, StaticSettings
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"`semsearch index` needs {error.name}, which is not installed here: run pip install mkdocs-semsearch."
        ) from None

    config_file, config = _site_config(given.config)
    settings = read_settings(config.plugin_options if config else {}, config_file)
    settings = replace(settings, index_dir=given.index or settings.index_dir)
    site_dir = given.site_dir or (config.site_dir if config else Path("site"))
    option = "--index" if given.index else "index_dir (--index)"
    check_place(option, settings.index_dir, docs_dir=config.docs_dir if config else None, site_dir=site_dir)
    if given.static:
        settings = replace(settings, static=replace(settings.static, mode="always"))
    elif settings.static.mode == "auto" and not given.widget:
        # A site without the search box does not need the files.
        settings = replace(settings, static=StaticSettings("never"))
    progress = EmbeddingProgress(say)
    try:
        report = index_built_site(site_dir, settings, config, widget=given.widget, progress=progress)
    finally:
        progress.close()
    for warning in (*report.content_warnings, *report.build_warnings):
        say(f"warning: {warning}")
    if report.left_out:
        reasons = Counter(report.left_out.values()).most_common()
        found = ", ".join(f"{count} × {reason}" for reason, count in reasons)
        say(f"{counted(len(report.left_out), 'HTML file')} left out: {found}")
    print(f"Indexed {report.build}")
    return 0


def _site_config(given: Path | None) -> tuple[Path | None, SiteConfig | None]:
    """Reads the configuration of the site: the given file, else one in this folder if there is one."""
    from mkdocs_semsearch.site.source_files import load_site_config

    file = given or next((Path(name) for name in CONFIG_FILES if Path(name).is_file()), None)
    return file, load_site_config(file) if file else None


def _server_settings(given: argparse.Namespace) -> ServerSettings:
    """Reads the settings of a server, from the flags that have their names, else from the environment.

    It also limits the libraries to what a server may use, so it must be called before NumPy and PyArrow are imported.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # further threads would spin after each matrix product
    from mkdocs_semsearch.artifact import read_manifest
    from mkdocs_semsearch.cli.indexes import served_indexes
    from mkdocs_semsearch.memory import keep_within_limit
    from mkdocs_semsearch.serving.settings import ServerSettings, misspelt_variables

    names = {field.name for field in fields(ServerSettings)}
    flags: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in vars(given).items() if name in names
    }
    flags |= served_indexes(given.named_index)
    flags["index"] = flags["index"] or None  # an empty one is not given, as for every other command
    settings = ServerSettings.from_environment(None, **flags)
    for variable, meant in misspelt_variables(os.environ).items():
        say(f"warning: there is no variable {variable}: did you mean {meant}?")
    size = 0
    for place in [place for _, place in settings.indexes] or [settings.index]:
        with contextlib.suppress(SemsearchError):  # it is published, or not built yet
            size += read_manifest(Path(place)).size
    keep_within_limit(size)
    # Variables that are not settings of the server are checked before it starts, too.
    from mkdocs_semsearch.embedding import check_environment
    from mkdocs_semsearch.serving.published_index import largest_index

    check_environment()
    largest_index()
    return settings


def _serve(given: argparse.Namespace) -> int:
    # Until the server handles it, this signal would end the process, and systemd would not start it again.
    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    settings = _server_settings(given)
    if settings.rate_limit and not settings.client_header and os.environ.get("FORWARDED_ALLOW_IPS"):
        say(
            "warning: the variable FORWARDED_ALLOW_IPS has no effect, so for the rate limit all readers behind a proxy "
            "are one client: set SEMSEARCH_CLIENT_HEADER=X-Forwarded-For"
        )
    from mkdocs_semsearch.serving.admission import is_loopback
    from mkdocs_semsearch.serving.app import create_app
    from mkdocs_semsearch.serving.server import run

    if not settings.hosts and is_loopback(given.host):  # a web page could make its own name resolve to this machine
        settings = replace(settings, hosts=("localhost", f"[{given.host}]" if ":" in given.host else given.host))
    if given.site is not None and not given.site.is_dir():
        raise SemsearchError(f"There is no built site in {given.site}: run `mkdocs build` first, or name its folder.")
    what = "Site and search" if given.site is not None else "Search server"

    def tell(url: str) -> None:
        line = f"{what} on {url} (API: {url}docs, stop with Ctrl+C)"
        if settings.log_format == "json":  # programs read the output and expect JSON in every line
            log.info(line)
        else:
            try:
                print(line, flush=True)
            except OSError:  # nobody can read the output, which ends every other command
                write_nothing_more(sys.stdout)

    run(
        create_app(dict(settings.indexes) or settings.index, site_dir=given.site, settings=settings),
        given.host,
        given.port,
        log_level=settings.log_level,
        log_format=settings.log_format,
        reuse_port=given.reuse_port,
        on_start=tell,
    )
    return 0


def _query(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.cli.text import no_results_text, print_json, print_text, results_text, wrong_facets
    from mkdocs_semsearch.searching.filters import Equals, parse_filter
    from mkdocs_semsearch.searching.query import SearchQuery
    from mkdocs_semsearch.searching.response import to_json
    from mkdocs_semsearch.serving.settings import ServerSettings

    settings = ServerSettings.from_environment()
    text = sys.stdin.buffer.read().decode("utf-8", "replace") if given.text == "-" else given.text
    query = SearchQuery(
        text or "",
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
    with opener("static" if given.mode == "static" else given.engine)(index_place(given.index)) as searcher:
        response = searcher.search(query)
        if given.format == "json":
            print_json(to_json(response))
        elif response.results:
            print_text(results_text(response, first=query.offset + 1))
        else:
            print_text(no_results_text(query, response, searcher))
        for hint in wrong_facets(query, response, searcher):
            say(hint)
    return 0


def _mcp(given: argparse.Namespace) -> int:
    from importlib.util import find_spec

    if find_spec("mcp") is None:
        raise SemsearchError("The MCP server needs an extra: run pip install 'mkdocs-semsearch[mcp]'.")
    settings = _server_settings(given)
    from mkdocs_semsearch.serving.encoder_pool import EncoderPool
    from mkdocs_semsearch.serving.live_index import LiveIndex
    from mkdocs_semsearch.serving.mcp import run_stdio
    from mkdocs_semsearch.serving.wire import Defaults

    encoders = EncoderPool()
    several = {name: LiveIndex.at(place, encoders=encoders, name=name) for name, place in settings.indexes}
    run_stdio(several or LiveIndex.at(settings.index), Defaults(settings.default_limit, settings.min_score))
    return 0


def _inspect(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.artifact import open_index
    from mkdocs_semsearch.cli.text import inspection, inspection_text, print_as

    found = inspection(open_index(index_dir(given.index), verify=given.verify), verified=given.verify)
    print_as(given.format, found, inspection_text(found))
    return 0


def _insights(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.insights.store import InsightStore, first_hour

    action, *rest = given.words if given.words[:1] in (["forget"], ["export"]) else ["report", "", *given.words]
    what, place = (*rest, "", "")[:2]
    if len(rest) > 2 or (action != "report" and not what):
        given.parser.error("write insights [DIR], insights forget TEXT [DIR] or insights export FILE.parquet [DIR]")
    if action != "report" and (given.index is not None or given.export_queries is not None):
        given.parser.error(f"{action} takes the records of all indexes: leave --index and --export-queries out")
    if given.format is not None and (action != "report" or given.export_queries is not None):
        given.parser.error("--format is for the report: leave it out")
    if action == "forget" and given.since:
        given.parser.error("forget deletes records of every day: leave --since out")
    place = place or os.environ.get("SEMSEARCH_INSIGHTS", "")
    if not place:
        raise SemsearchError("Name the folder of the records, or set SEMSEARCH_INSIGHTS.")
    store = InsightStore.existing(Path(place))
    since = first_hour(given.since)
    if action == "forget":
        print(f"Deleted {counted(store.forget(typed_text(what)), 'record')}.")
    elif action == "export":
        print(f"Wrote {counted(store.export(Path(what), since), 'record')} into {what}.")
    else:
        _insights_of_one(given, store, since)
    return 0


def _insights_of_one(given: argparse.Namespace, store: InsightStore, since: str) -> None:
    """Reports or exports the records since an hour, of one of several indexes if it is named."""
    site, index = one_of_several(given.index)
    searches = _of_site(store, site, since, "--index NAME=INDEX")
    if given.export_queries is not None:
        print(_export_queries(searches, given.export_queries))
        return
    newest = max((hour for name, hour in store.newest().items() if site in (None, name)), default="")
    lost = {"dropped": 0, "failed": 0} | store.counters()
    _report(given.format or "text", index, searches, **lost, since=since, newest=newest)


def _of_site(store: InsightStore, site: str | None, since: str, argument: str) -> Sequence[Search]:
    """Reads the searches of one index, or of all; warns if these are of several."""
    from mkdocs_semsearch.insights.store import names_of_sites

    searches = store.of_site(site, since)
    if site is None and len(names := store.newest()) > 1:
        several = f"these are records of several indexes ({names_of_sites(names)}), compared with one"
        say(f"warning: {several}: {argument} takes those of one")
    return searches


def _export_queries(searches: Sequence[Search], name: str) -> str:
    from mkdocs_semsearch.artifact.atomic_files import remove_old_parts, replace_file
    from mkdocs_semsearch.insights.questions import labelled_questions

    file = Path(name or QUESTIONS)
    if not name and file.exists():
        raise SemsearchError(
            f"{file} exists, perhaps with corrections: name another file, or this one to replace it "
            f"(--export-queries {file})."
        )
    found = labelled_questions(searches)
    if not found:
        raise SemsearchError(f"Nothing is written into {file}: there is no question for which readers agree on a page.")
    try:
        remove_old_parts(file.parent, file.name)
        replace_file(file, "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in found))
    except OSError as error:
        raise SemsearchError(f"{file} cannot be written: {reason(error)}.") from None
    return f"Wrote {counted(len(found), 'question')} into {file}."


def _report(form: str, index: str | None, searches: Sequence[Search], **about: Any) -> None:
    from mkdocs_semsearch import open_searcher
    from mkdocs_semsearch.cli.text import print_as, print_html
    from mkdocs_semsearch.insights.report import make_report, report_html, report_text

    with open_searcher(index_place(index)) as searcher:
        if len(searches) > MANY_SEARCHES:
            say(f"comparing {len(searches)} searches with the index: about a minute for each 5,000 different questions")
        report = make_report(searches, searcher, **about)
    if form == "html":
        print_html(report_html(report))
    else:
        print_as(form, asdict(report), report_text(report))


def _searches(folder: str | None, site: str | None, since: str = "") -> Sequence[Search]:
    """Reads the searches recorded since a day, of one index (`site`) or of all; without a folder there are none."""
    from mkdocs_semsearch.insights.store import InsightStore, first_hour

    hour = first_hour(since)
    if not folder:
        if site is not None:
            raise SemsearchError(f"NAME=INDEX is for the records of {site!r}: name their folder with --insights.")
        return ()
    return _of_site(InsightStore.existing(Path(folder)), site, hour, "NAME=INDEX")


def _lint(given: argparse.Namespace) -> int:
    from mkdocs_semsearch import open_searcher
    from mkdocs_semsearch.cli.text import print_json, print_text
    from mkdocs_semsearch.insights.lint import RULES, findings_in, github_annotation
    from mkdocs_semsearch.serving.published_index import folder_of

    unknown = sorted(set(given.quiet) - set(RULES))
    if unknown:
        raise SemsearchError(f"There is no rule {unknown[0]!r}: the rules are {', '.join(RULES)}.")
    _, config = _site_config(given.config)
    in_navigation = config.navigation_test() if config and config.nav and config.names_every_page else None
    site, index = one_of_several(given.index)
    reached = {search.opened for search in _searches(given.insights, site) if search.opened}
    place = index_place(index)
    with open_searcher(place) as searcher:
        found = findings_in(folder_of(place), searcher, quiet=given.quiet, in_navigation=in_navigation, reached=reached)
    docs_dir = _from_here(config.docs_dir) if config else "docs"
    if given.format == "json":
        print_json([asdict(finding) for finding in found])
    else:
        for finding in found:
            print_text(github_annotation(finding, docs_dir) if given.format == "github" else str(finding))
    say(counted(len(found), "finding"))
    return 1 if found and given.strict else 0


def _from_here(folder: Path) -> str:
    """Returns the path from the working directory to a folder, with `/`; the whole path if it is on another drive."""
    with contextlib.suppress(ValueError):
        folder = Path(os.path.relpath(folder))
    return folder.as_posix()


def _map(given: argparse.Namespace) -> int:
    from mkdocs_semsearch import open_searcher
    from mkdocs_semsearch.insights.site_map import check_map_file, make_site_map, site_map_html, write_site_map
    from mkdocs_semsearch.serving.published_index import folder_of

    if given.since and not given.insights:
        given.parser.error("--since is for the records of searches: name their folder with --insights")
    check_map_file(given.output)  # before minutes of work
    site, index = one_of_several(given.index)
    searches = _searches(given.insights, site, given.since)
    place = index_place(index)
    with open_searcher(place) as searcher:
        drawn = make_site_map(folder_of(place), searcher, facet=given.facet, searches=searches)
    replaced = write_site_map(given.output, site_map_html(drawn))
    groups = f", {counted(len(drawn.questions), 'group')} of questions" if given.insights else ""
    print(f"{'Replaced' if replaced else 'Wrote'} {given.output}: {counted(len(drawn.sections), 'section')}{groups}.")
    return 0


def _tune(given: argparse.Namespace) -> int:
    from mkdocs_semsearch import open_searcher
    from mkdocs_semsearch.cli.text import print_as, tuning_text
    from mkdocs_semsearch.searching.evaluation import fit_semantic_weight, read_queries
    from mkdocs_semsearch.site.source_files import write_semantic_weight

    with open_searcher(index_place(given.index)) as searcher:
        found = fit_semantic_weight(searcher, read_queries(given.queries))
    print_as(given.format, found.to_json(), tuning_text(found))
    line = f"ranking: {{semantic: {found.weight:g}}}"
    if not found.helps:
        say("nothing to change: held-out questions do not gain more than chance")
    elif given.dry_run:
        say(f"not written: {line}")
    else:
        write_semantic_weight(given.config, found.weight)
        say(f"{given.config} has the line `{line}` now: build again; delete it to undo this")
    return 0


def _requirements(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.serving.requirements import sidecar_requirements

    print("\n".join(sidecar_requirements(given.extra)))
    return 0


def _eval(given: argparse.Namespace) -> int:
    from mkdocs_semsearch.cli.text import evaluation_text, print_as
    from mkdocs_semsearch.searching.evaluation import evaluate_indexes, read_queries

    if given.min_mrr is not None and not 0 <= given.min_mrr <= 1:
        given.parser.error(f"--min-mrr is {given.min_mrr:g}: it must be from 0 to 1")
    queries = read_queries(given.queries)
    by_section = given.granularity in ("section", "chunk")
    indexes = named_indexes(given.index)
    check_corpora(given.queries, indexes, {question.corpus for question in queries})
    found = evaluate_indexes(
        indexes,
        queries,
        mode=given.mode,
        by_section=by_section,
        engine=opener(given.engine),
    )
    figures = {"engine": given.engine, "mode": given.mode, "granularity": "section" if by_section else "page"}
    figures |= found.figures()
    print_as(given.format, figures, evaluation_text(figures, found, misses=given.misses))
    if not found.judged:
        raise SemsearchError(f"No question of {given.queries} has its answer in this index: nothing was measured.")
    if given.min_mrr is not None and found.degraded:
        raise SemsearchError(
            f"{found.degraded} of {len(found.judged)} questions were answered in text-only mode, because the embedder "
            f"failed: MRR@10 is not that of --mode {given.mode}; try again when it works, or use --mode lexical."
        )
    if given.min_mrr is not None and found.mrr < given.min_mrr:
        raise SemsearchError(f"MRR@10 is {found.mrr:.4f}, below the {given.min_mrr} asked for.")
    return 0


COMMANDS = {
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
