"""The parser survives every text and every death of its worker, and its parent never loads a parser."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.parse import Parser

_SQL = (
    "SELECT a, count(*) FROM t JOIN u ON t.id = u.id WHERE x IN (1, 2) AND y LIKE 'a%' GROUP BY a ORDER BY 2 LIMIT 3",
    "WITH r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r -- the end",
    "SELECT CASE WHEN a > 1 THEN 'x' ELSE E'\\'' END, \"q\", `b`, [c], $$d$$, x'00' /* c */ FROM s.t;",
)


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    """One parser for the module."""
    with Parser() as started:
        yield started


def test_nothing_starts_before_the_first_text() -> None:
    """A parser that is never asked has no worker."""
    with Parser() as idle:
        assert idle.pid is None


def test_a_killed_worker_is_replaced_and_the_text_is_still_parsed(parser: Parser) -> None:
    """A kill -9 of the worker costs a restart, not an answer."""
    parser.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite")
    before, pid = parser.restarts, parser.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert parser.parse("SELECT a FROM t", "sqlite", sqlglot_dialect="sqlite").projections == ("a",)
    assert parser.restarts == before + 1
    assert parser.pid != pid


def test_a_worker_past_the_deadline_is_killed_and_the_next_text_is_parsed() -> None:
    """A worker that does not answer in time is ended; the text has an error and the next one a new worker."""
    with Parser(deadline=1.5) as hurried:
        hurried.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite")
        pid = hurried.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        while Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)
        assert hurried.parse("SELECT 2", "sqlite", sqlglot_dialect="sqlite").error == "not parsed within 1.5 s"
        assert hurried.parse("SELECT 3", "sqlite", sqlglot_dialect="sqlite").error is None


def test_a_closed_parser_leaves_no_process() -> None:
    """After close the worker is gone and collected."""
    with Parser() as brief:
        brief.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite")
        pid = brief.pid
    assert pid is not None
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("SELECT " + "x" * 33_000, "longer than"),
        ("SELECT " + "(" * 250 + "1" + ")" * 250, "nested 250 deep"),
        ("SELECT " + "NOT " * 7_000 + "1", "too deep"),
        ("", "no statement"),
        ("SELECT FROM WHERE (", "syntax error"),
        ("\x00\ud800'", "syntax error"),
    ],
)
def test_a_text_that_cannot_be_parsed_has_an_error(parser: Parser, sql: str, error: str) -> None:
    """Length, depth, emptiness, broken grammar and junk are facts, never exceptions."""
    assert error in str(parser.parse(sql, "postgres", sqlglot_dialect="postgres").error)


def test_sixty_nested_parentheses_are_parsed(parser: Parser) -> None:
    """Nesting that breaks the parser's default recursion limit is fine here."""
    sql = "SELECT " + "(" * 190 + "1" + ")" * 190
    assert parser.parse(sql, "sqlite", sqlglot_dialect="sqlite").error is None


def test_answers_belong_to_their_questions_across_threads(parser: Parser) -> None:
    """Many threads share one worker and each gets the facts of its own text."""
    texts = [f"SELECT c{number} FROM t" for number in range(60)]
    with ThreadPoolExecutor(8) as pool:
        parsed = list(pool.map(lambda sql: parser.parse(sql, "sqlite", sqlglot_dialect="sqlite"), texts))
    assert [query.projections for query in parsed] == [(f"c{number}",) for number in range(60)]


@pytest.mark.parametrize("dialect", ["postgres", "mysql", "sqlite"])
def test_mutated_and_random_texts_never_hang_or_kill_the_parser(parser: Parser, dialect: str) -> None:
    """A fixed sample of broken statements and random bytes always gives a value, in time."""
    chance = random.Random(20261127)
    for _ in range(120):
        text = list(chance.choice(_SQL))
        for _ in range(chance.randint(1, 6)):
            text[chance.randrange(len(text))] = chr(
                chance.choice((0, 34, 39, 40, 41, 42, 45, 47, 59, 92, 96, 233, 8232))
            )
        junk = bytes(chance.randrange(256) for _ in range(80)).decode("latin-1")
        for sql in ("".join(text), junk):
            began = time.monotonic()
            parsed = parser.parse(sql, dialect, sqlglot_dialect=dialect)
            assert parsed.sql == sql
            assert time.monotonic() - began < 8


def test_the_parent_never_loads_a_parser_or_the_data_models() -> None:
    """Importing parse costs neither sqlglot nor pydantic, so a command's help stays fast."""
    code = "import sys, harness.parse; print([m for m in ('sqlglot', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
