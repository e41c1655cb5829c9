"""The hooks of the MkDocs plugin; each one calls the modules that do the work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger

from mkdocs_semsearch.errors import ConfigurationError, SemsearchError, reason
from mkdocs_semsearch.plugin.options import SemsearchConfig, check_place
from mkdocs_semsearch.plugin.preview import (
    Preview,
    live_reload_is_off,
    open_preview,
    preview_folder,
    preview_path,
    running_command,
)
from mkdocs_semsearch.plugin.results_page import OptionalTemplate, is_our_template
from mkdocs_semsearch.site import widget_files
from mkdocs_semsearch.site.pipeline import (
    EmbedderFactory,
    EmbedderSettings,
    EmbeddingProgress,
    Settings,
    Site,
    SiteReport,
    StoreSettings,
    index_site,
    open_configured_embedder,
    unmatched_globs,
)
from mkdocs_semsearch.site.publishing import MOST_CHUNKS_IN_BROWSER, PLACEHOLDER, publish_search, write_related_links
from mkdocs_semsearch.site.widget_files import RESULTS_PAGE, publish_assets, results_page_context
from mkdocs_semsearch.theme_files import ASSETS, SCRIPT, theme_dir

if TYPE_CHECKING:
    import jinja2
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.livereload import LiveReloadServer
    from mkdocs.structure.files import File, Files
    from mkdocs.structure.nav import Navigation
    from mkdocs.structure.pages import Page
    from mkdocs.utils.templates import TemplateContext

    from mkdocs_semsearch.embedding.protocol import Embedder, Progress
    from mkdocs_semsearch.insights.lint import Finding
    from mkdocs_semsearch.plugin.pages import MkDocsPages
    from mkdocs_semsearch.searching.searcher import Searcher
    from mkdocs_semsearch.site.early_embedding import EarlyEmbedding

log = get_plugin_logger("semsearch")


class SemsearchPlugin(BasePlugin[SemsearchConfig]):  # type: ignore[no-untyped-call]
    """Indexes the pages of a build, adds the search box, and answers queries in the preview.

    Attributes:
        embedder_factory: opens the embedder; tests and hooks may replace it.
    """

    embedder_factory: EmbedderFactory
    _settings: Settings  # since on_config
    _site: Site  # since on_pre_build
    _pages: MkDocsPages  # since on_pre_build

    def __init__(self) -> None:
        self.embedder_factory = open_configured_embedder
        self._started = False
        self._serving = False
        self._dirty = False
        self._depth = 0
        self._opened: tuple[EmbedderFactory, EmbedderSettings, Embedder] | None = None
        self._preview = Preview()
        self._previewed: SiteReport | None = None  # of the last index of the preview
        self._hinted = False
        self._own_config: dict[str, Any] = {}
        self._early: EarlyEmbedding | None = None

    # Defining this hook makes MkDocs keep one instance for all rebuilds of a preview.
    def on_startup(self, *, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
        """Stores the command; imports nothing else, because MkDocs calls this hook for every command."""
        self._started = True
        self._serving = command == "serve"
        self._dirty = dirty

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Checks the options and adds the search box; runs again on the same config when locales are built."""
        # For a plugin that was added to the configuration of a running preview, MkDocs does not call `on_startup`.
        self._serving = self._serving or running_command()[0] == "serve"
        try:
            self._settings = self.config.settings()
            for option, place in (("index_dir", self._settings.index_dir), ("cache_dir", self._settings.cache_dir)):
                check_place(option, place, docs_dir=Path(config.docs_dir), site_dir=Path(config.site_dir))
            _add_widget(config)
        except SemsearchError as error:
            raise PluginError(f"semsearch: {error}") from error
        return config

    def on_pre_build(self, *, config: MkDocsConfig) -> None:
        """Starts collecting; mkdocs-static-i18n builds its other locales while the first build is still running."""
        from mkdocs_semsearch.plugin.pages import MkDocsPages

        self._depth += 1
        if self._depth > 1:
            return
        # Builds of further locales change the language and the URL in the same config.
        self._site = _site(config)
        if not hasattr(self, "_pages"):  # a preview keeps its pages from build to build
            self._pages = MkDocsPages()
        self._pages.begin(exclude=self._settings.exclude, keep=self._serving and self._dirty)
        if not self._serving and not self._dirty:
            from mkdocs_semsearch.site.early_embedding import EarlyEmbedding

            try:
                self._early = EarlyEmbedding.start(self._settings, self._embedder())
            except SemsearchError as error:
                raise PluginError(f"semsearch: {error}") from error

    @event_priority(-1000)
    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Adds the widget's `config.json` and results page, after the plugins that rearrange the list of files."""
        from mkdocs.structure.files import File, InclusionLevel

        present = files.get_file_from_path(widget_files.CONFIG)
        if present is not None:
            files.remove(present)
        if self._depth > 1:
            # Every locale would write the page to the same path, so that it would be in the language of the last one.
            config.theme.static_templates.discard(RESULTS_PAGE)
            return files
        self._own_config = _own_config(present)
        # A page of the site itself at this path takes precedence.
        results_page = self._settings.widget.results_page and all(file.dest_uri != RESULTS_PAGE for file in files)
        if results_page:
            config.theme.static_templates.add(RESULTS_PAGE)
        content = self._widget_config(config, results_page=results_page)
        files.append(File.generated(config, widget_files.CONFIG, content=content, inclusion=InclusionLevel.INCLUDED))
        return files

    @event_priority(-1000)
    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> Navigation:
        """Reads the list and order of pages, after every plugin that changes them."""
        self._pages.read_navigation(nav, files, preview=self._serving)
        return nav

    def on_pre_template(
        self, template: jinja2.Template, *, template_name: str, config: MkDocsConfig
    ) -> jinja2.Template | None:
        """Keeps a theme that cannot render the results page from failing the build."""
        if template_name != RESULTS_PAGE or not is_our_template(config):
            return template
        return OptionalTemplate(template)  # type: ignore[return-value]

    def on_template_context(
        self, context: TemplateContext, *, template_name: str, config: MkDocsConfig
    ) -> TemplateContext:
        """Passes its variables to the template of the results page."""
        if template_name == RESULTS_PAGE:
            context["semsearch"] = results_page_context(  # type: ignore[typeddict-unknown-key]
                self._settings,
                language=_site(config).language,
                folders=_folders(config),
                api_url=self._preview_url(config),
            )
        return context

    @event_priority(1000)
    def on_page_markdown(self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Stores the source text before any plugin edits it."""
        self._pages.read_source(markdown, page, config)
        return markdown

    @event_priority(-1000)
    def on_page_content(self, html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
        """Queues the text of a page for embedding in a first build, while MkDocs renders other pages."""
        if self._early is not None:
            document = self._pages.preliminary(page, html, config)
            if document is not None:
                self._early.add(document)
        return html

    @event_priority(10)
    def on_page_context(
        self, context: TemplateContext, *, page: Page, config: MkDocsConfig, nav: Navigation
    ) -> TemplateContext:
        """Collects the rendered page, before Material's search removes the attributes that exclude parts of it."""
        self._pages.collect(page, context, config)
        if self._settings.related and not self._serving:
            page.content = f"{page.content or ''}\n{PLACEHOLDER}"
        return context

    @event_priority(1000)
    def on_post_template(self, output_content: str, *, template_name: str, config: MkDocsConfig) -> str:
        """Looks for our form before plugins minify the page, and moves the widget's script on it and on 404.html."""
        if (
            template_name == RESULTS_PAGE
            and not widget_files.is_results_page(output_content)
            and is_our_template(config)
        ):
            # The theme's template has no block `content`, or it failed: our form is not in the page.
            output_content = widget_files.plain_results_page(
                self._settings,
                language=_site(config).language,
                folders=_folders(config),
                site_name=config.site_name or "",
                api_url=self._preview_url(config),
            )
        return widget_files.place_script_first(output_content)

    @event_priority(1000)
    def on_post_page(self, output: str, *, page: Page, config: MkDocsConfig) -> str:
        """Reads the output of the page's template before plugins minify it, and moves the widget's script."""
        self._pages.read_output(page, output)
        return widget_files.place_script_first(output)

    @event_priority(-1000)
    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Writes the index once the outermost build is done, after the plugins that build locales in this hook."""
        self._depth -= 1
        if self._depth > 0:
            return
        embedded_early = self._stop_early()
        with _writing_into(config.site_dir):
            publish_assets(Path(config.site_dir) / ASSETS, theme_dir() / ASSETS)
        complete = self._pages.finish()
        if self._serving:
            self._index_preview(config)
        elif complete:
            self._index_build(config, embedded_early)
        else:
            log.info("The index is unchanged, because a dirty build renders only some pages: build without --dirty")

    def on_build_error(self, *, error: Exception) -> None:
        """Resets the nesting depth after a failed build."""
        self._depth = 0
        self._stop_early()

    def on_serve(
        self, server: LiveReloadServer, *, config: MkDocsConfig, builder: Callable[..., None]
    ) -> LiveReloadServer:
        """Adds the search to the server of the preview, which also watches the file with the synonyms."""
        app = server.get_app()
        assert app is not None, "MkDocs sets it in the constructor"
        server.set_app(self._preview.wrap(app, server.mount_path, config.dev_addr.host))
        if self.config.synonyms_file:
            server.watch(str(self.config.synonyms_file))
        return server

    def on_shutdown(self) -> None:
        """Stops the preview."""
        self._preview.close()

    @property
    def _preview_answers(self) -> bool:
        return self._serving and self._started and not live_reload_is_off(running_command()[1])

    def _widget_config(self, config: MkDocsConfig, *, results_page: bool) -> str:
        site = _site(config)
        return widget_files.widget_config(
            self._settings,
            language=site.language,
            version=widget_files.site_version(),
            results_page=results_page,
            api_url=self._preview_url(config),
            site_url=site.url,
            folders=_folders(config),
            own=self._own_config,
        )

    def _preview_url(self, config: MkDocsConfig) -> str | None:
        return preview_path(config.site_url) if self._preview_answers else None

    def _stop_early(self) -> int:
        """Ends the early embedding; returns the number of chunk texts that it embedded."""
        early, self._early = self._early, None
        return 0 if early is None else early.stop()

    def _index_build(self, config: MkDocsConfig, embedded_early: int) -> None:
        settings, site_dir = self._settings, Path(config.site_dir)
        progress = EmbeddingProgress(log.info)
        try:
            report = index_site(
                tuple(self._pages),
                site=self._site,
                settings=settings,
                embedder=self._embedder(),
                progress=progress,
                embedded_early=embedded_early,
            )
            with _writing_into(config.site_dir):
                widget_files.add_languages(site_dir, report.languages, report.facets, own=self._own_config)
                if settings.related:
                    write_related_links(site_dir, settings)
                written = publish_search(site_dir, settings, self._embedder())
                if written is None and settings.static.mode == "auto":
                    widget_files.withdraw_static(site_dir)
            findings = self._findings(settings)
        except SemsearchError as error:
            raise PluginError(f"semsearch: {error}") from error
        finally:
            progress.close()
        if written is not None:
            level = logging.INFO if written.semantic else logging.WARNING
            log.log(logging.DEBUG if settings.static.mode == "auto" else level, f"Wrote {written}")
        elif settings.static.mode == "auto":
            log.info(
                f"The site has more than {MOST_CHUNKS_IN_BROWSER} chunks: it needs a server for the search. "
                "`static: true` writes the files for a search in the browser anyway."
            )
        self._log_unused_options(config)
        _log_report(report, self._pages.warnings(), strict=config.strict)
        for finding in findings:  # a build with `--strict` fails for them
            log.warning(finding)

    def _log_unused_options(self, config: MkDocsConfig) -> None:
        for complaint in unmatched_globs(self._settings, self._pages.paths()):
            log.info(complaint)
        declared = self._settings.facets if self._settings.facets_declared else ()
        for name in self._pages.missing_fields(facet.name for facet in declared):
            log.info(f"Option 'facets': no page has {name} in its front matter")
        # Themes have their own variants: material/search, shadcn/search, materialx/search.
        if not any(name.rpartition("/")[2] == "search" for name in config.plugins):
            log.info("The plugin `search` is not in `plugins`: most themes draw no search box without it")

    def _findings(self, settings: Settings) -> list[Finding]:
        """Returns the findings of the lint in the new index; empty if the lint is not enabled."""
        if settings.lint is None:
            return []
        from mkdocs_semsearch.insights.lint import findings_in
        from mkdocs_semsearch.searching.searcher import open_searcher

        with open_searcher(settings.index_dir, embedder=self._embedder()) as searcher:
            return findings_in(
                settings.index_dir, searcher, quiet=settings.lint, in_navigation=self._pages.in_navigation
            )

    def _index_preview(self, config: MkDocsConfig) -> None:
        if not self._preview_answers:
            self._say_why_nothing_answers()
            return
        documents, site, warnings = tuple(self._pages), self._site, self._pages.warnings()
        # A preview contains drafts, so it has its own index and never writes to the cluster.
        settings = replace(self._settings, store=StoreSettings())
        folder = preview_folder(config.config_file_path)
        site_dir, own = Path(config.site_dir), self._own_config
        if self._previewed is not None:  # the browser reloads before the new index is ready
            widget_files.add_languages(site_dir, self._previewed.languages, self._previewed.facets, own=own)

        def job(progress: Progress) -> Searcher:
            embedder = self._embedder()

            def indexed(cache_dir: Path) -> Searcher:
                places = replace(settings, index_dir=cache_dir / folder, cache_dir=cache_dir)
                report = index_site(documents, site=site, settings=places, embedder=embedder, progress=progress)
                self._previewed = report
                with suppress(OSError, ValueError):  # the next build is writing the file, and then adds them itself
                    widget_files.add_languages(site_dir, report.languages, report.facets, own=own)
                _log_report(report, warnings, strict=config.strict)
                return open_preview(places.index_dir, embedder)

            return self._preview.written(settings.cache_dir, indexed)

        self._preview.submit(job)

    def _embedder(self) -> Embedder:
        """Returns the embedder, with its weights loaded once for all rebuilds of a preview."""
        wanted = (self.embedder_factory, self._settings.embedder)
        if self._opened is None or self._opened[:2] != wanted:
            self._opened = (*wanted, self.embedder_factory(wanted[1]))
        return self._opened[2]

    def _say_why_nothing_answers(self) -> None:
        if self._hinted:
            return
        self._hinted = True
        if self._started:
            log.info(
                "The search does not work in this preview, because live reload is off. "
                "If you did not switch it off, click 8.3.0 or 8.3.1 did: install another version of click"
            )
        else:
            log.info(
                "The search does not work in this preview, because it was started without this plugin: "
                "start `mkdocs serve` again"
            )


@contextmanager
def _writing_into(site_dir: str) -> Iterator[None]:
    """Turns an error of the `with` block, which writes files of the search box, into a sentence."""
    try:
        yield
    except OSError as error:  # that of a full disk does not say which file it is
        what = f"{error.filename or site_dir} could not be written ({reason(error)})"
        raise PluginError(f"semsearch: {what}: make room or allow writing there, then build again.") from error


def _add_widget(config: MkDocsConfig) -> None:
    """Adds the search box to the theme once; its styles come first, so that a site's `extra_css` can override them."""
    from mkdocs.config.config_options import ExtraScriptValue

    folder = str(theme_dir())
    if folder not in config.theme.dirs:
        config.theme.dirs.append(folder)
    if SCRIPT not in map(str, config.extra_javascript):
        script = ExtraScriptValue(SCRIPT)
        script.defer = True
        config.extra_javascript.append(script)
    if widget_files.STYLE not in config.extra_css:
        config.extra_css.insert(0, widget_files.STYLE)


def _own_config(file: File | None) -> dict[str, Any]:
    """Returns the keys of the site's own `config.json`; a file that cannot be used is a warning."""
    if file is None or file.inclusion.is_excluded():  # type: ignore[no-untyped-call]
        return {}
    try:
        return widget_files.own_config(file.content_bytes, file.abs_src_path or file.src_uri)
    except ConfigurationError as error:
        log.warning(error)
        return {}


def _folders(config: MkDocsConfig) -> tuple[Path, ...]:
    """Returns the folders from which MkDocs copies files, in the order in which it looks for them."""
    return tuple(map(Path, (config.docs_dir, *config.theme.dirs)))


def _site(config: MkDocsConfig) -> Site:
    from mkdocs_semsearch.plugin.pages import site_language
    from mkdocs_semsearch.site.source_files import edit_url, with_slash

    edited = edit_url(config.repo_url or "", config.edit_uri or "", str(config.edit_uri_template or ""))
    return Site(config.site_name or "", with_slash(config.site_url or ""), site_language(config), edited)


def _log_report(report: SiteReport, warnings: tuple[str, ...], *, strict: bool) -> None:
    for warning in (*warnings, *report.content_warnings):
        log.warning(warning)
    for warning in report.build_warnings:
        # The author may have no other model or folder, so a build with `--strict` must not fail because of it.
        log.log(logging.INFO if strict else logging.WARNING, warning)
    log.info(f"Indexed {report.build}")
