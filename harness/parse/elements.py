"""Which columns of the schema a text reads, aliases seen through and stars expanded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import exp


def elements_of(trees: list[exp.Expr], tables: Mapping[str, list[str]] | None) -> dict[str, Any]:
    """Return the names of the columns read anywhere, and how many queries select everything.

    A name is a column where the catalogue has it, or where it is no alias the text itself makes; a quoted name nobody
    has is a text to some engines and none here.
    """
    known = {column.lower() for columns in (tables or {}).values() for column in columns}
    made = {name for tree in trees for name in _made(tree)}
    columns: set[str] = set()
    stars = 0
    for tree in trees:
        if isinstance(tree, exp.Pragma):
            continue  # what it names is a table or a setting
        for column in tree.find_all(exp.Column):
            name = column.name.lower()
            quoted = bool(column.this.args.get("quoted")) and not column.table and bool(known)
            if name in known or (name and name != "*" and name not in made and not quoted):
                columns.add(name)
        for query in tree.find_all(exp.Select):
            if any(_star(each) for each in query.expressions) and not isinstance(query.parent, exp.Exists):
                stars += 1
                columns.update(_expanded(query, tables or {}))
    return {"columns": sorted(columns), "stars": stars}


def _made(tree: exp.Expr) -> Iterator[str]:
    """Yield the names a text gives to what it computes."""
    for node in tree.find_all(exp.Alias, exp.TableAlias):
        if isinstance(node, exp.Alias):
            yield node.alias.lower()
        else:
            yield from (column.name.lower() for column in node.args.get("columns") or [])


def _star(projection: exp.Expr) -> bool:
    """Return True for `*` and `t.*`."""
    return isinstance(projection, exp.Star) or (
        isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)
    )


def _expanded(query: exp.Select, tables: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the columns a query's stars stand for."""
    wanted = {each.table.lower() for each in query.expressions if isinstance(each, exp.Column) and _star(each)}
    whole = any(isinstance(each, exp.Star) for each in query.expressions)
    first = query.args.get("from_") or query.args.get("from")
    sources = [first.this] if first is not None else []
    for source in [*sources, *(join.this for join in query.args.get("joins") or [])]:
        if isinstance(source, exp.Table) and (whole or source.alias_or_name.lower() in wanted):
            yield from (column.lower() for column in tables.get(source.name.lower(), ()))
