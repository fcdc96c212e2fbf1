"""Ask the data whether a gold's text decides its rows: what it may choose among, what its LIMIT cuts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlassay.cases.case import Case
from sqlassay.cases.outcome import Outcome, Rows
from sqlassay.cases.relation import Relation, Row
from sqlassay.dialect_adapters.contract import Adapter
from sqlassay.dialect_adapters.transpile.causes import Doubting
from sqlassay.dialect_adapters.transpile.facts import Refused
from sqlassay.dialect_adapters.transpile.snapshot_facts import snapshot_facts
from sqlassay.harness.checkup.seen import Sign, row_text
from sqlassay.harness.desk import Desk
from sqlassay.harness.personal import personal
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.health import Flag
from sqlassay.harness.results.parsed import OrderFacts
from sqlassay.harness.verdict import GoldRows, order_demanded
from sqlassay.sandboxes.station import Care


@dataclass(frozen=True, slots=True)
class Doubts:
    """What asking the data found, what could not be asked, and how many statements that took."""

    signs: tuple[Sign, ...]
    notes: tuple[str, ...]
    asked: int


def doubts(case: Case, answer: GoldAnswer, adapter: Adapter, desk: Desk, *, plain: bool) -> Doubts:
    """Return what of one gold query's rows its text does not decide, by the questions its adapter knows.

    Where the adapter knows none, the query run again with its order keys says whether its LIMIT cuts a tie. `plain`
    says that the guard lets the statement through and flags nothing of it.
    """
    if not isinstance(adapter, Doubting):
        return Doubts(tuple(_cut_tie(case, answer, desk)), (), 0)
    try:
        questions = list(adapter.choices(answer.sql, snapshot_facts(desk.rules.pack.snapshot(case.snapshot))))
    except (Refused, RecursionError) as refusal:
        note = f"not asked which rows it may choose among: {str(refusal) or 'it is nested too deeply'}"
        return Doubts(tuple(_cut_tie(case, answer, desk)), (note,), 0)
    signs: list[Sign] = []
    notes: list[str] = []
    for question in questions:
        flag = Flag.TIE_AT_LIMIT if question.cuts else Flag.NON_DETERMINISTIC
        found = None if question.sql is None else _any_row(case, question.sql, desk, plain=plain)
        if found is None:
            notes.append(f"may be {flag}: {question.reason}; it could not be asked")
        elif found:
            signs.append(Sign(flag, question.reason, probe=question.sql))
    return Doubts(tuple(dict.fromkeys(signs)), tuple(dict.fromkeys(notes)), len(questions))


def _any_row(case: Case, sql: str, desk: Desk, *, plain: bool) -> bool | None:
    """Return whether a question is answered with a row, None where it could not be asked."""
    outcome = _outcome(case, sql, desk, plain=plain)
    return bool(outcome.relation.rows) if isinstance(outcome, Rows) else None


def _outcome(case: Case, sql: str, desk: Desk, *, plain: bool) -> Outcome:
    """Put one question to the data."""
    pins = desk.rules.pins(case, () if plain else ("asked",))
    care = Care.PLAIN if plain else Care.UNKNOWN
    return desk.station.run(case.snapshot, sql, desk.rules.gold_limits, pins, care=care)


def _cut_tie(case: Case, answer: GoldAnswer, desk: Desk) -> Iterator[Sign]:
    """Yield the sign of a LIMIT that cuts rows with equal keys and other values."""
    facts, gold, probe = answer.parsed.order, answer.relation, answer.probe
    if facts is None or gold is None or probe is None:
        return
    order = order_demanded(GoldRows.of(answer), desk.rules.strict)
    if order is None or order.cut_tie is not True:
        return
    width, last = len(gold.columns), order.groups[-1]
    rows = _shown(case, answer, probe).rows
    tied = [row for row, group in zip(rows, order.groups, strict=False) if group == last]
    tied.append(rows[len(gold.rows)])
    if len({row[:width] for row in tied}) > 1:
        shown = tuple(row_text(row) for row in tied[-2:])
        yield Sign(
            Flag.TIE_AT_LIMIT, "the rows on both sides of the LIMIT have equal keys", answer_probe(answer), shown
        )


def _shown(case: Case, answer: GoldAnswer, rows: Relation) -> Relation:
    """Return rows asked for besides a gold's own as they may be shown; equal cells stay equal."""
    masks = personal(case, (replace(answer, probe=rows),))
    return rows if masks is None else masks.relation(rows, answer.parsed)


def answer_probe(answer: GoldAnswer) -> str | None:
    """Return the statement that showed a gold's order keys."""
    return answer.parsed.order.probe_sql if answer.parsed.order is not None else None


def null_keys(case: Case, answer: GoldAnswer, desk: Desk, *, plain: bool) -> Iterator[Sign]:
    """Yield the sign of an ORDER BY whose keys hold NULLs that nothing says where to put.

    All rows are asked, not those that a LIMIT leaves: where NULLs stand decides which these are.
    """
    facts, gold = answer.parsed.order, answer.relation
    if facts is None or gold is None:
        return
    held, probe = answer.probe if answer.probe is not None else gold, answer_probe(answer)
    if facts.whole_sql is not None and not all(key.nulls for key in facts.keys):
        whole = _outcome(case, facts.whole_sql, desk, plain=plain)
        if isinstance(whole, Rows):
            held, probe = whole.relation, facts.whole_sql
    for place, sql in _unplaced(facts, gold, held):
        nulls = [row for row in _shown(case, answer, held).rows if row[place] is None]
        if nulls and len(nulls) < len(held.rows):
            evidence = f"ORDER BY {sql}: the key of {len(nulls)} of {len(held.rows)} rows is NULL"
            yield Sign(Flag.NULL_ORDER, evidence, probe, (row_text(nulls[0]),))


def _unplaced(facts: OrderFacts, gold: Relation, probe: Relation | None) -> Iterator[tuple[int, str]]:
    """Yield the visible place and text of each key that does not say where its NULLs go."""
    hidden, width = len(gold.columns), len((probe or gold).columns)
    said = ""
    for key in facts.keys:
        place = hidden if key.column is None else key.column
        hidden += key.column is None
        if key.nulls is None and place < width and not _tests_null(said, key.sql):
            yield place, key.sql
        said += f" {key.sql}"


def _tests_null(said: str, key: str) -> bool:
    """Return whether an earlier key puts the NULLs of this one in their place, as `key IS NULL` does."""
    return re.search(rf"{re.escape(key)} is (not )?null|isnull\({re.escape(key)}\)", said, re.I) is not None


def is_vacuous(rows: tuple[Row, ...]) -> str | None:
    """Say why a result is no test of an answer, None where it is one."""
    if not rows:
        return "it gives no row"
    return "every value it gives is NULL" if all(cell is None for row in rows for cell in row) else None
