"""The comparator's laws, and its agreement with a brute force that tries every pairing of rows and columns."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import permutations
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, FarTemporal, Interval, Json, Relation
from sqlassay.harness.compare import compare, partial_credit
from sqlassay.harness.compare.cells import Rules

TRICKY: tuple[object, ...] = (
    *(None, True, False, 0, 1, 2, -1, 2**53, 2**53 + 1, 10**400),
    *(0.0, -0.0, 1.0, 0.1, 0.30000000000000004, 0.3, 1.6667, 2.5, math.nan, math.inf, -math.inf, 1e308, 5e-324),
    *(Decimal("0.1"), Decimal("1"), Decimal("1.00"), Decimal("1.6667"), Decimal("1.66666666"), Decimal("2.5")),
    *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1E+999999"), Decimal("-1E-999999")),
    *(
        "",
        "a",
        "A",
        "a ",
        " a",
        "1",
        "1.0",
        "007",
        "2.5",
        "true",
        "null",
        "caf\u00e9",
        "cafe\u0301",
        "stra\u00dfe",
        "\x00",
    ),
    *(
        "2024-01-02",
        "2024-01-02 00:00:00",
        "2024-01-02T03:04:05Z",
        "03:04:05",
        "1 day, 2:00:00",
        "infinity",
        "2024-02-30",
    ),
    *(
        date(2024, 1, 2),
        datetime(2024, 1, 2),
        datetime(2024, 1, 2, 3, 4, 5, 678),
        datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC),
    ),
    *(datetime.max, datetime.min, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), date.max),
    *(time(3, 4, 5), time(3, 4, 5, tzinfo=UTC), timedelta(hours=3, minutes=4, seconds=5), timedelta(days=1, hours=2)),
    *(Interval(1, 0, 0), Interval(0, 30, 0), FarTemporal("infinity"), FarTemporal("0044-03-15 BC")),
    *(FarTemporal("24:00:00"), timedelta(days=1), FarTemporal("10000-01-01"), "10000-01-01 00:00:00", "03:04:05Z"),
    *(FarTemporal("10000-01-01 02:00:00+02"), FarTemporal("10000-01-01 00:00:00Z"), FarTemporal("0000-00-00")),
    *(
        b"",
        b"a",
        UUID(int=1),
        "00000000-0000-0000-0000-000000000001",
        Json("null"),
        Json("1"),
        Json("1.0"),
        Json("true"),
    ),
    *(Json('{"a":1,"b":[true]}'), '{"b":[true],"a":1.0}', Json("[1,2]"), Json("{broken"), "[1, 2]", '"a"', Json('"a"')),
    *(
        (1, 2),
        (1.0, 2),
        (None,),
        ("2024-01-02",),
        (date(2024, 1, 2),),
        (0.1, (0.30000000000000004,)),
        (0.1, (0.3,)),
        (),
    ),
)
HANDLES: tuple[object, ...] = (
    bytearray(b"a"),
    memoryview(b"a"),
    {"a": 1, "b": [True]},
    {"a": True},
    [1, 2],
    [],
    object(),
    {1, 2},
    1j,
)

POLICIES: tuple[dict[str, Any], ...] = (
    {},
    {"columns": "any", "extra_columns": "allow"},
    {"columns": "any", "row_order": "exact"},
    {"columns": "any", "multiplicity": "set"},
    {"columns": "any", "multiplicity": "set", "extra_columns": "allow"},
    {"row_order": "exact"},
    {"extra_columns": "allow"},
    {"scale_aware": True, "columns": "any"},
    {"abs_tol": 0.5, "columns": "any"},
    {"abs_tol": 1.5},
    {"rel_tol": 0.5},
    {"rel_tol": 2.0, "columns": "any"},
    {"bool_as_int": False, "columns": "any"},
    {"text_numbers": True, "columns": "any"},
    {"text_numbers": True, "text_case": "fold", "text_trim": "both"},
    {"naive_tz": "Europe/Berlin", "columns": "any"},
    {"naive_tz": "UTC"},
    {"date_midnight": False, "temporal_precision": "s"},
    {"temporal_text": False, "uuid_text": False, "json_text": False},
)


def numbers(rng: random.Random) -> list[object]:
    """Draw numbers that lie close together, of every type."""
    return [
        rng.choice((float, Decimal, lambda half: half // 2))(rng.randint(0, 9)) / rng.choice((1, 2)) for _ in range(6)
    ] + [rng.randint(0, 4)]


def scaled(rng: random.Random) -> list[object]:
    """Draw decimals and floats of several scales, some of them equal as values."""
    spelt = [f"{rng.randint(0, 20) / 100:.{rng.choice((1, 2, 2, 3))}f}" for _ in range(5)]
    return [rng.choice((Decimal, Decimal, float))(text) for text in spelt]


def relation(rows: list[tuple[object, ...]], width: int) -> Relation:
    return Relation(tuple(Column(f"c{index}") for index in range(width)), tuple(rows))


def brute_force(gold: Relation, pred: Relation, policy: Policy) -> bool:
    """Try every column mapping and every pairing of rows; cells by the rules for two cells."""
    rules = Rules.of(policy)
    ours, theirs = ([[rules.atom(cell) for cell in row] for row in side.rows] for side in (gold, pred))
    width, offered = len(gold.columns), len(pred.columns)
    if offered < width or (offered > width and policy.extra_columns == "forbid"):
        return False
    if len(ours) != len(theirs) and policy.multiplicity == "bag":
        return False
    for mapping in permutations(range(offered), width) if policy.columns == "any" else [tuple(range(width))]:
        equal = [[all(rules.same(a[i], b[j]) for i, j in enumerate(mapping)) for b in theirs] for a in ours]
        if policy.multiplicity == "set":
            covered = all(map(any, equal)) and all(any(line[k] for line in equal) for k in range(len(theirs)))
            if covered:
                return True
            continue
        pairings: Iterator[tuple[int, ...]] | list[tuple[int, ...]] = permutations(range(len(theirs)))
        if policy.row_order == "exact":
            pairings = [tuple(range(len(theirs)))]
        if any(all(equal[i][k] for i, k in enumerate(pairing)) for pairing in pairings):
            return True
    return False


def pair_of(seed: int) -> tuple[Relation, Relation, Policy]:
    """Make two small relations of few values, often related by a shuffle of rows and columns."""
    rng = random.Random(seed)
    pool = rng.sample(TRICKY, rng.choice((2, 3, 5, 12))) if rng.random() < 0.7 else rng.choice((numbers, scaled))(rng)
    width, height = rng.randint(1, 3), rng.randint(0, 4)
    gold = [tuple(rng.choice(pool) for _ in range(width)) for _ in range(height)]
    columns = rng.sample(range(width), width)
    pred = [tuple(row[c] for c in columns) for row in rng.sample(gold, height)]
    if rng.random() < 0.3:
        pred = [(*row, rng.choice(pool)) for row in pred]
        width_pred = width + 1
    else:
        width_pred = width
    if pred and rng.random() < 0.5:
        line = rng.randrange(len(pred))
        spot = rng.randrange(width_pred)
        pred[line] = tuple(rng.choice(pool) if c == spot else cell for c, cell in enumerate(pred[line]))
    if pred and rng.random() < 0.15:
        pred.append(rng.choice(pred))
    return relation(gold, width), relation(pred, width_pred), Policy(**rng.choice(POLICIES))


def pairs() -> st.SearchStrategy[tuple[Relation, Relation, Policy]]:
    return st.integers(0, 2**32).map(pair_of)


@settings(max_examples=600, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(pairs())
def test_every_verdict_agrees_with_brute_force(drawn: tuple[Relation, Relation, Policy]) -> None:
    """On small relations the comparator says match exactly where some pairing of rows and columns fits."""
    gold, pred, policy = drawn
    found = compare(gold, pred, policy)
    if gold.rows or pred.rows:
        assert (found.verdict == "match") is brute_force(gold, pred, policy), (found, gold.rows, pred.rows)
        assert found.verdict != "undecided"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(pairs(), st.randoms(use_true_random=False))
def test_a_relation_equals_itself_however_its_rows_are_shuffled(
    drawn: tuple[Relation, Relation, Policy], rng: random.Random
) -> None:
    """Reflexivity and permutation invariance: without an order, a shuffle of the rows changes nothing."""
    gold, _, policy = drawn
    assert compare(gold, gold, policy).verdict == "match"
    if policy.row_order != "exact":
        shuffled = Relation(gold.columns, tuple(rng.sample(gold.rows, len(gold.rows))))
        assert compare(gold, shuffled, policy).verdict == "match"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(pairs())
def test_the_verdict_is_symmetric_where_no_extra_columns_are_allowed(drawn: tuple[Relation, Relation, Policy]) -> None:
    """Gold and prediction may change places unless the policy treats their columns differently."""
    gold, pred, policy = drawn
    even = policy.model_copy(update={"extra_columns": "forbid"})
    assert compare(gold, pred, even).verdict == compare(pred, gold, even).verdict


@settings(max_examples=200, deadline=None, derandomize=True)
@given(pairs(), st.floats(0, 0.9), st.floats(0, 10))
def test_a_wider_tolerance_or_allowed_extra_columns_never_lose_a_match(
    drawn: tuple[Relation, Relation, Policy], relative: float, absolute: float
) -> None:
    """Monotonicity: what matches still matches under more tolerance and with extra columns allowed."""
    gold, pred, policy = drawn
    if compare(gold, pred, policy).verdict != "match":
        return
    wider = {"rel_tol": policy.rel_tol + relative, "abs_tol": policy.abs_tol + absolute}
    assert compare(gold, pred, policy.model_copy(update=wider)).verdict == "match"
    assert compare(gold, pred, policy.model_copy(update={"extra_columns": "allow"})).verdict == "match"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.sampled_from(POLICIES))
def test_no_value_crashes_the_comparator(seed: int, fields: dict[str, Any]) -> None:
    """Any Python value may stand in a cell: there is a verdict, a reason and a credit between 0 and 1."""
    rng = random.Random(seed)
    width = rng.randint(0, 3)
    sides = [
        relation(
            [tuple(rng.choice((*TRICKY, *HANDLES)) for _ in range(width)) for _ in range(rng.randint(0, 4))], width
        )
        for _ in range(2)
    ]
    found = compare(sides[0], sides[1], Policy(**fields))
    assert found.verdict in ("match", "mismatch")
    assert found.reason
    assert 0 <= partial_credit(sides[0], sides[1], Policy(**fields)) <= 1
    assert compare(sides[0], sides[0], Policy(**fields)).verdict == "match"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(pairs(), st.randoms(use_true_random=False))
def test_an_ignored_column_changes_nothing_wherever_it_stands(
    drawn: tuple[Relation, Relation, Policy], rng: random.Random
) -> None:
    """Columns ignored by name may be anywhere, hold anything, and be on one side or on both."""
    gold, pred, policy = drawn
    ignoring = policy.model_copy(update={"ignore_columns": ("Volatile",)})
    wider = [with_noise(side, rng) if rng.random() < 0.7 else side for side in (gold, pred)]
    found, plain = compare(wider[0], wider[1], ignoring), compare(gold, pred, policy)
    assert (found.verdict, found.rule, found.missing, found.extra) == (
        plain.verdict,
        plain.rule,
        plain.missing,
        plain.extra,
    )


def with_noise(side: Relation, rng: random.Random) -> Relation:
    """Return a relation with one more column somewhere, of no fixed value."""
    place = rng.randint(0, len(side.columns))
    columns = (*side.columns[:place], Column("volatile"), *side.columns[place:])
    return Relation(columns, tuple((*row[:place], rng.choice(TRICKY), *row[place:]) for row in side.rows))


@settings(max_examples=400, deadline=None, derandomize=True)
@given(st.integers(0, 2**32))
def test_what_matches_under_strict_matches_under_skill(seed: int) -> None:
    """`skill` is `strict` with leniency: it never refuses, or leaves open, what is equal as it stands."""
    gold, pred, _ = pair_of(seed)
    if compare(gold, pred, preset("strict")).verdict == "match":
        assert compare(gold, pred, preset("skill")).verdict == "match"


def sized(count: int, width: int, kind: str) -> tuple[Relation, Relation]:
    """Make a large pair that is equal in position but for the last digits of its floats, or how its cells are typed."""
    gold, pred = [], []
    for i in range(count):
        values = [i * (c + 1) % 9973 for c in range(width - 1)]
        gold.append((i, *(value * 0.1 for value in values)))
        pred.append((i, *(Decimal(value) / 10 if kind == "decimal" else value / 10.0 for value in values)))
    if kind == "nulls":
        gold, pred = [[(*row, None, None) for row in rows] for rows in (gold, pred)]
    return relation(gold, len(gold[0])), relation(pred, len(pred[0]))


KINDS = ("float", "decimal", "nulls")
SIZED = [
    *((count, width, kind) for count, width in ((4_000, 6), (1_000, 30)) for kind in KINDS),
    *(pytest.param(count, 6, kind, marks=pytest.mark.slow) for count in (20_000, 100_000) for kind in KINDS),
    *(pytest.param(4_000, 30, kind, marks=pytest.mark.slow) for kind in KINDS),
    *(pytest.param(count, 60, "float", marks=pytest.mark.slow) for count in (20_000, 100_000)),
    pytest.param(100_000, 30, "float", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("count", "width", "kind"), SIZED)
def test_the_law_holds_at_every_size_up_to_the_row_limit(count: int, width: int, kind: str) -> None:
    """A large result is matched under `skill` as under `strict`, whatever its width and types."""
    gold, pred = sized(count, width, kind)
    assert compare(gold, pred, preset("skill")).verdict == "match"


@pytest.mark.parametrize(
    "count", [4_000, *(pytest.param(count, marks=pytest.mark.slow) for count in (20_000, 100_000))]
)
def test_a_large_result_in_other_columns_is_decided(count: int) -> None:
    """Search takes as many steps as a result is large: permuted columns match, two exchanged cells do not."""
    gold, pred = sized(count, 6, "float")
    turned = relation([row[::-1] for row in pred.rows], 6)
    assert compare(gold, turned, preset("skill")).verdict == "match"
    rows = list(turned.rows)
    rows[5], rows[77] = (rows[77][0], *rows[5][1:]), (rows[5][0], *rows[77][1:])
    assert compare(gold, relation(rows, 6), preset("skill")).verdict == "mismatch"
