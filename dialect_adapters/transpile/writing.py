"""Write a typed SQLite tree for another engine, so that it gives the rows SQLite gives, or refuse with a reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlassay.cases.relation import Kind
from sqlassay.dialect_adapters.transpile import conditions, scopes, values
from sqlassay.dialect_adapters.transpile.causes import Difference
from sqlassay.dialect_adapters.transpile.facts import (
    INTEGER,
    NUMBER,
    TEXT,
    ColumnFacts,
    Form,
    Out,
    Refused,
    SchemaFacts,
    Typed,
)
from sqlassay.dialect_adapters.transpile.joins import full_join
from sqlassay.dialect_adapters.transpile.pen import Grouping
from sqlassay.dialect_adapters.transpile.spelling import Spelling

MOST_WRITTEN = 4_000_000
"""How many characters may be written for all parts of a statement: some say their operand several times, so that what
is nested would grow without end."""

_PART = 50


@dataclass(slots=True)
class Writer:
    """Writes one statement; `spell` is the target's own way to say things.

    `leave` are causes whose parts stay as they are written, `lenient` leaves what cannot be written too; its causes are
    in `unsaid`. `by_letters` are the tables' facts where the target by itself compares text without case.
    """

    spell: Spelling
    leave: frozenset[Difference] = frozenset()
    lenient: bool = False
    unsaid: list[Difference] = field(default_factory=list)
    groups: list[Grouping] = field(default_factory=list)
    left: int = MOST_WRITTEN
    by_letters: SchemaFacts | None = None

    @property
    def group(self) -> Grouping:
        """Return the SELECT being written."""
        return self.groups[-1] if self.groups else Grouping()

    def spend(self, size: int) -> None:
        """Count a part of this many characters; raises Refused where all parts together are too much."""
        self.left -= size + _PART
        if self.left < 0:
            raise Refused("it grows too long")

    @staticmethod
    def typed(node: exp.Expr) -> Typed:
        """Return the type the reading gave a node."""
        found: Typed = node.meta.get("typed") or Typed(NUMBER | TEXT)
        return found

    # Queries

    def query(self, node: exp.Expr, forms: Sequence[Form] | None = None) -> str:
        """Return a query; `forms` are those its columns must have, where a set operation joins it with another."""
        if isinstance(node, exp.Subquery):
            inner = self.query(node.this, forms)
            return f"{self._ctes(node)}({inner}){self._trailing(node)}"
        if isinstance(node, exp.SetOperation):
            return self._set_operation(node, forms)
        if isinstance(node, exp.Select):
            return self._select(node, forms)
        raise Refused(f"{type(node).__name__} is not written")

    def _ctes(self, node: exp.Expr) -> str:
        """Return the WITH clause."""
        clause = node.args.get("with_")
        if clause is None:
            return ""
        made = []
        for cte in clause.expressions:
            columns = [self.spell.name(one.name) for one in cte.args["alias"].args.get("columns") or []]
            listed = f"({', '.join(columns)})" if columns else ""
            made.append(f"{self.spell.name(cte.alias)}{listed} AS ({self.query(cte.this)})")
        return f"WITH {'RECURSIVE ' if clause.args.get('recursive') else ''}{', '.join(made)} "

    def _set_operation(self, node: exp.SetOperation, forms: Sequence[Form] | None) -> str:
        """Return both sides with columns of the same forms."""
        wanted = list(forms) if forms is not None else _joint(self.forms(node.left), self.forms(node.right))
        word = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}[type(node)]
        if word == "UNION" and not node.args.get("distinct"):
            word = "UNION ALL"
        left, right = (self._operand(side, wanted) for side in (node.left, node.right))
        return f"{self._ctes(node)}{left} {word} {right}{self._trailing(node)}"

    def _operand(self, node: exp.Expr, forms: Sequence[Form]) -> str:
        """Return one side, in parentheses where it has clauses of its own or is a set operation itself."""
        text = self.query(node, forms)
        own = isinstance(node, exp.SetOperation) or node.args.get("order") or node.args.get("limit")
        return f"({text})" if own and not isinstance(node, exp.Subquery) else text

    def forms(self, node: exp.Expr) -> list[Form]:
        """Return the forms of a query's columns as they are written."""
        if isinstance(node, exp.Subquery):
            return self.forms(node.this)
        if isinstance(node, exp.SetOperation):
            return _joint(self.forms(node.left), self.forms(node.right))
        return [self.form(one.this if isinstance(one, exp.Alias) else one) for one in node.expressions]

    def form(self, node: exp.Expr) -> Form:
        """Return the form a projection is written in: its column's, else what its storage classes need."""
        known: ColumnFacts | None = node.meta.get("column")
        if known is not None:
            return known.form
        stores = self.typed(node).stores
        if stores & TEXT:
            return Form.TEXT
        if stores == INTEGER:
            return Form.INT
        return Form.REAL if stores & NUMBER else Form.BYTES if stores else Form.NULL

    def _trailing(self, node: exp.Expr) -> str:
        """Return ORDER BY and LIMIT behind a set operation: by position, as only its columns can be named."""
        order = node.args.get("order")
        keys = []
        for key in order.expressions if order is not None else []:
            keys.append(self._key(str(key.this.meta["output"] + 1), key))
        clause = f" ORDER BY {', '.join(keys)}" if keys else ""
        return clause + self._limit(node)

    def _key(self, value: str, key: exp.Expr) -> str:
        """Return one sort key; SQLite puts NULLs first ascending, last descending, unless told."""
        descending = bool(key.args.get("desc"))
        if Difference.NULL_ORDER in self.leave:
            return f"{value} DESC" if descending else value
        return self.spell.ordered(value, descending=descending, nulls_first=bool(key.args.get("nulls_first")))

    def _limit(self, node: exp.Expr) -> str:
        """Return LIMIT and OFFSET."""
        limit, offset = (
            self._count(clause.expression) if (clause := node.args.get(name)) is not None else None
            for name in ("limit", "offset")
        )
        return self.spell.limited(limit, offset)

    def _count(self, node: exp.Expr) -> str | None:
        """Return how many rows LIMIT or OFFSET means; a negative number means no limit, and no offset."""
        negative = isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal)
        return None if negative else self.number(node)

    def _select(self, node: exp.Select, forms: Sequence[Form] | None) -> str:
        """Return one SELECT."""
        if node.args.get("windows"):
            raise Refused("a named window")
        group = node.args.get("group")
        keys = group.expressions if group is not None else []
        self.groups.append(
            Grouping(
                frozenset(key.sql() for key in keys),
                grouped=group is not None or any(True for _ in scopes.aggregates(node)),
                extreme=scopes.one_extreme(node),
            )
        )
        try:
            return self._ctes(node) + self._clauses(node, keys, forms)
        finally:
            self.groups.pop()

    def _clauses(self, node: exp.Select, keys: Sequence[exp.Expr], forms: Sequence[Form] | None) -> str:
        """Return a SELECT's clauses in order."""
        self.groups[-1].inside += 1  # rows are not grouped yet in FROM and WHERE
        source, conditions = self._from(node)
        if node.args.get("where") is not None:
            conditions.append(self.condition(node.args["where"].this))
        self.groups[-1].inside -= 1
        columns = [self._projection(one, forms[i] if forms else None) for i, one in enumerate(node.expressions)]
        listed = [self.value(key).sql for key in keys if not isinstance(key, exp.Literal)]
        having = node.args.get("having")
        order, hidden = self._order(node)
        distinct = node.args.get("distinct") is not None
        if distinct and hidden:
            if node.args.get("limit") is not None or keys:
                raise Refused("DISTINCT ordered by a column it does not give, and cut by LIMIT")
            order = []  # the rows are the same, and their order says nothing SQLite promises
        parts = [f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(columns)}", source]
        parts += [f" WHERE {' AND '.join(conditions)}"] if conditions else []
        parts += [f" GROUP BY {', '.join(listed)}"] if listed else []
        parts += [f" HAVING {self.condition(having.this)}"] if having is not None else []
        parts += [f" ORDER BY {', '.join(order)}"] if order else []
        return "".join(parts) + self._limit(node)

    def _projection(self, node: exp.Expr, form: Form | None) -> str:
        """Return one output column in the form wanted, else in the one its values need."""
        inner = node.this if isinstance(node, exp.Alias) else node
        value = self.as_form(inner, form or self.form(inner))
        name = node.alias_or_name
        return f"{value} AS {self.spell.name(name)}" if name else value

    def _order(self, node: exp.Select) -> tuple[list[str], bool]:
        """Return the sort keys, and whether one of them is no output column."""
        order = node.args.get("order")
        given = {(one.this if isinstance(one, exp.Alias) else one).sql() for one in node.expressions}
        keys, hidden = [], False
        for key in order.expressions if order is not None else []:
            if isinstance(key.this, exp.Literal):
                continue
            made = self.sort_keys(key)
            hidden = hidden or key.this.sql() not in given or len(made) > 1
            keys.extend(made)
        return keys, hidden

    def sort_keys(self, key: exp.Expr) -> list[str]:
        """Return the keys that sort as one of SQLite's does: NULL, then numbers, then texts."""
        node = key.this
        kind, out = self.typed(node), self.value(node)
        if out.form is Form.TEXT and kind.stores & NUMBER and Difference.MIXED_COLUMN not in self.leave:
            looks, word = self.spell.looks(out.sql), "DESC" if key.args.get("desc") else "ASC"
            rank = f"CASE WHEN {out.sql} IS NULL THEN 0 WHEN {looks} THEN 1 ELSE 2 END {word}"
            number = f"CASE WHEN {looks} THEN {self.spell.numeral(out.sql)} END {word}"
            return [rank, number, f"{out.sql} {word}"]
        folded = kind.nocase and out.form is Form.TEXT and Difference.COLLATION not in self.leave
        value = self.spell.lower(out.sql) if folded else out.sql
        return [self._key(value, key)]

    def _from(self, node: exp.Select) -> tuple[str, list[str]]:
        """Return FROM with its joins, and the ON conditions that had to move to WHERE."""
        start = node.args.get("from_")
        if start is None:
            return "", []
        joins = node.args.get("joins") or []
        text = [f" FROM {self._source(start.this)}"]
        early = scopes.names_a_later_source(start.this, joins)
        if early and any(_side(join) for join in joins):
            raise Refused("ON names a table that an outer join brings in later")
        moved = []
        if joins and _side(joins[0]) == "FULL" and not self.spell.full_join:
            source, whole = self._both(start.this, joins[0])
            text, moved, joins = [source], [whole], joins[1:]
        for join in joins:
            condition = self.condition(join.args["on"]) if join.args.get("on") is not None else None
            if early and condition is not None:
                moved.append(condition)
                condition = None
            text.append(self._join(join, condition))
        return "".join(text), moved

    def _both(self, start: exp.Expr, join: exp.Join) -> tuple[str, str]:
        """Return FROM of two sources whose rows all come, for an engine without FULL JOIN."""
        on = self.condition(join.args["on"]) if join.args.get("on") is not None else "1 = 1"
        names = [self.spell.name(one.alias) for one in (start, join.this)]
        quote = self.spell.name("x")
        return full_join(names[0], self._source(start), names[1], self._source(join.this), on, (quote[0], quote[-1]))

    def _join(self, join: exp.Join, condition: str | None) -> str:
        """Return one join."""
        side = _side(join)
        source = self._source(join.this)
        if side == "FULL" and not self.spell.full_join:
            raise Refused("FULL JOIN behind another join, which the engine does not have")
        if not side and condition is None:
            return f" CROSS JOIN {source}"
        return f" {side + ' ' if side else ''}JOIN {source} ON {condition or '1 = 1'}"

    def _source(self, node: exp.Expr) -> str:
        """Return a table or a derived table with its alias."""
        columns = [self.spell.name(one.name) for one in node.args["alias"].args.get("columns") or []]
        alias = self.spell.name(node.alias) + (f"({', '.join(columns)})" if columns else "")
        if isinstance(node, exp.Subquery):
            return f"({self.query(node.this)}{self._trailing(node)}) AS {alias}"
        name = self.spell.name(node.name)
        columns_of = self.by_letters.columns(node.name) if self.by_letters is not None else None
        if columns_of is not None and any(one.form is Form.TEXT for one in columns_of):
            return f"(SELECT {', '.join(self._by_letters(one) for one in columns_of)} FROM {name}) AS {alias}"  # noqa: S608
        return name if name == alias else f"{name} AS {alias}"

    def _by_letters(self, column: ColumnFacts) -> str:
        """Return a column of a table, a text under the collation of code points."""
        name = self.spell.name(column.name)
        plain = column.form is Form.TEXT and column.held in (None, Kind.TEXT, Kind.CHAR)
        return f"{self.spell.by_code_points(name)} AS {name}" if plain else name

    # Values

    def value(self, node: exp.Expr) -> Out:
        """Return an expression as the engine computes it."""
        return values.value(self, node)

    def condition(self, node: exp.Expr, *, positive: bool = True) -> str:
        """Return an expression as a condition; `positive` where unknown and false mean the same."""
        return conditions.condition(self, node, positive=positive)

    def number(self, node: exp.Expr) -> str:
        """Return an expression as SQLite computes with it."""
        return self.as_number(self.value(node))

    def as_number(self, out: Out) -> str:
        """Return a written value as a number: a text by the number it starts with."""
        if out.form is Form.TEXT:
            return self.spell.prefix(out.sql)
        if out.form is Form.BOOL:
            return f"(CASE WHEN {out.sql} THEN 1 WHEN NOT {out.sql} THEN 0 END)"
        if out.form is Form.BYTES:
            raise Refused("a calculation with a blob")
        return out.sql

    def text(self, node: exp.Expr) -> str:
        """Return an expression as SQLite writes it as text."""
        out = self.value(node)
        if out.form is Form.TEXT:
            return out.sql
        if out.form is Form.BYTES:
            raise Refused("a blob read as text")
        if out.form is Form.NULL:
            return "NULL"
        number = self.as_number(out)
        return self.spell.text(number, Form.INT if out.form is Form.BOOL else out.form)

    def as_form(self, node: exp.Expr, form: Form) -> str:
        """Return an expression in a form that holds its values."""
        if form is Form.TEXT:
            return self.text(node)
        out = self.value(node)
        if out.form is form or out.form is Form.NULL:
            return out.sql
        if form in (Form.INT, Form.REAL, Form.DECIMAL) and out.form is not Form.BYTES:
            number = self.as_number(out)
            return self.spell.real(number) if form is Form.REAL and out.form is not Form.REAL else number
        return out.sql

    def real_literal(self, text: str) -> str:
        """Return a numeral as a number literal: whole where it is whole, else a double."""
        if text.lstrip("+-").isdigit():
            return text.lstrip("+") if not text.startswith("-") else f"({text})"
        return self.spell.real(repr(float(text)))

    def date_text(self, moment: str, pattern: str) -> str:
        """Return a moment by a strftime pattern."""
        whole = self.spell.patterned(moment, pattern)
        if whole is not None:
            return whole
        parts: list[str] = []
        rest = pattern
        while rest:
            before, mark, after = rest.partition("%")
            if before:
                parts.append(self.spell.literal(before))
            if mark and after[:1] == "%":
                parts.append(self.spell.literal("%"))
            elif mark:
                parts.append(self.spell.formatted(moment, after[:1]))
            rest = after[1:] if mark else ""
        return parts[0] if len(parts) == 1 else self.spell.concat(parts)

    def inside(self, node: exp.Expr) -> Out:
        """Write an aggregate's argument."""
        group = self.groups[-1]
        group.inside += 1
        try:
            return self.value(node)
        finally:
            group.inside -= 1


def _side(join: exp.Join) -> str:
    """Return LEFT, RIGHT or FULL, nothing for an inner join."""
    return (join.args.get("side") or "").upper()


def _joint(left: Sequence[Form], right: Sequence[Form]) -> list[Form]:
    """Return the forms that hold the columns of both sides."""
    made = []
    for one, other in zip(left, right, strict=True):
        if one == other or other is Form.NULL:
            made.append(one)
        elif one is Form.NULL:
            made.append(other)
        elif Form.BYTES in (one, other):
            raise Refused("a set operation of blobs and other values")
        else:
            made.append(Form.TEXT if Form.TEXT in (one, other) else Form.REAL)
    return made
