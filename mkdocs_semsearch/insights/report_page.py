"""The report as one HTML file: plots in SVG, nothing loaded from anywhere."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from mkdocs_semsearch.insights.report import Report

__all__ = ["report_html"]

WIDTH, HEIGHT = 720, 150
"""Of the plot over time, in units of its own: it is as wide as the screen."""


def report_html(report: Report) -> str:
    """Returns the report as a page that is readable on a phone, in light and dark."""
    import jinja2

    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    source = files("mkdocs_semsearch.insights").joinpath("report.html.jinja").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        report=report, bars=_bars(report), width=WIDTH, height=HEIGHT, most=max([1, *_failures(report)])
    )


def _failures(report: Report) -> list[float]:
    return [group.failures for group in report.unanswered]


def _bars(report: Report) -> list[dict[str, Any]]:
    """Returns place and height of the bars of every day; a day without searches is an empty place."""
    days = report.days[-90:]
    if not days:
        return []
    most = max(day["searches"] for day in days)
    wide = min(40.0, WIDTH / len(days))
    return [
        {
            **day,
            "x": round(number * wide, 1),
            "width": round(wide * 0.8, 1),
            "all": round(HEIGHT * day["searches"] / most, 1),
            "with": round(HEIGHT * day["opened"] / most, 1),
        }
        for number, day in enumerate(days)
    ]
