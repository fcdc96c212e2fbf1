"""SQLite's functions written for another engine; one that has no counterpart with the same result is refused."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from sqlassay.dialect_adapters.transpile import dates
from sqlassay.dialect_adapters.transpile.facts import BLOB, INTEGER, NUMBER, Form, Refused
from sqlassay.dialect_adapters.transpile.pen import Pen
from sqlassay.dialect_adapters.transpile.scopes import is_aggregate

Written = tuple[str, Form]
OVER = "\0over\0"
"""Where a window's definition goes."""

_RANKS = frozenset(["row_number", "rank", "dense_rank", "ntile", "percent_rank", "cume_dist"])


def call(writer: Pen, node: exp.Expr, *, only: exp.Expr | None = None, windowed: bool = False) -> Written:
    """Return a function call; `only` is a FILTER's condition, `windowed` that a window definition follows.

    Raises:
        Refused: the function has no counterpart, or none for these arguments.
    """
    if not isinstance(node, exp.Anonymous):
        raise Refused(f"{type(node).__name__} is not written")
    name, arguments = node.name.lower(), node.expressions
    if is_aggregate(node):
        return _aggregate(writer, name, arguments, only, windowed=windowed)
    if windowed:
        return _window(writer, name, arguments)
    written = _CALLS.get(name)
    if written is None:
        raise Refused(f"function {name}()")
    return written(writer, arguments)


def _aggregate(writer: Pen, name: str, arguments: list[exp.Expr], only: exp.Expr | None, *, windowed: bool) -> Written:
    """Return an aggregate over the rows a FILTER keeps."""
    argument = arguments[0] if arguments else exp.Star()
    distinct = isinstance(argument, exp.Distinct)
    inner = argument.expressions[0] if distinct else argument
    group = writer.group
    group.inside += 0 if windowed else 1
    try:
        condition = writer.condition(only) if only is not None else None
        sql, form = _aggregated(writer, name, inner, arguments[1:], condition, distinct=distinct)
    finally:
        group.inside -= 0 if windowed else 1
    return (_over(sql, name), form) if windowed else (sql, form)


def _over(sql: str, name: str) -> str:
    """Place the window's definition behind the aggregate call inside what was made of it."""
    word = {"total": "SUM"}.get(name, name.upper())
    start = sql.index(f"{word}(")
    depth = 0
    for place in range(start + len(word), len(sql)):
        depth += (sql[place] == "(") - (sql[place] == ")")
        if depth == 0:
            return f"{sql[: place + 1]} {OVER}{sql[place + 1 :]}"
    raise Refused(f"a window over {name}()")


def _kept(condition: str | None, value: str) -> str:
    """Return a value in the rows that a FILTER keeps, NULL in others: every aggregate leaves NULLs out."""
    return value if condition is None else f"CASE WHEN {condition} THEN {value} END"


def _aggregated(
    writer: Pen,
    name: str,
    inner: exp.Expr,
    rest: list[exp.Expr],
    condition: str | None,
    *,
    distinct: bool,
) -> Written:
    """Return one aggregate call."""
    word = "DISTINCT " if distinct else ""
    if name == "count":
        if isinstance(inner, exp.Star):
            return ("COUNT(*)" if condition is None else f"COUNT({_kept(condition, '1')})"), Form.INT
        out = writer.value(inner)
        return f"COUNT({word}{_kept(condition, out.sql)})", Form.INT
    if name in ("min", "max"):
        return _extreme(writer, name, inner, condition)
    if name in ("group_concat", "string_agg"):
        separator = writer.text(rest[0]) if rest else writer.spell.literal(",")
        return writer.spell.joined(_kept(condition, writer.text(inner)), separator, distinct=distinct), Form.TEXT
    number = writer.number(inner)
    whole = writer.typed(inner).stores <= INTEGER
    if name == "sum":
        value = f"{word}{_kept(condition, number if whole else writer.spell.real(number))}"
        if distinct and not whole:
            return f"SUM({value})", Form.REAL
        return writer.spell.sum(value, Form.INT) if whole else (f"SUM({value})", Form.REAL)
    value = f"{word}{_kept(condition, writer.spell.real(number))}"
    if name == "total":
        return f"COALESCE(SUM({value}), {writer.spell.real('0')})", Form.REAL
    return f"AVG({value})", Form.REAL


def _extreme(writer: Pen, name: str, inner: exp.Expr, condition: str | None) -> Written:
    """Return MIN or MAX; in a column of numbers and texts every number is less than every text."""
    out, kind = writer.value(inner), writer.typed(inner)
    word = name.upper()
    if out.form is Form.BOOL:
        return f"{word}({_kept(condition, writer.number(inner))})", Form.INT
    if out.form is not Form.TEXT or not kind.stores & NUMBER:
        return f"{word}({_kept(condition, out.sql)})", out.form
    if condition is not None:
        raise Refused(f"{name}() with FILTER over numbers and texts")
    key = exp.Ordered(this=inner.copy(), desc=name == "max", nulls_first=False)
    key.this.meta.update(inner.meta)
    looks = writer.spell.looks(out.sql)
    first, second = (1, 2) if name == "min" else (2, 1)
    rank = f"CASE WHEN {out.sql} IS NULL THEN 3 WHEN {looks} THEN {first} ELSE {second} END"
    return writer.spell.first(out.sql, Form.TEXT, [rank, *writer.sort_keys(key)[1:]]), Form.TEXT


def _window(writer: Pen, name: str, arguments: list[exp.Expr]) -> Written:
    """Return a window function."""
    if name in _RANKS:
        form = Form.REAL if name in ("percent_rank", "cume_dist") else Form.INT
        listed = ", ".join(writer.number(one) for one in arguments)
        return f"{name.upper()}({listed}) {OVER}", form
    if name in ("lag", "lead", "first_value", "last_value", "nth_value"):
        out = writer.value(arguments[0])
        more = [writer.number(one) for one in arguments[1:2]] + [
            writer.as_form(one, out.form) for one in arguments[2:3]
        ]
        return f"{name.upper()}({', '.join([out.sql, *more])}) {OVER}", out.form
    raise Refused(f"window function {name}()")


def _form(writer: Pen, arguments: list[exp.Expr]) -> Form:
    """Return the one form that holds all arguments."""
    forms = {writer.value(one).form for one in arguments} - {Form.NULL}
    if Form.BYTES in forms and len(forms) > 1:
        raise Refused("blobs among other values")
    if Form.TEXT in forms:
        return Form.TEXT
    if not forms:
        return Form.NULL
    return Form.INT if forms <= {Form.INT, Form.BOOL} else Form.REAL if forms != {Form.BYTES} else Form.BYTES


def _coalesce(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write coalesce() and ifnull()."""
    form = _form(writer, arguments)
    return f"COALESCE({', '.join(writer.as_form(one, form) for one in arguments)})", form


def _scalar_extreme(greatest: bool) -> Callable[[Pen, list[exp.Expr]], Written]:
    """Return the writer of min() or max() with several arguments."""

    def written(writer: Pen, arguments: list[exp.Expr]) -> Written:
        """Write it; numbers and texts among each other have no counterpart."""
        forms = {writer.value(one).form for one in arguments}
        if Form.TEXT in forms and forms - {Form.TEXT, Form.NULL}:
            raise Refused("the greatest or least of numbers and texts")
        form = _form(writer, arguments)
        return writer.spell.extreme([writer.as_form(one, form) for one in arguments], greatest=greatest), form

    return written


def _iif(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write iif() as CASE."""
    form = _form(writer, arguments[1:])
    test, then = writer.condition(arguments[0]), writer.as_form(arguments[1], form)
    other = writer.as_form(arguments[2], form) if len(arguments) > 2 else "NULL"
    return f"(CASE WHEN {test} THEN {then} ELSE {other} END)", form


def _nullif(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write nullif(): by SQLite's comparison."""
    out = writer.value(arguments[0])
    equal = writer.condition(_equality(*arguments))
    return f"(CASE WHEN {equal} THEN NULL ELSE {out.sql} END)", out.form


def _equality(one: exp.Expr, other: exp.Expr) -> exp.Expr:
    """Return the equality of two resolved expressions."""
    made = exp.EQ(this=one.copy(), expression=other.copy())
    for node, source in ((made.this, one), (made.expression, other)):
        for copied, original in zip(node.walk(), source.walk(), strict=True):
            copied.meta.update(original.meta)
    return made


def _abs(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write abs()."""
    form = Form.INT if writer.typed(arguments[0]).stores <= INTEGER else Form.REAL
    return f"ABS({writer.number(arguments[0])})", form


def _round(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write round(): a real, whatever goes in."""
    digits = writer.number(arguments[1]) if len(arguments) > 1 else "0"
    return writer.spell.rounded(writer.spell.real(writer.number(arguments[0])), digits), Form.REAL


def _text_call(word: str) -> Callable[[Pen, list[exp.Expr]], Written]:
    """Return the writer of a text function that every engine has under this name."""

    def written(writer: Pen, arguments: list[exp.Expr]) -> Written:
        """Write it over texts."""
        return f"{word}({', '.join(writer.text(one) for one in arguments)})", Form.TEXT

    return written


def _lower(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write lower()."""
    return writer.spell.lower(writer.text(arguments[0])), Form.TEXT


def _upper(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write upper()."""
    return writer.spell.upper(writer.text(arguments[0])), Form.TEXT


def _length(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write length(): of a blob made of text it counts bytes."""
    inner = arguments[0]
    if isinstance(inner, exp.Cast) and not writer.typed(inner).stores - BLOB:
        return writer.spell.octets(writer.text(inner.this)), Form.INT
    return writer.spell.length(writer.text(arguments[0])), Form.INT


def _instr(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write instr()."""
    return writer.spell.position(writer.text(arguments[0]), writer.text(arguments[1])), Form.INT


def _substr(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write substr()."""
    start = _bare_number(writer, arguments[1])
    length = _bare_number(writer, arguments[2]) if len(arguments) > 2 else None
    return writer.spell.substring(writer.text(arguments[0]), start, length), Form.TEXT


def _bare_number(writer: Pen, node: exp.Expr) -> str:
    """Return a number without parentheses where it is written as a literal."""
    text = writer.number(node)
    return text[1:-1] if re.fullmatch(r"\(-\d+\)", text) else text


def _trim(side: str) -> Callable[[Pen, list[exp.Expr]], Written]:
    """Return the writer of trim(), ltrim() or rtrim()."""

    def written(writer: Pen, arguments: list[exp.Expr]) -> Written:
        """Write it; without letters it takes spaces."""
        letters = writer.text(arguments[1]) if len(arguments) > 1 else writer.spell.literal(" ")
        return writer.spell.trimmed(writer.text(arguments[0]), letters, side), Form.TEXT

    return written


def _typeof(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write typeof() by what the column stores."""
    kind, out = writer.typed(arguments[0]), writer.value(arguments[0])
    words = {"i": "integer", "r": "real", "t": "text", "b": "blob"}
    literal = writer.spell.literal
    if len(kind.stores) == 1:
        word = literal(words[next(iter(kind.stores))])
        return f"(CASE WHEN {out.sql} IS NULL THEN {literal('null')} ELSE {word} END)", Form.TEXT
    raise Refused("typeof() of a column with several storage classes")


def _char(writer: Pen, arguments: list[exp.Expr]) -> Written:
    """Write char() of written code points."""
    if not all(isinstance(one, exp.Literal) and one.name.isdigit() for one in arguments):
        raise Refused("char() of computed code points")
    return writer.spell.literal("".join(chr(int(one.name)) for one in arguments)), Form.TEXT


def _math(word: str) -> Callable[[Pen, list[exp.Expr]], Written]:
    """Return the writer of a function of reals."""

    def written(writer: Pen, arguments: list[exp.Expr]) -> Written:
        """Write it over doubles."""
        return f"{word}({', '.join(writer.spell.real(writer.number(one)) for one in arguments)})", Form.REAL

    return written


def _whole_math(word: str) -> Callable[[Pen, list[exp.Expr]], Written]:
    """Return the writer of ceil() or floor(): an integer stays one."""

    def written(writer: Pen, arguments: list[exp.Expr]) -> Written:
        """Write it."""
        if writer.typed(arguments[0]).stores <= INTEGER:
            return writer.number(arguments[0]), Form.INT
        return f"{word}({writer.spell.real(writer.number(arguments[0]))})", Form.REAL

    return written


def regex_of_glob(pattern: str) -> str:
    """Return the regular expression of a GLOB pattern: * and ?, and sets in brackets."""
    made, place = "^", 0
    while place < len(pattern):
        letter = pattern[place]
        end = pattern.find("]", place + 2) if letter == "[" else -1
        if letter == "*":
            made += "(.|\n)*"
        elif letter == "?":
            made += "(.|\n)"
        elif end > 0:
            inner = pattern[place + 1 : end].replace("\\", "\\\\")
            made += f"[{inner}]"
            place = end
        else:
            made += re.escape(letter) if not letter.isalnum() and letter.isascii() else letter
        place += 1
    return made + "$"


_CALLS: dict[str, Callable[[Pen, list[exp.Expr]], Written]] = {
    "coalesce": _coalesce,
    "ifnull": _coalesce,
    "min": _scalar_extreme(greatest=False),
    "max": _scalar_extreme(greatest=True),
    "iif": _iif,
    "nullif": _nullif,
    "abs": _abs,
    "round": _round,
    "lower": _lower,
    "upper": _upper,
    "length": _length,
    "instr": _instr,
    "substr": _substr,
    "substring": _substr,
    "replace": _text_call("REPLACE"),
    "trim": _trim("both"),
    "ltrim": _trim("leading"),
    "rtrim": _trim("trailing"),
    "typeof": _typeof,
    "char": _char,
    "strftime": dates.strftime,
    **{name: dates.date_function(pattern) for name, pattern in dates.PATTERNS.items()},
    "julianday": dates.julianday,
    "sqrt": _math("SQRT"),
    "power": _math("POWER"),
    "pow": _math("POWER"),
    "exp": _math("EXP"),
    "ln": _math("LN"),
    "ceil": _whole_math("CEIL"),
    "ceiling": _whole_math("CEIL"),
    "floor": _whole_math("FLOOR"),
}
