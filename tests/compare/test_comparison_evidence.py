"""What a comparison tells a person: counts, the first difference, the mapping, flags, and what would have matched."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Interval, Json, Relation, Row
from sqlassay.harness.compare import GoldOrder, compare, differences, partial_credit
from sqlassay.harness.compare.cells import brief
from sqlassay.harness.compare.evidence import NOT_ALIGNED, explained
from sqlassay.harness.compare.judge import Judgement
from sqlassay.harness.compare.matching import OutOfBudgetError
from sqlassay.harness.compare.rows import RowJudge
from sqlassay.harness.results.verdicts import Difference


def relation(*rows: Row, names: str = "abcdefgh", width: int | None = None) -> Relation:
    return Relation(tuple(Column(names[index]) for index in range(width or len(rows[0]))), rows)


def test_a_mismatch_counts_and_shows_the_first_differing_cell() -> None:
    """The first gold row left over stands beside the predicted row most like it, with the cell named."""
    found = compare(relation((1, "x"), (2, "y")), relation((2, "z"), (1, "x")), Policy())
    assert (found.missing, found.extra, found.rule) == (1, 1, "rows")
    assert found.first == Difference(1, (2, "y"), (2, "z"), (1,))
    assert found.reason == "rows differ; row 1, column 'b': 'y' is not 'z'"
    assert found.columns == (0, 1)
    assert found.policy_digest == Policy().digest


def test_missing_and_extra_rows_alone_are_shown_alone() -> None:
    """A row only one side has is shown with nothing beside it."""
    shorter = compare(relation((1,), (2,)), relation((1,)), Policy())
    assert shorter.first == Difference(1, (2,), None)
    assert shorter.reason == "the gold has 2 rows, the prediction 1; first missing row 1: (2)"
    longer = compare(relation((1,)), relation((1,), (1,)), Policy())
    assert (longer.first, longer.rule) == (Difference(1, None, (1,)), "row_count")


def test_a_wrong_order_counts_no_row_as_missing() -> None:
    """Rows in another order are all there: the first place that differs is shown."""
    found = compare(relation((1,), (2,)), relation((2,), (1,)), Policy(row_order="exact"))
    assert (found.rule, found.missing, found.extra, found.flags) == ("row_order", 0, 0, ("order_differs",))
    assert found.first == Difference(0, (1,), (2,), (0,))
    assert found.looser == "order ignored"


def test_a_mapping_says_which_predicted_column_each_gold_column_faces() -> None:
    """Under `any` the permutation found is reported; a gold column left out faces none."""
    assert compare(relation((1, "x")), relation(("x", 1)), Policy(columns="any")).columns == (1, 0)
    optional = Policy(columns="any", extra_columns="allow", required_columns=(1,))
    assert compare(relation((1, "x")), relation(("x", 5)), optional).columns == (None, 0)


def test_scrambled_rows_are_shown_under_the_likeliest_mapping() -> None:
    """Where no permutation fits, rows are counted under the one that pairs equal value bags."""
    found = compare(relation((1, 20), (2, 30)), relation((30, 1), (20, 2)), Policy(columns="any"))
    assert (found.rule, found.columns, found.missing, found.extra) == ("joint_columns", (1, 0), 2, 2)


def test_an_unanswered_column_faces_what_is_left() -> None:
    """A gold column without a counterpart is shown beside the remaining predicted one."""
    found = compare(relation((1, 5)), relation((6, 1)), Policy(columns="any"))
    assert found.columns == (1, 0)
    assert found.first == Difference(0, (1, 5), (6, 1), (1,))
    assert found.reason.endswith("column 'b': 5 is not 6")


def test_other_column_counts_make_no_mapping() -> None:
    """With too few columns there is nothing to set side by side."""
    found = compare(relation((1, 2)), relation((1,)), Policy())
    assert (found.rule, found.columns, found.first) == ("columns", (), None)
    assert found.reason == "the gold has 2 columns, the prediction 1; it has none like 'b'"


def test_two_empty_results_are_flagged_as_vacuous() -> None:
    """Nothing equals nothing: a match, but weak evidence."""
    empty = relation(width=2)
    assert compare(empty, empty, Policy()).flags == ("vacuous",)


@pytest.mark.parametrize(
    ("gold", "pred", "policy", "looser"),
    [
        ((("a",),), (("a",), ("a",)), {}, "multiplicity set"),
        (((1, 2),), ((2, 1),), {}, "columns in any order"),
        (((1,),), ((1, 2),), {}, "extra columns allowed"),
        (((1,),), ((2, 1),), {}, "extra columns allowed in any order"),
        ((("A",),), (("a",),), {}, "text case folded"),
        ((("a",),), ((" a",),), {}, "text trimmed"),
        ((("1",),), ((1,),), {}, "numbers as text"),
        (((True,),), ((1,),), {"bool_as_int": False}, "booleans as integers"),
        (((Json('"a"'),),), (("a",),), {}, "JSON texts without their quotes"),
        (((0.5,),), ((0.5000001,),), {}, "relative tolerance 1e-6"),
        (((0.5,),), ((0.505,),), {}, "tolerance 0.01"),
        (
            ((1, 5), (2, 6)),
            ((9, 6, 2), (9, 5, 1)),
            {"row_order": "exact"},
            "order ignored, columns in any order, extra allowed",
        ),
        (((Decimal("0.1"),),), ((Decimal("0.14"),),), {}, "decimal scale ignored"),
        (((date(2024, 1, 2),),), (("2024-01-02",),), {"temporal_text": False}, "dates as text"),
        (((date(2024, 1, 2),),), ((datetime(2024, 1, 2),),), {"date_midnight": False}, "dates as text"),
        (((datetime(2024, 1, 2),),), ((datetime(2024, 1, 2, tzinfo=UTC),),), {}, "naive times as UTC"),
        (((1.0,),), ((1.0000015,),), {}, "tolerance 0.01"),
        (((1000.5,),), ((1000.65,),), {}, None),
        (((1,),), ((1, 5), (1, 6)), {"extra_columns": "allow"}, None),
        (((1,),), ((2,),), {}, None),
        (((1,),), ((2,), (3,)), {"truncated": "pred"}, None),
    ],
)
def test_the_first_looser_policy_that_would_match_is_named(
    gold: tuple[Row, ...], pred: tuple[Row, ...], policy: dict[str, Any], looser: str | None
) -> None:
    """Near misses say what they missed by; real differences name nothing."""
    assert compare(relation(*gold), relation(*pred), Policy(**policy)).looser == looser


@pytest.mark.parametrize(
    ("width", "ours", "theirs", "looser"),
    [
        (1, 29_999, 30_001, "multiplicity set"),
        (1, 30_000, 30_001, None),
        (3, 11_000, 11_001, None),
        (1, 50, 60_000, None),
    ],
)
def test_sixty_thousand_cells_are_the_most_that_looser_policies_are_tried_on(
    width: int, ours: int, theirs: int, looser: str | None
) -> None:
    """The cells of both sides count together."""
    gold, pred = (relation(*[(1,) * width] * rows) for rows in (ours, theirs))
    assert compare(gold, pred, Policy()).looser == looser


def test_a_row_is_shown_beside_the_most_alike() -> None:
    """The leftover row that agrees in most cells stands beside it, however many are left over."""
    gold = relation((1, 2, 3))
    found = compare(gold, relation((9, 9, 9), (1, 2, 9), (1, 9, 9)), Policy())
    assert found.first == Difference(0, (1, 2, 3), (1, 2, 9), (2,))
    many = [(9, index, 9) for index in range(100, 1_000)]
    late = compare(gold, relation(*many, (1, 2, 9)), Policy())
    assert late.first == Difference(0, (1, 2, 3), (1, 2, 9), (2,))


def test_columns_that_cannot_agree_are_not_shown_side_by_side() -> None:
    """With a column too many or other names no row is called missing."""
    wide = compare(relation((1,)), relation((2, 3)), Policy())
    assert (wide.rule, wide.columns, wide.first, wide.missing) == ("columns", (), None, 0)
    named = compare(relation((1,)), relation((2,), names="z"), Policy(names="match"))
    assert (named.rule, named.columns, named.first, named.missing) == ("names", (), None, 0)


def test_a_row_against_an_empty_result_is_missing() -> None:
    """One side without rows is still set beside the other."""
    found = compare(relation((1,)), relation(width=1), Policy())
    assert (found.missing, found.first) == (1, Difference(0, (1,), None))


def test_a_namesake_serves_once() -> None:
    """Of two gold columns of one name the second faces what is left."""
    found = compare(relation((1, 2), names="aa"), relation((3, 4), names="ab"), Policy(columns="any"))
    assert (found.rule, found.columns) == ("joint_columns", (0, 1))


def test_a_looser_policy_keeps_the_order_that_was_learnt() -> None:
    """Tied rows may still permute when letters are folded."""
    gold, pred = relation(("a",), ("b",), ("c",)), relation(("B",), ("A",), ("C",))
    tied = GoldOrder((0, 0, 1), ((0, 1),), hidden=True)
    found = compare(gold, pred, Policy(row_order="keys"), order=tied)
    assert (found.verdict, found.looser) == ("mismatch", "text case folded")


def test_large_mismatches_do_not_try_looser_policies() -> None:
    """Past 60,000 cells a mismatch is not judged again under other policies."""
    gold = relation(*((str(index),) for index in range(40_000)))
    assert compare(gold, relation(*((f"{index} ",) for index in range(40_000))), Policy()).looser is None


@pytest.mark.slow
def test_an_undecidable_pairing_is_undecided_within_its_budget() -> None:
    """Thousands of rows all near each other in two columns are not paired forever."""
    rows = [(index / 2000, (index * 7919 % 2000) / 2000) for index in range(2000)]
    shifted = [(a + 0.3, b - 0.3) for a, b in rows]
    found = compare(relation(*rows), relation(*shifted), Policy(abs_tol=0.5, rel_tol=0))
    assert (found.verdict, found.rule) == ("undecided", "budget")


def test_a_required_column_the_gold_lacks_is_an_input_error() -> None:
    """required_columns names gold columns from 0."""
    with pytest.raises(InputError, match="required_columns"):
        compare(relation((1,)), relation((1,)), Policy(required_columns=(3,)))


def test_an_unknown_zone_is_an_input_error() -> None:
    """naive_tz must name a zone."""
    gold, pred = relation((datetime(2024, 1, 1),)), relation((datetime(2024, 1, 1, tzinfo=UTC),))
    with pytest.raises(InputError, match="unknown time zone 'Mars/Base'"):
        compare(gold, pred, Policy().model_copy(update={"naive_tz": "Mars/Base"}))


class Spiteful:
    """A foreign value whose every protocol raises."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError


@pytest.mark.parametrize("columns", ["position", "any"])
def test_a_value_that_cannot_be_compared_is_kept_by_its_type(columns: Any) -> None:
    """Even a value that raises on every question gets a verdict."""
    found = compare(relation((Spiteful(),)), relation((1,)), Policy(columns=columns))
    assert found.verdict == "mismatch"
    assert compare(relation((Spiteful(),)), relation((Spiteful(),)), Policy(columns=columns)).verdict == "match"


def test_a_released_buffer_is_no_crash() -> None:
    """A memoryview whose memory is gone is kept by its type."""
    gone = memoryview(b"ab")
    gone.release()
    assert compare(relation((gone,)), relation((b"ab",)), Policy()).verdict == "mismatch"


@pytest.mark.parametrize(
    ("gold", "pred", "credit"),
    [
        (((1, "x"), (2, "y")), ((1, "z"), (2, "z")), 0.5),
        (((1, "x"), (2, "y")), ((1,), (2,)), 0.5),
        (((1, 5), (2, 6)), ((1, 6), (2, 5)), 0.0),
        (((1, "x"), (2, "y")), ((1, "x"),), 0.0),
        (((1, 1), (2, 2)), ((1, 9), (2, 9)), 0.5),
        (((0.3, "x"), (0.1, "y")), ((0.1, "q"), (0.30000000000000004, "q")), 0.5),
        (((1, 2),), ((3, 4),), 0.0),
        (((0.0, 7), (0.5, 8)), ((0.5, 1), (1.0, 1)), 0.5),
        (((0.0, 7), (0.1, 8)), ((0.5, 1), (1.0, 1)), 0.0),
    ],
)
def test_partial_credit_is_the_share_of_gold_columns_found_as_value_bags(
    gold: tuple[Row, ...], pred: tuple[Row, ...], credit: float
) -> None:
    """Each predicted column serves one gold column; all found means scrambled rows, which earn nothing."""
    policy = Policy(abs_tol=0.5) if gold[0][0] == 0.0 else Policy()
    assert partial_credit(relation(*gold), relation(*pred), policy) == credit


def test_a_long_value_is_cut_to_sixty_characters() -> None:
    """A reason shows the beginning of a long cell, a value that just fits as it is."""
    assert brief("x" * 58) == repr("x" * 58)
    assert brief("x" * 59) == "'" + "x" * 58 + "…"


def test_rows_no_pairing_reaches_are_counted_on_both_sides() -> None:
    """Where a tolerance pairs all rows but one, one is missing and one is extra."""
    gold, pred = (Relation((Column("x"),), tuple((v,) for v in side)) for side in ((0.5, 0.5, 6.5), (5.5, 11.5, 11.5)))
    found = compare(gold, pred, Policy(rel_tol=0, abs_tol=5))
    assert (found.rule, found.missing, found.extra) == ("tolerance", 1, 1)


@pytest.mark.slow
def test_a_column_too_large_to_pair_earns_no_credit() -> None:
    """One chain of a thousand decimals has more pairs than are tried: it is not taken for found."""
    rows = [(index, Decimal(index) + Decimal("0.5")) for index in range(1000)]
    gold = Relation((Column("a"), Column("b")), tuple(rows))
    pred = Relation((Column("a"), Column("b")), tuple((a, max(b, Decimal(400)) + Decimal("0.25")) for a, b in rows))
    assert partial_credit(gold, pred, Policy(scale_aware=True, abs_tol=300)) == 0.5


def test_partial_credit_leaves_ignored_columns_out() -> None:
    """A column ignored by name neither earns credit nor serves as a predicted column."""
    gold = Relation((Column("a"), Column("b"), Column("t")), ((1, 5, 7), (2, 6, 7)))
    pred = Relation((Column("t"), Column("x"), Column("y")), ((5, 1, 0), (6, 2, 0)))
    assert partial_credit(gold, pred, Policy(columns="any", ignore_columns=("T",))) == 0.5
    assert partial_credit(gold, pred, Policy(columns="any")) == 2 / 3


def test_ignored_columns_are_noted() -> None:
    """The evidence says that columns were left out, and that a name meets no gold column."""
    gold, pred = Relation((Column("a"), Column("t")), ((1, 5),)), Relation((Column("a"), Column("T")), ((2, 6),))
    found = compare(gold, pred, Policy(ignore_columns=("t", "gone")))
    assert found.flags == ("ignored_columns", "ignored_absent")
    assert (found.columns, found.reason) == ((0, None), "rows differ; row 0, column 'a': 1 is not 2")
    narrow = Relation((Column("t"),), ((5,),))
    assert compare(gold, narrow, Policy(ignore_columns=("t",))).reason == (
        "the gold has 1 columns, the prediction 0 to compare; it has none like 'a'"
    )


def test_partial_credit_looks_at_required_columns_only() -> None:
    """Optional gold columns count neither for nor against."""
    policy = Policy(required_columns=(0, 1))
    assert partial_credit(relation((1, 2, 3)), relation((1, 9, 3)), policy) == 0.5
    assert partial_credit(relation(width=2), relation(width=2), policy) == 0.0


def test_where_no_mapping_fits_columns_of_one_name_face_each_other() -> None:
    """A column with one wrong value is shown beside its namesake, not beside an unrelated extra column."""
    gold = Relation((Column("a"), Column("B")), ((1, "x"), (2, "y")))
    pred = Relation((Column("k"), Column("b"), Column("a")), ((9, "x", 1), (9, "z", 2)))
    found = compare(gold, pred, preset("skill"))
    assert (found.verdict, found.columns, found.missing, found.extra) == ("mismatch", (2, 1), 1, 1)
    assert found.reason.endswith("row 1, column 'B': 'y' is not 'z'")


def named(names: str, *rows: Row) -> Relation:
    return Relation(tuple(map(Column, names.split())), rows)


def test_shuffled_rows_are_aligned_before_they_are_told_apart() -> None:
    """One column that differs everywhere is named with its count and factor, whatever the order of rows."""
    rows = [(i, f"n{i}", i * 1.5 + 1) for i in range(300)]
    pred = [(i, name, total * 1.19) for i, name, total in rows]
    found = compare(named("id name total", *rows), named("id name total", *pred[7:], *pred[:7]), preset("skill"))
    assert found.reason == (
        "rows differ in whatever order the columns are taken; row 0, column 'total': 1.0 is not 1.19; "
        "aligned by 'id', 'name', the rows left over differ in 'total' in 300 of 300 (×1.19)"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda n: n + 2, " (+2)"),
        (lambda n: n + n % 3, " (by up to 2)"),
        (lambda n: f"x{n}", ""),
        (lambda n: Decimal("sNaN") if n == 1 else n + 1, ""),
    ],
)
def test_a_pattern_of_differences_is_named(change: Callable[[int], object], said: str) -> None:
    """One distance for all, else the largest one, where the cells are numbers."""
    rows = [(f"k{i}", i) for i in range(1, 9)]
    pred = [(key, change(n)) for key, n in rows]
    reason = compare(named("k n", *rows), named("k n", *pred), Policy()).reason
    count = sum(str(n) != str(change(n)) for _, n in rows)
    assert reason.endswith(f"the rows left over differ in 'n' in {count} of {count}{said}")


def test_missing_columns_are_named() -> None:
    """A column that the prediction has neither by name nor by value is said to be missing."""
    found = compare(named("id name total", (1, "a", 5)), named("who id", ("a", 1)), preset("skill"))
    assert found.reason == "the gold has 3 columns, the prediction 2; it has none like 'total'"
    more = compare(named("id", (1,)), named("ID a b c d", (1, 2, 3, 4, 5)), Policy())
    assert more.reason == "the gold has 1 columns, the prediction 5; the gold has no 'a', 'b', 'c', …"


def test_rows_are_aligned_where_some_are_missing_too() -> None:
    """With rows missing or too many, those that share a key are set beside each other and the others are counted."""
    gold = [(n, n * 3 + 0.5, f"n{n}") for n in range(300)]
    pred = [(n, total * 1.19, name) for n, total, name in reversed(gold[3:])] + [(999, 0.0, "z")]
    reason = compare(named("id total name", *gold), named("id total name", *pred), preset("skill")).reason
    assert reason.endswith(
        "; aligned by 'id', the rows left over differ in 'total' in 297 of 297 (×1.19)"
        "; 3 more missing from the prediction; 1 more in the prediction alone"
    )
    assert reason.startswith("the gold has 300 rows, the prediction 298; row 3, column 'total': 9.5 is not 11.305")


def test_rows_that_share_no_key_are_not_aligned() -> None:
    """A chance hit in one column is no key: half of the rows at least must have a counterpart."""
    gold = [(n, n * 3) for n in range(10)]
    pred = [(n + 100, n + 40) for n in range(9)]
    reason = compare(named("a b", *gold), named("a b", *pred), Policy()).reason
    assert "aligned" not in reason


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (None, "x", "NULL is not 'x'"),
        (Decimal("1.50"), 1.51, "1.50 is not 1.51"),
        ("a b", "a\u00a0b", "'a b' is not E'a\\u00a0b'"),
        (date(2024, 1, 2), True, "2024-01-02 is not true"),
        (Json('{"a": 1}'), b"a", "'{\"a\": 1}' is not X'61'"),
        ("x" * 100 + "a", "x" * 100 + "b", f"…'{'x' * 15}a' is not …'{'x' * 15}b'"),
        ("O'Brien", "O'Brian", "'O''Brien' is not 'O''Brian'"),
        ("a\\b", "a\\c", "'a\\b' is not 'a\\c'"),
        ("a\\'b\n", "\U000e0001", "E'a\\\\''b\\n' is not E'\\U000e0001'"),
        ("a" * 61, None, f"'{'a' * 60}'… is not NULL"),
        (b"\0" * 100 + b"a", b"\0" * 100 + b"b", f"…X'{'00' * 15}61' is not …X'{'00' * 15}62'"),
        (
            Json('{"k": "' + "x" * 90 + 'a"}'),
            Json('{"k": "' + "x" * 90 + 'b"}'),
            f"…'{'x' * 15}a\"}}' is not …'{'x' * 15}b\"}}'",
        ),
        ((None, "a"), (None, "b"), "ARRAY[NULL, 'a'] is not ARRAY[NULL, 'b']"),
        (timedelta(hours=1), Interval(1, 2, 1500000), "1:00:00 is not INTERVAL '1 months 2 days 1.500000 seconds'"),
    ],
)
def test_cells_are_written_as_a_person_reads_them(ours: object, theirs: object, said: str) -> None:
    """Values are spelled about as in SQL, blanks of all kinds are seen, and long texts start near the difference."""
    found = compare(named("a", (ours,)), named("a", (theirs,)), Policy())
    assert found.reason == f"rows differ; row 0, column 'a': {said}"


def test_evidence_that_ran_out_of_steps_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows cannot be paired within the steps, the reason ends with that, and so does the file of differences."""

    def out_of_steps(*_: object) -> None:
        raise OutOfBudgetError

    gold, predicted = relation((1, "x"), (2, "y")), relation((2, "z"), (1, "x"))
    found = compare(gold, predicted, Policy())
    monkeypatch.setattr(RowJudge, "judge", out_of_steps)
    told = list(differences(gold, predicted, Policy(), None, found))
    assert [(one.kind, one.gold_row, one.predicted_row) for one in told] == [(NOT_ALIGNED, None, None)]
    judgement = Judgement("mismatch", "rows", kept=(0, 1), mapping=(0, 1))
    assert explained(gold, predicted, Policy(), None, judgement).reason == f"rows differ; {NOT_ALIGNED}"
