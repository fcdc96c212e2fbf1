"""Order as the real parser and SQLite tell it, on every ordered gold of the handed Spider cases."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Column, Relation
from sqlassay.harness.compare import GoldOrder, compare, resolve_policy
from sqlassay.harness.parse import Parser
from sqlassay.harness.results.parsed import OrderFacts

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "text2sql"
pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the handed data is not beside the project")


def fetched(database: sqlite3.Connection, sql: str) -> Relation:
    """Run one query and return what it gave."""
    cursor = database.execute(sql)
    return Relation(tuple(Column(part[0]) for part in cursor.description), tuple(cursor.fetchall()))


def ordered_golds() -> Iterator[tuple[str, Relation, OrderFacts, Policy, GoldOrder]]:
    """Yield each ordered gold with its facts and what the policy became."""
    with Parser() as parser:
        for line in (SHARED / "cases" / "spider_dev.jsonl").read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            sql = case["gold"]["sqlite"]
            facts = parser.parse(sql, "sqlite", sqlglot_dialect="sqlite").order
            if facts is None:
                continue
            file = next((SHARED / "databases" / case["db"]).glob("*.sqlite"))
            database = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
            database.text_factory = lambda raw: raw.decode("utf-8", "replace")
            gold = fetched(database, sql)
            probe = fetched(database, facts.probe_sql) if facts.probe_sql is not None else None
            database.close()
            policy, order = resolve_policy(Policy(), facts=facts, gold=gold, probe=probe)
            assert order is not None, case["id"]
            yield case["id"], gold, facts, policy, order


@pytest.fixture(scope="module")
def golds() -> list[tuple[str, Relation, OrderFacts, Policy, GoldOrder]]:
    """Every ordered gold, run once."""
    return list(ordered_golds())


def test_hidden_keys_are_learnt_and_no_probe_contradicts_its_gold(
    golds: list[tuple[str, Relation, OrderFacts, Policy, GoldOrder]],
) -> None:
    """Most golds sort by what they do not select; the probe gives their tie groups, and agrees with every gold."""
    assert len(golds) > 100
    assert not [name for name, *_, order in golds if order.contradicted]
    assert sum(order.hidden for *_, order in golds) > 80
    unknown = [name for name, _, facts, _, order in golds if order.keys_unknown and facts.probe_sql is not None]
    assert unknown == []


def test_every_gold_equals_itself_and_its_ties_in_reverse(
    golds: list[tuple[str, Relation, OrderFacts, Policy, GoldOrder]],
) -> None:
    """Rows tied on the keys may permute; a gold with two groups of different rows in reverse is another order."""
    reversed_differs = 0
    for name, gold, _, policy, order in golds:
        assert compare(gold, gold, policy, order=order).verdict == "match", name
        places = sorted(range(len(gold.rows)), key=lambda place: (order.groups[place], -place))
        tied = Relation(gold.columns, tuple(gold.rows[place] for place in places))
        assert compare(gold, tied, policy, order=order).verdict == "match", name
        backwards = Relation(gold.columns, gold.rows[::-1])
        found = compare(gold, backwards, policy, order=order)
        groups = [(group, row) for group, row in zip(order.groups, gold.rows, strict=True)]
        turned = list(zip(order.blocks(order.sequences[0]), backwards.rows, strict=True))
        same = Counter(groups) == Counter(turned)
        assert found.verdict == ("match" if same else "mismatch"), name
        reversed_differs += not same
    assert reversed_differs > 20


def test_cut_ties_are_seen_in_real_golds(golds: list[tuple[str, Relation, OrderFacts, Policy, GoldOrder]]) -> None:
    """Some golds' LIMIT leaves out rows tied with the last one; their verdicts are flagged."""
    cut = [(gold, policy, order) for _, gold, _, policy, order in golds if order.cut_tie]
    assert cut
    for gold, policy, order in cut:
        assert "cut_tie" in compare(gold, gold, policy, order=order).flags
