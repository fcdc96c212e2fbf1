"""What a statement of an engine other than SQLite is known for, read from its typed tree; a suspicion is no proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.dialect_adapters.transpile.common import DATE, INT, MOMENT, SPAN, TEXT, kind
from sqlassay.dialect_adapters.transpile.suspects import QUOTED_AS

_TIMED = frozenset((DATE, MOMENT, SPAN))
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_NODES: Mapping[type[exp.Expr], Difference] = {
    exp.Like: Difference.LIKE_CASE,
    exp.ILike: Difference.LIKE_CASE,
    exp.Cast: Difference.CAST,
    exp.Concat: Difference.CONCATENATION,
    exp.DPipe: Difference.CONCATENATION,
    exp.Avg: Difference.AVG_DECIMALS,
    exp.Round: Difference.ROUNDING,
    exp.GroupConcat: Difference.AGGREGATE_ORDER,
    exp.Ordered: Difference.NULL_ORDER,
    **dict.fromkeys(
        (
            exp.CurrentDate, exp.CurrentTimestamp, exp.Localtimestamp, exp.Date, exp.TsOrDsToDate,
            exp.TsOrDsToTimestamp, exp.TimestampTrunc, exp.DateTrunc, exp.Extract, exp.DayOfWeek, exp.TimeToStr,
            exp.DateDiff, exp.TimestampDiff, exp.DateAdd, exp.DateSub, exp.Year, exp.Quarter, exp.Month, exp.Day,
            exp.DayOfMonth, exp.DayOfYear, exp.Hour, exp.Minute, exp.Second, exp.StrToTime, exp.StrToDate,
            exp.UnixToTime,
        ),
        Difference.DATE_FUNCTION,
    ),
}  # fmt: skip
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Exists, exp.Coalesce, exp.Count, exp.Min, exp.Max)
"""Functions in sqlglot's tree that mean the same everywhere."""


def retold_suspects(tree: exp.Expr) -> tuple[Difference, ...]:
    """Return every suspicion about a statement, each once, in the order of the closed list."""
    found = {one for node in tree.walk() for one in about_retold(node)}
    return tuple(one for one in Difference if one in found)


def about_retold(node: exp.Expr) -> Iterator[Difference]:
    """Yield what one node is known for."""
    if isinstance(node, exp.Column) and node.meta.get(QUOTED_AS) is not None:
        yield Difference.QUOTED_NAME
    known = _NODES.get(type(node))
    if known is not None:
        yield known
    elif isinstance(node, exp.Div):
        yield (
            Difference.INTEGER_DIVISION
            if {kind(node.this), kind(node.expression)} == {INT}
            else (Difference.DIVISION_SCALE)
        )
    elif isinstance(node, (exp.Add, exp.Sub)) and {kind(node.this), kind(node.expression)} & _TIMED:
        yield Difference.DATE_ARITHMETIC
    elif isinstance(node, _COMPARED):
        kinds = {kind(node.this), kind(node.expression)}
        if TEXT in kinds and INT in kinds:
            yield Difference.TEXT_AND_NUMBER
    elif isinstance(node, (exp.Func, exp.Anonymous)) and not isinstance(
        node, (*_QUERIES, exp.Connector, exp.Case, exp.If, exp.Lower, exp.Upper)
    ):
        yield Difference.FUNCTION_MEANING
