"""Read a statement of an engine other than SQLite by sqlglot's grammar: names resolved, every expression typed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp, parse, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import Scope, traverse_scope

from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, Snapshot
from sqlassay.dialect_adapters.transpile.facts import Refused
from sqlassay.dialect_adapters.transpile.suspects import QUOTED_AS
from sqlassay.dialect_adapters.transpile.telling import Habits

KIND = "kind"
"""Where a node's kind stands in its meta."""

AROUND = "around"
"""Set on a query that reads a query around it."""

GROUPED = "grouped"
"""Set on an output column that an aggregate is part of."""

NUMBER = "number"
"""Where the meta says how a number is held: `whole`, `exact` (a decimal), `double`; absent where that is not known."""

SCALE = "scale"
"""Where the meta says how many digits an exact number has behind the point; absent where that is not known."""

_MORE_DIGITS = 4
"""How many digits MySQL gives a quotient or an average beyond those of what is divided."""

WHOLE, EXACT, DOUBLE = "whole", "exact", "double"

INT, REAL, TEXT, BOOL, DATE, MOMENT, SPAN, OTHER = "int", "real", "text", "bool", "date", "moment", "span", "other"

_LONGEST_SERIES = 1000
"""The longest series that is written: MySQL follows no recursion further."""

MEASURES = 2
"""A decimal's precision and scale."""

_INTERVALS = re.compile(r"\bINTERVAL\s*'([^']*)'|'([^']*)'\s*::\s*INTERVAL\b", re.IGNORECASE)
_PLAIN_INTERVAL = re.compile(r"\s*[+-]?\d+(\s*[a-z]+)?\s*", re.IGNORECASE)
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
    strange = [
        text for found in _INTERVALS.findall(sql) for text in found if text and not _PLAIN_INTERVAL.fullmatch(text)
    ]
    if strange:
        raise Refused(f"the interval '{strange[0]}'")  # the parser would leave words of it out
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
        table.name.lower(): {one.name.lower(): _type(one) for one in table.columns} for table in snapshot.tables
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
    _measure(tree, habits)
    for scope in traverse_scope(tree):
        _name_apart(scope)
        if scope.external_columns:
            scope.expression.meta[AROUND] = True
    for node in tree.walk():
        node.meta.setdefault(KIND, _kind(node))
        if isinstance(node, exp.Alias) and node.find(exp.AggFunc) is not None:
            node.meta[GROUPED] = True
    return tree


def _name_apart(scope: Scope) -> None:
    """Give every column of a derived table a name of its own: not every engine takes one name twice.

    No column can be read by such a name, and a star over it stays a star.
    """
    for source in scope.sources.values():
        if not isinstance(source, Scope) or not isinstance(source.expression, exp.Query):
            continue
        given = source.expression.named_selects
        first = source.expression
        while isinstance(first, (exp.SetOperation, exp.Subquery)):
            first = first.this
        for place, one in enumerate(list(first.expressions)):
            if one.alias_or_name in given[:place]:
                inner = one.this if isinstance(one, exp.Alias) else one
                one.replace(exp.alias_(inner, f"{one.alias_or_name}:{place}", quoted=True))


def number(node: exp.Expr) -> str | None:
    """Return how a node's number is held, None where it is not known."""
    found: str | None = node.meta.get(NUMBER)
    return found


def _measure(node: exp.Expr, habits: Habits) -> None:
    """Find how every number is held, from the leaves up: engines round a double and a decimal in different ways."""
    for child in node.iter_expressions():
        _measure(child, habits)
    found = _held(node, habits)
    if found is not None:
        node.meta[NUMBER] = found
    digits = _scale(node)
    if digits is not None:
        node.meta[SCALE] = digits


def _scale(node: exp.Expr) -> int | None:
    """Return how many digits an exact number has behind the point, given its parts."""
    if isinstance(node, exp.Literal):
        return len(node.name.partition(".")[2]) if number(node) in (WHOLE, EXACT) else None
    if number(node) == WHOLE:
        return 0
    if number(node) != EXACT:
        return None
    if isinstance(node, (exp.Column, exp.Cast)):
        sizes = node.type.expressions if node.type is not None else []
        return int(sizes[1].this.name) if len(sizes) == MEASURES else 0 if sizes else None
    numbers = _numbers(node)
    parts: list[int] = [part.meta[SCALE] for part in numbers if SCALE in part.meta]
    if not parts or len(parts) < len(numbers):
        return None
    if isinstance(node, exp.Mul):
        return sum(parts)
    if isinstance(node, (exp.Div, exp.Avg)):
        return parts[0] + _MORE_DIGITS
    return None if isinstance(node, exp.Round) else max(parts)


def _numbers(node: exp.Expr) -> list[exp.Expr]:
    """Return the parts that make a node's number."""
    if isinstance(node, exp.Case):
        other = node.args.get("default")
        return [*(one.args["true"] for one in node.args["ifs"]), *([other] if other is not None else [])]
    if isinstance(node, exp.If):
        return [one for one in (node.args["true"], node.args.get("false")) if one is not None]
    if isinstance(node, exp.Select):
        return list(node.expressions[:1])
    return [one for one in node.iter_expressions() if number(one) is not None]


def _held(node: exp.Expr, habits: Habits) -> str | None:
    """Return how one number is held, given its parts."""
    if isinstance(node, exp.Literal):
        if node.is_string:
            return None
        return WHOLE if node.name.isdigit() else DOUBLE if "e" in node.name.lower() else EXACT
    if isinstance(node, (exp.Column, exp.Cast)):
        return _held_as(node.type.this if node.type is not None else None)
    if isinstance(
        node, (exp.Neg, exp.Paren, exp.Abs, exp.Min, exp.Max, exp.Alias, exp.Subquery, exp.Filter, exp.Window)
    ):
        return _widest([node.this])
    if isinstance(node, exp.Sub) and all(_kind(side) == DATE for side in (node.this, node.expression)):
        return WHOLE if habits.days_between else None
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Mod)):
        return _widest([node.this, node.expression])
    if isinstance(node, exp.Div):
        found = _widest([node.this, node.expression])
        return EXACT if found == WHOLE and not habits.whole_division else found
    if isinstance(node, (exp.Avg, exp.Sum)):
        found = _widest([node.this])
        return EXACT if found == WHOLE else found
    if isinstance(node, (exp.Count, exp.Length, exp.Extract, exp.IntDiv, exp.RowNumber, exp.Rank, exp.DenseRank)):
        return WHOLE
    if isinstance(node, (exp.Coalesce, exp.Greatest, exp.Least)):
        return _widest([node.this, *node.expressions])
    if isinstance(node, (exp.Nullif, exp.Round, exp.Floor, exp.Ceil)):
        return _widest([node.this])
    if isinstance(node, exp.Distinct):
        return _widest(node.expressions)
    if isinstance(node, exp.Case):
        other = [node.args["default"]] if node.args.get("default") is not None else []
        return _widest([*(one.args["true"] for one in node.args["ifs"]), *other])
    if isinstance(node, exp.If):
        other = [node.args["false"]] if node.args.get("false") is not None else []
        return _widest([node.args["true"], *other])
    if isinstance(node, exp.Select):
        return _widest(node.expressions[:1])
    counts = isinstance(node, exp.Func) and node.type is not None and node.type.this in exp.DataType.INTEGER_TYPES
    return WHOLE if counts else None


def _held_as(held: exp.DType | None) -> str | None:
    """Return how a type holds its numbers."""
    if held in exp.DataType.INTEGER_TYPES:
        return WHOLE
    if held in (exp.DType.DECIMAL, exp.DType.UDECIMAL, exp.DType.BIGDECIMAL):
        return EXACT
    return DOUBLE if held in (exp.DType.FLOAT, exp.DType.DOUBLE) else None


def _widest(parts: Sequence[exp.Expr]) -> str | None:
    """Return how the number is held that several are made to; NULL is none of them."""
    found = {number(part) for part in parts if not isinstance(part, exp.Null)}
    if None in found or not found:
        return None
    return DOUBLE if DOUBLE in found else EXACT if EXACT in found else WHOLE


def kind(node: exp.Expr) -> str:
    """Return what a node's value is."""
    return str(node.meta.get(KIND, OTHER))


def _plain_names(tree: exp.Expr, snapshot: Snapshot) -> None:
    """Lower every name, as the loaders do, and take off the database's own name."""
    for name in tree.find_all(exp.Identifier):
        if name.args.get("quoted") and isinstance(name.parent, exp.Column) and name.arg_key == "this":
            name.parent.meta[QUOTED_AS] = name.name
        name.set("this", name.name.lower())
    tables = {table.name.lower() for table in snapshot.tables}
    for table in list(tree.find_all(exp.Table)):
        if table.name == "dual" and "dual" not in tables and isinstance(table.parent, exp.From):
            table.parent.pop()
            continue
        if isinstance(table.this, exp.ExplodingGenerateSeries):
            table.replace(_series(table))
            continue
        if not isinstance(table.this, exp.Identifier):
            raise Refused("a function in FROM is not written for other engines")
        if table.args.get("catalog") or table.db not in ("", "public", snapshot.database.lower()):
            raise Refused(f"table {table.name} is of another database")
        table.set("db", None)
    for column in tree.find_all(exp.Column):
        column.set("db", None)


def _series(table: exp.Table) -> exp.Expr:
    """Return a series of integers in FROM as a derived table that counts."""
    ends = [table.this.args.get(name) for name in ("start", "end", "step")]
    numbers = [1 if one is None else _integer(one) for one in ends]
    start, end, step = numbers
    strange = [name for name, given in table.args.items() if given and name not in ("this", "alias")]
    if start is None or end is None or not step or strange:
        raise Refused("generate_series() of other than constant integers is not written for other engines")
    values = range(start, end + (1 if step > 0 else -1), step)
    if not 0 < len(values) <= _LONGEST_SERIES:
        raise Refused(f"generate_series() of no row, or of more than {_LONGEST_SERIES}, is not written")
    alias = table.args.get("alias")
    named = alias.args.get("columns") if alias is not None else None
    name = table.alias or "generate_series"
    column = named[0].name if named else name
    more = f"SELECT n + {step} FROM series WHERE n {'<' if step > 0 else '>'} {values[-1]}"  # noqa: S608 (integers)
    whole = f"WITH RECURSIVE series(n) AS (SELECT {start} UNION ALL {more}) SELECT n FROM series"  # noqa: S608
    query = parse_one(whole, dialect="postgres")
    query.set("expressions", [exp.alias_(exp.column("n"), column, quoted=True)])
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name, quoted=True)))


def _integer(node: exp.Expr) -> int | None:
    """Return an integer constant, None for anything else."""
    sign, inner = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    return sign * int(inner.name) if isinstance(inner, exp.Literal) and inner.name.isdigit() else None


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


def _type(column: ColumnDef) -> str:
    """Return sqlglot's name of a column's type."""
    name = _TYPES.get(column.kind, "UNKNOWN")
    sized = column.kind is Kind.DECIMAL and column.precision is not None
    return f"{name}({column.precision}, {column.scale or 0})" if sized else name


def _kind(node: exp.Expr) -> str:
    """Return a node's kind by the type that was found for it."""
    if isinstance(node, exp.Interval):
        return SPAN
    found = node.type.this if node.type is not None else None
    return next((name for types, name in _KINDS if found in types), OTHER)
