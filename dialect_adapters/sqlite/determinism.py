"""Which rows a SQLite query may give is not always decided by its text: find where, as probes that SQLite answers.

A query is deterministic where no LIMIT cuts a tie, no LIMIT stands without an order that decides, no bare column under
GROUP BY has several values in a group, and no scalar subquery has several rows. Shuffling the rows finds only some of
these; each probe asks the data itself and gives a row exactly where there is a choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count as count_up

from sqlglot import exp
from sqlglot.dialects.sqlite import SQLite

from sqlassay.dialect_adapters.transpile.scopes import aggregates, one_extreme

TIE = "LIMIT cuts a tie"
NO_ORDER = "LIMIT without ORDER BY"
BARE = "a column outside GROUP BY has several values in a group"
SEVERAL = "a subquery used as one value gives several rows"


@dataclass(frozen=True, slots=True)
class _Question:
    """A statement in the making: what it calls by name, and what it asks."""

    body: str
    tables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """One question to the data: where `sql` gives a row, the query is not deterministic for `reason`.

    `sql` None means that the place depends on a row outside it and cannot be asked alone.
    """

    reason: str
    sql: str | None

    @property
    def cuts(self) -> bool:
        """Return whether what is not decided is which rows a LIMIT keeps."""
        return self.reason in (TIE, NO_ORDER)


def probes(tree: exp.Expr) -> Iterator[Probe]:
    """Yield the probes of a typed tree (see `reading.read`), for every SELECT in it."""
    for node in tree.find_all(exp.Query):
        if isinstance(node, exp.Subquery):
            continue
        for reason, question in _questions(node):
            yield Probe(reason, None if _correlated(node) else _asked(question, node))


def _questions(node: exp.Expr) -> Iterator[tuple[str, _Question]]:
    """Yield what may be undecided in one query, each with the statement that finds out."""
    if _limit(node) is not None:
        yield from _cut(node)
    if isinstance(node, exp.Select):
        yield from _bare(node)
    if _is_scalar(node):
        yield SEVERAL, _more_than(node, 1)


def _sql(node: exp.Expr) -> str:
    """Return a tree's text in SQLite's grammar."""
    return node.sql(SQLite)


def _limit(node: exp.Expr) -> exp.Expr | None:
    """Return a query's LIMIT clause."""
    found: exp.Expr | None = node.args.get("limit")
    return found


def _number(node: exp.Expr, clause: str) -> int | None:
    """Return the whole number of a LIMIT or OFFSET, 0 where there is none, None where it is computed."""
    found = node.args.get(clause)
    if found is None:
        return 0
    value = found.expression
    return int(value.name) if isinstance(value, exp.Literal) and value.name.isdigit() else None


def _cut(node: exp.Expr) -> Iterator[tuple[str, _Question]]:
    """Yield the probes of a LIMIT: no order at all, or equal keys with other values on both sides of a cut."""
    limit, offset = _number(node, "limit"), _number(node, "offset")
    if limit is None or offset is None or _gives_one_row(node):
        return
    whole = node.copy()
    for clause in ("limit", "offset", "order", "with_"):
        whole.set(clause, None)
    order = node.args.get("order")
    if order is None:
        yield NO_ORDER, _unordered(whole, limit + offset)
        return
    for place in {limit + offset, offset} - {0}:
        yield TIE, _tie(whole.copy(), order, place)


def _gives_one_row(node: exp.Expr) -> bool:
    """Return whether a query gives one row whatever its data: an aggregate without groups."""
    return isinstance(node, exp.Select) and node.args.get("group") is None and any(True for _ in aggregates(node))


def _more_than(node: exp.Expr, rows: int) -> _Question:
    """Return the question whether a query gives more different rows than this."""
    bare = node.copy()
    bare.set("with_", None)
    return _Question(f"SELECT COUNT(*) FROM (SELECT DISTINCT * FROM ({_sql(bare)})) HAVING COUNT(*) > {rows}")  # noqa: S608


def _unordered(whole: exp.Expr, rows: int) -> _Question:
    """Return the question whether a LIMIT leaves rows out that are not the same as those it keeps."""
    several = f"(SELECT COUNT(*) FROM (SELECT DISTINCT * FROM ({_sql(whole)}))) > 1"  # noqa: S608
    return _Question(f"SELECT COUNT(*) FROM ({_sql(whole)}) HAVING COUNT(*) > {rows} AND {several}")  # noqa: S608


def _tie(whole: exp.Expr, order: exp.Expr, place: int) -> _Question:
    """Return the question whether rows with the same keys and other values lie on both sides of row `place`."""
    union, rows, numbered, cut, equal = _free_names(whole, 5)
    columns = [f"p{i}" for i in range(len(_leftmost(whole).expressions))]
    keys = [f"k{i}" for i in range(len(order.expressions))]
    named = list(zip(order.expressions, keys, strict=True))
    if isinstance(whole, exp.SetOperation):
        made = ", ".join(f"p{int(key.this.meta['output'])} AS {name}" for key, name in named)
        tables = [
            f"{union}({', '.join(columns)}) AS ({_sql(whole)})",
            f"{rows} AS (SELECT *, {made} FROM {union})",  # noqa: S608 (as all below: read by SQLite alone)
        ]
    else:
        for key in order.expressions:
            whole.append("expressions", key.this.copy())
        tables = [f"{rows}({', '.join([*columns, *keys])}) AS ({_sql(whole)})"]
    sort = ", ".join(f"{name}{_direction(key)}" for key, name in named)
    same = " AND ".join(f"{numbered}.{name} IS {cut}.{name}" for name in keys)
    tables += [
        f"{numbered} AS (SELECT *, ROW_NUMBER() OVER (ORDER BY {sort}) AS n FROM {rows})",  # noqa: S608
        f"{cut} AS (SELECT * FROM {numbered} WHERE n = {place})",  # noqa: S608
        f"{equal} AS (SELECT {numbered}.* FROM {numbered}, {cut} WHERE {same})",  # noqa: S608
    ]
    several = f"(SELECT COUNT(*) FROM (SELECT DISTINCT {', '.join(columns)} FROM {equal})) > 1"  # noqa: S608
    across = f"EXISTS (SELECT 1 FROM {equal} WHERE n > {place})"  # noqa: S608
    return _Question(f"SELECT 1 WHERE {across} AND {several}", tuple(tables))


def _direction(key: exp.Expr) -> str:
    """Return how a key is sorted: its direction, and where it says that NULLs go."""
    descending = bool(key.args.get("desc"))
    first = bool(key.args.get("nulls_first"))
    told = "" if first is not descending else f" NULLS {'FIRST' if first else 'LAST'}"
    return f"{' DESC' if descending else ''}{told}"


def _free_names(node: exp.Expr, count: int) -> list[str]:
    """Return names that no table, alias or CTE of a statement has, whatever its case."""
    root: exp.Expr = node.root()
    taken = {one.name.lower() for one in root.find_all(exp.Identifier)}
    taken |= {one.name.lower() for one in node.find_all(exp.Identifier)}
    free = (name for number in count_up(1) if (name := f"asked_{number}") not in taken)
    return [next(free) for _ in range(count)]


def _leftmost(node: exp.Expr) -> exp.Expr:
    """Return the first SELECT of a set operation."""
    while isinstance(node, (exp.SetOperation, exp.Subquery)):
        node = node.this
    return node


def _bare(node: exp.Select) -> Iterator[tuple[str, _Question]]:
    """Yield a probe for every column that stands outside both the group keys and the aggregates."""
    group = node.args.get("group")
    keys = group.expressions if group is not None else []
    if group is None and not any(True for _ in aggregates(node)):
        return
    names = {key.sql() for key in keys}
    extreme = one_extreme(node)
    found = {column.sql(): column for column in _outside(node, names)}
    source = "".join(f" {_sql(node.args[name])}" for name in ("from_",) if node.args.get(name))
    source += "".join(f" {_sql(join)}" for join in node.args.get("joins") or [])
    source += f" {_sql(node.args['where'])}" if node.args.get("where") is not None else ""
    listed = ", ".join(_sql(key) for key in keys)
    for column in found.values():
        yield BARE, _several(node, column, source, listed, extreme)


def _several(node: exp.Select, column: exp.Expr, source: str, keys: str, extreme: exp.Anonymous | None) -> _Question:
    """Return the statement that gives a row for each group in which a bare column has a choice."""
    value = _sql(column)
    count = f"COUNT(DISTINCT {value}) + MAX({value} IS NULL) > 1"
    having = f" AND ({_sql(node.args['having'].this)})" if node.args.get("having") is not None else ""
    grouped = f" GROUP BY {keys}" if keys else ""
    if extreme is None:
        return _Question(f"SELECT COUNT(*){source}{grouped} HAVING {count}{having}")
    argument = extreme.expressions[0]
    inner = _sql(argument.expressions[0] if isinstance(argument, exp.Distinct) else argument)
    part = f"PARTITION BY {keys}" if keys else ""
    marks = "".join(f", {key} AS g{i}" for i, key in enumerate(_keys(node)))
    rows = f"SELECT {value} AS v, {inner} AS x, {extreme.name.upper()}({inner}) OVER ({part}) AS m{marks}{source}"
    again = ", ".join(f"g{i}" for i, _ in enumerate(_keys(node)))
    chosen = f"SELECT COUNT(*) FROM ({rows}) WHERE x IS m{f' GROUP BY {again}' if again else ''}"  # noqa: S608
    return _Question(f"{chosen} HAVING COUNT(DISTINCT v) + MAX(v IS NULL) > 1")


def _keys(node: exp.Select) -> list[str]:
    """Return a SELECT's group keys as texts."""
    group = node.args.get("group")
    return [_sql(key) for key in group.expressions] if group is not None else []


def _outside(node: exp.Select, keys: set[str]) -> Iterator[exp.Expr]:
    """Yield the columns of this SELECT's output, HAVING and ORDER BY that no key and no aggregate holds."""
    clauses = [one.this if isinstance(one, exp.Alias) else one for one in node.expressions]
    # Without GROUP BY there is one row, whose order is none.
    read = ("having", "order") if node.args.get("group") is not None else ("having",)
    clauses += [node.args[name] for name in read if node.args.get(name) is not None]
    held = {id(part) for call in aggregates(node) for part in _whole(call).walk()}
    for clause in clauses:
        if isinstance(clause, exp.Query):
            continue
        yield from _columns(clause, keys, held)


def _whole(call: exp.Expr) -> exp.Expr:
    """Return an aggregate with the FILTER that belongs to it: what that reads is no bare column either."""
    return call.parent if isinstance(call.parent, exp.Filter) else call


def _columns(node: exp.Expr, keys: set[str], held: set[int]) -> Iterator[exp.Expr]:
    """Yield the own columns below a node, stopping at group keys, aggregates and queries."""
    if node.sql() in keys or id(node) in held or isinstance(node, exp.Query):
        return
    if isinstance(node, exp.Column):
        if node.meta.get("own"):
            yield node
        return
    for child in node.iter_expressions():
        yield from _columns(child, keys, held)


def _is_scalar(node: exp.Expr) -> bool:
    """Return whether a query stands where one value is needed and may give several rows."""
    holder = node.parent
    if not isinstance(holder, exp.Subquery) or isinstance(holder.parent, (exp.From, exp.Join, exp.SetOperation)):
        return False
    if isinstance(holder.parent, (exp.In, exp.Exists, exp.With, exp.CTE)) or holder.parent is None:
        return False
    grouped = node.args.get("group") is not None
    one_row = isinstance(node, exp.Select) and not grouped and any(True for _ in aggregates(node))
    return not one_row and _limit(node) is None


def _correlated(node: exp.Expr) -> bool:
    """Return whether a query names columns of a query around it, so that it cannot run alone."""
    return any(not column.meta.get("own") and _outer(column, node) for column in node.find_all(exp.Column))


def _outer(column: exp.Column, node: exp.Expr) -> bool:
    """Return whether no source below `node` has the name that a column is qualified by."""
    names = {
        source.alias_or_name.lower()
        for source in node.find_all(exp.Table, exp.Subquery)
        if isinstance(source.parent, (exp.From, exp.Join))
    }
    return bool(column.table) and column.table.lower() not in names


def _asked(question: _Question, node: exp.Expr) -> str:
    """Return a question as one statement, with every CTE that is known where its query stands."""
    known: list[str] = []
    place: exp.Expr | None = node
    while place is not None:
        clause = place.args.get("with_")
        if clause is not None:
            known = [*(_sql(cte) for cte in clause.expressions), *known]
        place = place.parent
    tables = [*known, *question.tables]
    return f"WITH RECURSIVE {', '.join(tables)} {question.body}" if tables else question.body
