"""An engine is asked under its other collation, and under the first engine's settings, too; the rows name the cause."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sqlassay.cases.case import Case
from sqlassay.cases.pack import Pack
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.cases.settings import EngineSettings
from sqlassay.cases.snapshot import Snapshot
from sqlassay.harness.crosscheck.collations import Pair, by_collation, by_settings
from sqlassay.harness.crosscheck.lines import Line
from sqlassay.harness.crosscheck.statements import Answered, Given
from sqlassay.harness.results.crosscheck import Found
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import ParsedQuery

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


BERLIN = EngineSettings(collation="utf8mb4_bin", time_zone="Europe/Berlin", sql_mode="PIPES_AS_CONCAT")
HELD = {
    "mysql": EngineSettings(collation="utf8mb4_bin", time_zone="UTC", sql_mode="STRICT_TRANS_TABLES"),
    "postgres": EngineSettings(collation="C.UTF-8", time_zone="UTC"),
    "sqlite": EngineSettings(collation="BINARY"),
}


@dataclass
class _Server:
    """Answers with 1, as the first engine does, where `field` is set to `value`, and with 2 elsewhere."""

    dialect: str
    field: str
    value: str | None
    tried: list[tuple[str | None, str | None, str | None]]

    def line(self) -> Line:
        adapter = SimpleNamespace(folds_text=True) if self.dialect == "mysql" else SimpleNamespace()
        catalog = SimpleNamespace(snapshot="s", settings=HELD[self.dialect])
        bench = SimpleNamespace(image=SimpleNamespace(catalogs=[catalog]))
        return cast(Line, SimpleNamespace(adapter=adapter, bench=bench, dialect=self.dialect))

    def opened(self, _: Line, pack: Pack) -> Line:
        settings = pack.snapshots[0].settings_for(self.dialect)
        self.tried.append((settings.collation, settings.sql_mode, settings.time_zone))
        answer = _answered(1 if getattr(settings, self.field) == self.value else 2).answers[0]
        return cast(Line, SimpleNamespace(answers=lambda tasks, *_, **__: [answer] * len(tasks)))


@pytest.mark.parametrize(
    ("dialect", "asked", "home", "field", "value", "cause"),
    [
        ("mysql", BERLIN, None, "time_zone", "UTC", "time zone"),
        ("mysql", None, BERLIN, "time_zone", "Europe/Berlin", "time zone"),
        ("postgres", None, BERLIN, "time_zone", "Europe/Berlin", "time zone"),
        ("mysql", BERLIN, None, "sql_mode", None, "sql_mode"),
        ("mysql", None, BERLIN, "sql_mode", "PIPES_AS_CONCAT", "sql_mode"),
        ("postgres", EngineSettings(collation="en_US.utf8"), None, "collation", "binary", "collation"),
        ("mysql", BERLIN, None, "version", "nothing sets it", None),  # no setting flips it: it stays unexplained
    ],
)
@pytest.mark.parametrize("agreed", ["silent", "error"])
def test_the_one_setting_that_decides_is_the_cause(
    dialect: str,
    asked: EngineSettings | None,
    home: EngineSettings | None,
    field: str,
    value: str | None,
    cause: str | None,
    agreed: str,
) -> None:
    """An engine that agrees once one setting is the first engine's differs by that setting, and by no other."""
    given = {name: one for name, one in ((dialect, asked), ("first", home)) if one is not None}
    pack = replace(PACK, snapshots=(Snapshot("s", "s", "0", settings=given),))
    first = cast(Line, SimpleNamespace(dialect="first"))
    server = _Server(dialect, field, value, [])
    pair = Pair(CASE, _answered(1), _answered(2), POLICY, agreed, None)
    shown, problems = by_settings(server.line(), first, [pair], pack, server.opened, golds=True)
    assert problems == []
    assert [one.found.cause for one in shown] == ([] if cause is None else [cause])
    assert all(one.found.explained and "agrees under" in one.found.probe for one in shown)


def test_another_order_of_rows_is_no_tie_where_a_locale_makes_it() -> None:
    """What only a comparison without order showed is asked for under code points, which says more."""
    tie = Found(cause="tie order", owner="dialect", probe="p", explained=True)
    given = {"postgres": EngineSettings(collation="en_US.utf8")}
    pack = replace(PACK, snapshots=(Snapshot("s", "s", "0", settings=given),))
    first = cast(Line, SimpleNamespace(dialect="first"))
    for value, causes in (("binary", ["collation"]), ("nothing sets it", [])):
        server = _Server("postgres", "collation", value, [])
        pair = Pair(CASE, _answered(1), _answered(2), POLICY, "silent", tie)
        shown, _ = by_settings(server.line(), first, [pair], pack, server.opened, golds=True)
        assert [one.found.cause for one in shown] == causes
        assert len(server.tried) == 1


@pytest.mark.parametrize("dialect", ["mysql", "postgres", "sqlite"])
def test_settings_that_are_alike_or_not_to_be_had_are_not_tried(dialect: str) -> None:
    """Where the pack says nothing, or an engine has no such setting, no server is brought up."""
    home = BERLIN if dialect == "sqlite" else EngineSettings(sql_mode="PIPES_AS_CONCAT")
    given = {} if dialect == "mysql" else {"first": home}
    pack = replace(PACK, snapshots=(Snapshot("s", "s", "0", settings=given),))
    server = _Server(dialect, "version", "", [])
    pair = Pair(CASE, _answered(1), _answered(2), POLICY, "silent", None)
    first = cast(Line, SimpleNamespace(dialect="first"))
    assert by_settings(server.line(), first, [pair], pack, server.opened, golds=True) == ([], [])
    assert server.tried == []
