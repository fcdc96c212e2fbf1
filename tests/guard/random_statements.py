"""Random queries whose CTEs bear the names of tables, spelled as each engine takes them."""

from __future__ import annotations

from random import Random

TABLES = ("ta", "tb", "tc", "td")
"""Every table; each has the columns k and v."""

_FRESH = ("xa", "xb")
"""Names that only CTEs have."""

_JOINS = ("JOIN", "LEFT JOIN", "CROSS JOIN", "NATURAL JOIN", ",")
_DUCKDB_JOINS = (*_JOINS, "SEMI JOIN", "ANTI JOIN", "POSITIONAL JOIN")
_ALIASES = ("s0", "xa")
_SETS = ("UNION ALL", "UNION ALL", "UNION", "EXCEPT", "INTERSECT")


class Statements:
    """Makes queries of one output column k; what an engine does not take it refuses, which costs one statement."""

    def __init__(self, random: Random, dialect: str) -> None:
        """Take the source of chance and the engine's own forms."""
        self._random, self._dialect = random, dialect
        self._quote = "`" if dialect in {"mysql", "mariadb"} else '"'
        self._parentheses = dialect != "sqlite"
        self._lateral = dialect in {"postgres", "mysql", "duckdb"}
        self._schema = {"sqlite": "main", "duckdb": "main", "postgres": "public"}.get(dialect, "whole")
        self._made: list[str] = []
        self._narrow = False

    def statement(self) -> str:
        """Return one statement."""
        self._made = []
        # A table that is named nowhere else shows where one of its namesakes is none.
        self._narrow = self._chance(0.5)
        return self._query(self._random.choice((1, 2, 2, 3)))

    def _chance(self, share: float) -> bool:
        """Return True that often."""
        return self._random.random() < share

    def _query(self, depth: int, itself: str = "") -> str:
        """Return a query, with or without WITH, order and limit; `itself` is the CTE whose body it is."""
        start = ""
        if depth > 0 and self._chance(0.6):
            start = self._with(depth)
        body = self._set(depth, itself)
        if self._chance(0.08):
            body += " ORDER BY 1"
        if self._chance(0.08):
            body += f" LIMIT {self._random.randint(1, 9)}"
        text = start + body
        return f"({text})" if self._parentheses and self._chance(0.08) else text

    def _with(self, depth: int) -> str:
        """Return a WITH of one to three CTEs."""
        recursive = self._chance(0.5)
        names = self._random.sample((*TABLES[:3], *_FRESH), self._random.choice((1, 1, 2, 2, 3)))
        ctes = []
        for name in names:
            columns = "(k, v)" if self._chance(0.25) else ""
            kept = ""
            if self._dialect in {"postgres", "sqlite", "duckdb"} and self._chance(0.12):
                kept = self._random.choice(("MATERIALIZED ", "NOT MATERIALIZED "))
            ctes.append(f"{self._bare(name)}{columns} AS {kept}({self._body(name, depth - 1, recursive=recursive)})")
            self._made.append(name)
        return f"WITH {'RECURSIVE ' if recursive else ''}{', '.join(ctes)} "

    def _body(self, name: str, depth: int, *, recursive: bool) -> str:
        """Return a CTE's body: a real recursion, a query that names the CTE itself, or any other."""
        if recursive and self._chance(0.5):
            anchor, again = self._arm(depth, ""), f"SELECT k, v FROM {self._name(name)}"
            if self._chance(0.4):
                again += f" WHERE k {self._random.choice(('IN', 'NOT IN'))} ({self._one(depth - 1)})"
            elif self._chance(0.3):
                again = f"SELECT r.k, s.v FROM {self._source(depth - 1, '')} AS s, {self._name(name)} AS r"
            if self._parentheses and self._chance(0.15):
                again = f"({again})"
            start = self._with(depth) if depth > 0 and self._chance(0.15) else ""
            return f"{start}{anchor} {self._random.choice(('UNION', 'UNION ALL'))} {again}"
        return self._query(depth, name if self._chance(0.5) else "")

    def _set(self, depth: int, itself: str) -> str:
        """Return one arm or several under set operations."""
        arms = [self._arm(depth, itself) for _ in range(self._random.choice((1, 1, 1, 2, 3)))]
        text = arms[0]
        for arm in arms[1:]:
            text += f" {self._random.choice(_SETS)} {arm}"
        return text

    def _arm(self, depth: int, itself: str) -> str:
        """Return a SELECT, a VALUES, a table alone, or a query in parentheses."""
        if depth > 0 and self._parentheses and self._chance(0.12):
            return f"({self._query(depth - 1, itself)})"
        if self._chance(0.05):
            return f"TABLE {self._name(self._pick(itself))}" if self._dialect != "sqlite" else "VALUES ('a', 'b')"
        if self._dialect == "duckdb" and self._chance(0.08):
            kept = self._random.choice(("", " SELECT k, v", " AS s0 SELECT s0.k, s0.v", " SELECT *"))
            return f"FROM {self._source(depth, itself)}{kept}"
        return self._select(depth, itself)

    def _select(self, depth: int, itself: str) -> str:
        """Return one SELECT of the columns k and v from one or two sources."""
        first = self._random.choice((*_ALIASES, *TABLES)) if self._chance(0.2) else "s0"
        sources = f"{self._source(depth, itself)} AS {first}"
        if self._chance(0.3):
            sources = self._joined(sources, first, depth, itself)
        value = f"{first}.v"
        if depth > 0 and self._chance(0.15):
            value = f"({self._one(depth - 1)} LIMIT 1)"
        where = self._where(first, depth)
        if sources.endswith(f" AS {first}") and self._chance(0.15):
            return f"SELECT {self._random.choice(('*', f'{first}.*'))} FROM {sources}{where}"
        return f"SELECT {first}.k, {value} AS v FROM {sources}{where}"

    def _joined(self, left: str, first: str, depth: int, itself: str) -> str:
        """Return two sources, the first known by a name."""
        join = self._random.choice(_DUCKDB_JOINS if self._dialect == "duckdb" else _JOINS)
        right = f"{self._source(depth, itself)} AS s1"
        if depth > 0 and self._lateral and self._chance(0.15):
            return f"{left}, LATERAL ({self._query(depth - 1, itself)}) AS s1"
        if self._parentheses and self._chance(0.1):
            return f"{left} CROSS JOIN ({right} CROSS JOIN {self._source(depth, itself)} AS s2)"
        condition = ""
        if join.endswith(" JOIN") and join.split()[0] in {"LEFT", "SEMI", "ANTI"} or join == "JOIN":
            condition = self._random.choice((f" ON {first}.k = s1.k", " USING (k)"))
        joined = ", " if join == "," else f" {join} "
        return f"{left}{joined}{right}{condition}"

    def _where(self, first: str, depth: int) -> str:
        """Return a condition that may hold a query."""
        if self._dialect == "sqlite" and self._chance(0.06):
            return f" WHERE 'a' IN {self._name(self._pick(''))}"
        if depth <= 0 or not self._chance(0.3):
            return ""
        form = self._random.choice(
            (
                " WHERE EXISTS ({})",
                " WHERE EXISTS (SELECT {a}.* EXCEPT {s})",
                " WHERE {k} IN ({})",
                " WHERE {k} NOT IN ({})",
                " WHERE ({} LIMIT 1) = 'a'",
            )
        )
        second = self._random.choice((f"TABLE {self._name(self._pick(''))}", f"({self._query(depth - 1)})"))
        return form.format(self._one(depth - 1), k=f"{first}.k", a=first, s=second)

    def _one(self, depth: int) -> str:
        """Return a query of one column."""
        name = self._random.choice(("q", "q", *TABLES))
        return f"SELECT {name}.k FROM {self._source(depth, '')} AS {name}"

    def _source(self, depth: int, itself: str) -> str:
        """Return a name or a derived table."""
        if depth > 0 and self._chance(0.3):
            return f"({self._query(depth - 1, itself)})"
        return self._name(self._pick(itself))

    def _pick(self, itself: str) -> str:
        """Return a table's name or a CTE's, often that of the CTE in whose body it stands."""
        if itself and self._chance(0.4):
            return itself
        if self._narrow:
            return self._random.choice((*self._made, *self._made, "td"))
        fresh = [name for name in self._made if name in _FRESH]
        return self._random.choice((*TABLES, *fresh))

    def _name(self, name: str) -> str:
        """Return a name in some case, quoted or not, at times with its schema."""
        return f"{self._schema}.{name}" if name in TABLES and self._chance(0.05) else self._bare(name)

    def _bare(self, name: str) -> str:
        """Return a name in some case, quoted or not."""
        small = self._dialect not in {"mysql", "mariadb"}
        spelled = name.upper() if small and self._chance(0.1) else name
        if self._chance(0.1):
            return f"{self._quote}{spelled if self._dialect != 'postgres' else name}{self._quote}"
        return spelled
