"""An engine that reads another's statements is given them, as they stand, where a pack has none for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlassay.cases.case import Case, Prediction
from sqlassay.cases.errors import InputError
from sqlassay.cases.pack import Pack
from sqlassay.cases.snapshot import Snapshot
from sqlassay.harness.kin import in_dialects, kin_of, lent, predictions_in


def pack(*cases: Case, **scripts: tuple[Path, ...]) -> Pack:
    """Return a pack of these cases over one snapshot."""
    return Pack("p", Path(), "d", cases, (Snapshot("s", "s", "x", scripts=scripts),))


def case(case_id: str = "a", **fields: dict[str, str]) -> Case:
    """Return a case with texts by dialect."""
    return Case(id=case_id, question="?", snapshot="s", **fields)


def test_mariadb_reads_what_is_mysqls() -> None:
    """Gold, setup, questions and scripts; other dialects have no kin."""
    assert kin_of(("mariadb", "mysql", "postgres", "sqlite")) == {"mariadb": "mysql"}
    given = case(gold={"mysql": "G"}, setup_sql={"mysql": "S"}, eval_query={"mysql": "E"}, cleanup_sql={"mysql": "C"})
    found = in_dialects(pack(given, mysql=(Path("m.sql"),)), ("mariadb",))
    (only,) = found.cases
    texts = (only.gold, only.setup_sql, only.eval_query, only.cleanup_sql)
    assert texts == tuple({"mysql": (name,), "mariadb": (name,)} for name in "GSEC")
    assert found.snapshots[0].scripts == {"mysql": (Path("m.sql"),), "mariadb": (Path("m.sql"),)}
    assert found.digest == "d"


def test_its_own_words_win() -> None:
    """What a pack writes for the engine itself is never replaced, and a dialect that was not asked for gets nothing."""
    given = pack(case(gold={"mysql": "M", "mariadb": "A"}), mysql=(Path("m"),), mariadb=(Path("a"),))
    found = in_dialects(given, ("mariadb",))
    assert found.cases[0].gold == {"mysql": ("M",), "mariadb": ("A",)}
    assert found.snapshots[0].scripts["mariadb"] == (Path("a"),)
    assert in_dialects(given, ("mysql", "sqlite")) is given


def test_other_gold_is_no_kins() -> None:
    """Gold of SQLite or Postgres stays theirs."""
    found = in_dialects(pack(case(gold={"sqlite": "S", "postgres": "P"})), ("mariadb",))
    assert set(found.cases[0].gold) == {"sqlite", "postgres"}


def test_how_much_is_read_so_is_told() -> None:
    """The line counts the cases whose gold is the kin's, and there is none where there are none."""
    given = pack(case("a", gold={"mysql": "M"}), case("b", gold={"mysql": "M", "mariadb": "A"}), case("c"))
    assert lent(given, "mariadb") == "mariadb reads the gold of mysql as it stands in 1 cases that have none of its own"
    assert lent(given, "mysql") == ""
    assert lent(pack(case("b", gold={"mariadb": "A"})), "mariadb") == ""


def test_predictions_for_the_kin_are_meant_for_it() -> None:
    """A prediction for MySQL answers on MariaDB unless there is one for MariaDB; those for others stay as they are."""
    given = [
        Prediction(case_id="a", sql="1", dialect="mysql"),
        Prediction(case_id="b", sql="2", dialect="mysql"),
        Prediction(case_id="b", sql="3", dialect="mariadb"),
        Prediction(case_id="a", sql="4", dialect="postgres"),
        Prediction(case_id="a", sql="5"),
    ]
    found = predictions_in(given, "mariadb")
    assert [(one.sql, one.dialect) for one in found] == [
        ("1", "mariadb"),
        ("2", "mysql"),
        ("3", "mariadb"),
        ("4", "postgres"),
        ("5", None),
    ]
    assert predictions_in(given, "postgres") == tuple(given)


def test_an_unknown_dialect_is_refused() -> None:
    """The error names the installed ones."""
    with pytest.raises(InputError, match="oracle"):
        in_dialects(pack(), ("oracle",))
