"""The progress messages while texts are being embedded."""

from __future__ import annotations

from mkdocs_semsearch.site import pipeline as module
from mkdocs_semsearch.site.pipeline import EmbeddingProgress


def test_short_work_logs_nothing(capsys):
    said = []
    progress = EmbeddingProgress(said.append, terminal=False)
    for done in (10, 20, 30):
        progress(done, 30)
    progress.close()
    assert said == []
    assert capsys.readouterr() == ("", "")


def test_long_work_logs_a_line_now_and_then(monkeypatch):
    said, clock = [], [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    progress = EmbeddingProgress(said.append, terminal=False)
    for done in range(1, 31):
        clock[0] = float(done)
        progress(done, 30)
    assert said == [f"Embedded {done} of 30 texts" for done in (10, 20, 30)]


def test_the_last_line_is_the_end_however_soon_it_comes(monkeypatch):
    said, clock = [], [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    progress = EmbeddingProgress(said.append, terminal=False)
    clock[0] = 11.0
    progress(422, 696)
    progress(678, 696)
    progress(696, 696)
    progress(696, 696)
    assert said == ["Embedded 422 of 696 texts", "Embedded 696 of 696 texts"]


def test_terminal_gets_a_bar_that_goes_away(capsys, monkeypatch):
    said = []
    progress = EmbeddingProgress(said.append, terminal=True)
    progress(1, 4)
    progress(4, 4)
    assert progress._bar.n == 4
    progress.close()
    progress.close()
    assert said == []
