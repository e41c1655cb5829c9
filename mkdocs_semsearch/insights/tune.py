"""Fits the share of meaning in the ranking to the questions of a site; writes it only if held-out questions gain."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mkdocs_semsearch.errors import SemsearchError
from mkdocs_semsearch.searching import Searcher
from mkdocs_semsearch.searching.evaluation import EvaluationQuery, evaluate

FEWEST_QUESTIONS = 60
FOLDS = 5
SHARES = tuple(round(0.3 + 0.05 * step, 2) for step in range(11))
"""Shares of meaning that are tried."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The outcome of fitting the share of meaning.

    Attributes:
        questions: how many could be judged.
        share: the share with the highest MRR over all questions.
        before: the share that the index has.
        mrr: MRR@10 over all questions by share.
        held_out_before: MRR@10 of held-out questions with the share of the index.
        held_out: the same with the share that is best for the other questions.
        error: standard error of the difference of the two.
    """

    questions: int
    share: float
    before: float
    mrr: Mapping[float, float]
    held_out_before: float
    held_out: float
    error: float

    @property
    def helps(self) -> bool:
        """Whether held-out questions gain more than the standard error of the gain."""
        return self.share != self.before and self.held_out - self.held_out_before > self.error

    def to_json(self) -> dict[str, Any]:
        """Returns the figures as JSON values."""
        return {**asdict(self), "mrr": {f"{share:g}": value for share, value in self.mrr.items()}, "helps": self.helps}


def fit_semantic_share(searcher: Searcher, questions: Sequence[EvaluationQuery]) -> Tuning:
    """Ranks all questions with every share, and cross-validates the choice in five folds.

    Args:
        searcher: of an index in this process.
        questions: with their answers.

    Raises:
        SemsearchError: fewer than `FEWEST_QUESTIONS` have their answer in the index.
    """
    known = [question for question in questions if any(map(searcher.has_page, question.pages))]
    if len(known) < FEWEST_QUESTIONS:
        raise SemsearchError(
            f"{len(known)} questions have their answer in this index: {FEWEST_QUESTIONS} are needed, because the best "
            "share of fewer is chance."
        )
    before = searcher.semantic_share
    shares = sorted({*SHARES, before})
    gains = {share: _reciprocal_ranks(searcher.with_semantic_share(share), known) for share in shares}
    order = list(range(len(known)))
    random.Random(0).shuffle(order)
    differences = []
    for fold in range(FOLDS):
        held_out = set(order[fold::FOLDS])
        chosen = _best(gains, before, lambda number, out=held_out: number not in out)  # type: ignore[misc]
        differences += [gains[chosen][number] - gains[before][number] for number in held_out]
    mean = sum(differences) / len(differences)
    variance = sum((value - mean) ** 2 for value in differences) / (len(differences) - 1)
    mrr = {share: round(sum(values) / len(values), 4) for share, values in gains.items()}
    return Tuning(
        questions=len(known),
        share=_best(gains, before, lambda number: True),
        before=before,
        mrr=mrr,
        held_out_before=mrr[before],
        held_out=round(mrr[before] + mean, 4),
        error=round(math.sqrt(variance / len(differences)), 4),
    )


def _reciprocal_ranks(searcher: Searcher, questions: Sequence[EvaluationQuery]) -> list[float]:
    return [1 / judged.rank if judged.rank else 0.0 for judged in evaluate(searcher, questions).judged]


def _best(gains: Mapping[float, Sequence[float]], before: float, counts: Callable[[int], bool]) -> float:
    """Returns the share with the highest mean over some questions; of equal ones that nearest to the present one."""
    sums = {share: sum(gain for number, gain in enumerate(values) if counts(number)) for share, values in gains.items()}
    return max(sums, key=lambda share: (round(sums[share], 9), -abs(share - before)))


_PLUGIN = re.compile(
    r"^(?P<indent>[ \t]*)- (?P<quote>[\"']?)semsearch(?P=quote)(?P<colon>:?)[ \t]*(?:#.*)?$", re.MULTILINE
)
_LINE = re.compile(r"^[ \t]+ranking: \{semantic: [\d.]+\}.*(?:\n|\Z)", re.MULTILINE)


def write_semantic_share(config_file: Path, share: float, accepted: Callable[[], bool]) -> None:
    """Writes `ranking: {semantic: …}` as one line under the plugin; deleting that line undoes it.

    Args:
        config_file: `mkdocs.yml`.
        share: of meaning.
        accepted: reads the file again and tells whether it says so.

    Raises:
        SemsearchError: the plugin is written in another form; the file is as it was.
    """
    before = config_file.read_text(encoding="utf-8")
    line = f"ranking: {{semantic: {share:g}}}  # by semsearch tune"
    text = _LINE.sub("", before)
    found = _PLUGIN.search(text)
    if found is not None:
        head = f"{found['indent']}- {found['quote']}semsearch{found['quote']}:"
        following = re.match(r"\n((?:[ \t]*(?:#.*)?\n)*)([ \t]+)(?!-)", text[found.end() :])
        deeper = following is not None and len(following[2]) > len(found["indent"]) and bool(found["colon"])
        indent = following[2] if deeper and following is not None else f"{found['indent']}    "
        config_file.write_text(f"{text[: found.start()]}{head}\n{indent}{line}{text[found.end() :]}", encoding="utf-8")
        if accepted():
            return
        config_file.write_text(before, encoding="utf-8")
    wanted = line.split("  ")[0]
    raise SemsearchError(f"{config_file} has the plugin in a form that cannot be edited here: write {wanted} there.")
