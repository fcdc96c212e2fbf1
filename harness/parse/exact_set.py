"""One query clause by clause, as exact set match compares it: units without values, columns by their table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp

_AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Max: "max",
    exp.Min: "min",
    exp.Count: "count",
    exp.Sum: "sum",
    exp.Avg: "avg",
}
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Like: "like",
    exp.ILike: "like",
    exp.In: "in",
    exp.Between: "between",
    exp.Is: "is",
    exp.Exists: "exists",
}

_MOST_SETS = 40
"""Set operations of one text: each nests the facts deeper, and who reads them does so by recursion."""

Facts = dict[str, Any]
Names = Mapping[str, str | None]
"""The table behind each name a query may qualify a column with; None for a query in parentheses."""


def parts_of(tree: exp.Expr, tables: Mapping[str, list[str]]) -> Facts | None:
    """Return the clauses of a query, None for what is no query of SELECTs; `tables` is the catalogue, lower-cased."""
    known = {name: {column.lower() for column in columns} for name, columns in tables.items()}
    if sum(1 for _ in tree.find_all(exp.SetOperation)) > _MOST_SETS:
        return None
    try:
        return _query(tree, known, ())
    except Exception:  # noqa: BLE001 - a tree of odd shape leaves one metric unavailable, never the text unread
        return None


def _query(node: exp.Expr | None, known: Mapping[str, set[str]], outer: tuple[Names, ...]) -> Facts | None:
    """Return the clauses of a SELECT or of a chain of set operations."""
    while isinstance(node, (exp.Subquery, exp.Paren)):
        node = node.this
    if isinstance(node, exp.SetOperation):
        left, right = _query(node.left, known, outer), _query(node.right, known, outer)
        if left is None or right is None:
            return None
        last = left
        while last["sets"]:
            last = last["sets"][0][1]
        last["sets"] = [[node.key, right]]
        if node.args.get("order") or node.args.get("limit"):
            # What stands after the last SELECT is read as that SELECT's own.
            _Select(_last(node), known, outer).close(right, node)
        return left
    return _Select(node, known, outer).facts() if isinstance(node, exp.Select) else None


class _Select:
    """One SELECT, its names resolved in the tables it reads and those of the queries around it."""

    def __init__(self, node: exp.Expr, known: Mapping[str, set[str]], outer: tuple[Names, ...]) -> None:
        """Find what the FROM clause names, and which columns its joins make one."""
        self._node, self._known = node, known
        self._sources = list(_sources(node))
        names = {source.alias_or_name.lower(): _table(source) for source in self._sources}
        self._names: tuple[Names, ...] = (names, *outer)
        self._same: dict[str, str] = {}
        for condition in self._joined():
            for pair in condition.find_all(exp.EQ):
                if isinstance(pair.left, exp.Column) and isinstance(pair.right, exp.Column):
                    self._tie(self._column(pair.left), self._column(pair.right))

    def facts(self) -> Facts:
        """Return every clause."""
        args = self._node.args
        facts: Facts = {
            "select": [self._unit(column) for column in self._node.expressions],
            "tables": sorted(_table(source) or "(query)" for source in self._sources),
            "derived": [found for source in self._sources if (found := self._nested(source)) is not None],
            "group_by": [
                self._text(self._meant(key)) for key in (args["group"].expressions if args.get("group") else ())
            ],
            "sets": [],
        }
        on: list[tuple[list[Facts], list[str]]] = [self._conditions(condition) for condition in self._joined()]
        facts["on"] = [unit for units, _ in on for unit in units]
        facts["on_by"] = [word for _, words in on for word in words] + ["and"] * max(0, len(on) - 1)
        for clause in ("where", "having"):
            condition = args[clause].this if args.get(clause) else None
            facts[clause], facts[f"{clause}_by"] = self._conditions(condition)
        self.close(facts, self._node)
        return facts

    def close(self, facts: Facts, node: exp.Expr) -> None:
        """Write the order and limit of a node into the facts, its names those of this SELECT."""
        order = node.args.get("order")
        keys = order.expressions if order else []
        facts["order_by"] = [self._unit(self._meant(key.this if isinstance(key, exp.Ordered) else key)) for key in keys]
        # Of several directions the published rule keeps the last one given.
        last = keys[-1] if keys else None
        facts["direction"] = "desc" if last is not None and last.args.get("desc") else "asc" if keys else ""
        facts["limit"] = any(node.args.get(name) is not None for name in ("limit", "fetch"))

    def _meant(self, key: exp.Expr) -> exp.Expr:
        """Return the selected expression an alias stands for, the key itself where it is none."""
        if isinstance(key, exp.Column) and not key.table:
            for column in self._node.expressions:
                if isinstance(column, exp.Alias) and column.alias.lower() == key.name.lower():
                    return column
        return key

    def _joined(self) -> Iterator[exp.Expr]:
        """Yield the conditions of the joins."""
        for join in self._node.args.get("joins") or []:
            if join.args.get("on") is not None:
                yield join.args["on"]

    def _conditions(self, condition: exp.Expr | None) -> tuple[list[Facts], list[str]]:
        """Return the units of a condition and the words between them, as they stand."""
        units: list[Facts] = []
        words: list[str] = []
        stack: list[exp.Expr | str] = [] if condition is None else [condition]
        while stack:
            part = stack.pop()
            if isinstance(part, str):
                words.append(part)
            elif isinstance(part, (exp.And, exp.Or)):
                stack.extend((part.right, part.key, part.left))
            elif isinstance(part, exp.Paren) and isinstance(part.this, (exp.And, exp.Or, exp.Paren)):
                stack.append(part.this)
            else:
                units.append(self._condition(part))
        return units, words

    def _condition(self, part: exp.Expr) -> Facts:
        """Return one unit: negated, operator, left side, and the queries it compares with; values do not count."""
        negated = False
        while isinstance(part, (exp.Not, exp.Paren)):
            negated ^= isinstance(part, exp.Not)
            part = part.this
        negated ^= bool(part.args.get("negate"))
        operator = _OPERATORS.get(type(part), part.key)
        # The values of other kinds of conditions stand within their text, so only the kind is kept of those.
        left = part.this if type(part) in _OPERATORS and not isinstance(part, exp.Exists) else None
        nested = [
            found
            for name, value in part.args.items()
            if name != "this" or left is None
            for each in (value if isinstance(value, list) else [value])
            if isinstance(each, exp.Expr) and (found := self._nested(each)) is not None
        ]
        return {
            "negated": negated,
            "operator": operator,
            "left": "" if left is None else self._text(left),
            "nested": nested,
        }

    def _nested(self, node: exp.Expr) -> Facts | None:
        """Return the clauses of a query in parentheses, None for anything else."""
        if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation, exp.Paren)):
            return _query(node, self._known, self._names)
        return None

    def _unit(self, node: exp.Expr) -> list[str]:
        """Return an expression as its outermost aggregate ("" = none) and what it is of."""
        while isinstance(node, (exp.Alias, exp.Paren)):
            node = node.this
        name = _AGGREGATES.get(type(node), "")
        if not name:
            return ["", self._text(node)]
        inner = node.this
        if isinstance(inner, exp.Distinct) and len(inner.expressions) == 1:
            inner = inner.expressions[0]
        if name == "count" and isinstance(inner, exp.Literal) and not inner.is_string:
            inner = exp.Star()
        return [name, self._text(inner)]

    def _text(self, node: exp.Expr) -> str:
        """Return an expression with its columns by table and without DISTINCT and outer parentheses."""
        while isinstance(node, (exp.Alias, exp.Paren)):
            node = node.this
        if isinstance(node, exp.Column):
            return self._column(node)
        copy = node.copy()
        for column in list(copy.find_all(exp.Column)):
            if column is not copy:
                column.replace(exp.Identifier(this=self._column(column), quoted=False))
        for distinct in list(copy.find_all(exp.Distinct)):
            if len(distinct.expressions) == 1 and distinct is not copy:
                distinct.replace(distinct.expressions[0])
        return copy.sql(comments=False)

    def _column(self, column: exp.Column) -> str:
        """Return `table.column` where the table is known, the one name of all columns joined with it."""
        if isinstance(column.this, exp.Star):
            return "*"
        name, qualifier = column.name.lower(), column.table.lower()
        found = name
        for names in self._names:
            owner = names.get(qualifier) if qualifier else self._owner(name, names)
            if owner:
                found = f"{owner}.{name}"
                break
        while found in self._same:
            found = self._same[found]
        return found

    def _owner(self, column: str, names: Names) -> str | None:
        """Return the first table of a FROM clause that has this column."""
        tables = [table for table in names.values() if table]
        return next((table for table in tables if column in self._known.get(table, ())), None)

    def _tie(self, one: str, other: str) -> None:
        """Let two columns that a join makes equal have one name."""
        if one != other:
            self._same[max(one, other)] = min(one, other)


def _last(node: exp.Expr) -> exp.Expr:
    """Return the last SELECT of a chain of set operations."""
    while isinstance(node, (exp.SetOperation, exp.Subquery, exp.Paren)):
        node = node.right if isinstance(node, exp.SetOperation) else node.this
    return node


def _sources(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what a SELECT reads, in the order it names them."""
    first = node.args.get("from_") or node.args.get("from")
    if first is not None:
        yield first.this
    for join in node.args.get("joins") or []:
        yield join.this


def _table(source: exp.Expr) -> str | None:
    """Return the name of a table, None for a query."""
    return source.name.lower() if isinstance(source, exp.Table) else None
