"""Indexes a site that some generator has already built: the plugin's work, without the plugin."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs_semsearch.site import widget_files
from mkdocs_semsearch.site.build_settings import Settings
from mkdocs_semsearch.site.pipeline import Site, SiteReport, index_site, open_configured_embedder
from mkdocs_semsearch.site.publishing import publish_search
from mkdocs_semsearch.site.site_config import SiteConfig
from mkdocs_semsearch.site.site_folder import SiteFolder
from mkdocs_semsearch.site.widget_files import write_results_page

if TYPE_CHECKING:
    from mkdocs_semsearch.embedding.protocol import Progress

__all__ = ["index_built_site"]


def index_built_site(
    site_dir: Path,
    settings: Settings,
    config: SiteConfig | None = None,
    *,
    widget: bool = False,
    progress: Progress | None = None,
) -> SiteReport:
    """Indexes a folder of HTML pages.

    Args:
        site_dir: the built site.
        settings: the options.
        config: the generator's configuration, for front matter and source lines.
        widget: also copy the search box into the site, for generators that run no plugins.
        progress: called while texts are being embedded.

    Raises:
        SemsearchError: the site or an option cannot be used; the previous index is untouched.
    """
    source = SiteFolder(site_dir, config)
    site = (
        Site(config.site_name, config.site_url, config.language) if config else Site(site_dir.resolve().name, "", "en")
    )
    documents = tuple(page for page in source if not any(fnmatchcase(page.path, glob) for glob in settings.exclude))
    embedder = open_configured_embedder(settings.embedder)
    report = index_site(documents, site=site, settings=settings, embedder=embedder, progress=progress)
    written = publish_search(site_dir, settings, embedder)
    if widget:
        _copy_widget(site_dir, settings, site)
        if written is None and settings.static.mode == "auto":
            widget_files.withdraw_static(site_dir)
    return replace(report, misfits=(*source.misfits(), *report.misfits))


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
        version=widget_files.site_version(os.environ),
        results_page=results_page,
    )
    (site_dir / widget_files.CONFIG).write_text(config, encoding="utf-8")
