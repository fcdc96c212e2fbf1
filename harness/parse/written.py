"""Which numbers a statement writes where they may become the value of an output column: `coalesce(max(id), 8)`.

Whether such a number is the answer because the data say so cannot be read from the text, so it is only told. Numbers in
conditions, places to round to, divisors and what else only shapes a value are none.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

NEUTRAL = frozenset({0.0, 1.0, 100.0})
"""What counts, shares and defaults are written with."""

_NEVER = (exp.Count, exp.Predicate, exp.Connector, exp.Not, exp.DataType, exp.Interval, exp.Order, exp.Limit)
_ONLY_FIRST = (
    exp.AggFunc,
    exp.Round,
    exp.Div,
    exp.IntDiv,
    exp.Mod,
    exp.Sub,
    exp.Cast,
    exp.Substring,
    exp.Filter,
    exp.Window,
)
_MOST_NODES = 5_000


def numbers_written(tree: exp.Expr) -> list[str]:
    """Return of each output column its numbers, blanks between them; empty where the columns cannot be told."""
    return [" ".join(f"{one!r}" for one in sorted(found - NEUTRAL)) for found in _Reader(tree).columns(tree)]


class _Reader:
    """Follows values from the output into nested queries."""

    def __init__(self, tree: exp.Expr) -> None:
        """Take the whole statement: a column of a nested query is found by its name."""
        self._named: dict[str, list[exp.Expr]] = {}
        for alias in tree.find_all(exp.Alias):
            self._named.setdefault(alias.alias.lower(), []).append(alias.this)
        self._seen: set[int] = set()
        self._left = _MOST_NODES

    def columns(self, query: exp.Expr) -> list[set[float]]:
        """Return the numbers of each output column of a query."""
        if isinstance(query, (exp.Subquery, exp.Paren)):
            return self.columns(query.this)
        if isinstance(query, exp.Except):
            return self.columns(query.left)
        if isinstance(query, exp.SetOperation):
            left, right = self.columns(query.left), self.columns(query.right)
            return [ours | theirs for ours, theirs in zip(left, right, strict=len(left) == len(right))]
        if not isinstance(query, exp.Select) or any(
            one.is_star and not one.find(exp.Count) for one in query.expressions
        ):
            return []
        found: list[set[float]] = []
        for projection in query.expressions:
            inner = projection.unalias()
            # A literal beside other columns repeats what a filter fixes, or is a label.
            lone = len(query.expressions) == 1 or not isinstance(inner, exp.Literal)
            self._seen = set()
            found.append(set(self._of(inner)) if lone else set())
        return found

    def _of(self, node: object) -> Iterator[float]:
        """Yield the numbers that may become an expression's value."""
        self._left -= 1
        if not isinstance(node, exp.Expr) or isinstance(node, _NEVER) or id(node) in self._seen or self._left < 0:
            return
        self._seen.add(id(node))
        if isinstance(node, exp.Literal):
            yield from _number(node)
        elif isinstance(node, exp.Column):
            for named in self._named.get(node.name.lower(), ()):
                yield from self._of(named)
        elif isinstance(node, exp.Query):
            for found in (select for select in [node.find(exp.Select)] if select is not None):
                for projection in found.expressions:
                    yield from self._of(projection.unalias())
        else:
            if isinstance(node, exp.Length):
                yield from (float(len(text.name)) for text in node.find_all(exp.Literal) if text.is_string)
            for part in _values(node):
                yield from self._of(part)


def _values(node: exp.Expr) -> Iterator[object]:
    """Yield the parts of an expression that its value is made of."""
    if isinstance(node, exp.Case):
        yield from (branch.args.get("true") for branch in node.args.get("ifs") or ())
        yield node.args.get("default")
    elif isinstance(node, exp.If):
        yield from (node.args.get("true"), node.args.get("false"))
    elif isinstance(node, _ONLY_FIRST):
        yield node.this
    else:
        for value in node.args.values():
            yield from value if isinstance(value, list) else (value,)


def _number(literal: exp.Literal) -> Iterator[float]:
    """Yield the number that a literal writes, also as text."""
    try:
        value = float(literal.name)
    except ValueError:
        return
    if value == value and abs(value) != float("inf"):
        yield abs(value)
