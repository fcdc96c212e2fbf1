"""Retell a typed statement of Postgres or MySQL for another engine, node by node from the leaves, or refuse it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from sqlassay.dialect_adapters.transpile import moments, texts
from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.dialect_adapters.transpile.collating import lone_texts
from sqlassay.dialect_adapters.transpile.common import (
    AROUND,
    BOOL,
    DATE,
    DOUBLE,
    EXACT,
    GROUPED,
    INT,
    KIND,
    MOMENT,
    NUMBER,
    OTHER,
    REAL,
    SCALE,
    SPAN,
    TEXT,
    WHOLE,
    kind,
    number,
)
from sqlassay.dialect_adapters.transpile.facts import Refused
from sqlassay.dialect_adapters.transpile.joins import full_join
from sqlassay.dialect_adapters.transpile.retold_suspects import about_retold
from sqlassay.dialect_adapters.transpile.suspects import QUOTED_AS
from sqlassay.dialect_adapters.transpile.telling import Habits, Telling
from sqlassay.dialect_adapters.transpile.texts import counted
from sqlassay.dialect_adapters.transpile.writing import MOST_WRITTEN

MOST_DIGITS = 15
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_NAMED = {"now": exp.CurrentTimestamp, "curdate": exp.CurrentDate}
_ALIKE: tuple[type[exp.Expr], ...] = (
    exp.Select, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit, exp.Offset,
    exp.Table, exp.TableAlias, exp.Identifier, exp.Column, exp.Alias, exp.Literal, exp.Null, exp.Boolean, exp.Star,
    exp.And, exp.Or, exp.Not, *_COMPARED, exp.In, exp.Between, exp.Is, exp.Exists, exp.Paren, exp.Case, exp.If,
    exp.Subquery, exp.Union, exp.Intersect, exp.Except, exp.With, exp.CTE, exp.Distinct, exp.Tuple, exp.Values,
    exp.Count, exp.Sum, exp.Min, exp.Max, exp.Avg, exp.Abs, exp.Coalesce, exp.Nullif, exp.Lower, exp.Upper, exp.Trim,
    exp.Substring, exp.Replace, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Window, exp.WindowSpec,
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead,
    exp.FirstValue, exp.LastValue, exp.GroupConcat, exp.Var, exp.Floor, exp.Ceil, exp.Sqrt, exp.DataType,
    exp.Fetch, exp.Rollup, exp.StddevSamp, exp.StddevPop, exp.VariancePop,
)  # fmt: skip
"""What every engine writes alike, once the nodes below have been retold."""


_DEVIATIONS = (exp.Stddev, exp.StddevSamp, exp.StddevPop, exp.VariancePop)
_KNOWN = frozenset((
    "this", "expression", "expressions", "unit", "to", "format", "decimals", "substr", "start", "length", "separator",
    "negate", "typed", "safe", "replacement", "delimiter", "part_index", "coalesce",
    "ignore_nulls", "big_int", "date_part_boundary",
))  # fmt: skip
"""What the nodes that are replaced are read for; anything else they hold would be lost."""


@dataclass(slots=True)
class Retelling:
    """Retells one statement: `habits` of the engine it was written for, `tell` of the one it is retold for.

    `leave` are causes whose parts stay as they are written, `lenient` leaves what cannot be retold too; its causes are
    in `unsaid`. `by_letters` says that the target by itself compares text without case, and the source does not.
    """

    habits: Habits
    tell: Telling
    leave: frozenset[Difference] = frozenset()
    lenient: bool = False
    unsaid: list[Difference] = field(default_factory=list)
    left: int = MOST_WRITTEN
    by_letters: bool = False

    def statement(self, tree: exp.Expr) -> str:
        """Return the statement as the target has to say it; raises Refused."""
        return self.said(self._visited(tree))

    def said(self, node: exp.Expr) -> str:
        """Return a node as the target writes it; raises Refused where a part of it is not every engine's."""
        for part in node.walk():
            self._allowed(part)
        text: str = node.sql(dialect=self.tell.grammar, identify=True, comments=False)
        whole = isinstance(node, (exp.Binary, exp.Unary, exp.Connector)) and not isinstance(node, exp.Paren)
        return f"({text})" if whole else text

    def made(self, text: str, kind: str) -> exp.Expr:
        """Return a node that is written as this text; raises Refused where all texts together are too much."""
        self.left -= len(text)
        if self.left < 0:
            raise Refused("it grows too long")
        node = exp.Var(this=text)
        node.meta[KIND] = kind
        return node

    def _visited(self, node: exp.Expr) -> exp.Expr:
        """Retell a node's parts, then the node itself; return what stands in its place."""
        for child in list(node.iter_expressions()):
            self._visited(child)
        if self.by_letters:
            for text in list(lone_texts(node)):
                text.replace(self.made(self.tell.by_code_points(self.said(text)), TEXT))
        new = self._left(node)
        if new is None:
            try:
                new = self._said(node)
            except Refused as refusal:
                new = self._left_over(node, refusal)
        if new is None or new is node:
            return node
        if NUMBER in node.meta:
            new.meta.setdefault(NUMBER, node.meta[NUMBER])
        if node.parent is not None:
            node.replace(new)
        return new

    def _said(self, node: exp.Expr) -> exp.Expr | None:
        """Return what stands for a node, None where it stays; raises Refused where anything of it would be lost."""
        if self.lenient and not isinstance(node, (*_ALIKE, exp.Interval)) and not self._is_written(node):
            raise Refused(f"{type(node).__name__} is not written for other engines")
        new = self._retold(node)
        if new is not None and new is not node:
            strange = [name for name, given in node.args.items() if given and name not in _KNOWN]
            if strange:
                raise Refused(f"{type(node).__name__} with {strange[0]}")
        return new

    @staticmethod
    def _is_written(node: exp.Expr) -> bool:
        """Return whether a kind of node is known here, or is only a part of one."""
        return type(node) in _WRITERS or moments.is_written(node) or not isinstance(node, (exp.Condition, exp.Query))

    def _left(self, node: exp.Expr) -> exp.Expr | None:
        """Return a node as it is written, where all that it is suspected of is to be left."""
        causes = frozenset(about_retold(node)) if self.leave else frozenset()
        return self._as_written(node) if causes and causes <= self.leave else None

    def _left_over(self, node: exp.Expr, refusal: Refused) -> exp.Expr:
        """Return a node that cannot be retold as it is written, where such are to be left; raises the refusal else."""
        if not self.lenient or not isinstance(node, exp.Condition) or isinstance(node, (exp.Query, exp.Column)):
            raise refusal
        self.unsaid.extend(one for one in about_retold(node) if one not in self.unsaid)
        return self._as_written(node)

    def _as_written(self, node: exp.Expr) -> exp.Expr:
        """Return a node in the source's words around its parts, which have been retold."""
        name = node.meta.get(QUOTED_AS)
        if isinstance(node, exp.Column) and name is not None:
            return self.made(exp.to_identifier(name, quoted=True).sql(dialect=self.habits.grammar), kind(node))
        copied = node.copy()
        for column in list(copied.find_all(exp.Column)):  # in quotes of the source they would be another cause
            column.replace(exp.Var(this=column.sql(dialect=self.tell.grammar, identify=True)))
        text = copied.sql(dialect=self.habits.grammar, comments=False)
        compound = isinstance(node, (exp.Binary, exp.Unary)) and not isinstance(node, exp.Paren)
        return self.made(f"({text})" if compound else text, kind(node))

    def _retold(self, node: exp.Expr) -> exp.Expr | None:
        """Return what stands for a node, None where it stays."""
        if isinstance(node, (exp.Add, exp.Sub)):
            found = moments.summed(self, node)
            if found is not None:
                return found
        if isinstance(node, _COMPARED):
            return moments.compared(self, node) or self._truth(node)
        if isinstance(node, exp.Anonymous):
            return self._anonymous(node)
        timed = moments.retold(self, node)
        if timed is not None:
            return timed
        writer = _WRITERS.get(type(node))
        return writer(self, node) if writer is not None else None

    def _anonymous(self, node: exp.Anonymous) -> exp.Expr:
        """Return a function that sqlglot does not know."""
        name = node.name.lower()
        if name in _NAMED and not node.expressions:
            found = moments.retold(self, _NAMED[name]())
            if found is not None:
                return found
        if name == "weekday" and len(node.expressions) == 1:
            part = self.tell.part(self.said(node.expressions[0]), "isodow")
            return self.made(f"({part} - 1)", INT)
        raise Refused(f"function {name}() is not written for other engines")

    def _truth(self, node: exp.Expr) -> exp.Expr | None:
        """Make both sides of a comparison truth, or both numbers; one within another stands in parentheses."""
        for side in (node.this, node.expression):
            if isinstance(side, _COMPARED):
                apart = exp.paren(side.copy(), copy=False)
                apart.meta[KIND] = BOOL
                side.replace(apart)
        for one, other, name in ((node.this, node.expression, "expression"), (node.expression, node.this, "this")):
            if kind(one) == BOOL and isinstance(other, exp.Literal) and other.name in ("0", "1") and self.tell.booleans:
                node.set(name, exp.Boolean(this=other.name == "1"))
            if kind(one) == INT and isinstance(other, exp.Boolean):
                node.set(name, exp.Literal.number(int(bool(other.this))))
        return None

    def _allowed(self, node: exp.Expr) -> None:
        """Refuse what is left and not every engine's."""
        if node.meta.get(SPAN) is not None or isinstance(node, exp.Interval):
            raise Refused("what lies between two moments is used as a value")
        if not isinstance(node, _ALIKE):
            raise Refused(f"{type(node).__name__} is not written for other engines")
        if isinstance(node, exp.Distinct) and node.args.get("on") is not None:
            raise Refused("DISTINCT ON is not written for other engines")
        if isinstance(node, exp.Join):
            if (node.side or "").upper() == "FULL" and not self.tell.full_join:
                raise Refused("FULL JOIN, which the engine does not have")
            if isinstance(node.this, exp.Lateral):
                raise Refused("LATERAL is not written for other engines")
        if isinstance(node, exp.Group):
            _rolled_up(self, node)
        if isinstance(node, exp.SetOperation) and self.tell.plain_arms:
            _plain_arms(node)
        if isinstance(node, exp.AggFunc) and isinstance(node, _DEVIATIONS) and not self.tell.deviations:
            raise Refused("a standard deviation, which the engine does not have")
        if isinstance(node, exp.In) and not self.tell.limit_in:
            _wrap_limit(node, alone=not self.tell.derived_sees_out)


def _rolled_up(hand: Retelling, node: exp.Group) -> None:
    """Say ROLLUP of plain columns as the engine does."""
    calls = [one for one in node.expressions if isinstance(one, exp.Rollup)]
    behind = node.args.get("rollup")
    if not calls and not behind:
        return
    keys = calls[0].expressions if calls else node.expressions
    mixed = bool(calls) and (len(node.expressions) > 1 or bool(behind))
    if mixed or not keys or not all(isinstance(one, exp.Column) for one in keys):
        raise Refused("ROLLUP of other than plain columns alone")
    if hand.tell.rollup is None:
        raise Refused("ROLLUP, which the engine does not have, or not with an order")
    as_call = hand.tell.rollup == "call"
    copied = [one.copy() for one in keys]
    node.set("expressions", [exp.Rollup(expressions=copied)] if as_call else copied)
    node.set("rollup", None if as_call else [exp.Rollup()])


def _full_joined(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Say a FULL JOIN of the first two sources by two halves, where the engine has none; another one is refused."""
    joins = node.args.get("joins") or []
    if hand.tell.full_join or not joins or (joins[0].side or "").upper() != "FULL":
        return None
    start, other, on = node.args["from_"].this, joins[0].this, joins[0].args.get("on")
    if on is None or any(one.args["alias"].args.get("columns") for one in (start, other) if one.args.get("alias")):
        raise Refused("FULL JOIN without ON, or of renamed columns, which the engine does not have")
    quote = exp.to_identifier("x", quoted=True).sql(dialect=hand.tell.grammar)
    names = [exp.to_identifier(one.alias_or_name, quoted=True).sql(dialect=hand.tell.grammar) for one in (start, other)]
    source, whole = full_join(
        names[0], hand.said(start), names[1], hand.said(other), hand.said(on), (quote[0], quote[-1])
    )
    node.args["from_"].set("this", hand.made(source.removeprefix(" FROM "), OTHER))
    node.set("joins", joins[1:])
    where = node.args.get("where")
    found = hand.made(whole, BOOL)
    both = exp.And(this=found, expression=exp.paren(where.this)) if where is not None else found
    node.set("where", exp.Where(this=both))
    return None


def _ordered(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Say where NULLs come by a key of their own, where the engine has no words for it."""
    if hand.tell.null_words:
        return None
    given = _given(node.parent)
    keys: list[exp.Expr] = []
    for key in node.expressions:
        if not isinstance(key, exp.Ordered):
            keys.append(key)  # left as it is written
            continue
        first, natural = bool(key.args.get("nulls_first")), not key.args.get("desc")
        if first is not natural:
            asked = key.this
            if isinstance(asked, exp.Column) and not asked.table and asked.name in given:
                asked = exp.paren(given[asked.name].copy(), copy=False)
            missing = exp.Is(this=asked.copy(), expression=exp.Null())
            keys.append(exp.Ordered(this=missing, desc=first, nulls_first=not first))
        key.set("nulls_first", natural)
        keys.append(key)
    node.set("expressions", keys)
    return None


def _given(select: exp.Expr | None) -> dict[str, exp.Expr]:
    """Return what a SELECT's aliases of columns and aggregates stand for, which are retold by then.

    MariaDB takes no alias of an aggregate within an expression, and a column's may be ambiguous there; any other
    expression that MySQL groups by it takes by its alias alone.
    """
    if not isinstance(select, exp.Select) or select.args.get("distinct") is not None:
        return {}
    plain = (one for one in select.expressions if one.meta.get(GROUPED) or isinstance(one.this, exp.Column))
    return {one.alias: one.this for one in plain if isinstance(one, exp.Alias)}


def _plain_arms(node: exp.SetOperation) -> None:
    """Put an arm in parentheses into a derived table; raises Refused for ALL of another operation than UNION."""
    if not isinstance(node, exp.Union) and not node.args.get("distinct"):
        raise Refused(f"{type(node).__name__.upper()} ALL, which the engine does not have")
    for name in ("this", "expression"):
        arm = node.args[name]
        if isinstance(arm, exp.Subquery) or (name == "expression" and isinstance(arm, exp.SetOperation)):
            inner = arm.this if isinstance(arm, exp.Subquery) else arm
            node.set(name, exp.select("*").from_(inner.copy().subquery("arm")))


def _deviation(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Write a standard deviation by the name that says which is meant: of a sample, or of all."""
    if not isinstance(node, exp.Stddev):
        return None
    sample = hand.habits.truth_words  # STDDEV is a sample's in Postgres, that of all in MySQL
    kind_of = exp.StddevSamp if sample else exp.StddevPop
    found = kind_of(this=node.this.copy())
    found.meta[KIND] = REAL
    return found


def _variance(hand: Retelling, node: exp.Expr) -> exp.Expr:
    """Write a sample's variance by its own name: VARIANCE is that of all in MySQL."""
    if not hand.tell.deviations:
        raise Refused("a variance, which the engine does not have")
    return hand.made(f"VAR_SAMP({hand.said(node.this)})", REAL)


def _wrap_limit(node: exp.In, *, alone: bool) -> None:
    """Put a subquery with LIMIT that IN takes into a derived table; `alone` says that such a table sees no other."""
    query = node.args.get("query")
    inner = query.this if isinstance(query, exp.Subquery) else query
    if isinstance(inner, exp.Query) and inner.args.get("limit") is not None:
        if alone and inner.meta.get(AROUND):
            raise Refused("LIMIT in IN with columns of the query around it, which a derived table does not see")
        derived = exp.select("*").from_(inner.copy().subquery("cut"))
        node.set("query", derived.subquery())


def _cast(hand: Retelling, node: exp.Expr) -> exp.Expr:
    """Write a cast by what it is meant to give."""
    to, inner = node.args["to"], node.this
    name = _cast_kind(to)
    said = hand.said(inner)
    if name == DATE:
        return hand.made(hand.tell.day(said), DATE)
    if name == MOMENT:
        return hand.made(hand.tell.moment(said), MOMENT)
    if name == INT:
        return hand.made(_as_integer(hand, inner, said), INT)
    if name == REAL:
        sizes = [one.this.name for one in to.expressions]
        exact = to.is_type(exp.DType.DECIMAL) and len(sizes) == 2
        if exact and number(inner) == DOUBLE and hand.habits.whole_division is False:
            raise Refused("a double cast to a decimal")
        real = hand.tell.real(said)
        return hand.made(hand.tell.rounded(real, sizes[1]) if exact else real, REAL)
    if name == TEXT:
        if to.expressions:
            raise Refused("a cast that may cut a text")
        return hand.made(texts.as_text(hand, inner), TEXT)
    raise Refused(f"a cast to {to.sql()}")


def _as_integer(hand: Retelling, inner: exp.Expr, said: str) -> str:
    """Return a value cast to an integer: a double is rounded half to even, a decimal half away from zero."""
    if kind(inner) == INT:
        return said
    if kind(inner) == BOOL:
        return counted(said)
    if kind(inner) == TEXT:
        return hand.tell.whole(said, text=True)
    held = number(inner)
    if held == DOUBLE:
        return hand.tell.whole(hand.tell.evened(said, 0), text=False)
    if held is None:
        raise Refused("a cast to an integer of a number of which it is not known how it is held")
    return hand.tell.whole(said, text=False)


def _cast_kind(to: exp.DataType) -> str:
    """Return the kind a type of a cast is."""
    if to.is_type(exp.DType.DATE):
        return DATE
    if to.is_type(exp.DType.TIMESTAMP, exp.DType.DATETIME, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPNTZ):
        return MOMENT
    if to.this in exp.DataType.INTEGER_TYPES:
        return INT
    if to.this in exp.DataType.REAL_TYPES:
        return REAL
    return TEXT if to.this in exp.DataType.TEXT_TYPES else OTHER


def _divided(hand: Retelling, node: exp.Expr) -> exp.Expr:
    """Write a division: whole where the source's is."""
    one, other = hand.said(node.this), hand.said(node.expression)
    sides = {kind(node.this), kind(node.expression)}
    if isinstance(node, exp.IntDiv) and sides != {INT}:
        raise Refused("a whole division of what are no integers")
    if isinstance(node, exp.IntDiv) or (hand.habits.whole_division and sides == {INT}):
        return hand.made(hand.tell.divided(one, other), INT)
    if hand.habits.whole_division and sides <= {INT, OTHER}:
        raise Refused("a division that may be whole or not")
    exact = f"({hand.tell.real(one)} / NULLIF({other}, 0))"
    return hand.made(_cut(hand, node, exact), REAL)


def _cut(hand: Retelling, node: exp.Expr, said: str) -> str:
    """Return a quotient or average with the digits that the source's engine gives it: MySQL's decimals have few."""
    if hand.habits.whole_division or number(node) != EXACT:
        return said
    if SCALE not in node.meta:
        raise Refused("a quotient of which it is not known how many digits it has")
    return hand.tell.rounded(said, str(node.meta[SCALE]))


def _average(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Write an average of doubles: that of integers has few decimals somewhere."""
    inner = node.this
    if isinstance(inner, exp.Distinct):
        inner = inner.expressions[0]
    inner.replace(hand.made(hand.tell.real(hand.said(inner)), REAL))
    node.meta[KIND] = REAL
    if isinstance(node.parent, (exp.Window, exp.Filter)):
        return None
    said = hand.said(node)
    cut = _cut(hand, node, said)
    return hand.made(cut, REAL) if cut != said else None


def _sum(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Write a sum; truth is counted."""
    if kind(node.this) == BOOL:
        node.set("this", hand.made(counted(hand.said(node.this)), INT))
    if kind(node.this) in (DATE, MOMENT, SPAN):
        raise Refused("a sum of dates")
    node.meta[KIND] = INT if kind(node.this) == INT else REAL
    return None


def _filtered(hand: Retelling, node: exp.Expr) -> exp.Expr:
    """Write FILTER as CASE inside the aggregate."""
    call, condition = node.this, node.expression.this
    if not isinstance(call, (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)):
        raise Refused("FILTER of another aggregate")
    inner = call.this
    distinct = isinstance(inner, exp.Distinct)
    inner = inner.expressions[0] if distinct else inner
    value = "1" if isinstance(inner, exp.Star) else hand.said(inner)
    chosen = hand.made(f"CASE WHEN {hand.said(condition)} THEN {value} END", kind(inner))
    call.set("this", exp.Distinct(expressions=[chosen]) if distinct else chosen)
    call.args.pop("big_int", None)
    found: exp.Expr = call
    return found


def _extreme(hand: Retelling, node: exp.Expr) -> exp.Expr:
    """Write GREATEST and LEAST of values, NULL among them left out or deciding."""
    greatest = isinstance(node, exp.Greatest)
    found, *others = [node.this, *node.expressions]
    form = kind(found)
    for one in others:
        said, other = hand.said(found), hand.said(one)
        if hand.habits.skips_nulls:
            pair = f"COALESCE({said}, {other})", f"COALESCE({other}, {said})"
            text = hand.tell.extreme(*pair, greatest=greatest)
        else:
            missing = f"{said} IS NULL OR {other} IS NULL"
            text = f"(CASE WHEN {missing} THEN NULL ELSE {hand.tell.extreme(said, other, greatest=greatest)} END)"
        found = hand.made(text, form)
    result: exp.Expr = found
    return result


def _round(hand: Retelling, node: exp.Expr) -> exp.Expr:
    """Write ROUND."""
    value, held, digits = hand.said(node.this), number(node.this), _digits(node.args.get("decimals"))
    if held == WHOLE and digits >= 0:
        return hand.made(value, INT)
    if held is None:
        raise Refused("ROUND of a number of which it is not known how it is held")
    if held == DOUBLE:
        if digits < 0:
            raise Refused("ROUND of a double before the point")
        return hand.made(hand.tell.evened(value, digits), REAL)
    return hand.made(hand.tell.rounded(value, str(digits)), INT if held == WHOLE else REAL)


def _digits(node: exp.Expr | None) -> int:
    """Return how many digits are asked for, which must be a constant."""
    if node is None:
        return 0
    inner = node.unnest()
    sign, inner = (-1, inner.this) if isinstance(inner, exp.Neg) else (1, inner)
    if isinstance(inner, exp.Literal) and inner.name.isdigit() and int(inner.name) < MOST_DIGITS:
        return sign * int(inner.name)
    raise Refused("ROUND to a computed number of digits")


def _same(hand: Retelling, node: exp.Expr) -> exp.Expr:
    """Write a comparison in which NULL equals NULL."""
    said = hand.tell.same(hand.said(node.this), hand.said(node.expression))
    return hand.made(said if isinstance(node, exp.NullSafeEQ) else f"(NOT {said})", BOOL)


def _between(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Make the ends of BETWEEN what the value is."""
    for name in ("low", "high"):
        alike = moments.as_kind(hand, node.args[name], kind(node.this))
        if alike is not None:
            node.set(name, alike)
    if kind(node.this) == DATE and MOMENT in (kind(node.args["low"]), kind(node.args["high"])):
        node.set("this", hand.made(hand.tell.moment(hand.said(node.this)), MOMENT))
    return None


def _within(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Make the constants of IN what the value is."""
    for one in list(node.expressions):
        alike = moments.as_kind(hand, one, kind(node.this))
        if alike is not None:
            one.replace(alike)
    return None


def _sum_of_numbers(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Keep a sum; truth is counted."""
    for side in (node.this, node.expression):
        if kind(side) == BOOL:
            side.replace(hand.made(counted(hand.said(side)), INT))
    return None


def _joined_truth(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Keep AND, OR and NOT; a number is true where it is not 0."""
    for side in (node.this, node.args.get("expression")):
        if side is not None and kind(side) in (INT, REAL):
            side.replace(hand.made(f"({hand.said(side)} <> 0)", BOOL))
    return None


def _product(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Keep a product; one of an interval is an interval."""
    _sum_of_numbers(hand, node)
    if SPAN in (kind(node.this), kind(node.expression)):
        node.meta[KIND] = SPAN
    return None


def _remainder(hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Keep the remainder of integers."""
    if {kind(node.this), kind(node.expression)} - {INT}:
        raise Refused("a remainder of what are no integers")
    if isinstance(node.expression, exp.Literal) and node.expression.name != "0":
        return None
    return hand.made(f"({hand.said(node.this)} % NULLIF({hand.said(node.expression)}, 0))", INT)


def _paren(_hand: Retelling, node: exp.Expr) -> exp.Expr | None:
    """Give parentheses the kind of what they hold."""
    node.meta[KIND] = kind(node.this)
    if node.this.meta.get(SPAN) is None:
        return None
    waiting: exp.Expr = node.this
    return waiting


_WRITERS: Mapping[type[exp.Expr], Callable[[Retelling, exp.Expr], exp.Expr | None]] = {
    **texts.WRITERS,
    exp.Cast: _cast,
    exp.Order: _ordered,
    exp.Select: _full_joined,
    exp.Div: _divided,
    exp.IntDiv: _divided,
    exp.Avg: _average,
    exp.Sum: _sum,
    exp.Filter: _filtered,
    exp.Greatest: _extreme,
    exp.Least: _extreme,
    exp.Round: _round,
    exp.Stddev: _deviation,
    exp.Variance: _variance,
    exp.NullSafeEQ: _same,
    exp.NullSafeNEQ: _same,
    exp.Between: _between,
    exp.In: _within,
    exp.Mul: _product,
    exp.Add: _sum_of_numbers,
    exp.Sub: _sum_of_numbers,
    exp.And: _joined_truth,
    exp.Or: _joined_truth,
    exp.Not: _joined_truth,
    exp.Mod: _remainder,
    exp.Paren: _paren,
}
