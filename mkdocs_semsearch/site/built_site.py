"""Indexes a site that some generator has already built: the plugin's work, without the plugin."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_semsearch.errors import ConfigurationError
from mkdocs_semsearch.site import widget_files
from mkdocs_semsearch.site.build_settings import Settings, StaticSettings
from mkdocs_semsearch.site.pipeline import Site, SiteReport, index_site, open_configured_embedder
from mkdocs_semsearch.site.publishing import publish_search
from mkdocs_semsearch.site.widget_files import write_results_page

if TYPE_CHECKING:
    from mkdocs_semsearch.embedding.protocol import Progress

__all__ = ["index_built_site"]

CONFIG_FILES = ("mkdocs.yml", "mkdocs.yaml", "properdocs.yml", "zensical.toml")


def index_built_site(
    site_dir: Path,
    *,
    config_file: Path | None = None,
    index_dir: Path | None = None,
    widget: bool = False,
    static: bool = False,
    progress: Progress | None = None,
) -> SiteReport:
    """Indexes a folder of HTML pages.

    Args:
        site_dir: the built site.
        config_file: the generator's configuration, for the plugin's options, front matter and source lines; by
            default one of `CONFIG_FILES` in the working folder, when it is there.
        index_dir: where to write; by default what the configuration says.
        widget: also copy the search box into the site, for generators that run no plugins.
        static: also write the search without a server, as the option `static: true` does.
        progress: called while texts are being embedded.

    Raises:
        SemsearchError: the site, the configuration or an option cannot be used; the previous index is untouched.
    """
    from mkdocs_semsearch.site.site_config import load_site_config
    from mkdocs_semsearch.site.site_folder import SiteFolder

    config_file = config_file or next((Path(name) for name in CONFIG_FILES if Path(name).is_file()), None)
    config = load_site_config(config_file) if config_file else None
    settings = _settings(config.plugin_options if config else {}, config_file)
    site = (
        Site(config.site_name, config.site_url, config.language) if config else Site(site_dir.resolve().name, "", "en")
    )
    source = SiteFolder(site_dir, config_file=config_file)
    documents = (page for page in source if not any(fnmatchcase(page.path, glob) for glob in settings.exclude))
    settings = replace(settings, index_dir=index_dir or settings.index_dir)
    if static and not settings.static.enabled:
        settings = replace(settings, static=StaticSettings(enabled=True))
    embedder = open_configured_embedder(settings.embedder)
    report = index_site(documents, site=site, settings=settings, embedder=embedder, progress=progress)
    publish_search(site_dir, settings, embedder)
    if widget:
        _copy_widget(site_dir, settings, site)
    return report


def _settings(options: object, config_file: Path | None) -> Settings:
    try:
        from mkdocs_semsearch.plugin.options import read_settings
    except ImportError:
        raise ConfigurationError("`semsearch index` needs MkDocs for reading options: pip install mkdocs.") from None
    return read_settings(options, config_file)  # type: ignore[arg-type]


def _copy_widget(site_dir: Path, settings: Settings, site: Site) -> None:
    templates = shutil.ignore_patterns("*.html")  # they would be taken for pages of the site
    source = widget_files.theme_dir() / widget_files.ASSETS
    shutil.copytree(source, site_dir / widget_files.ASSETS, dirs_exist_ok=True, ignore=templates)
    results_page = settings.widget.results_page and write_results_page(
        site_dir, settings, language=site.language, site_name=site.name
    )
    config = widget_files.widget_config(
        settings,
        language=site.language,
        site_name=site.name,
        version=widget_files.site_version(os.environ),
        results_page=results_page,
    )
    (site_dir / widget_files.CONFIG).write_text(config, encoding="utf-8")
