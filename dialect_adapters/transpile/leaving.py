"""Leave parts of a statement as the first dialect wrote them, so that one cause at a time can be held against the rows.

A rewrite repairs all that it knows at once, and shows no cause by that. A statement in which every part is repaired but
those of one cause shows whether that cause matters.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite

from sqlassay.dialect_adapters.transpile.facts import Form, Out, Refused
from sqlassay.dialect_adapters.transpile.pen import Pen
from sqlassay.dialect_adapters.transpile.scopes import is_aggregate
from sqlassay.dialect_adapters.transpile.suspects import QUOTED_AS, about, quoted_cause

_KEPT = (exp.DataType, exp.Star, exp.Identifier, exp.Var)


class Hopeless(Refused):
    """A part can be neither rewritten nor left."""


def as_written(pen: Pen, node: exp.Expr) -> Out | None:
    """Return a node as it is written, where all that it is suspected of is to be left; None where it is to be said."""
    if not pen.leave:
        return None
    name, cause = node.meta.get(QUOTED_AS), quoted_cause(node)
    if name is not None and cause in pen.leave:
        return Out('"{}"'.format(name.replace('"', '""')), pen.form(node))
    causes = frozenset(about(node)) - {cause}
    if not causes or not causes <= pen.leave or isinstance(node, (exp.Window, exp.Column, exp.Query)):
        return None
    return _left(pen, node)


def left_over(pen: Pen, node: exp.Expr, refusal: Refused) -> Out:
    """Return a node that cannot be said as it is written, where such are to be left; raises the refusal elsewhere."""
    if not pen.lenient or isinstance(refusal, Hopeless):
        raise refusal
    try:
        out = _left(pen, node)
    except Refused as deeper:
        raise Hopeless(str(deeper)) from None
    pen.unsaid.extend(one for one in about(node) if one not in pen.unsaid)
    return out


def _left(pen: Pen, node: exp.Expr) -> Out:
    """Return a node in SQLite's words around its parts, which are written as ever."""
    if isinstance(node, (exp.Column, exp.Query)):
        raise Hopeless(f"{type(node).__name__} cannot be left as it is")
    grouped = isinstance(node, exp.Anonymous) and is_aggregate(node) and bool(pen.groups)
    pen.group.inside += grouped
    try:
        text = _around(pen, node)
    finally:
        pen.group.inside -= grouped
    compared = isinstance(node, (exp.Binary, exp.Between, exp.In)) and not isinstance(node, exp.Dot)
    truth = isinstance(node, (exp.Predicate, exp.Escape))
    return Out(f"({text})" if compared else text, Form.BOOL if truth else pen.form(node))


def _around(pen: Pen, node: exp.Expr) -> str:
    """Return a node's own words with every part written by the pen."""
    copied = node.copy()
    for part, place in zip(list(node.iter_expressions()), list(copied.iter_expressions()), strict=True):
        if isinstance(part, exp.Distinct):
            for one, inner in zip(part.expressions, list(place.expressions), strict=True):
                inner.replace(exp.Var(this=_written(pen, one)))
        elif not isinstance(part, _KEPT):
            place.replace(exp.Var(this=_written(pen, part)))
    return copied.sql(SQLite)


def _written(pen: Pen, part: exp.Expr) -> str:
    """Return one part; a column as the engine holds it, whatever SQLite takes it for."""
    if isinstance(part, exp.Column) and part.meta.get(QUOTED_AS) is None:
        return f"{pen.spell.name(part.table)}.{pen.spell.name(part.name)}"
    if isinstance(part, exp.Query):
        return f"({pen.query(part)})" if not isinstance(part, exp.Subquery) else pen.query(part)
    if isinstance(part, exp.Tuple):
        return f"({', '.join(pen.value(one).sql for one in part.expressions)})"
    return pen.value(part).sql
