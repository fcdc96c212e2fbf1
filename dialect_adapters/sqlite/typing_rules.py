"""What SQLite knows of an expression before it runs: the storage classes its values may have, and its affinity."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite

from sqlassay.dialect_adapters.transpile.facts import (
    BLOB,
    INTEGER,
    NOTHING,
    NUMBER,
    REAL,
    TEXT,
    Affinity,
    ColumnFacts,
    Form,
    Refused,
    Typed,
    affinity_of,
)

TYPED = "typed"
"""Where a node of a read tree carries its type."""

_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.In, exp.Between, exp.Like, exp.Glob)
_LOGICAL = (exp.And, exp.Or, exp.Not, exp.Exists, exp.Escape, exp.RegexpLike, exp.NullSafeEQ, exp.NullSafeNEQ)
_WHOLE = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseLeftShift, exp.BitwiseRightShift, exp.BitwiseNot)
_TO_INTEGER = frozenset(
    [
        "count",
        "length",
        "instr",
        "unicode",
        "row_number",
        "rank",
        "dense_rank",
        "ntile",
        "sign",
        "random",
        "changes",
        "total_changes",
    ]
)
_TO_REAL = frozenset(
    [
        "avg",
        "total",
        "round",
        "julianday",
        "percent_rank",
        "cume_dist",
        "sqrt",
        "power",
        "pow",
        "exp",
        "ln",
        "log",
        "log10",
        "log2",
        "pi",
        "sin",
        "cos",
        "tan",
    ]
)
_TO_TEXT = frozenset(
    [
        "upper",
        "lower",
        "substr",
        "substring",
        "trim",
        "ltrim",
        "rtrim",
        "replace",
        "group_concat",
        "string_agg",
        "strftime",
        "date",
        "time",
        "datetime",
        "typeof",
        "hex",
        "quote",
        "printf",
        "format",
        "char",
        "concat",
        "concat_ws",
    ]
)
_AS_ARGUMENTS = frozenset(
    ["coalesce", "ifnull", "max", "min", "nullif", "first_value", "last_value", "nth_value", "lag", "lead"]
)


def typed(node: exp.Expr) -> Typed:
    """Return the type of a resolved expression."""
    found: Typed = node.meta.get(TYPED) or Typed(NUMBER | TEXT | BLOB)
    return found


def form_of(kind: Typed) -> Form:
    """Return the form in which an expression of this type is written for another engine."""
    if kind.stores & (TEXT | BLOB):
        return Form.TEXT if kind.stores & TEXT else Form.BYTES
    if kind.stores == INTEGER:
        return Form.INT
    return Form.REAL if kind.stores else Form.NULL


def joined(one: ColumnFacts, other: ColumnFacts) -> ColumnFacts:
    """Return the column that holds the values of both."""
    form = one.form if one.form == other.form else _wider(one.form, other.form)
    stores = one.typed.stores | other.typed.stores
    alike = one.typed.affinity == other.typed.affinity
    either = one.typed.either or other.typed.either or not alike
    affinity = one.typed.affinity if alike else Affinity.NONE
    return ColumnFacts(one.name, Typed(stores, affinity, one.typed.nocase, either), form)


def _wider(one: Form, other: Form) -> Form:
    """Return the form that holds both: text holds everything, a real every number."""
    if Form.NULL in (one, other):
        return other if one is Form.NULL else one
    if {one, other} <= {Form.INT, Form.REAL, Form.DECIMAL, Form.BOOL}:
        return Form.REAL if Form.REAL in (one, other) else Form.DECIMAL if Form.DECIMAL in (one, other) else Form.INT
    return Form.TEXT


def type_of(node: exp.Expr) -> Typed:
    """Return an expression's type from those of its parts."""
    if isinstance(node, (*_COMPARED, *_LOGICAL, *_WHOLE)):
        return Typed(INTEGER)
    if isinstance(node, exp.Literal):
        whole = node.name.isdigit()
        return Typed(TEXT if node.is_string else INTEGER if whole else REAL)
    if isinstance(node, exp.Boolean):
        return Typed(INTEGER)
    if isinstance(node, exp.Null):
        return Typed(NOTHING)
    if isinstance(node, exp.HexString):
        return Typed(BLOB)
    if isinstance(node, exp.Cast):
        return _cast_type(node)
    if isinstance(node, (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg)):
        return Typed(arithmetic(*(typed(child).stores for child in node.iter_expressions())))
    if isinstance(node, exp.DPipe):
        return Typed(TEXT)
    if isinstance(node, (exp.Paren, exp.Alias, exp.Filter, exp.Window, exp.Distinct, exp.Ordered)):
        inner = node.expressions[0] if isinstance(node, exp.Distinct) else node.this
        return typed(inner) if isinstance(inner, exp.Expr) else Typed(NOTHING)
    if isinstance(node, exp.Collate):
        one = typed(node.this)
        return Typed(one.stores, one.affinity, node.expression.name.lower() == "nocase")
    if isinstance(node, exp.Case):
        results = [branch.args["true"] for branch in node.args["ifs"]]
        other = node.args.get("default")
        return Typed(_union([*results, *([other] if other is not None else [])]))
    if isinstance(node, exp.Anonymous):
        return _function_type(node)
    if isinstance(node, (exp.CurrentDate, exp.CurrentTime, exp.CurrentTimestamp)):
        return Typed(TEXT)
    return Typed(NOTHING)


def _union(nodes: Sequence[exp.Expr]) -> frozenset[str]:
    """Return every storage class that one of these may have."""
    return frozenset().union(*(typed(node).stores for node in nodes)) if nodes else NOTHING


def arithmetic(*operands: frozenset[str]) -> frozenset[str]:
    """Return what a calculation may give: whole numbers from whole ones, reals as soon as one operand is real."""
    if all(stores <= INTEGER for stores in operands):
        return INTEGER
    if any(stores == REAL for stores in operands):
        return REAL
    return NUMBER


def _cast_type(node: exp.Cast) -> Typed:
    """Return the type of a CAST: the affinity of the type it names decides what is stored."""
    affinity = affinity_of(node.to.sql(SQLite))
    stores = {
        Affinity.INTEGER: INTEGER,
        Affinity.REAL: REAL,
        Affinity.NUMERIC: NUMBER,
        Affinity.TEXT: TEXT,
        Affinity.NONE: BLOB,
    }[affinity]
    return Typed(stores, affinity)


def _function_type(node: exp.Anonymous) -> Typed:
    """Return the type of a function's result."""
    name, arguments = node.name.lower(), node.expressions
    if name in _TO_INTEGER:
        return Typed(INTEGER)
    if name in _TO_REAL:
        return Typed(REAL)
    if name in _TO_TEXT:
        return Typed(TEXT)
    if name == "nullif":
        return Typed(typed(arguments[0]).stores)
    if name in ("lag", "lead", "first_value", "last_value", "nth_value"):
        return Typed(typed(arguments[0]).stores)
    if name in _AS_ARGUMENTS:
        return Typed(_union(arguments))
    if name == "iif":
        return Typed(_union(arguments[1:]))
    if name in ("sum", "abs"):
        return Typed(arithmetic(typed(arguments[0]).stores))
    if name in ("ceil", "ceiling", "floor", "trunc", "mod"):
        return Typed(NUMBER)
    raise Refused(f"function {node.name}() is not written for other engines")
