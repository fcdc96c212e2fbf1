"""The cause of a disagreement is named from the clues alone, from a closed list; what no probe flips is unexplained."""

from __future__ import annotations

import pytest
from rows import rows_of

from sqlassay.dialect_adapters.mysql.adapter import MysqlAdapter
from sqlassay.dialect_adapters.postgres.adapter import PostgresAdapter
from sqlassay.dialect_adapters.sqlite.determinism import BARE, NO_ORDER, SEVERAL, TIE
from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.harness.crosscheck.classify import REASONS, Clues, classify
from sqlassay.harness.crosscheck.probing import complaint
from sqlassay.harness.crosscheck.score import _ADVICE

ROWS = rows_of("crosscheck")


@pytest.mark.parametrize("row", ROWS, ids=[row["why"] for row in ROWS])
def test_clues_name_cause_and_owner(row):
    """Each row of the table."""
    given = {"golds": True, **row["clues"]}
    for name in {"complaint", "form_complaint"} & set(given):
        given[name] = Difference(given[name])
    for name in {"suspects", "needed", "unsaid"} & set(given):
        given[name] = tuple(Difference(one) for one in given[name])
    for name in ("undecided", "loosened"):
        given[name] = tuple(given.get(name, ()))
    found = classify(Clues(**given))
    assert (found.cause, found.owner, found.explained) == (row["cause"], row["owner"], row.get("explained", True))
    assert found.also == tuple(row.get("also", ()))
    assert found.set_aside == row.get("set_aside", False)


def test_every_cause_has_advice():
    """The closed list and what to do about it name the same causes; every reason of the probes is a cause."""
    assert set(_ADVICE) == set(Difference)
    assert set(REASONS) == {TIE, NO_ORDER, BARE, SEVERAL}


@pytest.mark.parametrize(
    ("adapter", "message", "cause"),
    [
        (PostgresAdapter(), 'error: column "Rome" does not exist', Difference.UNKNOWN_NAME),
        (PostgresAdapter(), "error: operator does not exist: text > integer", Difference.TEXT_AND_NUMBER),
        (PostgresAdapter(), "error: operator does not exist: integer || integer", Difference.CONCATENATION),
        (PostgresAdapter(), 'error: column "t.a" must appear in the GROUP BY clause', Difference.BARE_COLUMN),
        (PostgresAdapter(), "error: function round(double precision, integer) does not exist", Difference.ROUNDING),
        (PostgresAdapter(), "error: function strftime(unknown, text) does not exist", Difference.DATE_FUNCTION),
        (PostgresAdapter(), "error: operator does not exist: boolean = integer", Difference.TYPE_ERROR),
        (PostgresAdapter(), "error: function sum(boolean) does not exist", Difference.TYPE_ERROR),
        (PostgresAdapter(), "error: function sum(text) does not exist", Difference.TEXT_AND_NUMBER),
        (PostgresAdapter(), "error: operator does not exist: date ~~ unknown", Difference.TYPE_ERROR),
        (
            PostgresAdapter(),
            "error: operator does not exist: text = timestamp without time zone",
            Difference.TYPE_ERROR,
        ),
        (PostgresAdapter(), "error: operator does not exist: integer ~~ unknown", Difference.TEXT_AND_NUMBER),
        (PostgresAdapter(), "error: operator does not exist: date - text", Difference.DATE_ARITHMETIC),
        (PostgresAdapter(), 'error: invalid input syntax for type boolean: "yes"', Difference.TYPE_ERROR),
        (PostgresAdapter(), 'error: invalid input syntax for type date: "2020"', Difference.TYPE_ERROR),
        (PostgresAdapter(), 'error: invalid input syntax for type integer: "x"', Difference.TEXT_AND_NUMBER),
        (PostgresAdapter(), "error: CASE types boolean and text cannot be matched", Difference.TYPE_ERROR),
        (PostgresAdapter(), "error: UNION types integer and text cannot be matched", Difference.TEXT_AND_NUMBER),
        (PostgresAdapter(), "error: function substr(date, integer, integer) does not exist", Difference.TYPE_ERROR),
        (PostgresAdapter(), 'error: collation "nocase" for encoding "UTF8" does not exist', Difference.COLLATION),
        (MysqlAdapter(), "error: Unknown collation: 'de_DE'", Difference.COLLATION),
        (
            MysqlAdapter(),
            "error: COLLATION 'latin1_bin' is not valid for CHARACTER SET 'utf8mb4'",
            Difference.COLLATION,
        ),
        (PostgresAdapter(), "error: something nobody has seen", None),
        (MysqlAdapter(), "error: Every derived table must have its own alias", Difference.DERIVED_TABLE),
        (MysqlAdapter(), "error: FUNCTION shop.julianday does not exist", Difference.DATE_FUNCTION),
        (MysqlAdapter(), "error: not run (unknown_function): no such function: total", Difference.MISSING_FUNCTION),
    ],
)
def test_messages_are_about_something(adapter, message, cause):
    """What an engine, or the guard before it, complains about; an unknown message is about nothing."""
    assert complaint(message, adapter) is cause
