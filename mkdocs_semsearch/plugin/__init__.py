"""The MkDocs plugin; nothing outside of this folder knows MkDocs.

`hooks` says when something happens, `options` what may be written in mkdocs.yml, `pages` what is taken out of a build,
`preview` how `mkdocs serve` answers the search.
"""

from __future__ import annotations

from mkdocs_semsearch.plugin.hooks import SemsearchPlugin

__all__ = ["SemsearchPlugin"]
