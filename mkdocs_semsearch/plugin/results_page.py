"""The template of the results page: whose it is, and what happens if the theme's part of it cannot be rendered."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.plugins import get_plugin_logger

from mkdocs_semsearch.site.widget_files import RESULTS_PAGE
from mkdocs_semsearch.theme_files import theme_dir

if TYPE_CHECKING:
    import jinja2
    from mkdocs.config.defaults import MkDocsConfig

log = get_plugin_logger("semsearch")


def is_our_template(config: MkDocsConfig) -> bool:
    """Returns whether the template of the results page is ours, not one of the site or of its theme."""
    found = next((folder for folder in config.theme.dirs if (Path(folder) / RESULTS_PAGE).is_file()), "")
    return str(found) == str(theme_dir())


class OptionalTemplate:
    """A template whose output is empty if it cannot be rendered.

    MkDocs renders the results page without a page, and the template of a theme may need one.
    """

    def __init__(self, template: jinja2.Template) -> None:
        self._template = template

    def __getattr__(self, name: str) -> Any:
        return getattr(self._template, name)

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Returns the output, or the empty text after a message that says why there is none."""
        try:
            return self._template.render(*args, **kwargs)
        except Exception as error:  # filters and macros of the theme may raise anything
            why = " ".join(f"{type(error).__name__}: {error}".split())
            log.info(
                f"The results page {RESULTS_PAGE} is shown without the theme, whose template main.html fails where "
                f"there is no page ({why}). To have the theme there, test for the page, as in {{% if page %}}"
            )
            return ""
