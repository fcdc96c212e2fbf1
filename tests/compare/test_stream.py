"""One pass over each side in a fixed memory: the verdicts of `compare`, or an honest undecided."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlassay.cases.errors import InputError
from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Column, Json, Kind, Relation, Row
from sqlassay.harness.compare import compare
from sqlassay.harness.compare.stream import compare_streams
from sqlassay.harness.results.verdicts import Comparison

EXACT = {
    "rel_tol": 0,
    "abs_tol": 0,
    "float32_rel_tol": 0,
    "temporal_text": False,
    "uuid_text": False,
    "json_text": False,
}
CELLS: tuple[object, ...] = (
    *(None, True, False, 0, 1, -1, 2**53 + 1, float(2**53), 10**23, 1e23, 10**400, Decimal("1E+400"), -(10**20)),
    *(0.0, -0.0, 1.0, 0.1, 0.2, Decimal("0.1"), Decimal("0.10"), Decimal("1.00"), Decimal("100"), 100, 1e-300),
    *(float("nan"), Decimal("NaN"), float("inf"), float("-inf"), Decimal("Infinity"), 10**15, 1e15, Decimal("1E15")),
    *(
        "",
        "a",
        "b",
        "ab",
        "1",
        "0",
        "caf\u00e9",
        "cafe\u0301",
        "\ud800",
        "None",
        "2024-01-02",
        b"a",
        b"ab",
        bytearray(b"a"),
    ),
    *(date(2024, 1, 2), datetime(2024, 1, 2), datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 2, 0, 0, 0, 1)),
    *(Json("1"), Json("1.0"), Json("true"), Json('{"a":1}'), Json('{"a": 1.0}'), Json("null"), Json('["a","b"]')),
    *((), (1, 2), (1.0, 2), (1, (2,)), ("a", "b"), ("ab",), (None,), (date(2024, 1, 2),), (datetime(2024, 1, 2),)),
)


def columns(width: int, kind: Kind = Kind.OTHER) -> tuple[Column, ...]:
    return tuple(Column(f"c{index}", kind) for index in range(width))


def streamed(gold: list[Row], pred: list[Row], width: int = 1, **fields: Any) -> Comparison:
    return compare_streams(
        iter(gold),
        iter(pred),
        gold_columns=columns(width),
        predicted_columns=columns(width),
        policy=Policy(**fields),
        key=b"a fixed key of the tests",
    )


def drawn(seed: int) -> tuple[list[Row], list[Row], int]:
    rng = random.Random(seed)
    pool = rng.sample(CELLS, rng.choice((2, 4, 12)))
    width, height = rng.randint(1, 3), rng.randint(0, 5)
    gold: list[Row] = [tuple(rng.choice(pool) for _ in range(width)) for _ in range(height)]
    pred = rng.sample(gold, height)
    if pred and rng.random() < 0.6:
        pred[rng.randrange(height)] = tuple(rng.choice(pool) for _ in range(width))
    if rng.random() < 0.2:
        pred.append(tuple(rng.choice(pool) for _ in range(width)))
    return gold, pred, width


@settings(max_examples=800, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 2**32),
    st.sampled_from(({}, {"row_order": "exact"}, {"date_midnight": False}, {"text_case": "fold"})),
)
def test_under_an_exact_policy_every_verdict_is_that_of_compare(seed: int, fields: dict[str, Any]) -> None:
    """With no tolerance and no reading of texts a stream is decided as the whole relations are, but beside JSON."""
    gold, pred, width = drawn(seed)
    policy = Policy(**{**EXACT, **fields})
    whole = compare(Relation(columns(width), tuple(gold)), Relation(columns(width), tuple(pred)), policy)
    found = streamed(gold, pred, width, **EXACT, **fields)
    mixed = Json in {type(cell) for row in (*gold, *pred) for cell in row}
    assert found.verdict == whole.verdict or (mixed and found.verdict == "undecided"), (found, whole, gold, pred)


@settings(max_examples=800, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.integers(0, 2**32),
    st.sampled_from(
        (
            {},
            {"row_order": "exact"},
            {"scale_aware": True},
            {"rel_tol": 0.5},
            {"text_numbers": True},
            {"naive_tz": "Europe/Berlin"},
            {"bool_as_int": False},
            {"temporal_precision": "s", "text_trim": "both"},
        )
    ),
)
def test_under_any_policy_a_stream_never_contradicts_compare(seed: int, fields: dict[str, Any]) -> None:
    """What tolerances and readings may still change is undecided; what is decided agrees with the whole relations."""
    gold, pred, width = drawn(seed)
    whole = compare(Relation(columns(width), tuple(gold)), Relation(columns(width), tuple(pred)), Policy(**fields))
    found = streamed(gold, pred, width, **fields)
    assert found.verdict in (whole.verdict, "undecided"), (found, whole, gold, pred)


@pytest.mark.parametrize(
    ("gold", "pred", "fields", "verdict", "rule"),
    [
        ([(1,), (2,)], [(2,), (1,)], {}, "match", "rows"),
        ([(1,), (2,)], [(2,), (1,)], {"row_order": "exact"}, "mismatch", "row_order"),
        ([(1,), (2,)], [(1,), (2,)], {"row_order": "exact"}, "match", "rows"),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], {}, "mismatch", "rows"),
        ([(1,), (1,)], [(2,), (2,)], {}, "mismatch", "rows"),
        ([(1,)], [(1,), (1,)], {}, "mismatch", "row_count"),
        ([(0.1,)], [(Decimal("0.10"),)], {}, "match", "rows"),
        ([(0.1,)], [(0.10000000001,)], {}, "undecided", "stream"),
        ([(0.1,)], [(0.10000000001,)], {"rel_tol": 0, "abs_tol": 0}, "mismatch", "rows"),
        (
            [(Decimal("0.1"),)],
            [(Decimal("0.2"),)],
            {"rel_tol": 0, "abs_tol": 0, "scale_aware": True},
            "undecided",
            "stream",
        ),
        ([("2024-01-02",)], [(date(2024, 1, 2),)], {}, "undecided", "stream"),
        ([("2024-01-02",)], [(date(2024, 1, 2),)], {"temporal_text": False}, "mismatch", "rows"),
        ([("7",)], [(7,)], {"text_numbers": True}, "undecided", "stream"),
        ([("7",)], [(7,)], {}, "mismatch", "rows"),
        ([("7",)], [("8",)], {"text_numbers": True}, "mismatch", "rows"),
        ([(Decimal(1),)], [(Decimal(2),)], {}, "mismatch", "rows"),
        ([(1.0,)], [(2.0,)], {}, "undecided", "stream"),
        ([("A",)], [("a",)], {"text_case": "fold"}, "match", "rows"),
        ([("a ",)], [("a",)], {"text_trim": "right"}, "match", "rows"),
        ([(" a",)], [("a",)], {"text_trim": "both"}, "match", "rows"),
        ([("A",)], [("a",)], {"text_trim": "both"}, "mismatch", "rows"),
        ([(date(2024, 1, 2),)], [(datetime(2024, 1, 2),)], {}, "match", "rows"),
        ([(date(2024, 1, 2),)], [(datetime(2024, 1, 2),)], {"date_midnight": False}, "mismatch", "rows"),
        ([(UUID(int=63_839_750_400_000_000),)], [(datetime(2024, 1, 2),)], {}, "mismatch", "rows"),
        ([(datetime(2024, 1, 2),)], [(datetime(2024, 1, 2, tzinfo=UTC),)], {"naive_tz": "UTC"}, "undecided", "stream"),
        ([(datetime(2024, 1, 2),)], [(datetime(2024, 1, 3),)], {"naive_tz": "UTC"}, "mismatch", "rows"),
        ([(datetime(2024, 1, 2, tzinfo=UTC),)], [(None,)], {"naive_tz": "UTC"}, "mismatch", "rows"),
        ([(time(1),)], [(time(1, tzinfo=UTC),)], {"naive_tz": "UTC"}, "undecided", "stream"),
        ([(time(1),)], [(time(2),)], {"naive_tz": "UTC"}, "mismatch", "rows"),
        ([(time(1),)], [(time(1, tzinfo=UTC),)], {}, "mismatch", "rows"),
        ([((),)], [(Json("[]"),)], {}, "undecided", "stream"),
        ([(0.1,)], [(0.2,)], {"rel_tol": 0, "abs_tol": 0.5}, "undecided", "stream"),
        ([], [], {}, "match", "empty"),
        ([(1,)], [], {}, "mismatch", "row_count"),
    ],
)
def test_verdict_and_rule(gold: list[Row], pred: list[Row], fields: dict[str, Any], verdict: str, rule: str) -> None:
    """Duplicates count, order counts where it must, and a doubt is no mismatch."""
    found = streamed(gold, pred, **fields)
    assert (found.verdict, found.rule) == (verdict, rule)
    assert found.policy_digest == Policy(**fields).digest
    if rule == "row_count":
        assert found.reason == f"the gold has {len(gold)} rows, the prediction {len(pred)}"


def test_ignored_columns_are_left_out_of_the_sums() -> None:
    """A column ignored by name counts on neither side; with no other column nothing is claimed."""
    policy = Policy(ignore_columns=("C1",))
    gold, pred = [(1, "a"), (2, "b")], [(2, "x"), (1, "y")]
    found = compare_streams(gold, pred, gold_columns=columns(2), predicted_columns=columns(2), policy=policy)
    assert (found.verdict, found.columns) == ("match", (0, None))
    assert found.flags == ("streamed", "ignored_columns")
    nothing = Policy(ignore_columns=("c0", "c1"))
    found = compare_streams(gold, pred, gold_columns=columns(2), predicted_columns=columns(2), policy=nothing)
    assert (found.verdict, found.rule) == ("undecided", "ignore_columns")


def test_cells_do_not_run_into_each_other() -> None:
    """Where one cell ends is part of what is hashed, inside arrays too."""
    assert streamed([("a", "bc")], [("ab", "c")], 2).verdict == "mismatch"
    assert streamed([(("a", "b"),)], [(("ab",),)], json_text=False).verdict == "mismatch"
    assert streamed([((1, (2,)),)], [((1, 2),)], rel_tol=0, abs_tol=0).verdict == "mismatch"


def test_single_precision_columns_are_doubtful_by_their_own_tolerance() -> None:
    """A float32 column has a tolerance where other floats have none."""
    policy = Policy(rel_tol=0, abs_tol=0)
    for kind, verdict in ((Kind.FLOAT64, "mismatch"), (Kind.FLOAT32, "undecided")):
        found = compare_streams(
            [(0.1,)], [(0.2,)], gold_columns=columns(1), predicted_columns=columns(1, kind), policy=policy
        )
        assert found.verdict == verdict


@pytest.mark.parametrize(
    "fields",
    [
        {"columns": "any"},
        {"multiplicity": "set"},
        {"row_order": "keys"},
        {"order_keys": ((0, "asc"),)},
        {"truncated": "gold"},
        {"required_columns": (0,)},
        {"peer": "bird"},
    ],
)
def test_a_policy_one_pass_cannot_apply_is_refused(fields: dict[str, Any]) -> None:
    """The refusal names the field before a row is read."""
    with pytest.raises(
        InputError, match=f"cannot apply {'row_order' if 'order_keys' in fields else next(iter(fields))}"
    ):
        streamed([(1,)], [(1,)], **fields)


@pytest.mark.parametrize("key", [b"short", b"x" * 65])
def test_a_key_the_hash_cannot_use_is_refused(key: bytes) -> None:
    """A fixed key has 16 to 64 bytes."""
    with pytest.raises(InputError, match="a key of"):
        compare_streams([], [], gold_columns=(), predicted_columns=(), policy=Policy(), key=key)


def test_columns_are_paired_by_name_and_extra_ones_may_trail() -> None:
    """Columns face each other as the policy says, before any row is read."""
    ours, theirs = (Column("a"), Column("b")), (Column("B"), Column("x"), Column("A"))
    gold: list[Row] = [(1, 2), (3, 4)]

    def judged(pred: list[Row], heads: tuple[Column, ...], **fields: Any) -> Comparison:
        return compare_streams(
            gold, pred, gold_columns=ours, predicted_columns=heads, policy=Policy(extra_columns="allow", **fields)
        )

    found = judged([(4, 0, 3), (2, 9, 1)], theirs, columns="name")
    assert (found.verdict, found.columns, found.flags) == ("match", (2, 0), ("streamed",))
    assert judged([(1, 2, 9), (3, 4, 9)], theirs).verdict == "match"
    assert judged(gold, theirs[:2], columns="name").rule == "names"
    assert judged(gold, theirs[::2], names="match").rule == "names"
    assert judged([(1,)], theirs[:1], empty="any").rule == "columns"
    assert judged([], theirs[:1], empty="any").rule == "columns"
    found = compare_streams([], [], gold_columns=ours, predicted_columns=theirs, policy=Policy(empty="any"))
    assert (found.verdict, found.flags) == ("match", ("vacuous",))


def test_a_secret_key_is_drawn_for_each_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can prepare rows against a hash whose key is drawn after them."""
    keys: list[int] = []

    def drawn_key(size: int) -> bytes:
        keys.append(size)
        return b"k" * size

    monkeypatch.setattr("secrets.token_bytes", drawn_key)
    for _ in range(2):
        compare_streams([(1,)], [(1,)], gold_columns=columns(1), predicted_columns=columns(1), policy=Policy())
    assert keys == [32, 32]


def made(count: int) -> Iterator[Row]:
    """Yield rows one by one, none of which is kept."""
    for index in range(count):
        yield (index, f"name{index % 5000}", date.fromordinal(700_000 + index % 10_000))


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows() -> None:
    """Ten times the rows take no more memory, and less than one MiB."""
    peaks: list[int] = []
    for count in (2_000, 20_000):
        tracemalloc.start()
        found = compare_streams(
            made(count), made(count), gold_columns=columns(3), predicted_columns=columns(3), policy=Policy()
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert found.verdict == "match"
    assert peaks[1] < min(peaks[0] + 100_000, 1 << 20)


@pytest.mark.parametrize("value", [10**15, -(10**15), 10**15 - 1, 1 - 10**15])
def test_numbers_of_any_type_are_written_alike_where_their_writing_changes(value: int) -> None:
    """Fifteen digits are written out, more by mantissa and exponent, whatever the type."""
    for other in (float(value), Decimal(value), Decimal(value).normalize()):
        assert streamed([(value,)], [(other,)]).verdict == "match"


@pytest.mark.parametrize(("size", "taken"), [(15, False), (16, True), (64, True), (65, False)])
def test_a_key_has_sixteen_to_sixty_four_bytes(size: int, taken: bool) -> None:
    """A shorter key could be guessed, a longer one the hash does not take."""
    given: dict[str, Any] = {"gold_columns": columns(1), "predicted_columns": columns(1), "policy": Policy()}
    if taken:
        assert compare_streams([(1,)], [(1,)], key=b"k" * size, **given).verdict == "match"
        return
    with pytest.raises(InputError, match=f"a key of {size} bytes"):
        compare_streams([(1,)], [(1,)], key=b"k" * size, **given)


def test_a_gold_whose_columns_are_all_ignored_is_undecided() -> None:
    """What the prediction's columns are called does not matter then."""
    found = compare_streams(
        [(1,)],
        [(1,)],
        gold_columns=(Column("t"),),
        predicted_columns=(Column("x"),),
        policy=Policy(ignore_columns=("t",)),
    )
    assert (found.verdict, found.rule) == ("undecided", "ignore_columns")


def test_bytes_within_an_array_are_written_as_they_are() -> None:
    """Bytes are told apart from the text that spells them."""
    assert streamed([(b"ab",)], [(b"ab",)]).verdict == "match"
    assert streamed([(b"ab",)], [(b"ac",)]).verdict == "mismatch"
    assert streamed([((b"ab",),)], [((b"ab",),)]).verdict == "match"
