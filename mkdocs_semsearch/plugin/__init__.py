"""The MkDocs plugin; only this folder depends on MkDocs.

`hooks` has the plugin's hooks, `options` the options of mkdocs.yml; `pages` collects the pages of a build, `preview`
answers the search inside `mkdocs serve`, `results_page` has the template of the results page.
"""

from __future__ import annotations

from mkdocs_semsearch.plugin.hooks import SemsearchPlugin

__all__ = ["SemsearchPlugin"]
