"""The comparator against one that tries everything: thousands of small pairs, every field of the policy at random."""

from __future__ import annotations

import os
import random
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Column, Json, Kind, Relation
from sqlassay.harness.compare import compare

sys.path.insert(0, str(Path(__file__).parent))
import oracle

EXAMPLES = int(os.environ.get("ORACLE_PAIRS", "20000"))
SEED = int(os.environ.get("ORACLE_SEED", "0"))
BATCHES = 10

CELLS: tuple[object, ...] = (
    *(None, True, False, 0, 1, 2, 7, 12345678, 2**53, 2**53 + 1, 10**11, 10**11 + 1),
    *(0.0, -0.0, 1.0, 0.1, 0.1 + 0.2, 0.3, 0.25, 2.5, 1.6667, 12345678.9, 12345678.91, 1e11, 1e11 + 1, 5e-13),
    *(float("nan"), float("inf"), 1700000000.25, 1700000000.5, 1000000.1, 1000000.0999999999),
    *map(Decimal, ("0.1", "0.30", "1", "1.00", "2.5", "1.6667", "1.6666666666666667", "1.66666666666666666667")),
    *map(Decimal, ("12345678.90", "12345678.91", "1.5000000000", "1.5000000001", "100000000000", "NaN")),
    *("", "a", "A", "a ", " a", "1", "1.0", "01", "2.5", "caf\u00e9", "cafe\u0301", "true", "null", '"a"', "[1, 2]"),
    *("2024-01-02", "2024-01-02 00:00:00", "2024-01-02T03:04:05Z", "03:04:05", '{"a": 1.0}', "[0.3]"),
    *(date(2024, 1, 2), date(2024, 1, 3), datetime(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5)),
    *(datetime(2024, 1, 2, 3, 4, 5, 1500), datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)),
    datetime(2024, 1, 2, 5, 4, 5, tzinfo=timezone(timedelta(hours=2))),
    *(time(3, 4, 5), timedelta(hours=3, minutes=4, seconds=5), timedelta(days=1), b"a", b""),
    *(UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    *map(Json, ("1", "1.0", "true", "null", '"a"', '{"a": 1}', "[1, 2]", "[0.3]", "[0.30000000000000004]", "0.3")),
    *map(Json, ('"2024-01-02"', "12345678.9", "12345678.91", '{"a": 0.3}', '{"a": 0.30000000000000004}', "{broken")),
    *((1, 2), (1.0, 2), (0.3,), (0.1 + 0.2,), (None,), ("2024-01-02",), (date(2024, 1, 2),), (True,), ("a",)),
)  # fmt: skip
NEAR: tuple[tuple[object, ...], ...] = (
    (0.1, 0.3, 0.1 + 0.2, Decimal("0.3"), None),
    (0, 0.5, 1.0, 1.5, Decimal("1.5"), 2),
    (Decimal("1.6"), Decimal("1.67"), Decimal("1.6667"), 1.66666, Decimal("1.7")),
    (Decimal("1.6667"), Decimal("1.66667"), Decimal("1.66675"), Decimal("1.667"), 1.6666666666666667, Decimal("1.66")),
    (1, True, "1", Json("1"), Json("true"), 1.0),
    (Json("[0.3]"), Json("[0.30000000000000004]"), (0.3,), (0.1 + 0.2,), "[0.3]"),
    (Json("0.3"), 0.3, 0.1 + 0.2, Decimal("0.3"), Json("0.30000000000000004")),
    (12345678.9, 12345678.91, Decimal("12345678.90"), 12345678.90000001, 12345678),
    ("a", "A", "a ", None, '"a"', Json('"a"')),
    ("1", 1, '"1"', Json("1"), Json('"1"'), Json('"\\"1\\""')),
    ("null", None, Json("null"), Json('"null"'), "a", Json('"a"')),
    ("true", True, Json("true"), Json('"true"'), 1, Json("1")),
    ("[1]", (1,), Json("[1]"), Json('"[1]"'), ("1",), Json('["1"]')),
    ("2024-01-02", date(2024, 1, 2), Json('"2024-01-02"'), '"2024-01-02"', datetime(2024, 1, 2), None),
)
KINDS = (Kind.OTHER, Kind.OTHER, Kind.OTHER, Kind.FLOAT64, Kind.FLOAT32, Kind.BITS, Kind.TEXT, Kind.CHAR)


def policy_of(rng: random.Random, width: int) -> Policy:
    """Draw every field of a policy; most keep their default, so that no rule hides the others."""

    def drawn(default: Any, *others: Any) -> Any:
        return default if rng.random() < 0.7 else rng.choice(others)

    several = drawn("bag", "set")
    order = drawn("auto", "keys", "keys", "exact", "ignore") if several == "bag" else "ignore"
    keyed = order == "keys" and width and rng.random() < 0.9
    keys = rng.sample(range(width), rng.randint(1, min(2, width))) if keyed else []
    return Policy(
        row_order=order,
        order_keys=tuple((column, rng.choice(("asc", "desc"))) for column in keys),
        nulls_order=drawn("gold", "first", "last", "any"),
        cut_ties=rng.choice(("strict", "any")),
        multiplicity=several,
        columns=rng.choice(("position", "any", "name")),
        extra_columns=rng.choice(("forbid", "allow")),
        max_extra_columns=drawn(3, 0, 1),
        required_columns=drawn(None, tuple(rng.sample(range(width), rng.randint(rng.random() > 0.1, width)))),
        ignore_columns=drawn((), ("b",), ("A", "c")),
        names=drawn("ignore", "match"),
        rel_tol=drawn(1e-9, 0.0, 1e-6, 0.3),
        abs_tol=drawn(1e-12, 0.0, 0.01, 0.5),
        float32_rel_tol=drawn(1e-6, 0.0, 0.1),
        scale_aware=drawn(False, True),
        quotient_scale=drawn("auto", 1, 4, None),
        bool_as_int=drawn(True, False),
        bits_as_int=drawn(False, True),
        text_numbers=drawn(False, True),
        temporal_text=drawn(True, False),
        date_midnight=drawn(True, False),
        naive_tz=drawn(None, "UTC", "Europe/Berlin"),
        temporal_precision=drawn("us", "ms", "s"),
        text_case=drawn("exact", "fold"),
        text_trim=drawn("none", "right", "both"),
        text_norm=drawn("NFC", "none"),
        json_text=drawn(True, False),
        json_string_as_text=drawn(False, True),
        uuid_text=drawn(True, False),
        empty=drawn("columns", "any"),
        truncated=None if rng.random() < 0.95 else rng.choice(("gold", "pred", "both")),
    )


def pair_of(rng: random.Random) -> tuple[Relation, Relation]:
    """Draw two small relations of few values, often the same rows and columns in another order, with a cell changed."""
    pool = rng.sample(CELLS, rng.choice((1, 2, 3, 6))) if rng.random() < 0.5 else rng.choice(NEAR)
    width, height = rng.choice((1, 1, 2, 2, 3, 4)), rng.choice((0, 1, 1, 2, 3, 4, 5))
    gold = [tuple(rng.choice(pool) for _ in range(width)) for _ in range(height)]
    turn = rng.sample(range(width), width) if rng.random() < 0.5 else list(range(width))
    rows = rng.sample(gold, height) if rng.random() < 0.6 else gold
    pred = [[row[column] for column in turn] for row in rows]
    more = rng.choice((0, 0, 0, 1, -1))
    if more > 0 and width < 4:
        turn.append(width)
        for row in pred:
            row.append(rng.choice(pool))
    elif more < 0 and width > 1:
        turn.pop()
        for row in pred:
            row.pop()
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        if pred:
            pred[rng.randrange(height)][rng.randrange(len(turn))] = rng.choice(pool)
    if pred and rng.random() < 0.1:
        pred.append(list(rng.choice(pred))) if rng.random() < 0.5 and height < 5 else pred.pop()
    if pred and rng.random() < 0.3:  # other members of the last tie
        pred[-1] = [rng.choice(pool) if rng.random() < 0.5 else cell for cell in pred[-1]]
    names = [rng.choice("abc") for _ in range(width)] if rng.random() < 0.3 else list("abcd"[:width])
    kept = rng.choice((0.95, 0.3))
    theirs = [names[column] if column < width and rng.random() < kept else rng.choice("abcx") for column in turn]
    kinds = [rng.choice(KINDS) for _ in range(5)]
    ours = tuple(Column(name, kinds[place]) for place, name in enumerate(names))
    faced = tuple(Column(name, kinds[turn[place]]) for place, name in enumerate(theirs))
    return Relation(ours, tuple(gold)), Relation(faced, tuple(map(tuple, pred)))


@pytest.mark.parametrize("batch", [0, *(pytest.param(number, marks=pytest.mark.slow) for number in range(1, BATCHES))])
def test_no_small_pair_is_judged_otherwise_than_by_trying_everything(batch: int) -> None:
    """Whatever the policy, the verdict is the one a plain search over columns, orders and pairings gives."""
    for number in range(EXAMPLES // BATCHES):
        rng = random.Random(f"{SEED}-{batch}-{number}")
        gold, pred = pair_of(rng)
        policy = policy_of(rng, len(gold.columns))
        found = compare(gold, pred, policy)
        wanted = oracle.judge(gold, pred, policy)
        changed = {name: value for name, value in policy if value != getattr(Policy(), name)}
        assert found.verdict == wanted, (number, found.rule, gold, pred, changed)
