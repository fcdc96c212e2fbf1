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
from typing import Any

import pytest

from sqlassay.cases.errors import ParserLostError, ParserStartError
from sqlassay.harness.parse import Parser
from sqlassay.harness.parse import parser as parsing

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


def test_a_stopped_worker_is_replaced_and_the_text_is_still_parsed() -> None:
    """A worker that gives no answer is a stall of the machine, not of the text: a fresh one is asked."""
    with Parser(stall=1.0) as hurried:
        hurried.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite")
        pid = hurried.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        while Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)
        assert hurried.parse("SELECT a FROM t", "sqlite", sqlglot_dialect="sqlite").projections == ("a",)
        assert hurried.pid != pid


def test_a_text_past_the_cpu_deadline_has_an_error_and_the_next_text_is_parsed() -> None:
    """The deadline counts the worker's own CPU time; the text that used it up is to blame, once is enough."""
    slow = "SELECT " + ", ".join(f"({number} + a{number})" for number in range(1500)) + " FROM t"
    with Parser(deadline=0.02) as hurried:
        assert hurried.parse(slow, "sqlite", sqlglot_dialect="sqlite").error == "not parsed within 0.02 s"
        assert hurried.restarts == 0
    with Parser() as patient:
        assert patient.parse(slow, "sqlite", sqlglot_dialect="sqlite").error is None


@pytest.fixture
def struck(monkeypatch: pytest.MonkeyPatch) -> list[signal.Signals]:
    """Signals that meet the worker just before it is asked, one a question."""
    signals: list[signal.Signals] = []
    ask = Parser._ask

    def strike(self: Parser, *arguments: Any) -> dict[str, Any]:
        if self.pid is None:
            self._start("sqlite")
        if signals and self.pid is not None:
            os.kill(self.pid, signals.pop(0))
        return ask(self, *arguments)

    monkeypatch.setattr(Parser, "_ask", strike)
    return signals


def test_a_worker_killed_from_outside_twice_is_a_fault_of_ours(struck: list[signal.Signals]) -> None:
    """What a supervisor or the kernel kills says nothing about the text; the next text is read."""
    with Parser() as parser:
        struck += [signal.SIGKILL, signal.SIGKILL]
        with pytest.raises(ParserLostError, match="was ended by SIGKILL, twice"):
            parser.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite")
        assert parser.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite").error is None


def test_a_text_that_crashes_two_workers_is_to_blame(struck: list[signal.Signals]) -> None:
    """A crash of the parser's own on a fresh worker too is a fact about the text."""
    with Parser() as parser:
        struck += [signal.SIGSEGV, signal.SIGSEGV]
        assert parser.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite").error == "the parser died on this text"


def test_texts_lost_one_after_the_other_end_the_run(struck: list[signal.Signals]) -> None:
    """Three lost texts in a row are a fault that the next text would meet too."""
    with Parser() as parser:
        struck += [signal.SIGKILL] * 6
        for _ in range(2):
            with pytest.raises(ParserLostError):
                parser.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite")
        with pytest.raises(ParserStartError, match="3 statements in a row"):
            parser.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite")


def test_a_worker_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that fails is no fault of any text, and the last line of the process tells the reason."""
    monkeypatch.setattr(parsing, "_BOOT", "raise SystemExit('no parser here')")
    with Parser() as parser, pytest.raises(ParserStartError, match="does not start: .* exit code 1: no parser here"):
        parser.parse("SELECT 1", "sqlite", sqlglot_dialect="sqlite")


@pytest.mark.parametrize(("kilobytes", "starts"), [(4_000_000, True), (60_000, False)])
def test_a_lower_limit_of_memory_is_respected(kilobytes: int, starts: bool) -> None:
    """Under a shell's own limit the parser works where it can, and says that it does not start where it cannot."""
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({kilobytes} * 1024,) * 2)\n"
        "from sqlassay.harness.parse import Parser\nfrom sqlassay.cases.errors import ParserStartError\n"
        "try:\n    print(Parser().parse('SELECT 1', 'sqlite', sqlglot_dialect='sqlite').error)\n"
        "except ParserStartError:\n    print('not started')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == ("None" if starts else "not started"), done.stderr


@pytest.mark.parametrize(
    ("sql", "sorts"),
    [
        ("SELECT a b c FROM a ORDER BY b", True),
        ("SELECT a b c FROM (SELECT a FROM t ORDER BY a LIMIT 3)", False),
        ("(SELECT a b c FROM a ORDER  BY b)", True),
        ("SELECT a b c FROM 'order by'", False),
        ("SELECT a b c FROM a -- order by\n", False),
        ("SELECT a b c FROM a /* ( */ order\tby b", True),
        ("SELECT a FROM t ORDER BY a -- " + "x" * 33_000, True),
        ("SELECT a FROM t -- " + "x" * 33_000, False),
    ],
)
def test_a_text_without_facts_that_sorts_has_an_order_of_unknown_keys(parser: Parser, sql: str, sorts: bool) -> None:
    """Rows of a gold that could not be read are never compared as a bag where its text sorts them."""
    parsed = parser.parse(sql, "postgres", sqlglot_dialect="postgres")
    assert parsed.error is not None
    assert (parsed.order is not None) is sorts


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
    code = "import sys, sqlassay.harness.parse; print([m for m in ('sqlglot', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
