"""A query as Spider's published script reads it, so that a number made here is the number made there.

The script's grammar is small: it splits a text at blanks, knows SELECTs joined by JOIN … AS, one operation of two
columns, and one value a condition, and lets a text it cannot read count as empty. What it does read it may read in odd
ways, which are kept and said where they are done. `exact_set` reads the same clauses from the tree for any other text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlassay.harness.parse.published_clauses import clauses, joined_name, one_name

Facts = dict[str, Any]
Column = tuple[str, str, bool]
"""Aggregate or "", column, and whether DISTINCT stands before it."""
Value = tuple[str, Column, Column | None]
"""Operator or "", and one or two columns."""

_CLAUSES = frozenset({"select", "from", "where", "group", "order", "limit", "intersect", "union", "except"})
_JOINS = frozenset({"join", "on", "as"})
_OPERATORS = frozenset({"not", "between", "=", ">", "<", ">=", "<=", "!=", "in", "like", "is", "exists"})
_ARITHMETIC = frozenset({"-", "+", "*", "/"})
_AGGREGATES = frozenset({"max", "min", "count", "sum", "avg"})
_SETS = ("intersect", "union", "except")
_MOST_SELECTS = 40
_SELECT = re.compile(r"\bselect\b", re.IGNORECASE)
_SPLIT = re.compile(r"\.{2,}|--|[:,](?!\d)|(?<=[^.])\.(?=[\])}>]*\s*\Z)|[][(){}<>*;@#$%&?!`]")


class UnreadError(ValueError):
    """The published grammar does not read a text; the message says at which word."""


def published(sql: str, tables: Mapping[str, Sequence[str]], keys: Iterable[Sequence[str]]) -> Facts:
    """Return a text's clauses as the published script reads them, or `unread` with the reason.

    `tables` is the catalogue, `keys` its foreign keys (table, column, table referred to, column), lower-cased.
    """
    try:
        words = _words(sql)
        schema = {table: {column.lower() for column in columns} for table, columns in tables.items()}
        query = _Reader(words, schema).query(0)[1]
        return clauses(query, one_name(tables, keys) or joined_name(query))
    except UnreadError as error:
        return {"unread": str(error)}
    except (LookupError, ValueError) as error:
        return {"unread": f"the text ends or has an odd word ({str(error)[:40]})"}


def _words(sql: str) -> list[str]:
    """Return the words of a text: strings whole, all else lower-cased; a double quote and a single one are the same."""
    text, values = sql.replace("'", '"'), []
    pieces = text.split('"')
    if len(pieces) % 2 == 0:
        raise UnreadError("a quote is not closed")
    if len(_SELECT.findall(sql)) > _MOST_SELECTS:
        raise UnreadError("too many queries")
    for place in range(1, len(pieces), 2):
        values.append(f'"{pieces[place]}"')
        pieces[place] = f"\0{len(values) - 1}\0"
    words = _SPLIT.sub(lambda found: f" {found[0]} ", "".join(pieces)).lower().split()
    words = [values[int(word[1:-1])] if re.fullmatch("\0\\d+\0", word) else word for word in words]
    joined: list[str] = []
    for word in words:
        if word == "=" and joined and joined[-1] in ("!", ">", "<"):
            joined[-1] += "="
        else:
            joined.append(word)
    return joined


class _Reader:
    """Reads words from left to right; each method takes a place and returns the place after what it read."""

    def __init__(self, words: Sequence[str], schema: Mapping[str, set[str]]) -> None:
        """Note every alias of the text: the script knows no scopes."""
        self._words, self._schema = words, schema
        self._names = {words[at + 1]: words[at - 1] for at, word in enumerate(words) if word == "as"}
        taken = next((name for name in schema if name in self._names), None)
        if taken is not None:
            raise UnreadError(f"the alias {taken} is a table's name")
        self._names |= {name: name for name in schema}

    def query(self, at: int) -> tuple[int, Facts]:
        """Read one SELECT and the set operation after it."""
        start, block = at, self._words[at] == "("
        at += block
        after, sources, on, known = self._from(start)
        query: Facts = {"from": sources, "on": on, "select": self._select(at, known)}
        at, query["where"] = self._conditions_of("where", after, known)
        at, query["group"] = self._group(at, known)
        at, query["having"] = self._conditions_of("having", at, known)
        at, query["order"] = self._order(at, known)
        query["limit"] = self._is(at, "limit")
        if query["limit"]:
            _ = self._words[at + 1]
            at += 2
        at = self._past_semicolons(at)
        if block:
            at = self._past_semicolons(self._need(at, ")"))
        query["set"] = None
        if at < len(self._words) and self._words[at] in _SETS:
            kind = self._words[at]
            at, other = self.query(at + 1)
            query["set"] = (kind, other)
        return at, query

    def _is(self, at: int, word: str) -> bool:
        """Return whether a word stands at a place."""
        return at < len(self._words) and self._words[at] == word

    def _need(self, at: int, word: str) -> int:
        """Return the place after a word that must stand here."""
        if self._words[at] != word:
            raise UnreadError(f"'{word}' was expected before '{self._words[at]}'")
        return at + 1

    def _past_semicolons(self, at: int) -> int:
        """Return the next place without a semicolon."""
        while self._is(at, ";"):
            at += 1
        return at

    def _from(self, at: int) -> tuple[int, list[Any], list[Any], list[str]]:
        """Read the next FROM, wherever it stands: its sources, join conditions and table names."""
        at = self._words.index("from", at) + 1
        sources: list[Any] = []
        on: list[Any] = []
        known: list[str] = []
        while at < len(self._words):
            block = self._words[at] == "("
            at += block
            if self._words[at] == "select":
                at, query = self.query(at)
                sources.append(query)
            else:
                at += self._words[at] == "join"
                name = self._table(self._words[at])
                at += 3 if self._is(at + 1, "as") else 1
                sources.append(name)
                known.append(name)
            if self._is(at, "on"):
                at, found = self._conditions(at + 1, known)
                on += (["and"] if on else []) + found
            if block:
                at = self._need(at, ")")
            if at < len(self._words) and (self._words[at] in _CLAUSES or self._words[at] in (")", ";")):
                break
        return at, sources, on, known

    def _table(self, word: str) -> str:
        """Return the table a name stands for."""
        name = self._names.get(word)
        if name is None or name not in self._schema:
            raise UnreadError(f"'{word}' is no table it knows")
        return name

    def _select(self, at: int, known: list[str]) -> tuple[bool, list[tuple[str, Value]]]:
        """Read what is selected: whether distinct, and each aggregate with what it is of."""
        at = self._need(at, "select")
        distinct = self._is(at, "distinct")
        at += distinct
        found = []
        while at < len(self._words) and self._words[at] not in _CLAUSES:
            name = self._words[at] if self._words[at] in _AGGREGATES else ""
            at, value = self._value(at + bool(name), known)
            found.append((name, value))
            at += self._is(at, ",")
        return distinct, found

    def _value(self, at: int, known: list[str]) -> tuple[int, Value]:
        """Read a column, or an operation of two."""
        block = self._words[at] == "("
        at, one = self._column(at + block, known)
        operator, other = "", None
        if at < len(self._words) and self._words[at] in _ARITHMETIC:
            operator = self._words[at]
            at, other = self._column(at + 1, known)
        return self._need(at, ")") if block else at, (operator, one, other)

    def _column(self, at: int, known: list[str]) -> tuple[int, Column]:
        """Read a column, one in parentheses, or an aggregate of one, whose own parentheses are read alone."""
        block = self._words[at] == "("
        at += block
        name = self._words[at] if self._words[at] in _AGGREGATES else ""
        if name:
            at = self._need(at + 1, "(")
        distinct = self._words[at] == "distinct"
        at += distinct
        column = self._owned(self._words[at], known)
        at += 1
        return self._need(at, ")") if block or name else at, (name, column, distinct)

    def _owned(self, word: str, known: list[str]) -> str:
        """Return `table.column` of a name: the table it names, else the first of the FROM clause that has it."""
        if word == "*":
            return word
        if "." in word:
            name, column = word.split(".")
            table = self._names.get(name)
            if table is None or column not in self._schema.get(table, ()):
                raise UnreadError(f"'{word}' is no column it knows")
            return f"{table}.{column}"
        owner = next((table for table in known if word in self._schema[table]), None)
        if owner is None:
            raise UnreadError(f"'{word}' is no column it knows")
        return f"{owner}.{word}"

    def _conditions_of(self, clause: str, at: int, known: list[str]) -> tuple[int, list[Any]]:
        """Read WHERE or HAVING where it stands here."""
        return self._conditions(at + 1, known) if self._is(at, clause) else (at, [])

    def _conditions(self, at: int, known: list[str]) -> tuple[int, list[Any]]:
        """Read conditions and the words between them; a condition in a word's place is taken for one."""
        found: list[Any] = []
        while at < len(self._words):
            at, left = self._value(at, known)
            negated = self._words[at] == "not"
            at += negated
            operator = self._words[at]
            if operator not in _OPERATORS:
                raise UnreadError(f"'{operator}' is no operator it knows")
            at, first = self._compared(at + 1, known)
            second = None
            if operator == "between":
                at, second = self._compared(self._need(at, "and"), known)
            found.append((negated, operator, left, first, second))
            if at < len(self._words) and (self._words[at] in _CLAUSES | _JOINS or self._words[at] in (")", ";")):
                break
            if at < len(self._words) and self._words[at] in ("and", "or"):
                found.append(self._words[at])
                at += 1
        if any(isinstance(unit, str) for unit in found[::2]):
            raise UnreadError("two conditions stand side by side")
        return at, found

    def _compared(self, at: int, known: list[str]) -> tuple[int, Any]:
        """Read the value of a condition: a query, a string, a number or a column."""
        start, block = at, self._words[at] == "("
        at += block
        word = self._words[at]
        value: Any
        if word == "select":
            at, value = self.query(at)
        elif '"' in word or _is_number(word):
            at, value = at + 1, word if '"' in word else float(word)
        else:
            # Of a column only the first word counts: an OR after it is passed over with all that follows it.
            stops = _CLAUSES | _JOINS | {",", ")", "and"}
            while at < len(self._words) and self._words[at] not in stops:
                at += 1
            value = self._part(self._words[start:at])._column(0, known)[1]
        return self._need(at, ")") if block else at, value

    def _part(self, words: Sequence[str]) -> _Reader:
        """Return a reader of some of the words, the names known here."""
        reader = _Reader.__new__(_Reader)
        reader._words, reader._schema, reader._names = words, self._schema, self._names
        return reader

    def _group(self, at: int, known: list[str]) -> tuple[int, list[Column]]:
        """Read GROUP BY where it stands here."""
        found: list[Column] = []
        if not self._is(at, "group"):
            return at, found
        at = self._need(at + 1, "by")
        while at < len(self._words) and self._words[at] not in _CLAUSES and self._words[at] not in (")", ";"):
            at, column = self._column(at, known)
            found.append(column)
            if not self._is(at, ","):
                break
            at += 1
        return at, found

    def _order(self, at: int, known: list[str]) -> tuple[int, tuple[str, list[Value]] | None]:
        """Read ORDER BY where it stands here, with or without keys; of several directions the last one counts."""
        found: list[Value] = []
        if not self._is(at, "order"):
            return at, None
        at, direction = self._need(at + 1, "by"), "asc"
        while at < len(self._words) and self._words[at] not in _CLAUSES and self._words[at] not in (")", ";"):
            at, value = self._value(at, known)
            found.append(value)
            if at < len(self._words) and self._words[at] in ("asc", "desc"):
                direction = self._words[at]
                at += 1
            if not self._is(at, ","):
                break
            at += 1
        return at, (direction, found)


def _is_number(word: str) -> bool:
    """Return whether a word is a number."""
    try:
        float(word)
    except ValueError:
        return False
    return True
