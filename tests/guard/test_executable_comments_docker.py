"""On a real MySQL: what a version-gated comment does there, and that the guard lets through only what does the same."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from sqlassay.cases.outcome import Rows
from sqlassay.dialect_adapters.conformance import run_on
from sqlassay.dialect_adapters.conformance_data import ALPHA, BETA
from sqlassay.dialect_adapters.contract import Limits, Mode
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser
from sqlassay.harness.parse.versions import readings
from sqlassay.sandboxes.contract import Sandbox
from sqlassay.sandboxes.registry import provider

pytestmark = pytest.mark.docker

ROWS = [
    ("SELECT /*! 1, */ 2", True, True),
    ("SELECT /*!80000 1, */ 2", True, True),
    ("SELECT /*!080000 1, */ 2", True, True),
    ("SELECT /*!99999 1, */ 2", False, True),
    ("SELECT 1 /*!80000 AS one */ FROM hollow", True, True),
    ("SELECT count(*) FROM big /*!80000 WHERE id < 5 */", True, True),
    ("SELECT count(*) FROM big /*!99999 WHERE id < 5 */", False, True),
    ("SELECT 1 /*!80000 FROM big LIMIT 1 */", True, False),
    ("SELECT 1 /*!80000 + sleep(0) */", True, False),
    ("SELECT /*!99999 sleep(0), */ 1", False, False),
    ("SELECT 1 /*!80000 UNION SELECT count(*) FROM mysql.user */", True, False),
    ("SELECT 1 /*!99999 '*/ , 2 -- '*/", False, False),
    ("SELECT 1 /*!80000 '*/ , 2 -- '*/", True, False),
    ("SELECT '/*!80000 1, */ 2'", None, True),
    ("SELECT 2 -- /*!80000 1, */\n", None, True),
]
"""Text, whether this server runs the comment (None: it is none), whether the guard lets it through."""


@pytest.fixture(scope="module")
def server() -> Iterator[Sandbox]:
    """A read-only MySQL."""
    spoken, makes = adapter("mysql"), provider("docker")
    try:
        image = makes.prepare(spoken, (ALPHA, BETA), lambda line: None)
        yield makes.start(spoken, image, Mode.READ, f"comments-{uuid4().hex[:8]}")
    finally:
        makes.close()


@pytest.mark.parametrize(("sql", "runs", "allowed"), ROWS)
def test_the_guard_judges_what_the_server_runs(server: Sandbox, sql: str, runs: bool | None, allowed: bool) -> None:  # noqa: FBT001
    """The server gives what the reading gives that it takes, and the guard lets a text through only where both may."""
    rules = adapter("mysql").rules
    with Parser() as parser:
        parsed = parser.parse(sql, "mysql", None, sqlglot_dialect="mysql", spellings=rules.spellings)
    assert check(parsed, rules, None).allowed is allowed
    both = readings(sql)
    if runs is None or not both:
        assert both == ()
        return
    given, taken = (
        run_on(server, text, Limits(timeout=10), database="alpha").outcome for text in (sql, both[-1 if runs else 0])
    )
    if isinstance(given, Rows) and isinstance(taken, Rows):
        assert given.relation.rows == taken.relation.rows
    else:
        assert type(given) is type(taken)
