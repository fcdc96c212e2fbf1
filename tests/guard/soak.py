"""Throw generated texts at the guard: `python tests/guard/soak.py COUNT [SEED]`; fails where it does not hold."""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser

DIALECTS = ("postgres", "mysql", "sqlite")
PROFILES = ("dql", "dql", "dml", "ddl")
SLOWEST = 8.0
"""Seconds one text may take, worker restarts included."""

_TABLE = Path(__file__).parents[1] / "tables" / "guard.yaml"
_ODD = "\x00\t\n\r\x0b\x1c'\"`[](){};:,.*/-+#$@\\%&|~!?<>=0e_éßı\u00a0\u2003\u2028\ufeff\u202e\udc80😀"
_TEXT = """
    select from where union except intersect with recursive as insert update delete drop into values table case when
    then else end join on using group by order limit offset fetch null not in exists any over partition filter lateral
    e' u&' x' $$ $a$ /* */ /*! /*!50000 -- # || :: -> ->> := @@x {d pg_sleep( sleep( load_extension( count( ( ) ((
    sqlite_master information_schema.tables dual now() random() interval collate explain analyze pragma show
    """
_WORDS = tuple(_TEXT.split())


@dataclass
class Held:
    """What a soak saw: how many texts, how each ended, the slowest, and how often a worker had to be replaced."""

    texts: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_text: str = ""
    restarts: int = 0


def _seeds() -> list[str]:
    """Return the texts that are mutated: the rows of the guard's table, and changes as engines spell them."""
    rows: list[dict[str, Any]] = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))["rows"]
    changes = yaml.safe_load(_TABLE.with_name("changes.yaml").read_text(encoding="utf-8"))["rows"]
    return [row["sql"] for row in rows] + [row["gold"] for row in changes]


def _trees(seeds: list[str]) -> list[Any]:
    """Return the seeds' syntax trees, for mutations that stay SQL."""
    import logging

    import sqlglot
    from sqlglot.errors import SqlglotError

    logging.getLogger("sqlglot").setLevel(logging.CRITICAL)
    trees = []
    for seed in seeds:
        for dialect in DIALECTS:
            try:
                trees.append(sqlglot.parse_one(seed, read=dialect))
            except (SqlglotError, ValueError):  # the parser lets a number it cannot read fall through
                continue
    return trees


def texts(count: int, seed: int) -> Iterator[str]:
    """Yield `count` texts, the same for the same seed: grafted trees, mutated texts, word salad, nesting, bytes."""
    chance = random.Random(seed)
    seeds = _seeds()
    trees = _trees(seeds)
    kinds = (_grafted, _mutated, _mutated, _salad, _junk)
    for number in range(count):
        if number % 500 == 499:
            yield _nested(chance)
        else:
            yield chance.choice(kinds)(chance, seeds, trees)


def _grafted(chance: random.Random, _seeds: list[str], trees: list[Any]) -> str:
    """Put a piece of one tree into another and write it in any dialect."""
    tree = chance.choice(trees).copy()
    places = [node for node in tree.walk() if node.parent is not None]
    pieces = list(chance.choice(trees).walk())
    if places:
        chance.choice(places).replace(chance.choice(pieces).copy())
    try:
        return str(tree.sql(dialect=chance.choice(DIALECTS)))
    except Exception:  # noqa: BLE001 - the writer is a third party's and may fail on a tree that makes no sense
        return "SELECT 1"


def _mutated(chance: random.Random, seeds: list[str], _trees: list[Any]) -> str:
    """Cut, double, swap and spoil a text."""
    text = list(chance.choice(seeds))
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(text) + 1)
        match chance.randrange(5):
            case 0:
                text[place:place] = chance.choice(_ODD)
            case 1:
                del text[place : place + chance.randint(1, 6)]
            case 2:
                text[place:place] = text[place : place + chance.randint(1, 30)]
            case 3:
                text[place:place] = list(f" {chance.choice(_WORDS)} ")
            case _:
                text[place:place] = list(chance.choice(seeds)[chance.randrange(20) :])
    return "".join(text)


def _salad(chance: random.Random, _seeds: list[str], _trees: list[Any]) -> str:
    """Write words in any order."""
    return chance.choice((" ", "", "/**/")).join(chance.choices(_WORDS, k=chance.randint(1, 40)))


def _junk(chance: random.Random, _seeds: list[str], _trees: list[Any]) -> str:
    """Return random bytes, read as two encodings."""
    raw = chance.randbytes(chance.randint(0, 300))
    return raw.decode("latin-1") if chance.random() < 0.5 else raw.decode("utf-8", "surrogateescape")


def _nested(chance: random.Random) -> str:
    """Return a text that is deep, long or both: what makes parsers slow."""
    piece, close = chance.choice(
        [("(", ")"), ("NOT ", ""), ("1+", ""), ("CASE WHEN 1 THEN ", " END"), ("(SELECT ", ")"), ("- ", ""), ("[", "]")]
    )
    times = chance.choice((50, 190, 500, 3_000, 6_000))
    return f"SELECT {piece * times}1{close * times}"[: chance.choice((2_000, 32_000, 40_000))]


def soak(count: int, seed: int) -> Held:
    """Guard every text under every dialect in turn; an exception or a text over the time limit ends it."""
    held = Held()
    rules: dict[str, GrammarRules] = {
        name: import_module(f"dialect_adapters.{name}.grammar").RULES for name in DIALECTS
    }
    with Parser() as parser:
        for number, text in enumerate(texts(count, seed)):
            dialect = DIALECTS[number % len(DIALECTS)]
            began = time.monotonic()
            spoken = rules[dialect]
            parsed = parser.parse(
                text,
                dialect,
                sqlglot_dialect=spoken.sqlglot_dialect,
                cte_scope=spoken.cte_scope,
                spellings=spoken.spellings,
            )
            verdict = check(parsed, spoken, None, profile=PROFILES[number // len(DIALECTS) % len(PROFILES)])
            seconds = time.monotonic() - began
            held.texts += 1
            held.verdicts["allowed" if verdict.allowed else str(verdict.node)] += 1
            if seconds > held.slowest:
                held.slowest, held.slowest_text = seconds, f"{dialect}: {text[:80]!r} ({len(text)})"
            if seconds > SLOWEST:
                raise AssertionError(f"{seconds:.1f} s for {text[:200]!r}")
        held.restarts = parser.restarts
    return held


def main(arguments: list[str]) -> None:
    """Soak and say how it held."""
    count, seed = int(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 20261127
    began = time.monotonic()
    held = soak(count, seed)
    print(f"{held.texts} texts in {time.monotonic() - began:.0f} s, seed {seed}, {held.restarts} workers replaced")
    print(f"slowest {held.slowest:.2f} s: {held.slowest_text}")
    print(", ".join(f"{node} {times}" for node, times in held.verdicts.most_common(12)))


if __name__ == "__main__":
    main(sys.argv[1:])
