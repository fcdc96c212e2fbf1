"""Conditions written for another engine: logic, comparisons, IN, LIKE, GLOB and IS."""

from __future__ import annotations

from sqlglot import exp

from sqlassay.dialect_adapters.transpile import comparing, functions, leaving
from sqlassay.dialect_adapters.transpile.facts import NUMBER, TEXT, Form, Out, Refused, Typed
from sqlassay.dialect_adapters.transpile.pen import Pen
from sqlassay.dialect_adapters.transpile.scopes import reaches_out

_SAME = (exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ)
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def condition(writer: Pen, node: exp.Expr, *, positive: bool = True) -> str:
    """Return an expression as a condition; `positive` where unknown and false mean the same."""
    left = leaving.as_written(writer, node)
    if left is not None:
        return left.sql if left.form is Form.BOOL else _true(writer, left)
    try:
        return _condition(writer, node, positive=positive)
    except Refused as refusal:
        if not writer.lenient or not is_condition(node) or isinstance(node, (exp.And, exp.Or, exp.Not)):
            raise
        return leaving.left_over(writer, node, refusal).sql


def _condition(writer: Pen, node: exp.Expr, *, positive: bool) -> str:
    """Return an expression as a condition that the engine decides as SQLite does."""
    if isinstance(node, exp.Paren):
        return f"({condition(writer, node.this, positive=positive)})"
    if isinstance(node, (exp.And, exp.Or)):
        word = "AND" if isinstance(node, exp.And) else "OR"
        parts = (condition(writer, child, positive=positive) for child in (node.this, node.expression))
        return f"({f' {word} '.join(parts)})"
    if isinstance(node, exp.Not):
        return _negated(writer, node.this)
    if isinstance(node, exp.Exists):
        return f"EXISTS ({writer.query(node.this)})"
    if type(node) in _OPERATORS:
        return comparing.compare(writer, _OPERATORS[type(node)], node.this, node.expression, positive=positive)
    if isinstance(node, exp.Between):
        return _between(writer, node, positive=positive)
    if isinstance(node, exp.In):
        return _in(writer, node, positive=positive, negated=False)
    if isinstance(node, (exp.Like, exp.Escape)):
        return _like(writer, node)
    if isinstance(node, exp.Glob):
        return _glob(writer, node)
    if isinstance(node, _SAME):
        return _is(writer, node, negated=isinstance(node, exp.NullSafeNEQ))
    return _truth(writer, node)


def _truth(writer: Pen, node: exp.Expr) -> str:
    """Return a value as a condition: anything but 0 and NULL is true."""
    return _true(writer, writer.value(node))


def _true(writer: Pen, out: Out) -> str:
    """Return a written value as a condition."""
    if out.form is Form.BOOL:
        return out.sql
    return f"({writer.as_number(out)} <> 0)" if out.form is not Form.NULL else "(1 = NULL)"


def _negated(writer: Pen, node: exp.Expr) -> str:
    """Return NOT."""
    while isinstance(node, exp.Paren):
        node = node.this
    if leaving.as_written(writer, node) is not None:
        return f"(NOT {condition(writer, node, positive=False)})"
    if isinstance(node, exp.Is):
        return _is(writer, node, negated=True)
    if isinstance(node, exp.In):
        return _in(writer, node, positive=False, negated=True)
    return f"(NOT {condition(writer, node, positive=False)})"


def _is(writer: Pen, node: exp.Expr, *, negated: bool) -> str:
    """Return IS: NULLs are values there."""
    other = node.expression
    if isinstance(other, exp.Null):
        return f"({writer.value(node.this).sql} IS {'NOT ' if negated else ''}NULL)"
    comparing.refuse_either(writer.typed(node.this), writer.typed(other))
    one, two = (
        comparing.side(writer, x, writer.typed(x), writer.typed(y)) for x, y in ((node.this, other), (other, node.this))
    )
    if one.both or two.both or (one.number is None) != (two.number is None):
        raise Refused("IS between a number and a text")
    texts = (side.number if side.number is not None else side.text or "NULL" for side in (one, two))
    return writer.spell.is_same(*texts, negated=negated)


def _between(writer: Pen, node: exp.Between, *, positive: bool) -> str:
    """Return BETWEEN as its two comparisons."""
    low = comparing.compare(writer, ">=", node.this, node.args["low"], positive=positive)
    high = comparing.compare(writer, "<=", node.this, node.args["high"], positive=positive)
    return f"({low} AND {high})"


def _in(writer: Pen, node: exp.In, *, positive: bool, negated: bool) -> str:
    """Return IN: a list as comparisons by the left side's affinity, a query by the affinities of both."""
    word = "NOT " if negated else ""
    if isinstance(node.this, exp.Tuple):
        raise Refused("IN with several columns")
    query = node.args.get("query")
    if query is not None:
        return _in_query(writer, node.this, query, negated=negated)
    left = writer.typed(node.this)
    if not node.expressions:
        return "(1 = 1)" if negated else "(1 = 0)"
    tests = [
        comparing.compare(writer, "=", node.this, one, positive=positive, kinds=(left, Typed(writer.typed(one).stores)))
        for one in node.expressions
    ]
    return f"({word}({' OR '.join(tests)}))"


def _in_query(writer: Pen, left: exp.Expr, query: exp.Expr, *, negated: bool) -> str:
    """Return IN over a query, in a derived table where it is cut or converted."""
    inner = query.this if isinstance(query, exp.Subquery) else query
    column: exp.Expr = _leftmost(inner).expressions[0]
    column = column.this if isinstance(column, exp.Alias) else column
    one, other = writer.typed(left), writer.typed(column)
    comparing.refuse_either(one, _joint_type(writer, inner))
    out = writer.value(left)
    form = writer.forms(inner)[0]
    word = "NOT IN" if negated else "IN"
    text = writer.query(inner)
    name = writer.spell.name("_v")
    plain = (out.form is Form.TEXT) == (form is Form.TEXT)
    mixed = (out.form is Form.TEXT and one.stores & NUMBER) or (form is Form.TEXT and other.stores & NUMBER)
    kept = plain and inner.args.get("limit") is None
    if not kept and Form.NULL not in (out.form, form) and not writer.spell.derived_sees_out and reaches_out(inner):
        raise Refused("LIMIT in IN with columns of the query around it, which a derived table does not see")
    if plain and (not mixed or (out.form is Form.TEXT and form is Form.TEXT)):
        if inner.args.get("limit") is not None:
            text = f"SELECT * FROM ({text}) AS {name}"  # noqa: S608 (a rewritten query, run by a reader)
        return f"({out.sql} {word} ({text}))"
    if Form.NULL in (out.form, form):
        return f"({out.sql} {word} ({text}))"
    return _in_converted(writer, left, out, text, form, other, word)


def _in_converted(writer: Pen, left: exp.Expr, out: Out, text: str, form: Form, other: Typed, word: str) -> str:
    """Return IN between a number and texts: texts that are numerals count as numbers, others equal none."""
    one = writer.typed(left)
    if not (one.affinity.numeric or other.affinity.numeric or (one.stores & TEXT and one.stores & NUMBER)):
        raise Refused("IN between a number and texts without a column's affinity")
    name, column = writer.spell.name("_v"), writer.spell.name("v")
    spell = writer.spell
    listed = f"(SELECT {column} FROM ({text}) AS {name}({column}))"  # noqa: S608 (as above)
    if form is Form.TEXT:
        cell = f"{name}.{column}"
        looks, number = spell.looks(cell), spell.numeral(cell)
        source = f"FROM ({text}) AS {name}({column}) WHERE {cell} IS NULL OR {looks}"
        return f"({out.sql} {word} (SELECT CASE WHEN {looks} THEN {number} END {source}))"  # noqa: S608 (as above)
    converted = f"CASE WHEN {spell.looks(out.sql)} THEN {spell.numeral(out.sql)} END"
    if word == "IN":
        return f"({converted} IN {listed})"
    text_row = f"{out.sql} IS NOT NULL AND NOT {spell.looks(out.sql)}"
    return f"(CASE WHEN {text_row} THEN 1 = 1 ELSE {converted} NOT IN {listed} END)"


def _like(writer: Pen, node: exp.Expr) -> str:
    """Return LIKE: ASCII letters match in either case, others only themselves."""
    escape = None
    if isinstance(node, exp.Escape):
        escape = writer.spell.literal(node.expression.name)
        node = node.this
    if not isinstance(node, exp.Like):
        raise Refused("this use of ESCAPE")
    value, pattern = writer.text(node.this), writer.text(node.expression)
    letters = not isinstance(node.expression, exp.Literal) or any(
        one.isascii() and one.isalpha() for one in node.expression.name
    )
    if letters:
        value = writer.spell.lower(value)
        lowered = isinstance(node.expression, exp.Literal)
        pattern = writer.spell.literal(_ascii_lower(node.expression.name)) if lowered else writer.spell.lower(pattern)
    return writer.spell.like(value, pattern, escape)


def _glob(writer: Pen, node: exp.Glob) -> str:
    """Return GLOB as a regular expression; only a written pattern can be turned into one."""
    if not isinstance(node.expression, exp.Literal):
        raise Refused("GLOB with a computed pattern")
    return writer.spell.matches(writer.text(node.this), functions.regex_of_glob(node.expression.name))


def _joint_type(writer: Pen, query: exp.Expr) -> Typed:
    """Return the type of a query's first column, of whatever arms it comes."""
    if isinstance(query, exp.Subquery):
        return _joint_type(writer, query.this)
    if isinstance(query, exp.SetOperation):
        one, other = _joint_type(writer, query.left), _joint_type(writer, query.right)
        either = one.either or other.either or one.affinity is not other.affinity
        return Typed(one.stores | other.stores, one.affinity, either=either)
    column = query.expressions[0]
    return writer.typed(column.this if isinstance(column, exp.Alias) else column)


def _leftmost(query: exp.Expr) -> exp.Expr:
    """Return the first SELECT of a set operation, which names its columns."""
    while isinstance(query, (exp.SetOperation, exp.Subquery)):
        query = query.this
    return query


def _ascii_lower(text: str) -> str:
    """Return a text with its ASCII letters lowered."""
    return "".join(one.lower() if one.isascii() else one for one in text)


def is_condition(node: exp.Expr) -> bool:
    """Return whether an expression is written as a condition."""
    kinds = (exp.And, exp.Or, exp.Not, exp.Exists, exp.Between, exp.In, exp.Like, exp.Escape, exp.Glob, *_SAME)
    return isinstance(node, kinds) or type(node) in _OPERATORS
