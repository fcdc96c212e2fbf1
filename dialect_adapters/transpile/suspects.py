"""What in a statement engines are known to answer differently, read from its typed tree; a suspicion is no proof."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlglot import exp

from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.transpile import scopes
from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.dialect_adapters.transpile.facts import INTEGER, NUMBER, TEXT, ColumnFacts, Typed
from sqlassay.dialect_adapters.transpile.scopes import is_aggregate

QUOTED_AS = "quoted as"
"""Where a node keeps the name in double quotes that it was written as."""

_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_NODES: tuple[tuple[type[exp.Expr], Difference], ...] = (
    (exp.Like, Difference.LIKE_CASE),
    (exp.Escape, Difference.LIKE_CASE),
    (exp.Cast, Difference.CAST),
    (exp.DPipe, Difference.CONCATENATION),
    (exp.Mod, Difference.FUNCTION_MEANING),
    (exp.Glob, Difference.SYNTAX),
)
_DATES = frozenset(("date", "time", "datetime", "julianday", "strftime", "unixepoch", "timediff"))
_CALLS = {
    "avg": Difference.AVG_DECIMALS,
    "sum": Difference.FUNCTION_MEANING,
    "round": Difference.ROUNDING,
    "group_concat": Difference.AGGREGATE_ORDER,
    "string_agg": Difference.AGGREGATE_ORDER,
} | dict.fromkeys(_DATES, Difference.DATE_FUNCTION)
_ALIKE = frozenset(("count", "min", "max", "abs", "coalesce", "ifnull", "nullif", "lower", "upper"))


def suspects(tree: exp.Expr) -> tuple[Difference, ...]:
    """Return every suspicion about a statement, each once, in the order of the closed list."""
    found: set[Difference] = set()
    for node in tree.walk():
        found.update(about(node))
        if isinstance(node, exp.Select) and _bare(node):
            found.add(Difference.BARE_COLUMN)
    return tuple(one for one in Difference if one in found)


def _bare(select: exp.Select) -> bool:
    """Return whether a grouped SELECT names a column outside its keys and aggregates."""
    group = select.args.get("group")
    if group is None and not any(True for _ in scopes.aggregates(select)):
        return False
    keys = {key.sql() for key in group.expressions} if group is not None else set()
    clauses = [*select.expressions, *(select.args[name] for name in ("having", "order") if select.args.get(name))]
    return any(_outside(clause, keys) for clause in clauses)


def _outside(node: exp.Expr, keys: set[str]) -> bool:
    """Return whether a column of this SELECT stands outside its keys and aggregates."""
    if node.sql() in keys or isinstance(node, exp.Query):
        return False
    if isinstance(node, exp.Column):
        return bool(node.meta.get("own"))
    if isinstance(node, exp.Anonymous) and scopes.is_aggregate(node) and not isinstance(node.parent, exp.Window):
        return False
    return any(_outside(child, keys) for child in node.iter_expressions())


def suspected_calls(names: Iterable[str]) -> tuple[Difference, ...]:
    """Return what functions are known for by their lower-cased names: for a statement whose tree cannot be typed."""
    found = {_CALLS.get(name, Difference.FUNCTION_MEANING) for name in names if name not in _ALIKE}
    return tuple(one for one in Difference if one in found)


def quoted_cause(node: exp.Expr) -> Difference:
    """Return what a part in double quotes is known for: text where it names nothing, else a name."""
    return Difference.QUOTED_STRING if isinstance(node, exp.Literal) else Difference.QUOTED_NAME


def about(node: exp.Expr) -> Iterator[Difference]:
    """Yield what one node is known for."""
    if node.meta.get(QUOTED_AS) is not None:
        yield quoted_cause(node)
    if isinstance(node, exp.Div):
        whole = _stores(node.this) | _stores(node.expression) <= INTEGER
        yield Difference.INTEGER_DIVISION if whole else Difference.DIVISION_SCALE
    yield from (cause for kind, cause in _NODES if isinstance(node, kind))
    if isinstance(node, exp.Anonymous):
        yield from _call(node)
    if isinstance(node, exp.HexString) or (isinstance(node, exp.Literal) and _own_spelling(node)):
        yield Difference.LITERAL
    if isinstance(node, (*_COMPARED, *_ARITHMETIC)):
        yield from _sides(node)
    if isinstance(node, (exp.In, exp.Between)):
        yield from _against(node)
    if isinstance(node, exp.Ordered):
        yield from _ordered(node)
    if isinstance(node, exp.Select) and node.args.get("distinct") is not None and node.args.get("order") is not None:
        yield Difference.DISTINCT_ORDER
    column = node.meta.get("column")
    if isinstance(column, ColumnFacts) and column.mixed:
        yield Difference.MIXED_COLUMN
    if isinstance(column, ColumnFacts) and column.single:
        yield Difference.SINGLE_PRECISION
    if isinstance(node.meta.get("typed"), Typed) and node.meta["typed"].nocase:
        yield Difference.COLLATION


def _call(node: exp.Anonymous) -> Iterator[Difference]:
    """Yield what a function is known for; all but a few mean something of their own somewhere."""
    name = node.name.lower()
    if name not in _ALIKE:
        yield _CALLS.get(name, Difference.FUNCTION_MEANING)
    if is_aggregate(node) and name in ("sum", "avg", "total"):
        yield from (Difference.TEXT_AND_NUMBER for one in node.expressions if _stores(one) & TEXT)


def _own_spelling(node: exp.Literal) -> bool:
    """Return whether a constant is read otherwise elsewhere: a backslash in a text, an exponent in a number."""
    return "\\" in node.name if node.is_string else "e" in node.name.lower()


def _sides(node: exp.Expr) -> Iterator[Difference]:
    """Suspect a comparison or a sum in which a number may meet a text."""
    left, right = _stores(node.this), _stores(node.expression)
    text = (left | right) & TEXT
    if isinstance(node, _ARITHMETIC) and (_is_date(node.this) or _is_date(node.expression)):
        yield Difference.DATE_ARITHMETIC
    elif text and ((left | right) & NUMBER or isinstance(node, _ARITHMETIC)):
        yield Difference.TEXT_AND_NUMBER


def _is_date(node: exp.Expr) -> bool:
    """Return whether an expression is a date, or was loaded as one."""
    column = node.meta.get("column")
    if isinstance(column, ColumnFacts):
        return column.held in (Kind.DATE, Kind.TIMESTAMP)
    return isinstance(node, exp.Anonymous) and node.name.lower() in ("date", "datetime")


def _against(node: exp.Expr) -> Iterator[Difference]:
    """Suspect BETWEEN and IN over numbers and texts."""
    parts = [part for part in node.iter_expressions() if part is not node.this]
    stores = frozenset().union(*(_stores(part) for part in parts)) | _stores(node.this)
    if stores & TEXT and stores & NUMBER:
        yield Difference.TEXT_AND_NUMBER


def _ordered(node: exp.Ordered) -> Iterator[Difference]:
    """Suspect a sort key: NULLs have another place elsewhere, texts another order."""
    yield Difference.NULL_ORDER
    yield Difference.TIE_ORDER
    if _stores(node.this) & TEXT:
        yield Difference.COLLATION


def _stores(node: exp.Expr) -> frozenset[str]:
    """Return the storage classes of a node's values, none where they are not known."""
    known = node.meta.get("typed")
    return known.stores if isinstance(known, Typed) else frozenset()
