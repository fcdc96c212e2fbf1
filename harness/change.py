"""Judge what a statement changed: the states gold and prediction left, part by part under the comparator's policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sqlassay.cases.case import Case
from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.outcome import Changed, Failure, TableState
from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.dialect_adapters.execute import Change
from sqlassay.harness.results.parsed import OrderFacts
from sqlassay.harness.results.verdicts import CellDifference, Comparison
from sqlassay.harness.verdict import GoldRows, cells_apart, judge_rows

RULE = "state"
_TRUNCATE = re.compile(r"(?:\s|(?:--|#)[^\n]*\n|/\*.*?\*/)*truncate\b", re.IGNORECASE | re.DOTALL)
_ORDINAL, _CHOSEN_NAME = "position", "constraint_name"
_NAMED = 5


def plan(case: Case, sql: str, dialect: str) -> Change:
    """Return how one statement of a dml or ddl case is run; cleanup_sql has nothing to do on a throwaway server.

    A TRUNCATE needs an owner's rights on every engine, also where it answers a dml case.
    """
    owned = case.query_type == "ddl" or _TRUNCATE.match(sql) is not None
    kind: Literal["dml", "ddl"] = "ddl" if owned else "dml"
    return Change(sql, kind, case.setup_sql.get(dialect, ()), case.eval_query.get(dialect, ()))


def with_known(catalog: Catalog, changed: Changed | None) -> Catalog:
    """Return the catalogue with the tables that a case's setup made."""
    listed = {table.name.lower() for table in catalog.tables}
    made = tuple(
        CatalogTable(
            name=name, columns=tuple(CatalogColumn(name=column, kind=Kind.OTHER, declared="") for column in columns)
        )
        for name, columns in (changed.known if changed is not None else ())
        if name.lower() not in listed
    )
    return catalog.model_copy(update={"tables": (*catalog.tables, *made)}) if made else catalog


def compare_states(
    gold: Changed, predicted: Changed, policy: Policy, orders: Sequence[OrderFacts | None] = ()
) -> Comparison:
    """Return the verdict on two states: any part that differs is a mismatch and named, with its first row.

    `orders` says how the eval queries order their rows.
    """
    found = [(title, one) for title, one in _differences(gold, predicted, policy, orders) if one.verdict != "match"]
    found.sort(key=lambda pair: pair[1].verdict != "mismatch")
    flags = () if gold.touched else ("vacuous",)
    if not found:
        parts = f"{len(gold.state)} tables, views and aspects of the schema"
        note = "" if gold.touched else "; the gold changes nothing"
        return Comparison("match", RULE, f"the states agree in {parts}{note}", policy.digest, flags=flags)
    title, first = found[0]
    others = [name for name, one in found[1:] if one.verdict == first.verdict]
    more = f"; also {', '.join(others[:_NAMED])}" if others else ""
    more += f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return replace(
        first, rule=RULE, reason=f"{title}: {first.reason}{more}", policy_digest=policy.digest, flags=flags, looser=None
    )


def cells_between(
    gold: Changed, predicted: Changed, policy: Policy, orders: Sequence[OrderFacts | None] = ()
) -> Iterator[tuple[str, CellDifference]]:
    """Yield every cell in which two states differ beside its part's name; one line that says why where no rows are."""
    for title, found in _parts(gold, predicted, policy, orders):
        if isinstance(found, _Pair):
            yield from ((title, one) for one in cells_apart(found.gold, found.predicted, found.policy))
        elif found.verdict != "match":
            yield title, CellDifference(found.reason, None, None, None, None, None, None)


@dataclass(frozen=True, slots=True)
class _Pair:
    """A part's rows on both sides and the policy for them; `named` by the first cell, as aspects of the schema are."""

    gold: GoldRows
    predicted: Relation
    policy: Policy
    named: bool = False

    def judged(self) -> Comparison:
        """Return the comparison of the rows."""
        found = judge_rows(self.gold, self.predicted, self.policy)
        row = (found.first.gold or found.first.predicted) if self.named and found.first is not None else None
        return replace(found, reason=f"{found.reason} (of {row[0]})") if row else found


def _differences(
    gold: Changed, predicted: Changed, policy: Policy, orders: Sequence[OrderFacts | None]
) -> Iterator[tuple[str, Comparison]]:
    """Yield each part's comparison."""
    for title, found in _parts(gold, predicted, policy, orders):
        yield title, found.judged() if isinstance(found, _Pair) else found


def _parts(
    gold: Changed, predicted: Changed, policy: Policy, orders: Sequence[OrderFacts | None]
) -> Iterator[tuple[str, Comparison | _Pair]]:
    """Yield what there is to compare: tables and views, then the schema, then the eval queries."""
    ours = {(part.part, part.name): part for part in gold.state}
    theirs = {(part.part, part.name): part for part in predicted.state}
    for key in sorted(ours | theirs, key=lambda key: key[0] == "schema"):
        wanted, given = ours.get(key), theirs.get(key)
        if wanted is None or given is None:
            missing = (
                "the gold leaves it, the prediction does not"
                if given is None
                else "the prediction leaves it, the gold does not"
            )
            yield _title((ours | theirs)[key]), _plain("mismatch", missing, policy)
        elif wanted.digest != given.digest:
            yield _title(wanted), _part(wanted, given, gold, predicted, policy)
    for number, (answer, theirs_too) in enumerate(zip(gold.answers, predicted.answers, strict=True)):
        facts = orders[number] if number < len(orders) else None
        yield f"eval_query {number + 1}", _answer(answer, theirs_too, policy, facts)


def _title(part: TableState) -> str:
    """Return how a reason names a part."""
    return f"schema: {part.name}" if part.part == "schema" else part.title


def _part(gold: TableState, predicted: TableState, left: Changed, given: Changed, policy: Policy) -> Comparison | _Pair:
    """Return the rows of one part whose checksums differ, or what there is to say without them."""
    if gold.failure or predicted.failure:
        return _failed_view(gold, predicted, policy)
    if gold.relation is not None and predicted.relation is not None:
        if gold.part == "schema":
            return _schema(gold.relation, predicted.relation, policy)
        return _rows(gold.relation, predicted.relation, policy)
    ours, theirs = gold.title in left.touched, gold.title in given.touched
    if ours is not theirs:
        who = "the gold changes it, the prediction does not" if ours else "the prediction changes it, the gold does not"
        return _plain("mismatch", f"{who} ({gold.rows} rows expected, {predicted.rows} left)", policy)
    if gold.rows != predicted.rows:
        return _plain("mismatch", f"{gold.rows} rows expected, {predicted.rows} left", policy)
    return _plain("undecided", f"its {gold.rows} rows have other checksums and are too many to compare", policy)


def _rows(gold: Relation, predicted: Relation, policy: Policy) -> Comparison | _Pair:
    """Return a table's rows as a bag, columns by name, cells as the policy says."""
    names = [column.name for column in gold.columns]
    given = [column.name for column in predicted.columns]
    if sorted(names) != sorted(given):
        apart = {"missing": _apart(names, given), "extra": _apart(given, names)}
        said = "; ".join(f"{what}: {', '.join(which)}" for what, which in apart.items() if which)
        columns = f"its columns are {', '.join(given)}; expected {', '.join(names)}"
        return _plain("mismatch", f"{columns} ({said})" if said else columns, policy)
    places = [given.index(name) for name in names]
    aligned = Relation(
        tuple(predicted.columns[place] for place in places),
        tuple(tuple(row[place] for place in places) for row in predicted.rows),
    )
    return _Pair(GoldRows(gold), aligned, _bag(policy))


def _apart(names: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the names that the others lack."""
    return [name for name in names if name not in others]


def _bag(policy: Policy) -> Policy:
    """Return the policy for stored rows: its rules for cells, but every row and column counts and no order does."""
    whole = Policy()
    update = {
        name: getattr(whole, name)
        for name in ("order_keys", "columns", "extra_columns", "required_columns", "multiplicity", "empty", "truncated")
    }
    return policy.model_copy(update={**update, "row_order": "ignore", "peer": None})


def _schema(gold: Relation, predicted: Relation, policy: Policy) -> _Pair:
    """Return one aspect of the schema exactly; ordinals and names an engine may choose only where policy asks."""
    hidden = set() if policy.columns == "position" else {_ORDINAL}
    hidden |= set() if policy.names == "match" else {_CHOSEN_NAME}
    exact = preset("strict").model_copy(update={"row_order": "ignore"})
    return _Pair(GoldRows(_without(gold, hidden)), _without(predicted, hidden), exact, named=True)


def _without(relation: Relation, hidden: set[str]) -> Relation:
    """Return a relation without some columns."""
    kept = [place for place, column in enumerate(relation.columns) if column.name.lower() not in hidden]
    columns: tuple[Column, ...] = tuple(relation.columns[place] for place in kept)
    return Relation(columns, tuple(tuple(row[place] for place in kept) for row in relation.rows))


def _failed_view(gold: TableState, predicted: TableState, policy: Policy) -> Comparison:
    """Compare two views one of which cannot be read."""
    if gold.failure and predicted.failure:
        return _plain("match", "neither can be read", policy)
    who = f"the prediction's cannot be read: {predicted.failure}" if predicted.failure else "the gold's cannot be read"
    return _plain("mismatch", who, policy)


def _answer(
    gold: Relation | Failure, predicted: Relation | Failure, policy: Policy, facts: OrderFacts | None
) -> Comparison | _Pair:
    """Return what one eval query gives on both states, or why there is nothing to compare."""
    if isinstance(predicted, Failure):
        return _plain("mismatch", f"it fails on the state the prediction left: {predicted.message}", policy)
    if isinstance(gold, Failure):
        return _plain("undecided", f"it fails on the state the gold left: {gold.message}", policy)
    return _Pair(GoldRows(gold, order=facts), predicted, policy)


def _plain(verdict: Literal["match", "mismatch", "undecided"], reason: str, policy: Policy) -> Comparison:
    """Return a comparison that needed no rows."""
    return Comparison(verdict, RULE, reason, policy.digest)
