"""Values written for another engine: literals, columns, calculations, CASE, casts, functions and windows."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.transpile import comparing, conditions, functions, leaving
from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.dialect_adapters.transpile.collating import GIVES
from sqlassay.dialect_adapters.transpile.facts import INTEGER, NUMBER, TEXT, ColumnFacts, Form, Out, Refused
from sqlassay.dialect_adapters.transpile.pen import Grouping, Pen

_SUMS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}
_BITS: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}

_WIDEST = 62
"""The widest shift of a signed 64-bit integer that means the same everywhere."""


def value(writer: Pen, node: exp.Expr) -> Out:
    """Return an expression as the engine computes it; what is written again and again has an end (see `spend`)."""
    out = leaving.as_written(writer, node)
    if out is None:
        try:
            out = _value(writer, node)
        except Refused as refusal:
            out = leaving.left_over(writer, node, refusal)
    writer.spend(len(out.sql))
    return out


def _value(writer: Pen, node: exp.Expr) -> Out:
    """Return an expression as the engine computes it."""
    group = writer.group
    if group.grouped and not group.inside and node.sql() in group.keys and not isinstance(node, exp.Literal):
        return writer.inside(node)
    written = _WRITERS.get(type(node))
    if written is not None:
        return written(writer, node)
    if type(node) in _SUMS:
        return _sum(writer, node, _SUMS[type(node)])
    if type(node) in _BITS:
        return _bits(writer, node, _BITS[type(node)])
    if conditions.is_condition(node):
        return Out(writer.condition(node, positive=False), Form.BOOL)
    if isinstance(node, exp.Query):
        return Out(f"({writer.query(node)})", writer.forms(node)[0])
    raise Refused(f"{type(node).__name__} is not written")


def _literal(writer: Pen, node: exp.Expr) -> Out:
    """Write a literal."""
    if node.is_string:
        said = writer.spell.literal(node.name)
        lone = writer.by_letters is not None and isinstance(node.parent, GIVES)
        return Out(writer.spell.by_code_points(said) if lone else said, Form.TEXT)
    whole = node.name.isdigit()
    return Out(writer.real_literal(node.name), Form.INT if whole else Form.REAL)


def _null_value(_writer: Pen, _node: exp.Expr) -> Out:
    """Write NULL."""
    return Out("NULL", Form.NULL)


def _boolean(_writer: Pen, node: exp.Expr) -> Out:
    """Write a truth word: a number in SQLite."""
    return Out("1" if node.this else "0", Form.INT)


def _blob(_writer: Pen, node: exp.Expr) -> Out:
    """Refuse a blob literal: engines spell and compare them apart."""
    raise Refused(f"the blob literal x'{node.name}'")


def _paren(writer: Pen, node: exp.Expr) -> Out:
    """Write parentheses."""
    out = writer.value(node.this)
    return Out(f"({out.sql})", out.form)


def _column(writer: Pen, node: exp.Expr) -> Out:
    """Write a column; one that a group does not determine takes some row's value, as SQLite's bare columns do."""
    facts: ColumnFacts = node.meta["column"]
    if facts.form is Form.OTHER:
        raise Refused(f"column '{facts.name}' is of a type that SQLite does not have")
    source = node.text("table")
    text = f"{writer.spell.name(source)}.{writer.spell.name(facts.name)}"
    if facts.held is not None:
        text = _stored(writer, text, facts)
    group = writer.group
    bare = group.grouped and not group.inside and node.meta.get("own") and node.sql() not in group.keys
    bare = bare and Difference.BARE_COLUMN not in writer.leave
    return Out(_bare(writer, text, facts.form, group) if bare else text, facts.form)


def _stored(writer: Pen, text: str, facts: ColumnFacts) -> str:
    """Return a column that was loaded as its declared type as the value SQLite stores."""
    if facts.held is Kind.BOOL:
        return f"(CASE WHEN {text} THEN 1 WHEN NOT {text} THEN 0 END)"
    if facts.held is Kind.DECIMAL:
        return writer.spell.whole(text) if facts.form is Form.INT else writer.spell.real(text)
    return writer.spell.spelled(text, moment=facts.held is Kind.TIMESTAMP)


def _bare(writer: Pen, text: str, form: Form, group: Grouping) -> str:
    """Return a bare column: from the row of the one MIN or MAX, else from any row."""
    if group.extreme is None:
        return writer.spell.any_value(text)
    (argument,) = group.extreme.expressions
    inner = argument.expressions[0] if isinstance(argument, exp.Distinct) else argument
    key = exp.Ordered(this=inner.copy(), desc=group.extreme.name.lower() == "max", nulls_first=False)
    key.this.meta.update(inner.meta)
    group.inside += 1
    try:
        return writer.spell.first(text, form, writer.sort_keys(key))
    finally:
        group.inside -= 1


def _negative(writer: Pen, node: exp.Expr) -> Out:
    """Write a negation."""
    form = Form.INT if writer.typed(node).stores <= INTEGER else Form.REAL
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return Out(writer.real_literal(f"-{node.this.name}"), form)
    return Out(f"(- {writer.number(node.this)})", form)


def _sum(writer: Pen, node: exp.Expr, operator: str) -> Out:
    """Write a sum, difference or product."""
    form = Form.INT if writer.typed(node).stores <= INTEGER else Form.REAL
    return Out(f"({writer.number(node.this)} {operator} {writer.number(node.expression)})", form)


def _bits(writer: Pen, node: exp.Expr, operator: str) -> Out:
    """Write bits of integers; a shift's width must be known, as engines differ on wide and negative ones."""
    one = _integer(writer, node.this)
    if operator not in ("<<", ">>"):
        return Out(writer.spell.bits(one, operator, _integer(writer, node.expression)), Form.INT)
    width = node.expression
    if not isinstance(width, exp.Literal) or width.is_string or not width.name.isdigit() or int(width.name) > _WIDEST:
        raise Refused("a shift by what is no small number")
    return Out(writer.spell.moved_bits(one, operator, int(width.name)), Form.INT)


def _integer(writer: Pen, node: exp.Expr) -> str:
    """Return a number cut to an integer, where it is none already."""
    number = writer.number(node)
    return number if writer.typed(node).stores <= INTEGER else writer.spell.whole(number)


def _divided(writer: Pen, node: exp.Expr) -> Out:
    """Write a division: whole where both sides are whole, in this row where that depends on it."""
    one, other = writer.number(node.this), writer.number(node.expression)
    kinds = [writer.typed(child).stores for child in (node.this, node.expression)]
    if all(kind <= INTEGER for kind in kinds):
        return Out(writer.spell.divided(one, other), Form.INT)
    exact = f"({writer.spell.real(one)} / NULLIF({writer.spell.real(other)}, 0))"
    if all(kind & INTEGER for kind in kinds):
        whole = [
            f"{value} = {writer.spell.whole(value)}"
            for value, kind in zip((one, other), kinds, strict=True)
            if kind & TEXT or kind - INTEGER
        ]
        cut = writer.spell.real(writer.spell.whole(exact))
        return Out(f"(CASE WHEN {' AND '.join(whole)} THEN {cut} ELSE {exact} END)", Form.REAL)
    return Out(exact, Form.REAL)


def _remainder(writer: Pen, node: exp.Expr) -> Out:
    """Write a remainder: SQLite cuts both sides to integers, and gives a real where one was real."""
    whole = writer.typed(node).stores <= INTEGER
    one, other = (
        number if whole else writer.spell.whole(number)
        for number in (writer.number(node.this), writer.number(node.expression))
    )
    rest = f"({one} % NULLIF({other}, 0))"
    return Out(rest, Form.INT) if whole else Out(writer.spell.real(rest), Form.REAL)


def _piped(writer: Pen, node: exp.Expr) -> Out:
    """Write texts one behind the other."""
    return Out(writer.spell.concat([writer.text(node.this), writer.text(node.expression)]), Form.TEXT)


def _collate(writer: Pen, node: exp.Expr) -> Out:
    """Write the value; comparisons and sort keys look at the collation themselves."""
    if node.expression.name.lower() not in ("nocase", "binary"):
        raise Refused(f"collation {node.expression.name}")
    return writer.value(node.this)


def _case(writer: Pen, node: exp.Expr) -> Out:
    """Write CASE with results of one form."""
    form = writer.form(node)
    parts = []
    for branch in node.args["ifs"]:
        test = _case_test(writer, node.this, branch.this)
        parts.append(f"WHEN {test} THEN {writer.as_form(branch.args['true'], form)}")
    default = node.args.get("default")
    ending = f" ELSE {writer.as_form(default, form)}" if default is not None else ""
    return Out(f"(CASE {' '.join(parts)}{ending} END)", form)


def _case_test(writer: Pen, base: exp.Expr | None, test: exp.Expr) -> str:
    """Return one WHEN's condition."""
    return writer.condition(test) if base is None else comparing.compare(writer, "=", base, test, positive=True)


def _cast(writer: Pen, node: exp.Expr) -> Out:
    """Write a cast by SQLite's rules: text by its prefix, reals cut to integers."""
    stores = writer.typed(node).stores
    if stores == INTEGER:
        out = writer.value(node.this)
        number = writer.as_number(out)
        return Out(number if out.form in (Form.INT, Form.BOOL) else writer.spell.whole(number), Form.INT)
    if stores == TEXT:
        return Out(writer.text(node.this), Form.TEXT)
    if stores <= NUMBER:
        return Out(writer.spell.real(writer.number(node.this)), Form.REAL)
    raise Refused("CAST to a blob")


def _anonymous(writer: Pen, node: exp.Expr) -> Out:
    """Write a function."""
    sql, form = functions.call(writer, node)
    return Out(sql, form)


def _filter(writer: Pen, node: exp.Expr) -> Out:
    """Write an aggregate over the rows that meet a condition."""
    sql, form = functions.call(writer, node.this, only=node.expression.this)
    return Out(sql, form)


def _window(writer: Pen, node: exp.Expr) -> Out:
    """Write a window function."""
    function = node.this
    if not isinstance(function, exp.Anonymous) or node.args.get("alias"):
        raise Refused("this use of a window")
    left = leaving.as_written(writer, function)
    sql, form = (
        functions.call(writer, function, windowed=True) if left is None else (f"{left.sql} {functions.OVER}", left.form)
    )
    parts = []
    if node.args.get("partition_by"):
        parts.append("PARTITION BY " + ", ".join(writer.value(one).sql for one in node.args["partition_by"]))
    if node.args.get("order") is not None:
        keys = [text for key in node.args["order"].expressions for text in writer.sort_keys(key)]
        parts.append("ORDER BY " + ", ".join(keys))
    if node.args.get("spec") is not None:
        parts.append(node.args["spec"].sql(writer.spell.dialect))
    return Out(sql.replace(functions.OVER, f"OVER ({' '.join(parts)})"), form)


def _today(writer: Pen, _node: exp.Expr) -> Out:
    """Write today's date as text."""
    return Out(writer.date_text(writer.spell.now(), "%Y-%m-%d"), Form.TEXT)


def _this_moment(writer: Pen, _node: exp.Expr) -> Out:
    """Write the moment as text."""
    return Out(writer.date_text(writer.spell.now(), "%Y-%m-%d %H:%M:%S"), Form.TEXT)


_WRITERS: dict[type[exp.Expr], Callable[[Pen, exp.Expr], Out]] = {
    exp.Literal: _literal,
    exp.Null: _null_value,
    exp.Boolean: _boolean,
    exp.HexString: _blob,
    exp.Paren: _paren,
    exp.Column: _column,
    exp.Neg: _negative,
    exp.Div: _divided,
    exp.Mod: _remainder,
    exp.DPipe: _piped,
    exp.Collate: _collate,
    exp.Case: _case,
    exp.Cast: _cast,
    exp.Anonymous: _anonymous,
    exp.Filter: _filter,
    exp.Window: _window,
    exp.CurrentDate: _today,
    exp.CurrentTimestamp: _this_moment,
}
