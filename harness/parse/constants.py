"""Which output columns of a query read no table: what is the same whatever the data are answers no question.

A column is computed where its value, or the number of rows it counts, comes from a table. Aliases, CTEs and nested
queries are seen through. A literal that the query itself holds a table's column equal to (`SELECT 'France' … WHERE
country = 'France'`) stands for that column. In doubt a column is computed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from itertools import zip_longest

from sqlglot import exp

Flags = list[tuple[str, bool]]
"""Each output column: its name and whether it is computed."""

Text = tuple[bool, str]
"""A literal: whether it is a text, and how it is written."""

_OF_ONE_VALUE = (exp.Min, exp.Max, exp.Avg, exp.AnyValue, exp.LogicalAnd, exp.LogicalOr, exp.Median, exp.First)
_NUMBERING = (exp.RowNumber, exp.Rank, exp.DenseRank, exp.Ntile, exp.PercentRank, exp.CumeDist)
_SAME_OF_SAME = (exp.Sub, exp.Div, exp.IntDiv, exp.Mod, exp.EQ, exp.NEQ, exp.LT, exp.GT, exp.LTE, exp.GTE, exp.Nullif)
_NULL_OF_NULL = (exp.Mul, exp.Add, exp.Sub, exp.Div, exp.Mod, exp.DPipe, exp.EQ, exp.NEQ, exp.LT, exp.GT)
_ZERO_OF_ZERO = (exp.Mul, exp.BitwiseAnd)
_CUT_TO_NOTHING = (exp.Substring, exp.Left, exp.Right, exp.Repeat)


_DAY_OF = (exp.Cast, exp.Paren, exp.Date, exp.TsOrDsToDate, exp.TsOrDsToTimestamp, exp.Timestamp)
_FIXING = (exp.EQ, exp.NullSafeEQ, exp.Like, exp.ILike, exp.Is)


class _UnknownError(Exception):
    """How many columns a star stands for is not known."""


@dataclass
class _Source:
    """One entry of a FROM: its columns, None where it may have any, and whether its rows come from tables.

    `varied` says of each column that reads no table whether it may differ from row to row; one says it of all of them
    where the columns are not known.
    """

    columns: Flags | None
    reads: bool
    varied: tuple[bool, ...] = ()
    held: frozenset[str] = frozenset()

    def chosen(self) -> _Source:
        """Return the source where a table decides which of its rows come: what differs from row to row is computed."""
        if self.columns is None:
            return _Source(None, reads=True)
        marked = zip_longest(self.columns, self.varied[: len(self.columns)], fillvalue=False)
        return _Source([(name, flag or varied) for (name, flag), varied in marked], self.reads, self.varied)  # type: ignore[misc]


@dataclass
class _Scope:
    """What the expressions of one SELECT see: its sources, whether its rows come from tables, and what is around it."""

    sources: dict[str, _Source] = field(default_factory=dict)
    reads: bool = False
    around: _Scope | None = None
    held: frozenset[str] = frozenset()


@dataclass
class _Made:
    """What a query gives: its output columns, whether its rows come from tables, the literals it selects.

    `varied` says of each column that reads no table whether it may differ from row to row; `held` are the literals that
    its conditions hold a computed value equal to.
    """

    columns: Flags
    reads: bool
    literals: tuple[Text | None, ...] = ()
    varied: tuple[bool, ...] = ()
    held: frozenset[str] = frozenset()


def computed_of(tree: exp.Expr, tables: Mapping[str, list[str]] | None) -> list[bool] | None:
    """Return of each output column whether it is computed; None where that cannot be told."""
    try:
        made = _Reader(tables or {}).query(tree, {}, None)
    except (_UnknownError, RecursionError):
        return None
    return [computed for _, computed in made.columns]


class _Reader:
    """Follows columns from the tables to the output."""

    def __init__(self, tables: Mapping[str, list[str]]) -> None:
        """Take the catalogue's columns by lower-cased table name."""
        self._tables = tables
        self._known = {column.lower() for columns in tables.values() for column in columns}

    def query(self, query: exp.Expr, env: Mapping[str, _Made | None], around: _Scope | None) -> _Made:
        """Return what a query gives."""
        env = self._with_ctes(query, env, around)
        if isinstance(query, (exp.Subquery, exp.Paren)):
            made = self.query(query.this, env, around)
            return _nothing(made) if _limit_zero(query) else made
        if isinstance(query, exp.SetOperation):
            return self._united(query, env, around)
        if isinstance(query, exp.Select):
            return self._select(query, env, around)
        if isinstance(query, exp.Values):
            return self._values(query, env, around)
        if isinstance(query, exp.Table):
            source = self._table(query, env, _Scope(around=around))
            if source.columns is None:
                raise _UnknownError
            return _Made(source.columns, source.reads, varied=source.varied)
        raise _UnknownError

    def _values(self, query: exp.Values, env: Mapping[str, _Made | None], around: _Scope | None) -> _Made:
        """Return the columns of VALUES: computed where a cell of any row is."""
        scope = _Scope(around=around)
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in query.expressions]
        width = max(map(len, rows), default=0)
        flags = [
            any(self._computed(row[place], scope, env) for row in rows if place < len(row)) for place in range(width)
        ]
        varied = tuple(
            any(row[place : place + 1] != rows[0][place : place + 1] for row in rows) for place in range(width)
        )
        return _Made([(f"column{place}", flag) for place, flag in enumerate(flags, 1)], any(flags), varied=varied)

    def _with_ctes(
        self, query: exp.Expr, env: Mapping[str, _Made | None], around: _Scope | None
    ) -> Mapping[str, _Made | None]:
        """Return the CTEs in sight with the query's own; a recursive one starts as its first arm."""
        with_ = query.args.get("with_")
        if with_ is None:
            return env
        grown = dict(env)
        for cte in with_.expressions:
            alias = cte.args.get("alias")
            if alias is None:
                continue
            name = alias.name.lower()
            if with_.args.get("recursive") and isinstance(cte.this, exp.SetOperation):
                grown[name] = _renamed(self.query(cte.this.left, grown, around), alias)
            grown[name] = _renamed(self.query(cte.this, grown, around), alias)
        return grown

    def _united(self, query: exp.SetOperation, env: Mapping[str, _Made | None], around: _Scope | None) -> _Made:
        """Combine the arms of a set operation: a column is constant where it is in every arm that may have a row."""
        node: exp.Expr = query
        operations: list[exp.SetOperation] = []
        while isinstance(node, exp.SetOperation):
            operations.append(node)
            node = node.left
        made = self.query(node, env, around)
        for operation in reversed(operations):
            inner = env if operation is query else self._with_ctes(operation, env, around)
            made = self._joined(operation, made, self.query(operation.right, inner, around))
            if _limit_zero(operation):
                made = _nothing(made)
        return made

    @staticmethod
    def _joined(operation: exp.SetOperation, left: _Made, right: _Made) -> _Made:
        """Combine two arms."""
        if isinstance(operation, exp.Except) or len(left.columns) != len(right.columns):
            return left
        pairs = zip(left.columns, right.columns, strict=True)
        both = [(name, ours or theirs) for (name, ours), (_, theirs) in pairs]
        reads = left.reads or right.reads
        literals = left.literals or right.literals
        varied = _varied_of_both(left, right)
        # Of an arm that never has a row nothing is computed, so it says nothing about the column.
        if isinstance(operation, exp.Intersect) or not all(
            any(computed for _, computed in arm.columns) for arm in (left, right)
        ):
            return _Made(both, reads, literals, varied)
        # Arms told apart by a literal: which label stands beside which computed row is an answer.
        labels = [a is not None and b is not None and a != b for a, b in zip_longest(left.literals, right.literals)]
        marked = zip_longest(both, labels, fillvalue=False)
        return _Made([(name, computed or label) for (name, computed), label in marked], reads, literals, varied)  # type: ignore[misc]

    def _select(self, query: exp.Select, env: Mapping[str, _Made | None], around: _Scope | None) -> _Made:
        """Return what a SELECT gives."""
        scope = _Scope(around=around)
        for entry in _entries(query):
            self._add(entry, scope, env)
        conditions = [part for clause in _clauses(query) for part in _conjuncts(clause)]
        never = _limit_zero(query) or any(_truth(part) is False for part in conditions)
        if never:
            scope.reads = False
        elif not scope.reads:  # which rows of a made-up list stay is asked of a table, row by row
            scope.reads = any(self._asks(part, scope, env) for part in conditions)
        scope.held |= frozenset(self._held(conditions, scope, env))
        beside = self._choose(query, scope, env)
        made = self._projected(query, scope, env)
        if beside and any(computed for _, computed in made.columns):
            for alias in beside:
                scope.sources[alias] = scope.sources[alias].chosen()
            made = self._projected(query, scope, env)
        return _nothing(made) if never else made

    def _projected(self, query: exp.Select, scope: _Scope, env: Mapping[str, _Made | None]) -> _Made:
        """Return what a SELECT gives from the sources in its scope."""
        columns: Flags = []
        literals: list[Text | None] = []
        varied: list[bool] = []
        for projection in query.expressions:
            if projection.is_star and not isinstance(projection, exp.Count):
                for source in self._starred(projection, scope, query):
                    columns.extend(source.columns or [])
                    varied.extend(source.varied[: len(source.columns or [])])
                    varied.extend([False] * (len(columns) - len(varied)))
                literals.extend([None] * (len(columns) - len(literals)))
                continue
            inner = projection.unalias()
            literals.append(_spelled(inner))
            computed = self._computed(inner, scope, env) or _is_held(inner, scope)
            columns.append((projection.alias_or_name.lower(), computed))
            varied.append(any(_may_differ(column, scope) for column in inner.find_all(exp.Column)))
        one = _limit_of(query) == 1
        return _Made(columns, scope.reads, tuple(literals), () if one else tuple(varied), scope.held)

    def _choose(self, query: exp.Select, scope: _Scope, env: Mapping[str, _Made | None]) -> set[str]:
        """Mark the made-up lists of which a table decides which rows come.

        Returned are those that an outer join keeps whole: a table decides what stands beside their rows.
        """
        lists = {alias for alias, source in scope.sources.items() if not source.reads and any(source.varied)}
        beside: set[str] = set()
        if not lists:
            return beside
        where = query.args.get("where")
        held = (
            {alias for part in _conjuncts(where.this) for alias in self._compared(part, lists, scope, env)}
            if where
            else set()
        )
        for join in query.args.get("joins") or ():
            name = join.this.alias_or_name.lower()
            on = join.args.get("on")
            found = (
                {alias for part in _conjuncts(on) for alias in self._compared(part, lists, scope, env)} if on else set()
            )
            if join.args.get("using") or join.args.get("method") == "NATURAL":
                found |= _sharing([column.name.lower() for column in join.args.get("using") or ()], lists, scope)
            side = join.side
            kept = (
                {alias for alias in found if (alias == name) is (side == "RIGHT") or side == "FULL"} if side else set()
            )
            beside |= kept
            held |= found - kept
        for alias in held:
            scope.sources[alias] = scope.sources[alias].chosen()
        return beside - held

    def _compared(
        self, condition: exp.Expr, lists: set[str], scope: _Scope, env: Mapping[str, _Made | None]
    ) -> Iterator[str]:
        """Yield the made-up lists a column of which a condition compares with what comes from a table."""
        if _truth(condition) is not None or not self._computed(condition, scope, env):
            return
        for part in condition.find_all(exp.Predicate):
            if isinstance(part, exp.Exists):
                continue
            columns = list(part.find_all(exp.Column))
            inside = part.find_ancestor(exp.Select) is not condition.find_ancestor(exp.Select)
            read = (
                any(column.table.lower() not in scope.sources for column in columns)
                if inside
                else self._computed(part, scope, env)
            )
            if read:
                yield from (alias for alias in lists if any(_belongs(column, alias, scope) for column in columns))

    def _asks(self, condition: exp.Expr, scope: _Scope, env: Mapping[str, _Made | None]) -> bool:
        """Tell whether a condition holds a row of this SELECT against a table by a nested query."""
        ours = any(
            column.table.lower() in scope.sources or (not column.table and condition.find(exp.In) is not None)
            for column in condition.find_all(exp.Column)
        )
        nested = condition.find(exp.Select) is not None
        return ours and nested and self._computed(condition, scope, env)

    def _held(self, conditions: list[exp.Expr], scope: _Scope, env: Mapping[str, _Made | None]) -> Iterator[str]:
        """Yield the literals, case apart, that the conditions hold a computed value equal to.

        Those of a date between two days are also the year, month and day that these share.
        """
        least: dict[str, list[date]] = defaultdict(list)
        most: dict[str, list[date]] = defaultdict(list)
        for part in conditions:
            for value, literal in _fixed(part):
                if self._computed(value, scope, env):
                    yield from _spellings(literal)
            for value, first, last in _bounds(part):
                if self._computed(value, scope, env):
                    name = _bare(value).sql()
                    least[name].extend([first] if first else ())
                    most[name].extend([last] if last else ())
        for name in (name for name, days in least.items() if days and most[name]):
            yield from _shared(max(least[name]), min(most[name]))

    def _starred(self, star: exp.Expr, scope: _Scope, query: exp.Select) -> list[_Source]:
        """Return the sources whose columns `*` or `t.*` stands for, all of them known.

        Raises: _UnknownError where a table's columns are not known or a join merges some.
        """
        wanted = star.table.lower() if isinstance(star, exp.Column) else ""
        sources = [source for alias, source in scope.sources.items() if not wanted or alias == wanted]
        merges = any(
            join.args.get("using") or join.args.get("method") == "NATURAL" for join in query.args.get("joins") or ()
        )
        if not sources or (merges and not wanted) or any(source.columns is None for source in sources):
            raise _UnknownError
        return sources

    def _add(self, entry: exp.Expr, scope: _Scope, env: Mapping[str, _Made | None]) -> None:
        """Add one FROM entry, and the joins written inside it."""
        alias = entry.args.get("alias")
        if isinstance(entry, exp.Paren):
            self._add(entry.this, scope, env)
            return
        name = (alias.name if isinstance(alias, exp.TableAlias) else "") or entry.alias_or_name
        source = self._source(entry, scope, env)
        if isinstance(alias, exp.TableAlias) and source.columns is not None:
            made = _renamed(_Made(source.columns, source.reads, varied=source.varied, held=source.held), alias)
            source = _Source(made.columns, made.reads, made.varied, made.held)
        scope.sources[name.lower() or f"#{len(scope.sources)}"] = source
        scope.reads = scope.reads or source.reads
        scope.held |= source.held
        for join in entry.args.get("joins") or []:
            self._add(join.this, scope, env)

    def _source(self, entry: exp.Expr, scope: _Scope, env: Mapping[str, _Made | None]) -> _Source:
        """Return what one FROM entry offers: a table, a CTE, a nested query, or a function of what stands before it."""
        inner = entry.this if isinstance(entry, exp.Lateral) else entry
        if isinstance(inner, exp.Table) and isinstance(inner.this, exp.Identifier):
            return self._table(inner, env, scope)
        if isinstance(inner, (exp.Subquery, exp.Values)):
            made = self.query(inner, env, scope)
            return _Source(made.columns, made.reads, made.varied, made.held)
        return self._function(inner, scope, env)

    def _function(self, call: exp.Expr, scope: _Scope, env: Mapping[str, _Made | None]) -> _Source:
        """Return what a function that stands as a table offers."""
        reads = any(self._computed(node, scope, env) for node in _arguments(call))
        return _Source(None, reads=reads, varied=(_gives_several(call),))

    def _table(self, table: exp.Table, env: Mapping[str, _Made | None], scope: _Scope) -> _Source:
        """Return the columns of a CTE or a table."""
        name = table.name.lower()
        if not isinstance(table.this, exp.Identifier):
            return self._function(table, scope, env)
        cte = None if table.args.get("db") else env.get(name)
        if cte is not None:
            return _Source(cte.columns, cte.reads, cte.varied, cte.held)
        columns = self._tables.get(name)
        return _Source(None if columns is None else [(column.lower(), True) for column in columns], reads=True)

    def _column(self, column: exp.Column, scope: _Scope | None) -> bool:
        """Tell whether a column is computed: the nearest source of its name decides; in doubt it is."""
        name, qualifier = column.name.lower(), column.table.lower()
        inside = scope
        while inside is not None:
            for alias, source in inside.sources.items():
                if qualifier and alias != qualifier:
                    continue
                found = next((flag for output, flag in source.columns or [] if output == name), None)
                if found is not None:
                    return found
            named = [source for alias, source in inside.sources.items() if not qualifier or alias == qualifier]
            open_ones = [source for source in named if qualifier or source.columns is None]
            if open_ones:  # a table of unknown columns, or a function, may have one of this name
                return any(source.reads for source in open_ones)
            inside = inside.around
        if column.this.args.get("quoted") and not qualifier and self._known and name not in self._known:
            return False  # a text to the engines that read it so
        return scope is not None and any(source.reads for source in scope.sources.values())

    def _computed(self, node: exp.Expr | None, scope: _Scope, env: Mapping[str, _Made | None]) -> bool:  # noqa: PLR0911, PLR0912 (one rule a kind)
        """Tell whether an expression's value comes from a table."""
        if not isinstance(node, exp.Expr) or isinstance(node, (exp.Literal, exp.Null, exp.Boolean, exp.DataType)):
            return False
        if isinstance(node, exp.Column):
            return self._column(node, scope)
        if isinstance(node, exp.Star):
            return scope.reads
        if isinstance(node, exp.Exists):
            return self._rows(node.this, scope, env)
        if isinstance(node, (exp.Subquery, exp.Select, exp.SetOperation)):
            made = self.query(node, env, scope)
            return any(flag for _, flag in made.columns)
        if isinstance(node, _NUMBERING):
            return False  # its order decides, and that stands beside it
        if isinstance(node, exp.AggFunc):
            return self._aggregate(node, scope, env)
        if _same_whatever(node):
            return False
        if isinstance(node, (exp.Case, exp.If)):
            return self._chosen(node, scope, env)
        if isinstance(node, exp.Nullif) and _spelled(node.this) is not None:
            return False  # that literal or nothing
        if isinstance(node, exp.Filter) and _truth(node.expression.this) is False:
            return False
        if isinstance(node, exp.Coalesce):
            return self._first_given(node, scope, env)
        if isinstance(node, (exp.And, exp.Or)) and _truth(node) is not None:
            return False
        parts = _terms(node) if isinstance(node, (exp.Add, exp.Sub)) else _arguments(node)
        return any(self._computed(part, scope, env) for part in parts)

    def _aggregate(self, call: exp.AggFunc, scope: _Scope, env: Mapping[str, _Made | None]) -> bool:
        """Tell whether an aggregate depends on the rows: a count or a sum does, the largest of one value does not."""
        if any(self._computed(child, scope, env) for child in _arguments(call)):
            return True
        if isinstance(call, _OF_ONE_VALUE) or isinstance(call.this, exp.Null):
            return False
        return scope.reads and not isinstance(call.this, exp.Distinct)

    def _rows(self, query: exp.Expr, scope: _Scope, env: Mapping[str, _Made | None]) -> bool:
        """Tell whether it depends on tables that a query has rows."""
        return self.query(query, env, scope).reads

    def _chosen(self, node: exp.Expr, scope: _Scope, env: Mapping[str, _Made | None]) -> bool:
        """Tell whether a CASE comes from a table: not where all it can give is the same constant."""
        branches = node.args.get("ifs") or [node]
        default = node.args.get("default") if isinstance(node, exp.Case) else node.args.get("false")
        given: list[exp.Expr] = []
        tested: list[exp.Expr | None] = [node.this] if isinstance(node, exp.Case) else []
        for branch in branches:
            truth = _truth(branch.this) if not (isinstance(node, exp.Case) and node.this) else None
            if truth is False:
                continue
            given.append(branch.args["true"])
            if truth is True:
                break
            tested.append(branch.this)
        else:
            given.append(default if default is not None else exp.Null())
        if all(one == given[0] for one in given[1:]):
            return self._computed(given[0], scope, env)
        return any(self._computed(part, scope, env) for part in (*given, *tested))

    def _first_given(self, node: exp.Coalesce, scope: _Scope, env: Mapping[str, _Made | None]) -> bool:
        """Tell whether COALESCE comes from a table: what stands after a constant is never asked."""
        for part in (node.this, *node.expressions):
            if self._computed(part, scope, env):
                return True
            if isinstance(part, (exp.Literal, exp.Boolean)):
                return False
        return False


def _entries(query: exp.Select) -> list[exp.Expr]:
    """Return the entries of FROM, the joins and the laterals of a SELECT."""
    from_ = query.args.get("from_")
    entries = [from_.this] if from_ is not None else []
    entries.extend(join.this for join in query.args.get("joins") or [])
    entries.extend(query.args.get("laterals") or [])
    return entries


def _clauses(query: exp.Select) -> list[exp.Expr]:
    """Return the conditions every row of a SELECT has to meet."""
    found = [query.args[name].this for name in ("where", "having", "qualify") if query.args.get(name)]
    inner = (join for join in query.args.get("joins") or () if not join.side and join.args.get("on") is not None)
    return [*found, *(join.args["on"] for join in inner)]


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts of a chain of ANDs."""
    stack = [condition]
    while stack:
        part = stack.pop()
        if isinstance(part, exp.And):
            stack.extend((part.expression, part.this))
        elif isinstance(part, exp.Paren):
            stack.append(part.this)
        else:
            yield part


def _fixed(part: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    """Yield what a condition holds equal to which literal, as value and literal."""
    if isinstance(part, exp.In) and len(part.expressions) == 1:
        yield part.this, part.expressions[0]
    elif isinstance(part, (exp.Like, exp.ILike)):
        pattern = part.expression
        if isinstance(pattern, exp.Literal):
            day = re.fullmatch(r"(\d{4}(?:-\d\d){0,2})[-T ]?%", pattern.name)
            if day is not None:
                yield part.this, exp.Literal.string(day[1])
            elif not re.search(r"[%_\\]", pattern.name):
                yield part.this, pattern
    elif isinstance(part, _FIXING):
        yield part.this, part.expression
        yield part.expression, part.this
    elif isinstance(part, exp.Column):
        yield part, exp.true()
    elif isinstance(part, exp.Not) and isinstance(part.this.unnest(), exp.Column):
        yield part.this.unnest(), exp.false()


def _spellings(literal: exp.Expr) -> Iterator[str]:
    """Yield the ways to write what a literal says, case apart: true is 1 to some engines."""
    literal = literal.unnest()
    if isinstance(literal, exp.Boolean):
        yield from ("true", "1") if literal.this else ("false", "0")
        return
    spelled = _spelled(literal)
    if spelled is not None:
        yield spelled[1].casefold()
        if not spelled[0] and spelled[1] in ("0", "1"):
            yield "true" if spelled[1] == "1" else "false"


def _is_held(node: exp.Expr, scope: _Scope) -> bool:
    """Tell whether a selected literal is one that the query holds a computed value equal to."""
    return any(spelling in scope.held for spelling in _spellings(node))


def _bounds(part: exp.Expr) -> Iterator[tuple[exp.Expr, date | None, date | None]]:
    """Yield a value and the first and the last day that a condition leaves it."""
    if isinstance(part, exp.Between):
        yield part.this, _day(part.args["low"]), _day(part.args["high"])
    elif isinstance(part, (exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE)):
        mirrored: tuple[type[exp.Expr], ...] = (exp.LT, exp.LTE)
        for value, other, above in (
            (part.this, part.expression, isinstance(part, (exp.GT, exp.GTE))),
            (part.expression, part.this, isinstance(part, mirrored)),
        ):
            if isinstance(part, exp.EQ):
                yield value, _day(other), _day(other)
            elif above:
                yield value, _day(other), None
            else:
                yield value, None, _day(other, before=isinstance(part, (exp.LT, exp.GT)))


def _day(node: exp.Expr | None, *, before: bool = False) -> date | None:
    """Return the day that a literal writes, or the last one before its moment; None where it writes none."""
    while isinstance(node, _DAY_OF):
        node = node.this
    if not isinstance(node, exp.Literal) or not node.is_string or not re.match(r"\d{4}-\d\d-\d\d", node.name):
        return None
    try:
        moment = datetime.fromisoformat(node.name)
        return moment.date() - timedelta(days=before and moment.time() == time())
    except (ValueError, OverflowError):
        return None


def _bare(node: exp.Expr) -> exp.Expr:
    """Return a value without what only makes a day of it."""
    while isinstance(node, _DAY_OF) and isinstance(node.this, exp.Expr):
        node = node.this
    return node


def _shared(first: date, last: date) -> Iterator[str]:
    """Yield how the year, month and day are written that all days between two have."""
    if first > last or first.year != last.year:
        return
    yield f"{first.year:04}"
    if first.month == last.month:
        yield from (f"{first:%Y-%m}", f"{first:%m}", str(first.month))
        if first == last:
            yield from (first.isoformat(), f"{first:%d}", str(first.day))


def _arguments(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the parts of an expression."""
    for value in node.args.values():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr) and not isinstance(part, (exp.Identifier, exp.TableAlias)):
                yield part


def _terms(node: exp.Expr) -> list[exp.Expr]:
    """Return the terms of a sum without those that cancel each other, as in `7 + x - x`."""
    signs: list[tuple[bool, exp.Expr]] = []
    stack = [(True, node)]
    while stack:
        plus, part = stack.pop()
        part = part.unnest()
        if isinstance(part, (exp.Add, exp.Sub)):
            stack.extend(((plus, part.this), (plus is isinstance(part, exp.Add), part.expression)))
        elif (not plus, part) in signs:
            signs.remove((not plus, part))
        else:
            signs.append((plus, part))
    return [part for _, part in signs]


def _same_whatever(node: exp.Expr) -> bool:
    """Tell whether an expression has one value whatever its parts are: `x - x`, `0 * x`, `NULL + x`."""
    parts = [node.args.get("this"), node.args.get("expression")]
    bare = [part.unnest() if isinstance(part, exp.Expr) else None for part in parts]
    if isinstance(node, _SAME_OF_SAME) and bare[0] == bare[1]:
        return True
    if isinstance(node, _NULL_OF_NULL) and any(isinstance(part, exp.Null) for part in bare):
        return True
    if isinstance(node, _ZERO_OF_ZERO) and any(_number(part) == 0 for part in bare):
        return True
    if isinstance(node, exp.Pow):
        return _number(bare[1]) == 0
    if isinstance(node, _CUT_TO_NOTHING):
        count = (
            node.args.get("length")
            if isinstance(node, exp.Substring)
            else node.args.get("expression") or node.args.get("times")
        )
        return _number(count) == 0
    return False


def _truth(node: exp.Expr | None) -> bool | None:
    """Return what a condition made of constants alone says; None where it is no such condition."""
    if not isinstance(node, exp.Expr):
        return None
    node = node.unnest()
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Null):
        return False
    if isinstance(node, exp.Not):
        inner = _truth(node.this)
        return None if inner is None or isinstance(node.this.unnest(), exp.Null) else not inner
    if isinstance(node, (exp.And, exp.Or)):
        decisive = isinstance(node, exp.Or)
        sides = [_truth(node.this), _truth(node.expression)]
        return decisive if decisive in sides else (not decisive if None not in sides else None)
    if _number(node) is not None:
        return _number(node) != 0
    if isinstance(node, (exp.EQ, exp.NEQ, exp.LT, exp.GT, exp.LTE, exp.GTE)):
        left, right = _spelled(node.this), _spelled(node.expression)
        if left is None or right is None or left[0] is not right[0]:
            return None
        if isinstance(node, (exp.EQ, exp.NEQ)):
            return (left == right) is isinstance(node, exp.EQ)
        first, second = _number(node.this), _number(node.expression)
        if first is None or second is None:
            return None
        less = first < second if isinstance(node, (exp.LT, exp.GTE)) else first > second
        return less if isinstance(node, (exp.LT, exp.GT)) else not less
    return None


def _number(node: object) -> float | None:
    """Return the value of a literal number."""
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return None if inner is None else -inner
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return float(node.name)
    except ValueError:
        return None


def _spelled(node: object) -> Text | None:
    """Return a literal, a cast around it apart; None for anything else."""
    while isinstance(node, (exp.Cast, exp.Paren, exp.Alias)):
        node = node.this
    if isinstance(node, exp.Neg):
        inner = _spelled(node.this)
        return None if inner is None else (inner[0], f"-{inner[1]}")
    return (bool(node.is_string), str(node.name)) if isinstance(node, exp.Literal) else None


def _belongs(column: exp.Column, alias: str, scope: _Scope) -> bool:
    """Tell whether a column is one of a source: by its qualifier, its name, or as no other source has it."""
    if column.table:
        return column.table.lower() == alias
    name = column.name.lower()
    named = [one for one, source in scope.sources.items() if any(name == each for each, _ in source.columns or [])]
    return alias in named or (not named and scope.sources[alias].columns is None)


def _may_differ(column: exp.Column, scope: _Scope) -> bool:
    """Tell whether a column is one of a made-up list that may differ from row to row."""
    name = column.name.lower()
    for alias, source in scope.sources.items():
        if _belongs(column, alias, scope):
            if source.columns is None:
                return any(source.varied)
            return any(
                varied and name == each for (each, _), varied in zip(source.columns, source.varied, strict=False)
            )
    return False


def _sharing(names: list[str], lists: set[str], scope: _Scope) -> set[str]:
    """Return the made-up lists that share one of these column names, or any where none are named, with a table."""
    read = {name for source in scope.sources.values() if source.reads for name, _ in source.columns or []}
    wanted = set(names) or read
    return (
        {alias for alias in lists if wanted.intersection(name for name, _ in scope.sources[alias].columns or [])}
        if any(source.reads for source in scope.sources.values())
        else set()
    )


def _varied_of_both(left: _Made, right: _Made) -> tuple[bool, ...]:
    """Return of each column of a UNION whether it may differ from row to row."""
    places = range(len(left.columns))

    def at(values: tuple[object, ...], place: int) -> object:
        return values[place] if place < len(values) else None

    return tuple(
        bool(at(left.varied, place) or at(right.varied, place))
        or at(left.literals, place) is None
        or at(left.literals, place) != at(right.literals, place)
        for place in places
    )


def _gives_several(call: exp.Expr) -> bool:
    """Tell whether a function that stands as a table may give several rows: not for a list or a range of one."""
    series = call.find(exp.GenerateSeries, exp.ExplodingGenerateSeries)
    if series is not None:
        first, last = _number(series.args.get("start")), _number(series.args.get("end"))
        if first is None or last is None:
            return True
        return abs(last - first) > (1 if series.args.get("is_end_exclusive") else 0)
    array = call.find(exp.Array)
    if array is not None:
        return any(one != array.expressions[0] for one in array.expressions[1:])
    texts = [literal.name for literal in call.find_all(exp.Literal) if literal.is_string]
    return not texts or any("," in text for text in texts)


def _limit_of(query: exp.Expr) -> float | None:
    """Return the number of LIMIT or FETCH FIRST, None where there is none that is written as a number."""
    limit = query.args.get("limit")
    return None if limit is None else _number(limit.args.get("count") or limit.args.get("expression"))


def _limit_zero(query: exp.Expr) -> bool:
    """Tell whether LIMIT 0 or FETCH FIRST 0 ROWS lets nothing through."""
    return _limit_of(query) == 0


def _nothing(made: _Made) -> _Made:
    """Return what a query gives that never has a row: nothing of it is computed."""
    return _Made([(name, False) for name, _ in made.columns], reads=False)


def _renamed(made: _Made, alias: exp.TableAlias) -> _Made:
    """Apply an alias's column list."""
    names = [column.name.lower() for column in alias.args.get("columns") or []]
    if not names:
        return made
    if not made.columns:  # a function's columns are unknown but for their names
        return _Made([(name, made.reads) for name in names], made.reads, varied=made.varied * len(names))
    renamed = [(name, flag) for name, (_, flag) in zip(names, made.columns, strict=False)]
    return _Made(renamed + made.columns[len(names) :], made.reads, made.literals, made.varied, made.held)
