"""Random nested queries over CTEs whose names no table of the server has."""

from __future__ import annotations

from random import Random

NAMES = ("ca", "cb", "cc")
"""Names of CTEs; as a table none exists, so the engine complains where it takes one for a table."""


class Queries:
    """Makes queries of one shape: nested WITH, derived tables, scalar subqueries, arms of unions, quoted names."""

    def __init__(self, random: Random, quote: str, *, arms: bool) -> None:
        """Take the source of chance, the engine's quote and whether arms may stand in parentheses."""
        self._random = random
        self._quote = quote
        self._arms = arms

    def query(self, depth: int = 3) -> str:
        """Return one query, with or without WITH, that gives one column k."""
        body = self._union(depth)
        if depth > 0 and self._random.random() < 0.6:
            names = self._random.sample(NAMES, self._random.randint(1, 3))
            ctes = ", ".join(f"{self._name(name)} AS ({self.query(depth - 1)})" for name in names)
            body = f"WITH {self._random.choice(('', 'RECURSIVE '))}{ctes} {body}"
        return body

    def _union(self, depth: int) -> str:
        """Return a SELECT or several in a UNION."""
        parts = [self._arm(depth) for _ in range(self._random.choice((1, 1, 1, 2, 3)))]
        return " UNION ALL ".join(parts)

    def _arm(self, depth: int) -> str:
        """Return one arm, in parentheses and with a WITH of its own where the engine allows that."""
        if self._arms and depth > 0 and self._random.random() < 0.2:
            return f"({self.query(depth - 1)})"
        return self._select(depth)

    def _select(self, depth: int) -> str:
        """Return one SELECT from one or two sources."""
        sources = ", ".join(f"{self._source(depth)} AS s{place}" for place in range(self._random.choice((1, 1, 2))))
        where = ""
        if depth > 0 and self._random.random() < 0.3:
            form = self._random.choice(("EXISTS ({})", "1 IN ({})", "({}) = 1"))
            where = " WHERE " + form.format(self.query(depth - 1))
        return f"SELECT 1 AS k FROM {sources}{where}"

    def _source(self, depth: int) -> str:
        """Return a name or a derived table."""
        if depth > 0 and self._random.random() < 0.3:
            lateral = self._random.choice(("", "LATERAL ")) if self._arms else ""
            return f"{lateral}({self.query(depth - 1)})"
        return self._name(self._random.choice((*NAMES, "hollow")))

    def _name(self, name: str) -> str:
        """Return a name in some case, quoted or not."""
        name = self._random.choice((name, name, name.upper())) if name in NAMES else name
        return f"{self._quote}{name}{self._quote}" if self._random.random() < 0.2 else name
