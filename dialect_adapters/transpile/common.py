"""Read a statement of an engine other than SQLite by sqlglot's grammar: names resolved, every expression typed."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

from cases.relation import Kind
from cases.snapshot import Snapshot
from dialect_adapters.transpile.facts import Refused
from dialect_adapters.transpile.telling import Habits

KIND = "kind"
"""Where a node's kind stands in its meta."""

GROUPED = "grouped"
"""Set on an output column that an aggregate is part of."""

INT, REAL, TEXT, BOOL, DATE, MOMENT, SPAN, OTHER = "int", "real", "text", "bool", "date", "moment", "span", "other"

_TYPES: Mapping[Kind, str] = {
    Kind.BOOL: "BOOLEAN",
    Kind.INT: "BIGINT",
    Kind.DECIMAL: "DECIMAL",
    Kind.FLOAT32: "FLOAT",
    Kind.FLOAT64: "DOUBLE",
    Kind.TEXT: "TEXT",
    Kind.CHAR: "CHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
_KINDS: tuple[tuple[frozenset[exp.DType], str], ...] = (
    (frozenset(exp.DataType.INTEGER_TYPES), INT),
    (frozenset(exp.DataType.REAL_TYPES), REAL),
    (frozenset(exp.DataType.TEXT_TYPES), TEXT),
    (frozenset((exp.DType.BOOLEAN,)), BOOL),
    (frozenset((exp.DType.DATE,)), DATE),
    (frozenset((exp.DType.TIMESTAMP, exp.DType.DATETIME, exp.DType.TIMESTAMPNTZ)), MOMENT),
    (frozenset((exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)), MOMENT),
)


def read_common(sql: str, snapshot: Snapshot, habits: Habits) -> exp.Expr:
    """Return the statement's tree with the kind of every expression in its meta.

    Raises:
        Refused: it is no single query, names what the snapshot does not define, or cannot be read.
    """
    try:
        found = [one for one in parse(sql, dialect=habits.grammar) if one is not None]
    except SqlglotError as error:
        raise Refused(f"it cannot be read: {str(error).splitlines()[0][:200]}") from None
    if len(found) != 1 or not isinstance(found[0], exp.Query):
        raise Refused("it is no single query")
    tree: exp.Expr = found[0]
    _plain_names(tree, snapshot)
    for select in tree.find_all(exp.Select):
        _plain_order(select)
    schema: dict[str, object] = {
        table.name.lower(): {one.name.lower(): _type(one.kind) for one in table.columns} for table in snapshot.tables
    }
    if not schema:
        raise Refused("its tables are made by scripts alone")
    try:
        tree = qualify(
            tree, schema=schema, dialect=habits.grammar, quote_identifiers=False, validate_qualify_columns=False
        )
        tree = annotate_types(tree, schema=schema, dialect=habits.grammar)
        if habits.whole_division and _as_decimals(tree):
            tree = annotate_types(tree, schema=schema, dialect=habits.grammar)
    except (SqlglotError, KeyError, AttributeError, TypeError, ValueError) as error:
        raise Refused(f"its names cannot be resolved: {str(error).splitlines()[0][:200]}") from None
    for node in tree.walk():
        node.meta.setdefault(KIND, _kind(node))
        if isinstance(node, exp.Alias) and node.find(exp.AggFunc) is not None:
            node.meta[GROUPED] = True
    return tree


def kind(node: exp.Expr) -> str:
    """Return what a node's value is."""
    return str(node.meta.get(KIND, OTHER))


def _plain_names(tree: exp.Expr, snapshot: Snapshot) -> None:
    """Lower every name, as the loaders do, and take off the database's own name."""
    for name in tree.find_all(exp.Identifier):
        name.set("this", name.name.lower())
    tables = {table.name.lower() for table in snapshot.tables}
    for table in list(tree.find_all(exp.Table)):
        if table.name == "dual" and "dual" not in tables and isinstance(table.parent, exp.From):
            table.parent.pop()
            continue
        if not isinstance(table.this, exp.Identifier):
            raise Refused("a function in FROM is not written for other engines")
        if table.args.get("catalog") or table.db not in ("", "public", snapshot.database.lower()):
            raise Refused(f"table {table.name} is of another database")
        table.set("db", None)
    for column in tree.find_all(exp.Column):
        column.set("db", None)


def _as_decimals(tree: exp.Expr) -> bool:
    """Cast to decimal what Postgres gives as one, so that divisions by it are no whole ones; return whether any is.

    Those are the sum of 64-bit integers, and every part of a moment.
    """
    found = [
        node
        for node in tree.find_all(exp.Sum, exp.Extract)
        if isinstance(node, exp.Extract) or node.this.is_type(exp.DType.BIGINT)
    ]
    for node in found:
        whole: exp.Expr = node
        while isinstance(whole.parent, (exp.Filter, exp.Window)) and whole.arg_key == "this":
            whole = whole.parent
        whole.replace(exp.cast(whole.copy(), exp.DType.DECIMAL))
    return bool(found)


def _plain_order(select: exp.Select) -> None:
    """Say the place of NULLs by its words, and an alias within a sort key by what it stands for."""
    order = select.args.get("order")
    if order is None:
        return
    keys: list[exp.Expr] = []
    for key in order.expressions:
        before = keys[-1] if keys else None
        missing = _missing(before) if before is not None else None
        if before is not None and missing is not None and missing == key.this:
            key.set("nulls_first", bool(before.args.get("desc")))
            keys.pop()
        keys.append(key)
    order.set("expressions", keys)
    given = {one.alias: one.this for one in select.expressions if isinstance(one, exp.Alias)}
    for key in keys:
        if not isinstance(key.this, exp.Column):
            for name in list(key.this.find_all(exp.Column)):
                if not name.table and name.name in given:
                    name.replace(exp.paren(given[name.name].copy()))


def _missing(key: exp.Expr) -> exp.Expr | None:
    """Return what a sort key asks of whether it is NULL, as `x IS NULL` or CASE say it; else None."""
    asked = key.this
    if isinstance(asked, exp.Case) and asked.this is None and len(asked.args["ifs"]) == 1:
        chosen, other = asked.args["ifs"][0], asked.args.get("default")
        if chosen.args["true"].name != "1" or other is None or other.name != "0":
            return None
        asked = chosen.this
    if isinstance(asked, exp.Is) and isinstance(asked.expression, exp.Null):
        found: exp.Expr = asked.this
        return found
    return None


def _type(kind: Kind) -> str:
    """Return sqlglot's name of a column's type."""
    return _TYPES.get(kind, "UNKNOWN")


def _kind(node: exp.Expr) -> str:
    """Return a node's kind by the type that was found for it."""
    if isinstance(node, exp.Interval):
        return SPAN
    found = node.type.this if node.type is not None else None
    return next((name for types, name in _KINDS if found in types), OTHER)
