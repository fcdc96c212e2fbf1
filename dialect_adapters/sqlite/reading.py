"""Read a SQLite statement as SQLite does: names resolved in its order, stars expanded, every expression typed.

The tree that comes out is still SQLite and gives the same rows; each node carries its type under `meta["typed"]`,
each column of a table its facts under `meta["column"]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from sqlglot import exp, parse
from sqlglot.dialects.sqlite import SQLite
from sqlglot.errors import SqlglotError

from sqlassay.dialect_adapters.sqlite.typing_rules import TYPED, form_of, joined, type_of, typed
from sqlassay.dialect_adapters.transpile.facts import INTEGER, TEXT, ColumnFacts, Refused, SchemaFacts, Typed
from sqlassay.dialect_adapters.transpile.suspects import QUOTED_AS

COLUMN = "column"
OUTPUT = "output"
OWN = "own"
DEPTH = "depth"
"""How many SELECTs out the source of a column lies."""


_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_PARSER: Any = SQLite.Parser
_ROUNDS = 4
"""After how many rounds a recursive column has every class and affinity: each round adds one at least."""


class _Raw(SQLite):
    """SQLite's grammar with every function kept as it is written: what it means is decided here, not by the parser."""

    class Parser(_PARSER):  # type: ignore[misc]  # the library builds the class it names here
        """The parser without rewrites of functions."""

        FUNCTIONS: ClassVar[dict[str, Any]] = {}
        FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CAST": _PARSER.FUNCTION_PARSERS["CAST"]}


@dataclass(frozen=True, slots=True)
class Source:
    """One entry of a FROM clause: its name, its columns in order, and those that USING or NATURAL hides in a star."""

    name: str
    columns: tuple[ColumnFacts, ...]
    hidden: frozenset[str] = frozenset()

    def column(self, name: str) -> ColumnFacts | None:
        """Return a column by its name, whatever its case."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


@dataclass(slots=True)
class Scope:
    """What names mean at one place: the sources of the SELECT, its aliases, and the scope around it."""

    outer: Scope | None
    tables: Mapping[str, tuple[ColumnFacts, ...]]
    sources: list[Source] = field(default_factory=list)
    aliases: dict[str, exp.Expr] = field(default_factory=dict)


def read(sql: str, facts: SchemaFacts) -> exp.Expr:
    """Return the typed tree of one SELECT.

    Raises:
        Refused: it is no single query, names something that is not there, or uses what cannot be typed.
    """
    try:
        found = [tree for tree in parse(sql, read=_Raw) if tree is not None]
    except SqlglotError as error:
        raise Refused(f"the parser cannot read it: {str(error).splitlines()[0]}") from None
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise Refused("it is not one query")
    tree: exp.Expr = found[0]
    quoted = frozenset(_QUOTED.findall(sql))
    for name in tree.find_all(exp.Identifier):
        if name.args.get("quoted") and name.name.replace('"', '""') in quoted:
            name.meta[QUOTED_AS] = name.name
    _query(tree, Scope(None, dict(facts.tables)))
    return tree


def _query(node: exp.Expr, scope: Scope) -> tuple[ColumnFacts, ...]:
    """Resolve one query in place and return the columns it gives."""
    inner = _with_ctes(node, scope)
    if isinstance(node, exp.Subquery):
        columns = _query(node.this, inner)
        _trailing(node, columns, inner)
        return columns
    if isinstance(node, exp.SetOperation):
        return _set_operation(node, inner)
    if isinstance(node, exp.Values):
        return _values(node, inner)
    if isinstance(node, exp.Select):
        return _select(node, inner)
    raise Refused(f"{type(node).__name__} is not read")


def _with_ctes(node: exp.Expr, scope: Scope) -> Scope:
    """Return the scope with the query's own CTEs as tables; a recursive one has the types that its rounds come to."""
    clause = node.args.get("with_")
    if clause is None:
        return Scope(scope.outer, scope.tables) if isinstance(node, exp.Select) else scope
    tables = dict(scope.tables)
    for cte in clause.expressions:
        names = [column.name for column in cte.args["alias"].args.get("columns") or []]
        body = cte.this
        if clause.args.get("recursive") and isinstance(body, exp.SetOperation):
            first = _query(body.left.copy(), Scope(None, tables))
            for _ in range(_ROUNDS):
                known = tables[cte.alias.lower()] = _renamed(first, names)
                first = _query(body.copy(), Scope(None, tables))
                if _renamed(first, names) == known:
                    break
        columns = _query(body, Scope(None, tables))
        tables[cte.alias.lower()] = _renamed(columns, names) if names else _named_apart(body, columns)
    return Scope(scope.outer, tables)


def _renamed(columns: Sequence[ColumnFacts], names: Sequence[str]) -> tuple[ColumnFacts, ...]:
    """Return columns under the names an alias lists, if it does."""
    if not names:
        return tuple(columns)
    return tuple(ColumnFacts(name, one.typed, one.form) for name, one in zip(names, columns, strict=False))


def _named_apart(query: exp.Expr, columns: Sequence[ColumnFacts]) -> tuple[ColumnFacts, ...]:
    """Return the columns of a query within another one, each with a name of its own, as SQLite names them: id, id:1."""
    taken: set[str] = set()
    made = []
    for place, column in enumerate(columns, 1):
        name, number = column.name or f"column{place}", 0
        while name.lower() in taken:
            number += 1
            name = f"{column.name or f'column{place}'}:{number}"
        taken.add(name.lower())
        made.append(replace(column, name=name))
    select = query
    while isinstance(select, (exp.SetOperation, exp.Subquery)):
        select = select.this
    if isinstance(select, exp.Select) and len(select.expressions) == len(made):
        for place, (column, one) in enumerate(zip(columns, made, strict=True)):
            if one.name != column.name:
                given = select.expressions[place]
                inner = given.this if isinstance(given, exp.Alias) else given
                select.expressions[place].replace(exp.alias_(inner.copy(), one.name, quoted=True))
    return tuple(made)


def _set_operation(node: exp.SetOperation, scope: Scope) -> tuple[ColumnFacts, ...]:
    """Resolve both sides; a column of the result stores what either side does, under the left side's name."""
    left = _query(node.left, _child(scope))
    right = _query(node.right, _child(scope))
    if len(left) != len(right):
        raise Refused("the sides of a set operation differ in width")
    columns = tuple(joined(one, other) for one, other in zip(left, right, strict=True))
    _trailing(node, columns, scope)
    return columns


def _child(scope: Scope) -> Scope:
    """Return a scope for a query that stands beside others in the same place."""
    return Scope(scope.outer, scope.tables)


def _values(node: exp.Values, scope: Scope) -> tuple[ColumnFacts, ...]:
    """Type a VALUES list."""
    rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
    for row in rows:
        for cell in row:
            _expression(cell, scope)
    columns = []
    for number, cells in enumerate(zip(*rows, strict=False), 1):
        stores = frozenset().union(*(typed(cell).stores for cell in cells))
        columns.append(ColumnFacts(f"column{number}", Typed(stores), form_of(Typed(stores))))
    return tuple(columns)


def _trailing(node: exp.Expr, columns: Sequence[ColumnFacts], scope: Scope) -> None:
    """Resolve ORDER BY, LIMIT and OFFSET that stand behind a set operation or parentheses."""
    order = node.args.get("order")
    names = [column.name.lower() for column in columns]
    for key in order.expressions if order is not None else []:
        place = _position(key.this, names)
        if place is None:
            raise Refused("ORDER BY of a set operation names no column of it")
        key.this.meta[OUTPUT] = place
        key.this.meta[TYPED] = columns[place].typed
        key.this.meta[COLUMN] = columns[place]
    _limits(node, scope)


def _position(key: exp.Expr, names: Sequence[str]) -> int | None:
    """Return which output column an ORDER BY term means, by number or name."""
    if isinstance(key, exp.Literal) and not key.is_string and key.name.isdigit():
        return int(key.name) - 1 if 0 < int(key.name) <= len(names) else None
    if isinstance(key, exp.Column) and key.name.lower() in names:
        return names.index(key.name.lower())
    return None


def _limits(node: exp.Expr, scope: Scope) -> None:
    """Type the expressions of LIMIT and OFFSET."""
    for name in ("limit", "offset"):
        clause = node.args.get(name)
        if clause is not None:
            _expression(clause.expression, scope)


def _select(node: exp.Select, scope: Scope) -> tuple[ColumnFacts, ...]:
    """Resolve one SELECT: its sources, then every clause in the order SQLite looks names up."""
    _sources(node, scope)
    _stars(node, scope)
    for projection in node.expressions:
        inner = projection.this if isinstance(projection, exp.Alias) else projection
        _expression(inner, scope)
    scope.aliases = {one.alias.lower(): one.this for one in node.expressions if isinstance(one, exp.Alias)}
    for name in ("where", "having"):
        clause = node.args.get(name)
        if clause is not None:
            clause.set("this", _resolved(clause.this, scope))
    group = node.args.get("group")
    if group is not None:
        group.set("expressions", [_group_key(key, node, scope) for key in group.expressions])
    for window in node.args.get("windows") or []:
        _expression(window, scope)
    _order(node, scope)
    _limits(node, scope)
    return tuple(_output(one) for one in node.expressions)


def _resolved(node: exp.Expr, scope: Scope) -> exp.Expr:
    """Resolve an expression where aliases may be used, and return it: an alias alone is replaced as a whole."""
    holder = exp.Paren(this=node)
    _expression(node, scope)
    found: exp.Expr = holder.args["this"]
    found.parent = None
    return found


def _output(projection: exp.Expr) -> ColumnFacts:
    """Return the column that one projection gives."""
    inner = projection.this if isinstance(projection, exp.Alias) else projection
    known = inner.meta.get(COLUMN)
    kind = typed(inner)
    return ColumnFacts(projection.alias_or_name, kind, known.form if known is not None else form_of(kind))


def _sources(node: exp.Select, scope: Scope) -> None:
    """Fill the scope with what FROM and the joins name; USING and NATURAL become ON."""
    start = node.args.get("from_")
    if start is None:
        return
    scope.sources.append(_source(start.this, scope))
    for join in node.args.get("joins") or []:
        right = _source(join.this, scope)
        shared = [column.name for column in join.args.get("using") or []]
        if (join.args.get("method") or "").upper() == "NATURAL":
            left = {column.name.lower() for source in scope.sources for column in source.columns}
            shared = [column.name for column in right.columns if column.name.lower() in left]
            join.set("method", None)
        if shared:
            _using(join, shared, right, scope)
            right = Source(right.name, right.columns, frozenset(name.lower() for name in shared))
        scope.sources.append(right)
    for join in node.args.get("joins") or []:
        if join.args.get("on") is not None:
            _expression(join.args["on"], scope)


def _using(join: exp.Join, shared: Sequence[str], right: Source, scope: Scope) -> None:
    """Write a join by shared names as ON; the leftmost source that has the name is meant."""
    if (join.args.get("side") or "").upper() in ("RIGHT", "FULL"):
        raise Refused("RIGHT or FULL JOIN with USING or NATURAL")
    pairs = []
    for name in shared:
        left = next((source for source in scope.sources if source.column(name) is not None), None)
        if left is None or right.column(name) is None:
            raise Refused(f"no column '{name}' on both sides of a join")
        pairs.append(exp.column(name, table=left.name, quoted=True).eq(exp.column(name, table=right.name, quoted=True)))
    join.set("using", None)
    join.set("on", exp.and_(*pairs))
    if (join.args.get("kind") or "").upper() == "CROSS":
        join.set("kind", None)


def _source(node: exp.Expr, scope: Scope) -> Source:
    """Return one source, a table by its facts or a query resolved in its own scope."""
    alias = node.alias
    names = [column.name for column in (node.args["alias"].args.get("columns") or [])] if node.args.get("alias") else []
    if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
        columns = scope.tables.get(node.name.lower())
        if columns is None:
            raise Refused(f"no table '{node.name}'")
        if node.args.get("joins"):
            raise Refused("joins in parentheses")
        if not alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
        return Source(alias or node.name, _renamed(columns, names))
    if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
        columns = _query(node, Scope(None, scope.tables))
        if not names:
            columns = _named_apart(node.this, columns)
        if not alias:
            alias = f"_{len(scope.sources)}"
            node.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        return Source(alias, _renamed(columns, names))
    raise Refused(f"{type(node.this if isinstance(node, exp.Table) else node).__name__} in FROM is not read")


def _stars(node: exp.Select, scope: Scope) -> None:
    """Replace `*` and `t.*` by the columns they stand for, and give every projection its name."""
    made: list[exp.Expr] = []
    for one in node.expressions:
        if isinstance(one, exp.Star):
            made.extend(_every(scope.sources, shown=True))
        elif isinstance(one, exp.Column) and isinstance(one.this, exp.Star):
            named = [source for source in scope.sources if source.name.lower() == one.table.lower()]
            if not named:
                raise Refused(f"no table '{one.table}' for its star")
            made.extend(_every(named, shown=False))
        else:
            made.append(one)
    node.set("expressions", made)


def _every(sources: Sequence[Source], *, shown: bool) -> Iterator[exp.Expr]:
    """Yield a reference to every column of these sources, without those a join by name shows once."""
    for source in sources:
        for column in source.columns:
            if not shown or column.name.lower() not in source.hidden:
                yield exp.column(column.name, table=source.name, quoted=True)


def _group_key(key: exp.Expr, node: exp.Select, scope: Scope) -> exp.Expr:
    """Return what a GROUP BY term means: a projection by number, a column, or else an alias."""
    if isinstance(key, exp.Literal) and not key.is_string and key.name.isdigit():
        place = int(key.name) - 1
        if not 0 <= place < len(node.expressions):
            raise Refused("GROUP BY names no column by its number")
        chosen = node.expressions[place]
        copied: exp.Expr = (chosen.this if isinstance(chosen, exp.Alias) else chosen).copy()
        return copied
    return _resolved(key, scope)


def _order(node: exp.Select, scope: Scope) -> None:
    """Resolve ORDER BY: an alias or number first, then columns."""
    order = node.args.get("order")
    names = [one.alias.lower() if isinstance(one, exp.Alias) else "" for one in node.expressions]
    for key in order.expressions if order is not None else []:
        bare = key.this if not (isinstance(key.this, exp.Column) and key.this.table) else None
        place = _position(bare, names) if bare is not None else None
        quoted = bare.this.meta.get(QUOTED_AS) if isinstance(bare, exp.Column) else None
        if place is None:
            key.set("this", _resolved(key.this, scope))
        else:
            chosen = node.expressions[place]
            key.set("this", (chosen.this if isinstance(chosen, exp.Alias) else chosen).copy())
            _keep(key.this, quoted)


def _expression(node: exp.Expr, scope: Scope) -> None:
    """Resolve and type an expression in place, from the leaves up."""
    if isinstance(node, exp.Column):
        _column(node, scope)
        return
    if isinstance(node, exp.Query):
        columns = _query(node, Scope(scope, scope.tables))
        node.meta[TYPED] = columns[0].typed
        node.meta[COLUMN] = columns[0]
        return
    for child in list(node.iter_expressions()):
        _expression(child, scope)
    node.meta[TYPED] = type_of(node)


def _column(node: exp.Column, scope: Scope) -> None:
    """Resolve one name: a column of this scope or one around it, an alias, or text in double quotes."""
    found = _lookup(node, scope)
    quoted = node.this.meta.get(QUOTED_AS) if not node.table else None
    if found is not None:
        source, column, depth = found
        node.set("table", exp.to_identifier(source.name, quoted=True))
        node.set("this", exp.to_identifier(column.name, quoted=True))
        node.meta[TYPED], node.meta[COLUMN], node.meta[OWN] = column.typed, column, depth == 0
        node.meta[DEPTH] = depth
        _keep(node, quoted)
        return
    alias = scope.aliases.get(node.name.lower()) if not node.table else None
    if alias is not None:
        copied = alias.copy()
        _keep(copied, quoted)
        node.replace(copied)
    elif node.this.args.get("quoted") and not node.table:
        text = exp.Literal.string(node.name)
        text.meta[TYPED] = Typed(TEXT)
        _keep(text, quoted)
        node.replace(text)
    elif not node.table and node.name.lower() in ("true", "false"):
        number = exp.Literal.number(int(node.name.lower() == "true"))
        number.meta[TYPED] = Typed(INTEGER)
        node.replace(number)
    else:
        raise Refused(f"no column '{node.sql(SQLite)}'")


def _keep(node: exp.Expr, quoted: str | None) -> None:
    """Keep the name in double quotes by which a node was written, if it was."""
    if quoted is not None:
        node.meta[QUOTED_AS] = quoted


def _lookup(node: exp.Column, scope: Scope) -> tuple[Source, ColumnFacts, int] | None:
    """Return the source and column a name means, and how many scopes out it lies."""
    around: Scope | None = scope
    depth = 0
    while around is not None:
        for source in around.sources:
            if node.table and source.name.lower() != node.table.lower():
                continue
            column = source.column(node.name)
            if column is not None:
                return source, column, depth
        around, depth = around.outer, depth + 1
    return None
