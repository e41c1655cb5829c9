"""Links to related pages, rendered into the pages of a build."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.integration.sites import THEMES, DocsSite

PAGES = {
    "index.md": "# Home\n\nWelcome to the garden handbook of roses and soil.\n",
    "plants/roses.md": "# Roses\n\nRoses need soil, water and light. Prune roses in spring.\n",
    "plants/lilies.md": "# Lilies\n\nLilies need soil, water and shade. Plant lilies in autumn.\n",
    "tools/spade.md": "# Spade & <fork>\n\nA spade digs soil. Keep the spade clean.\n",
    "hidden.md": "---\nsearch: {exclude: true}\n---\n# Hidden\n\nNot in the search.\n",
}
BLOCK = re.compile(r'<nav class="semsearch-related".*?</nav>', re.DOTALL)
HREF = re.compile(r'<a href="([^"]+)">')


@pytest.mark.parametrize("directory_urls", [True, False])
@pytest.mark.parametrize("theme", THEMES)
def test_every_page_links_to_its_nearest(tmp_path: Path, theme: str, directory_urls: bool) -> None:
    site = DocsSite(
        tmp_path,
        options={"related": {"count": 2, "title": "See also"}},
        config={"theme": {"name": theme}, "use_directory_urls": directory_urls},
    ).write(PAGES)

    site.build()

    for page in ("index", "plants/roses", "plants/lilies", "tools/spade"):
        file = site.site_dir / (f"{page}/index.html" if directory_urls and page != "index" else f"{page}.html")
        (block,) = BLOCK.findall(file.read_text(encoding="utf-8"))
        links = HREF.findall(block)
        assert "See also" in block
        assert len(links) == 2
        for link in links:
            target = (file.parent / link).resolve()
            assert (target / "index.html" if link.endswith("/") else target).is_file(), link
        assert "<fork>" not in block
    hidden = site.site_dir / ("hidden/index.html" if directory_urls else "hidden.html")
    assert not BLOCK.search(hidden.read_text(encoding="utf-8"))


def test_the_part_of_a_killed_build_does_not_stay_in_the_site(tmp_path: Path) -> None:
    site = DocsSite(tmp_path, options={"related": {"count": 1}}).write(PAGES)
    site.build()
    part = site.site_dir / ".index.html.1-a.part"
    part.touch()
    os.utime(part, (1, 1))

    site.build()

    assert not part.exists()


def test_without_the_option_pages_stay_as_they_are(tmp_path: Path) -> None:
    site = DocsSite(tmp_path).write(PAGES)

    site.build()

    assert "semsearch-related" not in (site.site_dir / "index.html").read_text(encoding="utf-8")


def test_the_heading_is_in_the_language_of_the_page(tmp_path: Path) -> None:
    config = {"theme": {"name": "mkdocs", "locale": "de"}}
    site = DocsSite(tmp_path, options={"related": {"count": 1}}, config=config).write(PAGES)

    site.build()

    assert 'aria-label="Verwandte Seiten"' in site.html("plants/roses/index.html")
