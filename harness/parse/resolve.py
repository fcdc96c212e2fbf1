"""Output columns in normal form: aliases and qualifiers resolved through CTEs and subqueries, * expanded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

_BUDGET = 20_000
_SERIES_COLUMNS = frozenset({"key", "value", "ordinality", "path", "id", "parent", "type", "atom", "fullkey"})

Outputs = list[tuple[str, exp.Expr]]
"""Each output column: its name and the expression it stands for, in normal form."""


@dataclass
class Sources:
    """What a query may read: per alias the output columns, None where they are unknown."""

    by_alias: dict[str, Outputs | None] = field(default_factory=dict)
    merged: list[str] = field(default_factory=list)


class Resolver:
    """Resolves the columns of one text; nodes copied are counted, so that nested aliases cannot explode."""

    def __init__(self, tables: Mapping[str, list[str]] | None, scope: str = "earlier") -> None:
        """Take the catalogue's columns by lower-cased table name, and the dialect's scope of CTEs."""
        self._scope = scope
        self.tables = tables or {}
        self.columns = {column.lower() for columns in self.tables.values() for column in columns}
        self._left = _BUDGET
        self._memo: dict[int, Sources] = {}
        self._outputs: dict[int, Outputs] = {}
        self._envs: dict[int, Mapping[str, Outputs | None]] = {}

    def outputs(self, query: exp.Expr, env: Mapping[str, Outputs | None]) -> Outputs | None:
        """Return the output columns of a query, None where they cannot be known."""
        env = self._with_ctes(query, env)
        self._envs[id(query)] = env
        if isinstance(query, exp.Subquery):
            return self.outputs(query.this, env)
        if isinstance(query, exp.SetOperation):
            self.outputs(query.right, env)
            return self.outputs(query.left, env)
        if isinstance(query, exp.Select):
            sources = self._sources(query, env)
            self._memo[id(query)] = sources
            columns: Outputs = []
            for projection in query.expressions:
                columns.extend(self._projection(projection, sources))
            self._outputs[id(query)] = columns
            return columns
        if isinstance(query, exp.Values):
            first = query.expressions[0] if query.expressions else None
            cells = first.expressions if isinstance(first, exp.Tuple) else []
            return [(f"column{index}", cell) for index, cell in enumerate(cells, 1)]
        return None

    def sides(self, query: exp.Expr, env: Mapping[str, Outputs | None]) -> list[exp.Expr]:
        """Return the output expressions of both sides of set operations, left first; those known are not made again."""
        env = self._with_ctes(query, env)
        if isinstance(query, exp.Subquery):
            return self.sides(query.this, env)
        if isinstance(query, exp.SetOperation):
            return [*self.sides(query.left, env), *self.sides(query.right, env)]
        outputs = self._outputs.get(id(query))
        return [column for _, column in (self.outputs(query, env) if outputs is None else outputs) or []]

    def resolve_rest(self, tree: exp.Expr) -> None:
        """Resolve the queries that stand in expressions, each with the CTEs its nearest resolved query sees."""
        for query in tree.find_all(exp.Select):
            if id(query) not in self._memo:
                around = query.parent
                while around is not None and id(around) not in self._envs:
                    around = around.parent
                self.outputs(query, {} if around is None else self._envs[id(around)])

    def sources_of(self, query: exp.Expr) -> Sources | None:
        """Return the sources of a SELECT already resolved."""
        return self._memo.get(id(query))

    def normal(self, node: exp.Expr, sources: Sources | None = None) -> exp.Expr:
        """Return an expression without alias, outer parentheses and qualifiers, its columns resolved."""
        while isinstance(node, (exp.Alias, exp.Paren)):
            node = node.this
        copy = node.copy()
        nodes = list(copy.walk())
        self._left -= len(nodes)
        for column in [each for each in nodes if isinstance(each, exp.Column)]:
            replacement = self._column(column, sources)
            if column is copy:
                copy = replacement
            else:
                column.replace(replacement)
        if type(copy) is exp.Column:  # most are: nothing stands in it that could be counted
            return copy
        for count in list(copy.find_all(exp.Count)):
            if isinstance(count.this, exp.Literal) and not count.this.is_string:
                count.set("this", exp.Star())
        return copy

    def _column(self, column: exp.Column, sources: Sources | None) -> exp.Expr:
        """Return what a column stands for: an inner expression, itself without qualifier, or a quoted text."""
        name, qualifier = column.name.lower(), column.table.lower()
        if isinstance(column.this, exp.Star):
            return exp.Star()
        if sources is not None and self._left > 0:
            for alias, outputs in sources.by_alias.items():
                if outputs is None or (qualifier and alias != qualifier):
                    continue
                for output, expression in outputs:
                    if output == name:
                        self._left -= sum(1 for _ in expression.walk())
                        return expression.copy()
        quoted = bool(column.this.args.get("quoted"))
        if quoted and not qualifier and self.columns and name not in self.columns:
            return exp.Literal.string(column.name)
        return exp.Column(this=exp.Identifier(this=name, quoted=False))

    def _projection(self, projection: exp.Expr, sources: Sources) -> Outputs:
        """Return the output columns one projection gives: several for a star."""
        if isinstance(projection, exp.Star) or (
            isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star)
        ):
            return self._star(projection, sources)
        return [(projection.alias_or_name.lower(), self.normal(projection, sources))]

    def _star(self, star: exp.Expr, sources: Sources) -> Outputs:
        """Expand `*` or `t.*`; where a source is unknown one star column stands for all."""
        wanted = star.table.lower() if isinstance(star, exp.Column) else ""
        columns: Outputs = []
        for alias, outputs in sources.by_alias.items():
            if wanted and alias != wanted:
                continue
            if outputs is None:
                return [("*", exp.Star())]
            seen = {name for name, _ in columns}
            columns.extend(
                (name, expression.copy())
                for name, expression in outputs
                if wanted or name not in sources.merged or name not in seen
            )
        return columns or [("*", exp.Star())]

    def _with_ctes(self, query: exp.Expr, env: Mapping[str, Outputs | None]) -> Mapping[str, Outputs | None]:
        """Return the environment with the query's own CTEs, each resolved with those before it."""
        with_ = query.args.get("with_")
        if with_ is None:
            return env
        grown = dict(env)
        if self._scope == "all" or (self._scope == "recursive" and with_.args.get("recursive")):
            # Seen before they are defined: no table's columns, and not known yet.
            grown.update((cte.alias.lower(), None) for cte in with_.expressions)
        for cte in with_.expressions:
            alias = cte.args.get("alias")
            if alias is None:
                continue
            name = alias.name.lower()
            if with_.args.get("recursive"):
                grown[name] = None
                if isinstance(cte.this, exp.SetOperation):
                    grown[name] = _renamed(self.outputs(cte.this.left, dict(grown)), alias)
            # A copy, since a query keeps the CTEs it sees: those after it must not join them.
            grown[name] = _renamed(self.outputs(cte.this, dict(grown)), alias)
        return grown

    def _sources(self, query: exp.Select, env: Mapping[str, Outputs | None]) -> Sources:
        """Return what FROM and the joins of a SELECT offer."""
        sources = Sources()
        from_ = query.args.get("from_")
        entries = [from_.this] if from_ is not None else []
        for join in query.args.get("joins") or []:
            entries.append(join.this)
            sources.merged.extend(column.name.lower() for column in join.args.get("using") or [])
        entries.extend(query.args.get("laterals") or [])
        for entry in entries:
            self._add(entry, sources, env)
        if any(join.args.get("method") == "NATURAL" for join in query.args.get("joins") or []):
            names = [name for outputs in sources.by_alias.values() for name, _ in outputs or []]
            sources.merged.extend(name for name in set(names) if names.count(name) > 1)
        return sources

    def _add(self, entry: exp.Expr, sources: Sources, env: Mapping[str, Outputs | None]) -> None:
        """Add one FROM entry, and the joins written inside it."""
        alias = entry.args.get("alias")
        name = (alias.name if isinstance(alias, exp.TableAlias) else "") or entry.alias_or_name
        outputs: Outputs | None = None
        if isinstance(entry, exp.Table):
            outputs = self._table(entry, env)
        elif isinstance(entry, exp.Subquery):
            outputs = self.outputs(entry.this, self._with_ctes(entry, env))
        elif isinstance(entry, exp.Lateral) and isinstance(entry.this, exp.Subquery):
            outputs = self.outputs(entry.this, self._with_ctes(entry.this, env))
        elif isinstance(entry, exp.Values):
            outputs = self.outputs(entry, env)
        elif isinstance(entry, exp.Paren):
            self._add(entry.this, sources, env)
            return
        key = name.lower() or f"#{len(sources.by_alias)}"
        sources.by_alias[key] = _renamed(outputs, alias if isinstance(alias, exp.TableAlias) else None)
        for join in entry.args.get("joins") or []:
            self._add(join.this, sources, env)

    def _table(self, table: exp.Table, env: Mapping[str, Outputs | None]) -> Outputs | None:
        """Return the columns of a CTE or a catalogue table, None of an unknown one or a function."""
        if not isinstance(table.this, exp.Identifier):
            return None
        name = table.name.lower()
        if not table.args.get("db") and name in env:
            return env[name]
        columns = self.tables.get(name)
        if columns is None:
            return None
        return [(column.lower(), exp.column(column.lower())) for column in columns]

    def unresolved(self, tree: exp.Expr) -> list[str]:
        """Return qualified names no column is known to answer to: they may be calls in functional notation.

        A call with parentheses is none: the guard sees it as one.
        """
        found: set[str] = set()
        for column in tree.find_all(exp.Column):
            if column.table and not isinstance(column.this, exp.Star):
                known = self._known(column)
                if column.name.lower() not in (self.columns if known is None else known):
                    found.add(f"{column.table}.{column.name}".lower())
        for dot in tree.find_all(exp.Dot):
            name = dot.expression.name.lower()
            named = not isinstance(dot.expression, exp.Star | exp.Anonymous) and not _names_type(dot)
            if named and name not in self.columns:
                found.add(name)
        return sorted(found)

    def _known(self, column: exp.Column) -> set[str] | None:
        """Return the column names of the qualifier's nearest source, None where there is no such source."""
        qualifier, node = column.table.lower(), column.parent
        while node is not None:
            sources = self._memo.get(id(node))
            if sources is not None and qualifier in sources.by_alias:
                outputs = sources.by_alias[qualifier]
                return set(_SERIES_COLUMNS) | {qualifier} if outputs is None else {name for name, _ in outputs}
            node = node.parent
        return None


def _names_type(dot: exp.Dot) -> bool:
    """Return True for a type with its schema, `x::public.mood`, which is no call."""
    return isinstance(dot.parent, exp.DataType) and dot.arg_key == "kind"


def _renamed(outputs: Outputs | None, alias: exp.TableAlias | None) -> Outputs | None:
    """Apply an alias's column list."""
    names = [column.name.lower() for column in (alias.args.get("columns") or [])] if alias is not None else []
    if not names:
        return outputs
    if outputs is None:
        return [(name, exp.column(name)) for name in names]
    renamed = [(name, expression) for name, (_, expression) in zip(names, outputs, strict=False)]
    return renamed + outputs[len(names) :]
