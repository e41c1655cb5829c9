"""The five real documentation sites of the design team's `../shared` folder, to be built somewhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

CORPORA = Path(__file__).parents[2].parent / "shared" / "corpora"

SITES: dict[str, dict[str, Any]] = {
    "fastapi": {},
    "netbox": {},
    "owasp-mastg": {
        "facets": {
            "platform": {"type": "list"},
            "profiles": {"type": "list"},
            "status": {"type": "string"},
            "type": {"type": "list"},
            "date": {"type": "date"},
        }
    },
    "pydantic": {},
    "uv": {},
}
"""Name of the site to the plugin's options for it."""


def corpus_config(name: str, folder: Path, *, plugins: list[Any], **top: Any) -> Path:
    """Writes the site's mkdocs.yml into another folder, with the path of the original docs."""
    config = yaml.safe_load((CORPORA / name / "mkdocs.yml").read_text(encoding="utf-8"))
    config["docs_dir"] = str(CORPORA / name / config.get("docs_dir", "docs"))
    config["plugins"] = plugins
    path = folder / "mkdocs.yml"
    path.write_text(yaml.safe_dump(config | top, sort_keys=False), encoding="utf-8")
    return path


def expected_pages(config_file: Path) -> set[str]:
    """Returns the paths of all pages that MkDocs would render, without those excluded from the search."""
    from mkdocs.config import load_config
    from mkdocs.structure.files import get_files, set_exclusions
    from mkdocs.utils.meta import get_data

    config = load_config(str(config_file))
    files = get_files(config)
    set_exclusions(files, config)
    expected = set()
    for file in files.documentation_pages():
        search = get_data(file.content_string)[1].get("search")
        if not (isinstance(search, dict) and search.get("exclude")):
            expected.add(file.src_uri)
    return expected
