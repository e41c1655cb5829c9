"""What a site gets of the search widget: which files, and its `config.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from mkdocs_semsearch.artifact.facets import FacetDeclaration
from mkdocs_semsearch.settings import Settings
from mkdocs_semsearch.theme_files import ASSETS, SCRIPT, theme_dir

__all__ = [
    "ASSETS",
    "CONFIG",
    "DEFAULT_API_URL",
    "SCRIPT",
    "STYLE",
    "for_version",
    "site_version",
    "theme_dir",
    "widget_config",
]

STYLE = f"{ASSETS}/semsearch.css"
CONFIG = f"{ASSETS}/config.json"

DEFAULT_API_URL = "/-/semsearch"


def site_version(environment: Mapping[str, str]) -> str | None:
    """Returns which version of the documentation is being built, where mike or Read the Docs says so."""
    return environment.get("MIKE_DOCS_VERSION") or environment.get("READTHEDOCS_VERSION") or None


def widget_config(
    settings: Settings,
    *,
    language: str,
    site_name: str,
    version: str | None,
    results_page: bool,
    api_url: str | None = None,
) -> str:
    """Returns the text of the `config.json` that the widget reads.

    Args:
        settings: the options; `{version}` in `api_url` is filled in.
        language: of the site.
        site_name: as configured.
        version: of the documentation, or None.
        results_page: the site has our page at `search/`.
        api_url: where the search answers if not where the options say; the preview answers for itself.
    """
    own_url = for_version(settings.api_url, version)
    body: dict[str, Any] = {
        "api_url": api_url or own_url or (None if settings.static.enabled else DEFAULT_API_URL),
        "static": settings.static.enabled and not api_url,
        "language": language,
        "shortcut": settings.widget.shortcut,
        "fallback": settings.widget.fallback,
        "recents": settings.widget.recents,
        "suggestions": list(settings.widget.suggestions),
        "results_page": results_page,
        "strings": dict(settings.widget.strings),
        "facets": _facets(settings.facets),
        "site_name": site_name,
        "version": version,
        "build_id": None,
    }
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def for_version(api_url: str | None, version: str | None) -> str | None:
    """Returns the address with its `{version}` filled in; without a version, the address of all versions together."""
    if api_url is None or version is not None:
        return api_url and api_url.replace("{version}", quote(version or "", safe=""))
    return api_url.replace("/{version}", "")


def _facets(facets: Sequence[FacetDeclaration]) -> list[dict[str, str]]:
    return [{"name": facet.name, "type": facet.type, "label": facet.label} for facet in facets]
