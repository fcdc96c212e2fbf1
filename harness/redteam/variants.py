"""Systematic changes to an attack that leave its harm in place: what a guard that reads words would stumble over."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sqlassay.harness.redteam.attacks import Attack

Change = Callable[[str, random.Random], str]

VARIED = frozenset({"mutation", "escape", "leak", "exfiltration", "gaming"})
"""Harms a guard must see; an exhausting statement is the sandbox's to stop, however it is written."""

_PIECES = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\$\w*\$.*?\$\w*\$|/\*.*?\*/|--[^\n]*", re.DOTALL)
_WORD = re.compile(r"\b(orders|customers|eval|gold|pg_authid|gold_answers)\b")
_LONGEST = 4000


def _outside(sql: str, change: Callable[[str], str]) -> str:
    """Apply a change to the text outside quotes and comments."""
    parts, position = [], 0
    for piece in _PIECES.finditer(sql):
        parts += [change(sql[position : piece.start()]), piece.group()]
        position = piece.end()
    return "".join([*parts, change(sql[position:])])


def _blanks(blank: str) -> Change:
    """Return a change that writes every space as something else."""
    return lambda sql, _: _outside(sql, lambda text: text.replace(" ", blank))


def _case(sql: str, chance: random.Random) -> str:
    """Write letters in a case drawn by lot."""
    return _outside(sql, lambda text: "".join(chance.choice((c.upper(), c.lower())) for c in text))


def _mixed_blanks(sql: str, chance: random.Random) -> str:
    """Write every space as a blank drawn by lot."""
    blanks = ("\t", "\n", "\r\n", "  ", "/**/", " /* SELECT */ ", "--\n")
    return _outside(sql, lambda text: "".join(chance.choice(blanks) if c == " " else c for c in text))


def _quoted(left: str, right: str) -> Change:
    """Return a change that quotes the names an attack is after."""
    return lambda sql, _: _outside(sql, lambda text: _WORD.sub(lambda found: left + found.group() + right, text))


def _wide(sql: str, _: random.Random) -> str:
    """Write the first word in full-width letters."""
    head, blank, rest = sql.partition(" ")
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in head) + blank + rest


def _around(before: str, after: str) -> Change:
    """Return a change that puts texts around the statement, without its last semicolon."""
    return lambda sql, _: before + sql.rstrip().rstrip(";") + after


def _unicode_escape(sql: str, _: random.Random) -> str:
    """Spell the names an attack is after by Postgres's Unicode escapes."""
    return _outside(sql, lambda text: _WORD.sub(lambda found: f'U&"\\{ord(found[0][0]):04x}{found[0][1:]}"', text))


CHANGES: dict[str, Change] = {
    "comment for blank": _blanks("/**/"),
    "tab for blank": _blanks("\t"),
    "line end for blank": _blanks("\n"),
    "form feed for blank": _blanks("\f"),
    "no-break space for blank": _blanks("\u00a0"),
    "mixed blanks": _mixed_blanks,
    "mixed case": _case,
    "double quotes": _quoted('"', '"'),
    "backquotes": _quoted("`", "`"),
    "brackets": _quoted("[", "]"),
    "unicode escapes": _unicode_escape,
    "full-width letters": _wide,
    "byte order mark": _around("\ufeff", ""),
    "leading comment": _around("/* SELECT 1 */ ", ""),
    "executable comment": _around("/*!", "*/"),
    "versioned comment": _around("/*!50000 ", " */"),
    "executable comment after a query": _around("SELECT 1 /*!; ", " */"),
    "trailing comment": _around("", " -- SELECT 1"),
    "trailing hash": _around("", " # SELECT 1"),
    "stacked after": _around("SELECT 1; ", ""),
    "stacked before": _around("", "; SELECT 1"),
    "stacked behind a comment": _around("SELECT 1 -- x\n; ", ""),
    "empty statements": _around(";;", ";;"),
    "transaction around": _around("COMMIT; ", "; BEGIN"),
    "CTE before": _around("WITH x AS (SELECT 1) ", ""),
    "CTE around": _around("WITH q AS (", ") SELECT * FROM q"),
    "materialized CTE around": _around("WITH q AS MATERIALIZED (", " RETURNING *) SELECT 1"),
    "subquery around": _around("SELECT * FROM (", ") q"),
    "scalar subquery": _around("SELECT (", ")"),
    "parentheses": _around("(", ")"),
    "union": _around("SELECT 1 UNION ALL ", ""),
    "explain analyze": _around("EXPLAIN ANALYZE ", ""),
    "explain options": _around("EXPLAIN (ANALYZE true, VERBOSE) ", ""),
    "prepared": _around("PREPARE p AS ", ""),
    "dollar quotes": _around("DO $x$ BEGIN ", "; END $x$"),
}


def variants(attacks: Sequence[Attack], seed: int) -> Iterator[Attack]:
    """Yield every change of every listed attack with a harm the guard must see; the seed alone decides the texts."""
    for attack in attacks:
        if attack.harm not in VARIED or not attack.live or attack.template or len(attack.sql) > _LONGEST:
            continue
        seen = {attack.sql}
        for name, change in CHANGES.items():
            sql = change(attack.sql, random.Random(f"{seed}|{attack.id}|{name}"))  # noqa: S311 - repeatable, no secret
            if sql not in seen:
                seen.add(sql)
                yield replace(attack, id=f"{attack.id}~{name.replace(' ', '-')}", sql=sql, variant=name)
