"""Order learnt from the gold's ORDER BY: tie groups, hidden keys, cuts and golds that contradict themselves."""

from __future__ import annotations

from itertools import product
from typing import Literal

import pytest

from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation, Row
from sqlassay.harness.compare import GoldOrder, compare, resolve_policy
from sqlassay.harness.compare.order import exact_order, order_by_keys
from sqlassay.harness.results.parsed import OrderFacts, OrderKey

STRICT = Policy()


def relation(*rows: Row, width: int | None = None) -> Relation:
    return Relation(tuple(Column(f"c{index}") for index in range(width or len(rows[0]))), rows)


def facts(*columns: int | None, limit: int | None = None, has_limit: bool = False) -> OrderFacts:
    keys = tuple(OrderKey(column, "asc", None, f"k{index}") for index, column in enumerate(columns))
    return OrderFacts(keys, limit, has_limit or limit is not None, None)


def judged(
    gold: Relation, pred: Relation, policy: Policy, order_facts: OrderFacts | None, probe: Relation | None
) -> str:
    resolved, order = resolve_policy(policy, facts=order_facts, gold=gold, probe=probe)
    return compare(gold, pred, resolved, order=order).verdict


GOLD = relation(("a",), ("b",), ("c",))
HIDDEN = relation(("a", 1), ("b", 1), ("c", 2))


def test_a_query_without_order_by_is_a_bag() -> None:
    """Auto without ORDER BY ignores the order of rows."""
    resolved, order = resolve_policy(STRICT, facts=None, gold=GOLD, probe=None)
    assert (resolved.row_order, order) == ("ignore", None)


@pytest.mark.parametrize("row_order", ["ignore", "exact"])
def test_a_policy_that_has_decided_the_order_is_kept(row_order: Literal["ignore", "exact"]) -> None:
    """Ignore and exact do not look at the gold's ORDER BY."""
    policy = Policy(row_order=row_order)
    assert resolve_policy(policy, facts=facts(0), gold=GOLD, probe=None) == (policy, None)


def test_given_order_keys_are_kept() -> None:
    """A policy with order_keys of its own needs no facts."""
    policy = Policy(row_order="keys", order_keys=((0, "asc"),))
    assert resolve_policy(policy, facts=facts(0), gold=GOLD, probe=None) == (policy, None)


def test_selected_keys_give_tie_groups() -> None:
    """Rows tied on a selected key may permute, others may not."""
    gold = relation((1, "a"), (1, "b"), (2, "c"))
    resolved, order = resolve_policy(STRICT, facts=facts(0), gold=gold, probe=None)
    assert order == GoldOrder((0, 0, 1), ((0, 1),), (0,))
    assert (resolved.row_order, resolved.order_keys) == ("keys", ((0, "asc"),))
    assert compare(gold, relation((1, "b"), (1, "a"), (2, "c")), resolved, order=order).verdict == "match"
    assert compare(gold, relation((2, "c"), (1, "a"), (1, "b")), resolved, order=order).rule == "row_order"


def test_hidden_keys_are_learnt_from_the_probe() -> None:
    """A key that is not selected still ties rows, as the probe shows."""
    assert judged(GOLD, relation(("b",), ("a",), ("c",)), STRICT, facts(None), HIDDEN) == "match"
    assert judged(GOLD, relation(("c",), ("a",), ("b",)), STRICT, facts(None), HIDDEN) == "mismatch"


def test_hidden_keys_are_appended_in_key_order_beside_selected_ones() -> None:
    """With a selected key between two hidden ones each key is read from its own column."""
    gold = relation(("a", 5), ("b", 5), ("c", 5))
    probe = relation(("a", 5, 1, 7), ("b", 5, 1, 7), ("c", 5, 1, 8))
    _, order = resolve_policy(STRICT, facts=facts(None, 1, None), gold=gold, probe=probe)
    assert order is not None
    assert (order.groups, order.keys, order.hidden) == ((0, 0, 1), (1,), True)


@pytest.mark.parametrize(
    ("order_facts", "probe"),
    [
        (facts(None), None),
        (facts(7), None),
        (OrderFacts((), None, False, None), None),
    ],
)
def test_where_keys_cannot_be_learnt_the_order_is_exact(order_facts: OrderFacts, probe: Relation | None) -> None:
    """Without a probe for hidden keys the gold's own order is demanded, and the verdict says why."""
    resolved, order = resolve_policy(Policy(row_order="keys"), facts=order_facts, gold=GOLD, probe=probe)
    found = compare(GOLD, relation(("b",), ("a",), ("c",)), resolved, order=order)
    assert (found.verdict, found.rule) == ("mismatch", "row_order")
    assert "keys_unknown" in found.flags
    assert compare(GOLD, GOLD, resolved, order=order).verdict == "match"


@pytest.mark.parametrize(
    "probe",
    [
        relation(("a", 1), ("b", 1)),
        relation(("x", 1), ("b", 1), ("c", 2)),
        relation(("a", 1), ("c", 1), ("b", 2)),
        relation(("a",), ("b",), ("c",)),
        relation(("a", 1), ("b", 1), ("c", 2), ("d", 3)),
    ],
)
def test_a_probe_that_contradicts_the_gold_makes_order_undecided(probe: Relation) -> None:
    """A gold that gives other rows when run again proves no order: only other rows are wrong."""
    resolved, order = resolve_policy(STRICT, facts=facts(None), gold=GOLD, probe=probe)
    found = compare(GOLD, relation(("b",), ("a",), ("c",)), resolved, order=order)
    assert (found.verdict, found.rule) == ("undecided", "gold_nondeterministic")
    assert {"keys_unknown", "gold_nondeterministic"} <= set(found.flags)
    assert compare(GOLD, relation(("z",), ("a",), ("c",)), resolved, order=order).verdict == "mismatch"
    assert compare(GOLD, GOLD, resolved, order=order).verdict == "match"


def test_a_volatile_column_ignored_by_name_contradicts_nothing() -> None:
    """The gold's second run shows another clock in a column that does not count."""
    gold, probe = relation(("a", 10), ("b", 10), ("c", 10)), relation(("b", 11, 1), ("a", 11, 1), ("c", 11, 2))
    policy = Policy(ignore_columns=("c1",))
    assert judged(gold, relation(("b", 5), ("a", 5), ("c", 5)), policy, facts(None), probe) == "match"
    assert judged(gold, relation(("a", 5), ("c", 5), ("b", 5)), policy, facts(None), probe) == "mismatch"
    assert judged(gold, relation(("a", 5), ("c", 5), ("b", 5)), STRICT, facts(None), probe) == "mismatch"


def test_a_probe_may_show_tied_rows_in_another_order() -> None:
    """Ties come in any order each time: the probe still agrees with the gold."""
    probe = relation(("b", 1), ("a", 1), ("c", 2))
    _, order = resolve_policy(STRICT, facts=facts(None), gold=GOLD, probe=probe)
    assert order == GoldOrder((0, 0, 1), ((0, 1),), (), hidden=True)


def test_one_row_past_the_limit_shows_a_cut_tie() -> None:
    """The row after the LIMIT has the last row's key: the gold is one of several right answers, and flagged so."""
    probe = relation(("a", 1), ("b", 2), ("c", 2), ("d", 2))
    resolved, order = resolve_policy(STRICT, facts=facts(None, limit=3), gold=GOLD, probe=probe)
    assert order is not None
    assert order.cut_tie is True
    assert compare(GOLD, GOLD, resolved, order=order).flags == ("cut_tie",)
    assert compare(GOLD, relation(("a",), ("b",), ("d",)), resolved, order=order).verdict == "mismatch"


@pytest.mark.parametrize(
    ("gold", "probe"),
    [
        (relation(("a",), ("b",)), relation(("a", 1), ("c", 2), ("b", 2))),
        (relation(("a",)), relation(("b", 1), ("a", 1))),
        (relation(("a",), ("b",), ("c",)), relation(("b", 1), ("a", 1), ("d", 2), ("c", 2))),
    ],
)
def test_a_cut_tie_of_one_visible_row_may_show_another_member(gold: Relation, probe: Relation) -> None:
    """The engine takes any of the tied rows each time: only the last group is free, and nothing is contradicted."""
    _, order = resolve_policy(STRICT, facts=facts(None, limit=len(gold.rows)), gold=gold, probe=probe)
    assert order is not None
    assert (order.cut_tie, order.contradicted, order.keys_unknown) == (True, False, False)


def test_a_row_past_the_limit_with_another_key_is_no_cut() -> None:
    """The next key is larger: nothing was cut."""
    probe = relation(("a", 1), ("b", 2), ("c", 2), ("d", 3))
    _, order = resolve_policy(STRICT, facts=facts(None, limit=3), gold=GOLD, probe=probe)
    assert order is not None
    assert order.cut_tie is False


@pytest.mark.parametrize(
    ("tie", "pred", "verdict"),
    [
        ((("b", 2), ("c", 2), ("d", 2)), "abd", "match"),
        ((("b", 2), ("c", 2), ("d", 2)), "abx", "undecided"),
        ((("b", 2), ("c", 2), ("d", 2)), "abb", "undecided"),
        ((("b", 2), ("c", 2), ("d", 2), ("e", 3)), "abd", "match"),
        ((("b", 2), ("c", 2), ("d", 2), ("e", 3)), "abx", "mismatch"),
        ((("b", 2), ("c", 2), ("d", 2), ("e", 3)), "abe", "mismatch"),
        ((("b", 2), ("c", 2), ("d", 2), ("e", 2)), "aed", "match"),
        ((("b", 2), ("c", 2), ("d", 2), ("e", 2)), "abb", "mismatch"),
        ((("b", 2), ("c", 2), ("d", 2), ("d", 2)), "add", "match"),
        ((("b", 2), ("c", 2), ("d", 2)), "xbd", "mismatch"),
    ],
)
def test_a_cut_tie_with_hidden_keys_is_decided_by_its_members(tie: tuple[Row, ...], pred: str, verdict: str) -> None:
    """Rows tied past the LIMIT may stand for the gold's; others may not, once a row or the whole tie shows its end."""
    probe = relation(("a", 1), *tie)
    answer = relation(*((letter,) for letter in pred))
    assert judged(GOLD, answer, Policy(cut_ties="any"), facts(None, limit=3), probe) == verdict
    assert judged(GOLD, answer, Policy(cut_ties="any", columns="any"), facts(None, limit=3), probe) == verdict


def test_a_selected_key_of_a_cut_tie_is_decided_by_its_members_where_they_are_known() -> None:
    """Any row with the key will do where nobody looked; where the tie is known to its end, its members alone."""
    gold, invented = relation((1, "a"), (2, "b")), relation((1, "a"), (2, "z"))
    policy = Policy(cut_ties="any")
    assert judged(gold, invented, policy, facts(0, limit=2), None) == "match"
    seen = relation((1, "a"), (2, "b"), (2, "c"), (3, "d"))
    assert judged(gold, invented, policy, facts(0, limit=2), seen) == "mismatch"
    assert judged(gold, relation((1, "a"), (2, "c")), policy, facts(0, limit=2), seen) == "match"


@pytest.mark.parametrize(
    ("order_facts", "verdict"),
    [
        (facts(0, limit=2), "match"),
        (facts(0, has_limit=True), "match"),
        (facts(0), "mismatch"),
        (facts(0, limit=9), "mismatch"),
    ],
)
def test_only_a_limit_that_was_reached_can_cut(order_facts: OrderFacts, verdict: str) -> None:
    """cut_ties any frees the last tie where a LIMIT may have cut it, and nowhere else."""
    gold, pred = relation((3, "a"), (5, "b")), relation((3, "a"), (5, "z"))
    assert judged(gold, pred, Policy(cut_ties="any"), order_facts, None) == verdict


def test_free_nulls_move_with_hidden_keys_too() -> None:
    """nulls_order any lets the group of a NULL hidden key stand at either end."""
    probe = relation(("a", None), ("b", 1), ("c", 2))
    policy = Policy(nulls_order="any")
    assert judged(GOLD, relation(("b",), ("c",), ("a",)), policy, facts(None), probe) == "match"
    assert judged(GOLD, relation(("b",), ("a",), ("c",)), policy, facts(None), probe) == "mismatch"


def test_many_key_levels_move_their_nulls_together() -> None:
    """Past four levels only all NULLs first and all NULLs last are tried."""
    gold = relation((None, 1, 1, 1, 1), (2, 1, 1, 1, 1))
    pred = Relation(gold.columns, gold.rows[::-1])
    assert judged(gold, pred, Policy(nulls_order="any"), facts(0, 1, 2, 3, 4), None) == "match"


def test_an_empty_gold_resolves() -> None:
    """No rows, no groups: an ordered empty gold equals an empty prediction."""
    empty = relation(width=1)
    assert judged(empty, empty, Policy(nulls_order="any"), facts(0), None) == "match"
    assert judged(empty, relation(("a",)), Policy(nulls_order="any", cut_ties="any"), facts(0), None) == "mismatch"


def test_rows_beyond_the_gold_are_extra_under_an_order() -> None:
    """More predicted rows than groups hold is a difference of row counts."""
    gold = relation((1,), (2,))
    resolved, order = resolve_policy(STRICT, facts=facts(0), gold=gold, probe=None)
    found = compare(gold, relation((1,), (2,), (3,)), resolved, order=order)
    assert (found.rule, found.missing, found.extra) == ("row_count", 0, 1)


def test_a_peer_is_told_whether_the_gold_orders() -> None:
    """For a peer's preset the order is exact where the gold has an ORDER BY."""
    peer = preset("oracle_spider")
    assert judged(GOLD, relation(("b",), ("a",), ("c",)), peer, facts(0), None) == "mismatch"
    assert judged(GOLD, relation(("b",), ("a",), ("c",)), peer, None, None) == "match"


@pytest.mark.slow
def test_noise_in_order_under_a_tight_budget_is_decided_by_position() -> None:
    """Under exact order thousands of rows within one wide tolerance are judged by position, not paired freely."""
    pairs = [(index / 7, index / 3) for index in range(4000)]
    gold = relation(*pairs)
    pred = relation(*((a + 0.5, b - 0.5) for a, b in pairs))
    wide = Policy(row_order="exact", abs_tol=10_000)
    assert compare(gold, pred, wide).verdict == "match"
    far = Relation(gold.columns, (*pred.rows[:-1], (1e9, 0.0)))
    assert compare(gold, far, wide).verdict == "mismatch"


def test_an_offset_may_cut_a_tie_at_the_start() -> None:
    """cut_ties any frees the first tie where rows were skipped before it; strict holds it, and says nobody looked."""
    skipped = OrderFacts((OrderKey(0, "asc", None, "k"),), 9, True, None, offset=True)
    gold, pred = relation((3, "a"), (5, "b")), relation((3, "z"), (5, "b"))
    assert judged(gold, pred, Policy(cut_ties="any"), skipped, None) == "match"
    assert judged(gold, pred, Policy(cut_ties="any", columns="any"), skipped, None) == "match"
    assert judged(gold, pred, STRICT, skipped, None) == "mismatch"
    assert judged(gold, relation((4, "a"), (5, "b")), Policy(cut_ties="any"), skipped, None) == "mismatch"
    assert judged(gold, relation((3, "a"), (5, "z")), Policy(cut_ties="any"), skipped, None) == "mismatch"
    resolved, order = resolve_policy(STRICT, facts=skipped, gold=gold, probe=None)
    assert compare(gold, gold, resolved, order=order).flags == ("offset_unchecked",)


def test_neighbouring_hidden_keys_are_read_from_columns_of_their_own() -> None:
    """The second hidden key parts rows that the first one ties."""
    probe = relation(("a", 1, 1), ("b", 1, 1), ("c", 1, 2))
    _, order = resolve_policy(STRICT, facts=facts(None, None), gold=GOLD, probe=probe)
    assert order is not None
    assert order.groups == (0, 0, 1)


def test_exact_order_says_whether_it_was_asked_for() -> None:
    """Every row is a group; the rule and the note tell an order demanded from one that could not be learnt."""
    asked, unknown = exact_order(2), exact_order(2, keys_unknown=True)
    assert (asked.rule, asked.flags, asked.groups, asked.sequences) == ("row_order", (), (0, 1), ((0, 1),))
    assert (unknown.rule, unknown.flags) == ("keys_unknown", ("keys_unknown",))


@pytest.mark.parametrize(("levels", "sequences", "is_open"), [(1, 2, False), (4, 16, False), (5, 2, True)])
def test_nulls_of_up_to_four_levels_come_first_or_last_at_each(levels: int, sequences: int, is_open: bool) -> None:
    """With more of them only all at either end are tried, and the order stays open."""
    keys = list(product((("null",), ("num", 1)), repeat=levels))
    order = order_by_keys(keys, Policy(nulls_order="any"), columns=(), cut=False, hidden=False)
    assert (len(order.sequences), order.open) == (sequences, is_open)
    assert order.sequences[0] == tuple(range(2**levels))


def test_nulls_last_may_come_first() -> None:
    """The gold's own order stays among those that are allowed; without NULLs it is the only one."""
    null, one, two = ("null",), ("num", 1), ("num", 2)
    free = Policy(nulls_order="any")

    def sequences(*keys: tuple[object, ...]) -> tuple[tuple[int, ...], ...]:
        """Return the orders of the groups that are allowed."""
        return order_by_keys([(key,) for key in keys], free, columns=(0,), cut=False, hidden=False).sequences

    assert sequences(one, two, null) == ((0, 1, 2), (2, 0, 1))
    assert sequences(null, one, two) == ((0, 1, 2), (1, 2, 0))
    assert sequences(one, two) == ((0, 1),)
    assert sequences(null) == ((0,),)
    assert sequences() == ((),)


@pytest.mark.parametrize(
    ("peer", "sql", "keys", "ordered"),
    [
        ("spider", "SELECT a FROM t ORDER BY a", None, True),
        ("spider", "SELECT 'order by'", None, True),
        ("spider", "SELECT a FROM t", (0,), False),
        ("spider", None, (0,), True),
        ("spider", None, None, False),
        ("bird", "SELECT a FROM t ORDER BY a", None, False),
        ("bird", "SELECT a FROM t", (0,), True),
    ],
)
def test_a_peer_sees_order_as_it_does(peer: str, sql: str | None, keys: tuple[int] | None, ordered: bool) -> None:
    """Spider looks for the words in the text where it is known, the others take the parsed keys."""
    policy = STRICT.model_copy(update={"peer": peer})
    given = None if keys is None else facts(*keys)
    order = resolve_policy(policy, facts=given, gold=GOLD, probe=None, gold_sql=sql)[1]
    assert (order is not None) is ordered


def test_a_probe_that_shows_another_last_row_contradicts_the_gold() -> None:
    """Only the members of a tie that a LIMIT cuts may differ when the gold is run again."""
    gold, again = relation(("a", 1), ("b", 2)), relation(("a", 1), ("c", 2))
    order = resolve_policy(STRICT, facts=facts(1), gold=gold, probe=again)[1]
    assert order is not None
    assert order.contradicted is True


def test_keys_that_are_all_selected_hide_nothing() -> None:
    """A probe is looked at as well where every key is a column of the gold."""
    gold = relation(("a", 1), ("b", 2))
    order = resolve_policy(STRICT, facts=facts(1), gold=gold, probe=gold)[1]
    assert order is not None
    assert (order.hidden, order.contradicted, order.keys) == (False, False, (1,))


def test_a_key_past_the_last_column_leaves_the_order_unknown() -> None:
    """Column 1 of a gold with one column does not exist."""
    order = resolve_policy(STRICT, facts=facts(1), gold=GOLD, probe=None)[1]
    assert order is not None
    assert order.keys_unknown is True


NOISE = (0.1 + 0.2, 0.3)


def test_hidden_keys_that_noise_parts_are_tied() -> None:
    """A key that is not selected ties rows where it is equal as a cell."""
    probe = relation(("a", NOISE[1]), ("b", NOISE[0]), ("c", 0.5))
    swapped = relation(("b",), ("a",), ("c",))
    assert judged(GOLD, swapped, STRICT, facts(None), probe) == "match"
    assert judged(GOLD, relation(("b",), ("c",), ("a",)), STRICT, facts(None), probe) == "mismatch"


def test_noise_past_the_limit_is_a_cut_tie() -> None:
    """The row after the LIMIT is tied with the last one where their keys are equal as cells."""
    gold, probe = relation(("a", NOISE[1])), relation(("a", NOISE[1]), ("b", NOISE[0]))
    _, order = resolve_policy(STRICT, facts=facts(1, limit=1), gold=gold, probe=probe)
    assert order is not None
    assert order.cut_tie is True
    assert order.flags == ("cut_tie",)
