"""Questions about one SELECT's own nodes, without those of the queries inside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlglot import exp

_AGGREGATES = frozenset(("count", "sum", "avg", "total", "group_concat", "string_agg"))


def is_aggregate(node: exp.Anonymous) -> bool:
    """Return whether a call is an aggregate: MIN and MAX of one argument are."""
    name = node.name.lower()
    return name in _AGGREGATES or (name in ("min", "max") and len(node.expressions) == 1)


def own_nodes(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield an expression's nodes without those of queries inside it."""
    yield node
    for child in node.iter_expressions():
        if not isinstance(child, exp.Query):
            yield from own_nodes(child)


def aggregates(select: exp.Select) -> Iterator[exp.Anonymous]:
    """Yield the aggregate calls of one SELECT, those over windows not among them."""
    clauses = [*select.expressions, *(select.args[name] for name in ("having", "order") if select.args.get(name))]
    for clause in clauses:
        if isinstance(clause, exp.Query):
            continue
        for node in own_nodes(clause):
            windowed = isinstance(node.parent, exp.Window) and node.parent.this is node
            filtered = isinstance(node.parent, exp.Filter) and isinstance(node.parent.parent, exp.Window)
            if isinstance(node, exp.Anonymous) and is_aggregate(node) and not windowed and not filtered:
                yield node


def one_extreme(select: exp.Select) -> exp.Anonymous | None:
    """Return the only MIN or MAX of a SELECT, None where there is none or two different ones."""
    found = {node.sql(): node for node in aggregates(select) if node.name.lower() in ("min", "max")}
    return next(iter(found.values())) if len(found) == 1 else None


def names_a_later_source(first: exp.Expr, joins: Sequence[exp.Join]) -> bool:
    """Return whether a join's ON names a source that only a later join brings in."""
    known = {first.alias.lower()}
    later = {join.this.alias.lower() for join in joins}
    for join in joins:
        known.add(join.this.alias.lower())
        condition = join.args.get("on")
        for column in condition.find_all(exp.Column) if condition is not None else []:
            if column.table.lower() in later - known and column.meta.get("own"):
                return True
    return False


def reaches_out(query: exp.Expr) -> bool:
    """Return whether a query, whose columns say how many SELECTs out their source lies, reads one around it."""
    return any(one.meta.get("depth", 0) >= _depth(one, query) for one in query.find_all(exp.Column))


def _depth(column: exp.Expr, query: exp.Expr) -> int:
    """Return how many SELECTs stand around a column up to this query, and itself."""
    count, node = int(isinstance(query, exp.Select)), column.parent
    while node is not None and node is not query:
        count += isinstance(node, exp.Select)
        node = node.parent
    return count
