"""Measures `semsearch tune` on questions that it has not seen: half of a site's questions fit, the other half judge.

    python benchmarks/tune_halves.py netbox=SITE/semsearch-index pydantic=… --queries ../shared/eval/*.jsonl

The questions of a site are shuffled, once for each seed, and each half fits once for the other one: `semsearch tune`
chooses a semantic weight, or leaves the ranking as it is. The report has MRR@10 of the judging half before, the gain,
and the standard error of the gain. `always` is the weight that is best over the fitting half, taken without asking
whether it helps. Sites with fewer questions than `semsearch tune` asks for in a half are named and left out.
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mkdocs_semsearch.searching.evaluation import (
    FEWEST_QUESTIONS,
    EvaluationQuery,
    evaluate,
    fit_semantic_weight,
    read_queries,
)
from mkdocs_semsearch.searching.searcher import Searcher, open_searcher


def reciprocal_ranks(searcher: Searcher, questions: Sequence[EvaluationQuery], weight: float) -> list[float]:
    judged = evaluate(searcher.with_semantic_weight(weight), questions).judged
    return [1 / item.rank if item.rank else 0.0 for item in judged]


def compared(before: Sequence[float], after: Sequence[float]) -> dict[str, float]:
    gains = [new - old for old, new in zip(before, after, strict=True)]
    mean = sum(gains) / len(gains)
    variance = sum((gain - mean) ** 2 for gain in gains) / (len(gains) - 1)
    return {"gain": round(mean, 4), "error": round(math.sqrt(variance / len(gains)), 4)}


def half(searcher: Searcher, fitting: Sequence[EvaluationQuery], judging: Sequence[EvaluationQuery]) -> dict[str, Any]:
    found = fit_semantic_weight(searcher, fitting)
    before = reciprocal_ranks(searcher, judging, found.before)
    best = before if found.weight == found.before else reciprocal_ranks(searcher, judging, found.weight)
    return {
        "fitted_on": len(fitting),
        "judged_on": len(judging),
        "weight": found.weight if found.helps else found.before,
        "mrr_before": round(sum(before) / len(before), 4),
        "tuned": compared(before, best if found.helps else before),
        "always": {"weight": found.weight, **compared(before, best)},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("indexes", nargs="+", metavar="CORPUS=INDEX")
    parser.add_argument("--queries", nargs="+", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[19, 20, 21, 22, 23])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    asked = [question for file in given.queries for question in read_queries(file)]
    report: dict[str, list[dict[str, Any]]] = {}
    for name, _, folder in (item.partition("=") for item in given.indexes):
        with open_searcher(folder) as searcher:
            known = [q for q in asked if q.corpus == name and any(map(searcher.has_page, q.pages))]
            if len(known) // 2 < FEWEST_QUESTIONS:
                print(f"{name}: {len(known)} questions are too few", flush=True)
                continue
            report[name] = []
            for seed in given.seeds:
                shuffled = random.Random(seed).sample(known, len(known))
                halves = shuffled[::2], shuffled[1::2]
                for fitting, judging in (halves, halves[::-1]):
                    row = {"seed": seed, **half(searcher, fitting, judging)}
                    report[name].append(row)
                    print(f"{name}: {json.dumps(row)}", flush=True)
    if given.json:
        given.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
