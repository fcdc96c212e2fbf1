"""A gold phase that is broken off still says which gold statements were found to have changed a snapshot."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from sqlassay.cases.case import Case
from sqlassay.harness.run import runner
from sqlassay.harness.store.shelf import GoldShelf


class Pool:
    """Stands where the servers of a phase stand, on one of which a change was seen."""

    drift = ("DELETE FROM orders changed shop",)

    def left(self, tasks):
        pass

    def kill(self):
        pass

    def settle(self):
        pass


class Heard:
    """A screen that keeps what it is told; a progress line may be where the interruption arrives."""

    def __init__(self, *, interrupted):
        self.interrupted = interrupted
        self.lines = []

    def notice(self, line):
        self.lines.append(line)

    def progress(self, phase, done, total):
        if self.interrupted:
            raise KeyboardInterrupt


CASE = Case(id="a", question="q", snapshot="s", gold={"sqlite": ("SELECT 1",)}, query_type="dql")
CONFIG = SimpleNamespace(gold_cache=False, dialect="sqlite", jobs=1)
DESK = SimpleNamespace(station=SimpleNamespace(rest=lambda: None), parser=SimpleNamespace(close=lambda: None))
RULES = SimpleNamespace(wants=lambda need: False)
BENCH = SimpleNamespace(pool=lambda: nullcontext(Pool()), desk=lambda pool: DESK, rules=RULES)


def test_drift_is_told_where_the_gold_phase_is_interrupted(monkeypatch):
    """Ctrl-C while gold runs: the run has no folder yet, so the line goes to the screen."""
    monkeypatch.setattr(runner, "answer_gold", lambda *_: ())
    heard, book = Heard(interrupted=True), SimpleNamespace(problems=[])
    with pytest.raises(KeyboardInterrupt):
        runner._gold_phase(CONFIG, [CASE], BENCH, book, heard, GoldShelf(Path()))
    assert set(heard.lines) == {"gold left a trace: DELETE FROM orders changed shop"}


def test_a_whole_gold_phase_keeps_drift_for_the_reports(monkeypatch):
    """Without an interruption the same line is a problem of the run, said once."""
    monkeypatch.setattr(runner, "answer_gold", lambda *_: ())
    heard, said = Heard(interrupted=False), []
    book = SimpleNamespace(problem=said.extend)
    assert runner._gold_phase(CONFIG, [CASE], BENCH, book, heard, GoldShelf(Path())) == {("a", "s"): ()}
    assert set(said) == {"gold left a trace: DELETE FROM orders changed shop"}
    assert heard.lines == []
