"""Every SELECT of a tree clause by clause in normal form, as plain facts: what a question is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from sqlglot import exp

from sqlassay.harness.parse.conditions import rows_of
from sqlassay.harness.parse.grammar import spell
from sqlassay.harness.parse.resolve import Resolver

_MOST = 60
"""SELECTs read of one text: more is no question's."""

_NESTED = 6


def blocks_of(tree: exp.Expr, resolver: Resolver, dialect: str) -> list[dict[str, Any]]:
    """Return the blocks of a text whose queries are resolved, the outermost first; none of a text without SELECT."""
    root = tree
    while isinstance(root, (exp.Subquery, exp.Paren)) and isinstance(root.this, exp.Expr) and not _cuts(root):
        root = root.this
    first = root
    while isinstance(first, (exp.SetOperation, exp.Subquery)):
        first = first.this
    if not isinstance(first, exp.Select):
        return []
    rest = [query for query in root.find_all(exp.Select) if query is not first]
    return [
        _block(query, root if query is first else query, resolver, dialect, outermost=query is first)
        for query in [first, *rest][:_MOST]
    ]


def _cuts(query: exp.Expr) -> bool:
    """Return whether a query in parentheses has an order or a limit outside of them."""
    return bool(query.args.get("order") or query.args.get("limit"))


def _block(query: exp.Select, around: exp.Expr, resolver: Resolver, dialect: str, *, outermost: bool) -> dict[str, Any]:
    """Return one SELECT; `around` is what its ORDER BY and LIMIT belong to."""
    reader = _Reader(query, resolver, dialect)
    group = query.args.get("group")
    order = around.args.get("order")
    selected = reader.selected()
    limit = around.args.get("limit")
    return {
        "outermost": outermost,
        "selected": [(reader.text(node), name, _aggregates(node)) for name, node in selected],
        "called": list(reader.called([node for _, node in selected])),
        "conditions": [(*row, clause) for clause, part in _conjuncts(query) for row in reader.rows(part, clause)],
        "grouped": [reader.text(reader.key(key)) for key in (group.expressions if group else ())],
        "sorted": [_sorted(reader, key) for key in (order.expressions if order else ())],
        "limit": _number(limit),
        "limited": limit is not None,
    }


class _Reader:
    """Writes the expressions of one SELECT in normal form."""

    def __init__(self, query: exp.Select, resolver: Resolver, dialect: str) -> None:
        """Remember the output names, which GROUP BY, HAVING and ORDER BY may use."""
        self._query, self._resolver, self._dialect = query, resolver, dialect
        self._sources = resolver.sources_of(query)
        self._aliases = {item.alias.lower(): item.this for item in query.expressions if isinstance(item, exp.Alias)}

    def text(self, node: exp.Expr) -> str:
        """Spell an expression already in normal form."""
        return spell(node, self._dialect)

    def normal(self, node: exp.Expr) -> exp.Expr:
        """Return an expression in normal form."""
        return self._resolver.normal(node, self._sources)

    def selected(self) -> list[tuple[str, exp.Expr]]:
        """Return name and normal form of every output; a star stays one."""
        found: list[tuple[str, exp.Expr]] = []
        for item in self._query.expressions:
            star = isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))
            found.append(("*", exp.Star()) if star else (str(item.alias_or_name).lower(), self.normal(item)))
        return found

    def key(self, node: exp.Expr) -> exp.Expr:
        """Return a key of GROUP BY or ORDER BY in normal form: an ordinal or output name stands for its expression."""
        items = self._query.expressions
        if isinstance(node, exp.Literal) and node.is_int and 0 < int(node.name) <= len(items):
            return self.normal(items[int(node.name) - 1])
        return self.normal(self._unaliased(node))

    def rows(self, part: exp.Expr, clause: str) -> list[tuple[str, str, list[str], bool]]:
        """Return one conjunct's rows; what only ties two sources together has none."""
        if _ties(part):
            return []
        if len(list(islice(part.find_all(exp.Select), _NESTED))) == _NESTED:
            # Written out at each level such a text would grow with the square of its depth.
            return [("", "other", ["a condition of nested queries"], False)]
        seen = part if clause in {"where", "on"} else self._unaliased(part)
        return rows_of(self.normal(seen), self.text)

    def called(self, selected: list[exp.Expr]) -> Iterator[tuple[str, str, bool, bool]]:
        """Yield the aggregates of the output, then those that stand elsewhere in this SELECT."""
        seen: set[tuple[str, str, bool]] = set()
        for node in selected:
            for call in node.find_all(exp.AggFunc):
                if call.find_ancestor(exp.Window, exp.Select) is None:
                    facts = self._call(call)
                    seen.add(facts)
                    yield (*facts, True)
        clauses = [self._query.args.get(name) for name in ("having", "qualify", "order")]
        for node in (node for clause in clauses if clause is not None for node in clause.walk(prune=_is_inner)):
            if isinstance(node, exp.AggFunc) and (facts := self._call(self.normal(node))) not in seen:
                yield (*facts, False)

    def _call(self, call: Any) -> tuple[str, str, bool]:
        """Return function, argument and DISTINCT of one aggregate."""
        inner = call.this
        distinct = isinstance(inner, exp.Distinct)
        if isinstance(inner, exp.Distinct):
            column = ", ".join(self.text(each) for each in inner.expressions)
        else:
            column = self.text(inner) if isinstance(inner, exp.Expr) else "*"
        name = call.name if isinstance(call, (exp.Anonymous, exp.AnonymousAggFunc)) else call.sql_name()
        return str(name).lower(), column, distinct

    def _unaliased(self, node: exp.Expr) -> exp.Expr:
        """Return a copy whose unqualified output names are what they stand for."""
        copy = node.copy()
        for column in list(copy.find_all(exp.Column)):
            meant = self._aliases.get(column.name.lower()) if not column.table else None
            if meant is not None and column is copy:
                return exp.Paren(this=meant.copy())
            if meant is not None:
                column.replace(exp.Paren(this=meant.copy()) if isinstance(meant, exp.Binary) else meant.copy())
        return copy


def _sorted(reader: _Reader, key: exp.Expr) -> tuple[str, str, bool]:
    """Return one key of an ORDER BY."""
    node = reader.key(key.this)
    return reader.text(node), "desc" if key.args.get("desc") else "asc", _aggregates(node)


def _ties(part: exp.Expr) -> bool:
    """Return whether a conjunct joins: two columns made equal, two sources, or a subquery that must have rows.

    The constraints of such a subquery are conditions of its own block.
    """
    if isinstance(part, exp.Exists) or (isinstance(part, exp.In) and part.args.get("query") is not None):
        return True
    if not isinstance(part, exp.Binary) or not all(isinstance(s, exp.Column) for s in (part.this, part.expression)):
        return False
    sources = {side.table.lower() for side in (part.this, part.expression) if side.table}
    return isinstance(part, exp.EQ) or len(sources) > 1


def _conjuncts(query: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
    """Yield the parts of a SELECT's conditions with the clause each stands in."""
    clauses = [(name, query.args[name].this) for name in ("where", "having", "qualify") if query.args.get(name)]
    clauses += [("on", join.args["on"]) for join in query.args.get("joins") or () if join.args.get("on")]
    for name, condition in clauses:
        stack = [condition]
        while stack:
            part = stack.pop()
            if isinstance(part, exp.And):
                stack.extend((part.expression, part.this))
            elif isinstance(part, exp.Paren):
                stack.append(part.this)
            else:
                yield name, part


def _is_inner(node: exp.Expr) -> bool:
    """Return whether an aggregate below this node is another query's, or none."""
    return isinstance(node, (exp.Window, exp.Select))


def _aggregates(node: exp.Expr) -> bool:
    """Return whether an expression in normal form has an aggregate outside windows and nested queries."""
    return any(call.find_ancestor(exp.Window, exp.Select) is None for call in node.find_all(exp.AggFunc))


def _number(limit: exp.Expr | None) -> int | None:
    """Return a literal row limit."""
    if limit is None:
        return None
    node = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
    return int(node.name) if isinstance(node, exp.Literal) and node.is_int else None
