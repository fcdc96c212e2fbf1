"""An engine that compares without case is asked under its other collation too, and the rows say so."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cases.case import Case
from cases.pack import Pack
from cases.policy import Policy
from cases.presets import preset
from cases.relation import Column, Kind, Relation
from cases.settings import EngineSettings
from cases.snapshot import Snapshot
from harness.crosscheck.collations import Pair, by_collation
from harness.crosscheck.lines import Line
from harness.crosscheck.statements import Answered, Given
from harness.results.crosscheck import Found
from harness.results.evidence import GoldAnswer
from harness.results.parsed import ParsedQuery

POLICY: Policy = preset("strict")
PARSED = ParsedQuery("SELECT 1", "sqlite", "sqlglot")


def _answered(value: int, origin: str = "same text") -> Answered:
    relation = Relation((Column("n", Kind.INT),), ((value,),))
    given = Given(("SELECT 1",), cast(Any, origin))
    return Answered(given, (GoldAnswer("SELECT 1", PARSED, relation),))


@dataclass
class _Engine:
    """Answers every statement with one number, by the collation of the pack it is over."""

    bytewise: bool
    answers_with: int
    folds: bool = True
    asked: Pack | None = None

    def line(self) -> Line:
        settings = EngineSettings(collation="utf8mb4_0900_bin" if self.bytewise else "utf8mb4_0900_ai_ci")
        adapter = SimpleNamespace(folds_text=True) if self.folds else SimpleNamespace()
        bench = SimpleNamespace(image=SimpleNamespace(catalogs=[SimpleNamespace(snapshot="s", settings=settings)]))
        return cast(Line, SimpleNamespace(adapter=adapter, bench=bench, dialect="mysql"))

    def opened(self, _: Line, pack: Pack) -> Line:
        self.asked = pack
        return cast(
            Line,
            SimpleNamespace(answers=lambda tasks, *_, **__: [_answered(self.answers_with).answers[0]] * len(tasks)),
        )


PACK = Pack("p", Path("p"), "0", (), (Snapshot("s", "s", "0"),))
CASE = Case(id="a", question="q", snapshot="s", gold={"sqlite": ("SELECT 1",)})


@pytest.mark.parametrize(
    ("bytewise", "other", "agreed", "there", "cause", "counts"),
    [
        (False, 2, "silent", 1, True, False),  # code points agree with the first engine: the collation it was
        (False, 2, "silent", 2, False, False),  # they do not: something else
        (True, 1, "agree", 2, True, True),  # agrees by bytes alone: a stock server answers otherwise
        (True, 1, "agree", 1, False, False),
    ],
)
def test_the_other_collation_shows_what_it_decides(
    bytewise: bool, other: int, agreed: str, there: int, cause: bool, counts: bool
) -> None:
    """What differs under one collation and agrees under the other differs by it; the stock answer counts."""
    engine = _Engine(bytewise, there)
    pair = Pair(CASE, _answered(1), _answered(other), POLICY, agreed, None)
    shown, problems = by_collation(engine.line(), [pair], PACK, engine.opened, golds=True)
    assert problems == []
    assert [one.found.cause for one in shown] == ["collation"] * cause
    assert [one.answer is not None for one in shown] == [counts] * cause
    assert engine.asked is not None
    asked = engine.asked.snapshots[0]
    assert asked.settings_for("mysql").collation == ("default" if bytewise else "binary")
    assert asked.digest != "0"


def test_nothing_is_asked_where_nothing_is_open() -> None:
    """An explained difference, a rewritten text, another engine: each keeps its one image."""
    explained = Found(cause="rounding", owner="dialect", probe="p", explained=True)
    silent = Pair(CASE, _answered(1), _answered(2), POLICY, "silent", explained)
    rewritten = Pair(CASE, _answered(1), _answered(1, "rewritten"), POLICY, "agree", None)
    for engine, pair in (
        (_Engine(bytewise=False, answers_with=1), silent),
        (_Engine(bytewise=True, answers_with=2), rewritten),
        (_Engine(bytewise=False, answers_with=1, folds=False), replace(silent, found=None)),
    ):
        assert by_collation(engine.line(), [pair], PACK, engine.opened, golds=True) == ([], [])
        assert engine.asked is None
