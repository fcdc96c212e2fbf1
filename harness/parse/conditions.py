"""One conjunct of a condition as rows of (lhs, op, rhs, literal): what compares a text's filters with a question's."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

Row = tuple[str, str, list[str], bool]
Spell = Callable[[exp.Expr], str]

_OPS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NullSafeEQ: "=",
    exp.NEQ: "!=",
    exp.NullSafeNEQ: "!=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.SimilarTo: "similar to",
    exp.Glob: "glob",
    exp.RegexpLike: "regexp",
    exp.RegexpILike: "regexp",
}
_MIRRORED = {"=": "=", "!=": "!=", ">": "<", ">=": "<=", "<": ">", "<=": ">="}
_NEGATED = {
    "=": "!=",
    ">": "<=",
    ">=": "<",
    "in": "not in",
    "like": "not like",
    "ilike": "not ilike",
    "is null": "is not null",
    "between": "not between",
    "similar to": "not similar to",
    "glob": "not glob",
    "regexp": "not regexp",
}
_NEGATED |= {negative: positive for positive, negative in _NEGATED.items()}


def rows_of(part: exp.Expr, spell: Spell) -> list[Row]:
    """Return the rows of one conjunct; `spell` writes an expression in normal form."""
    if isinstance(part, exp.Paren):
        return rows_of(part.this, spell)
    if isinstance(part, exp.Not):
        return _negated(part, spell)
    if isinstance(part, exp.Between):
        low, high = _value(part.args["low"], spell), _value(part.args["high"], spell)
        return [(_side(part.this, spell), "between", [low[0], high[0]], low[1] and high[1])]
    if isinstance(part, exp.In):
        return [_membership(part, spell)]
    if isinstance(part, exp.Is):
        return [_is(part, spell)]
    if isinstance(part, exp.Or):
        return [_alternatives(part, spell)]
    if type(part) in _OPS:
        return [_comparison(part, _OPS[type(part)], spell)]
    if isinstance(part, exp.Escape):
        return rows_of(part.this, spell)
    if isinstance(part, exp.Column):
        return [(spell(part), "=", ["true"], True)]
    return [("", "other", [spell(part)], False)]


def _negated(part: exp.Not, spell: Spell) -> list[Row]:
    """Return what a NOT turns its operand into; what has no opposite stays as it is written."""
    inner = part.this.this if isinstance(part.this, exp.Paren) else part.this
    if isinstance(inner, exp.Column):
        return [(spell(inner), "=", ["false"], True)]
    rows = rows_of(inner, spell)
    if len(rows) == 1 and rows[0][1] in _NEGATED:
        lhs, op, rhs, literal = rows[0]
        return [(lhs, _NEGATED[op], rhs, literal)]
    return [("", "other", [spell(part)], False)]


def _comparison(part: exp.Expr, op: str, spell: Spell) -> Row:
    """Return a comparison with its constant on the right."""
    left, right = part.this, part.expression
    if op in _MIRRORED and _constant(left) is not None and _constant(right) is None:
        left, right, op = right, left, _MIRRORED[op]
    if part.args.get("negate"):
        op = _NEGATED[op]
    value, literal = _value(right, spell)
    return (_side(left, spell) if literal else spell(left), op, [value], literal)


def _membership(part: exp.In, spell: Spell) -> Row:
    """Return an IN; a list of one is left to whoever normalises."""
    query = part.args.get("query") or part.args.get("unnest") or part.args.get("field")
    if query is not None:
        return (spell(part.this), "in", [spell(query)], False)
    values = [_value(item, spell) for item in part.expressions]
    return (_side(part.this, spell), "in", [text for text, _ in values], all(literal for _, literal in values))


def _is(part: exp.Is, spell: Spell) -> Row:
    """Return IS NULL, or IS TRUE and the like as an equality; some grammars keep the NOT of IS NOT inside."""
    negated = bool(part.args.get("negate"))
    if isinstance(part.expression, exp.Null):
        return (spell(part.this), "is not null" if negated else "is null", [], True)
    value, literal = _value(part.expression, spell)
    return (spell(part.this), "!=" if negated else "=", [value], literal)


def _alternatives(part: exp.Or, spell: Spell) -> Row:
    """Return an OR: of equalities on one column it is an IN, else a list of its parts."""
    stack: list[exp.Expr] = [part]
    parts: list[exp.Expr] = []
    while stack:
        node = stack.pop()
        if isinstance(node, exp.Or):
            stack.extend((node.expression, node.this))
        elif isinstance(node, exp.Paren):
            stack.append(node.this)
        else:
            parts.append(node)
    rows = [row for node in parts if isinstance(node, (exp.EQ, exp.In)) for row in rows_of(node, spell)]
    same = len(rows) == len(parts) and len({lhs for lhs, _, _, _ in rows}) == 1
    if same and all(op in {"=", "in"} and literal for _, op, _, literal in rows):
        return (rows[0][0], "in", [value for _, _, rhs, _ in rows for value in rhs], True)
    return ("", "or", sorted(spell(node) for node in parts), False)


def _side(node: exp.Expr, spell: Spell) -> str:
    """Return the column side of a comparison with a constant: folding of case and blanks around it means nothing."""
    while isinstance(node, (exp.Lower, exp.Upper, exp.Trim, exp.Paren)) and not node.args.get("expression"):
        node = node.this
    return spell(node)


def _value(node: exp.Expr, spell: Spell) -> tuple[str, bool]:
    """Return a value and whether it is a constant, then without quotes."""
    constant = _constant(node)
    return (spell(node), False) if constant is None else (constant, True)


def _constant(node: exp.Expr) -> str | None:
    """Return the text of a constant, None of anything else; a cast or folding around a constant means nothing."""
    while isinstance(node, (exp.Cast, exp.Paren, exp.Date, exp.TsOrDsToDate, exp.Lower, exp.Upper)) and isinstance(
        node.this, exp.Expr
    ):
        node = node.this
    if isinstance(node, exp.Literal):
        return str(node.name)
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if isinstance(node, exp.Null):
        return "null"
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal):
        return f"-{node.this.name}"
    return None
