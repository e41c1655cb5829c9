"""Takes the pictures of the report on searches and of the map that the documentation shows; the readers are made up."""

from __future__ import annotations

import base64
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "benchmarks")]

from made_up_readers import Readers  # noqa: E402
from screenshots import DESKTOP, FLAGS, PHONE, QUALITY, TARGET, build  # noqa: E402

from mkdocs_semsearch.insights.report import make_report, report_html  # noqa: E402
from mkdocs_semsearch.insights.search_records import Search  # noqa: E402
from mkdocs_semsearch.insights.site_map import make_site_map, site_map_html  # noqa: E402
from mkdocs_semsearch.searching.evaluation import EvaluationQuery, read_queries  # noqa: E402
from mkdocs_semsearch.searching.searcher import open_searcher  # noqa: E402

SEARCHES, DAYS = 900, 30
MAP = (1080, 1010)
NOT_THERE = {
    "export.md": ("export search results as csv", "download the results as a spreadsheet", "save a result list to csv"),
    "voice.md": ("speak a question instead of typing", "voice search with the microphone"),
    "pdf.md": ("search inside attached pdf files", "index pdf documents", "are pdfs searchable"),
}
"""Questions about what the documentation has no page for."""


def over_days(records: list[Search]) -> Iterator[Search]:
    """Spreads records over some weeks with fewer searches at weekends."""
    chance = random.Random(7)
    weights = [0.3 if day % 7 in (0, 6) else 1.0 for day in range(1, DAYS + 1)]
    for record in records:
        day = chance.choices(range(1, DAYS + 1), weights)[0]
        yield replace(record, hour=f"2026-11-{day:02}T10")


def picture(browser: Any, file: Path, name: str, size: tuple[int, int]) -> None:
    """Takes one picture of the top of a page, as WebP."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]})
    page = context.new_page()
    page.goto(file.as_uri())
    page.wait_for_load_state("networkidle")
    shot = context.new_cdp_session(page).send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
    (TARGET / f"{name}.webp").write_bytes(base64.b64decode(shot["data"]))
    context.close()


def main() -> None:
    """Builds the documentation, lets readers search it, and takes the pictures of what they leave."""
    from playwright.sync_api import sync_playwright

    missing = [EvaluationQuery(text, (page,)) for page, texts in NOT_THERE.items() for text in texts]
    questions = [*read_queries(HERE / "search-questions.jsonl"), *missing]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        _, index = build("material", Path(folder))
        with open_searcher(index) as searcher:
            records = list(over_days(list(Readers(searcher, questions, 3).searches(SEARCHES))))
            file = Path(folder) / "report.html"
            file.write_text(report_html(make_report(records, searcher)), encoding="utf-8")
            map_file = Path(folder) / "map.html"
            drawn = make_site_map(index, searcher, searches=records)
            map_file.write_text(site_map_html(drawn), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        picture(browser, file, "insights-report", DESKTOP)
        picture(browser, file, "insights-report-phone", PHONE)
        picture(browser, map_file, "insights-map", MAP)
        picture(browser, map_file, "insights-map-phone", PHONE)
        browser.close()


if __name__ == "__main__":
    main()
