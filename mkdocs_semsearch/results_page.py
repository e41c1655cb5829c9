"""The page for results, `search/`: a template of the site's theme, or a page of its own beside other generators'."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mkdocs_semsearch import theming
from mkdocs_semsearch.settings import Settings
from mkdocs_semsearch.theme_files import widget_strings

__all__ = ["RESULTS_PAGE", "results_page_context", "write_results_page"]

RESULTS_PAGE = "search/index.html"
"""Path in the built site, and name of the template."""

_OURS = 'data-semsearch="page"'


def results_page_context(
    settings: Settings, *, language: str, base: str = "main.html", api_url: str | None = None
) -> dict[str, Any]:
    """Returns what the template calls `semsearch`.

    Args:
        settings: the options.
        language: of the site.
        base: the template that it extends.
        api_url: where the search answers if not where the options say.
    """
    spoken, strings = widget_strings(language)
    return {
        "base": base,
        "language": spoken,
        "api_url": api_url or theming.sidecar_url(settings, theming.site_version(os.environ)),
        "strings": {**strings, **settings.widget.strings},
    }


def write_results_page(site_dir: Path, settings: Settings, *, language: str, site_name: str) -> bool:
    """Writes the page into a site that another generator has built.

    Returns:
        Whether it is there: a page of the site's own at this address stays.
    """
    from jinja2 import Environment, FileSystemLoader

    file = site_dir / RESULTS_PAGE
    if file.is_file() and _OURS not in file.read_text(encoding="utf-8", errors="replace"):
        return False
    template = Environment(loader=FileSystemLoader(theming.theme_dir()), autoescape=True).get_template(RESULTS_PAGE)
    context = results_page_context(settings, language=language, base=f"{theming.ASSETS}/plain.html")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(template.render(semsearch=context, config={"site_name": site_name}), encoding="utf-8")
    return True
