"""Measures how long the search box blocks the browser: tasks over 50 ms on the page's thread, for each question.

The site is built with this search and no server, so the dialog draws and a worker searches. Each question is typed
letter by letter in Chromium; the browser's own observer reports tasks of more than 50 ms. The first question opens the
dialog and is reported separately.

    python benchmarks/long_tasks.py ../shared/corpora/fastapi/mkdocs.yml

Run it on a quiet machine: other work on the machine changes the figures.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from slow_line import FLAGS, QUESTIONS, file_app, prepare, serving

OBSERVE = """window.long = [];
new PerformanceObserver((list) => long.push(...list.getEntries().map(({ duration }) => duration)))
  .observe({ type: "longtask" });"""
INPUT = "[data-semsearch=input]"
ANSWERED = """query => {
  const { answer, busy } = document.querySelector("semsearch-dialog").store.state;
  return answer?.query === query && !busy;
}"""


def measure(page: Any, question: str, rest: int) -> list[float]:
    """Types a question into the open dialog; returns the milliseconds of each long task until some time after."""
    page.evaluate("window.long.length = 0")
    page.locator(INPUT).fill("")
    page.keyboard.type(question, delay=60)
    page.wait_for_function(ANSWERED, arg=question, timeout=120_000)
    page.wait_for_timeout(rest)  # for the preview, and what else follows an answer
    return list(page.evaluate("window.long"))


def report(name: str, tasks: list[float]) -> None:
    """Prints a row of the table."""
    print(f"| {name} | {len(tasks)} | {max(tasks, default=0):.0f} ms |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", type=Path, help="mkdocs.yml of the site")
    parser.add_argument("--slowdown", type=float, default=1, help="of the browser's processor")
    parser.add_argument("--rounds", type=int, default=3, help="how often all questions are asked")
    parser.add_argument("--cache", type=Path, help="cache_dir of an earlier build, to save its time")
    parser.add_argument("--built", type=Path, help="keep what is built in this folder, and use what is there")
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as temporary:
        folder = given.built or Path(temporary)
        if not (folder / "served" / "ours").is_dir():
            prepare(given.config.resolve(), folder, given.cache, [])
        with serving(file_app(folder / "served"), "HTTP/1.1", folder) as port, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": given.slowdown})
            page.add_init_script(OBSERVE)
            page.goto(f"http://127.0.0.1:{port}/ours/", wait_until="networkidle")
            print("| question | tasks over 50 ms | the longest |\n| --- | --- | --- |")
            page.keyboard.press("Control+k")
            page.locator(INPUT).wait_for()
            report(f"{QUESTIONS[0]} (the first)", measure(page, QUESTIONS[0], 1500))
            further: list[float] = []
            for _ in range(given.rounds):
                for question in QUESTIONS[1:]:
                    tasks = measure(page, question, 1000)
                    report(question, tasks)
                    further += tasks
            report(f"**all after the first, {given.rounds * len(QUESTIONS[1:])} questions**", further)
            browser.close()


if __name__ == "__main__":
    main()
