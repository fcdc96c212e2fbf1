"""What the published script makes of a query it read: foreign keys as one column, values and DISTINCT left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Facts = dict[str, Any]


def one_name(tables: Mapping[str, Sequence[str]], keys: Iterable[Sequence[str]]) -> dict[str, str]:
    """Return the one name of each column that a foreign key ties to others: the first of them in the schema.

    A key joins the first group that has either of its columns, as in the script: two groups are never made one.
    """
    order = {f"{table}.{column.lower()}": 0 for table, columns in tables.items() for column in columns}
    order = {name: place for place, name in enumerate(order)}
    groups: list[set[str]] = []
    for table, column, other, referred in keys:
        pair = {f"{table}.{column}", f"{other}.{referred}"}
        if not pair <= order.keys():
            continue
        group = next((group for group in groups if group & pair), None)
        if group is None:
            groups.append(group := set())
        group |= pair
    return {name: min(group, key=order.__getitem__) for group in groups for name in group}


def joined_name(query: Facts) -> dict[str, str]:
    """Return the one name of the columns that a query's joins make equal, for a schema that declares no key."""
    same: dict[str, str] = {}

    def root(name: str) -> str:
        """Return the name a column goes by so far."""
        while same.get(name, name) != name:
            name = same[name]
        return name

    for joined in _joins(query):
        if isinstance(joined, tuple) and joined[1] == "=" and isinstance(joined[3], tuple) and not joined[2][0]:
            one, other = root(joined[2][1][1]), root(joined[3][1])
            same[max(one, other)] = min(one, other)
    return {name: root(name) for name in (*same, *same.values())}


def _joins(query: Facts) -> Iterator[Any]:
    """Yield the join conditions of a query and of the queries in it."""
    yield from query["on"]
    for unit in (*query["on"], *query["where"], *query["having"]):
        yield from (each for value in unit[3:] if isinstance(value, dict) for each in _joins(value))
    if query["set"] is not None:
        yield from _joins(query["set"][1])


def clauses(query: Facts, same: Mapping[str, str]) -> Facts:
    """Return the clauses of a query the way they are compared."""
    read = {source for source in query["from"] if isinstance(source, str)}
    return _clauses(query, {name: one for name, one in same.items() if name.split(".", 1)[0] in read})


def _clauses(query: Facts, same: Mapping[str, str]) -> Facts:
    """Return the clauses of a query, columns under the names of the outermost one's tables, as in the script."""
    direction, order = query["order"] or ("", [])
    facts: Facts = {
        "select": [[name, _text(value, same)] for name, value in query["select"][1]],
        "tables": sorted(
            each if isinstance(each, str) else f"({_frozen(each, values=True)})" for each in query["from"]
        ),
        "derived": [],
        "group_by": [same.get(column, column) for _, column, _ in query["group"]],
        # An ORDER BY without keys is one all the same.
        "order_by": [["", _text(value, same)] for value in order] or ([["", ""]] if direction else []),
        "order_aggregates": sum(bool(each[0]) for _, *pair in order for each in pair if each is not None),
        "direction": direction,
        "limit": query["limit"],
        "sets": [],
    }
    for name in ("on", "where", "having"):
        facts[name] = [_unit(unit, same) for unit in query[name][::2]]
        facts[f"{name}_by"] = [word if isinstance(word, str) else repr(word) for word in query[name][1::2]]
    if query["set"] is not None:
        facts["sets"] = [[query["set"][0], _clauses(query["set"][1], same)]]
    return facts


def _unit(unit: Any, same: Mapping[str, str]) -> Facts:
    """Return one condition; a query it compares with counts as it is written, aliases seen through."""
    negated, operator, left, *values = unit
    nested = [value for value in values if isinstance(value, dict)]
    return {
        "negated": negated,
        "operator": operator,
        "left": _text(left, same),
        "nested": [_clauses(value, {}) for value in nested],
        "compared": "; ".join(_frozen(value, values=False) for value in nested),
    }


def _text(value: Any, same: Mapping[str, str]) -> str:
    """Return a column or an operation of two as text."""
    operator, *pair = value
    named = [
        f"{name}({same.get(column, column)})" if name else same.get(column, column)
        for name, column, _ in filter(None, pair)
    ]
    return f" {operator} ".join(named)


def _frozen(query: Facts, *, values: bool) -> str:
    """Return a query as text that is equal where the script finds two queries equal; it leaves no DISTINCT out here."""

    def unit(each: Any) -> Any:
        """Return a condition, its plain values as None where they do not count."""
        if isinstance(each, str):
            return each
        head, compared = each[:3], each[3:]
        return (
            *head,
            *(
                _frozen(value, values=values) if isinstance(value, dict) else value if values else None
                for value in compared
            ),
        )

    plain = {name: [unit(each) for each in query[name]] for name in ("on", "where", "having")}
    sources = [each if isinstance(each, str) else _frozen(each, values=True) for each in query["from"]]
    after = None if query["set"] is None else (query["set"][0], _frozen(query["set"][1], values=values))
    return repr((query["select"], sources, plain, query["group"], query["order"], query["limit"], after))
