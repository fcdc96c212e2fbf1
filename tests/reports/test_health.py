"""The health page: its counts, verdict and exit code, and what a hostile statement or row can do to it."""

from __future__ import annotations

import json

import pytest

from sqlassay.harness.reports.health import page, render, write
from sqlassay.harness.results.health import FAIL_ON, MEANINGS, Checked, Finding, Flag, Health, Note, health

_TEXT = "SELECT '|</code><script>\x1b[2J```' -- postgresql://me:secret@host/db"


def made(*flags: Flag, fail_on: tuple[Flag, ...] = FAIL_ON, problems: tuple[str, ...] = (), golds: int = 2) -> Health:
    """Return the health of a pack of two cases of which one carries these flags."""
    findings = [
        Finding(case_id="c|1", dialect="sqlite", alternative=2, flag=flag, evidence=_TEXT, sql=_TEXT, probe=_TEXT,
                rows=(_TEXT,), remedy=MEANINGS[flag][1])
        for flag in flags
    ]  # fmt: skip
    checked = [Checked(dialect="sqlite", engine_version="3", cases=2, golds=golds, executions=9)]
    notes = [Note(case_id="c|1", dialect="sqlite", text="not asked")]
    return health(
        pack="p", digest="d", policy="skill", seed=0, fail_on=fail_on, checked=checked, findings=findings,
        notes=notes, problems=problems, cases=2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "code", "word"),
    [
        (made(), 0, "HEALTHY: nothing to say"),
        (made(Flag.EMPTY), 0, "HEALTHY: 1 of 2"),
        (made(Flag.EMPTY, fail_on=(Flag.EMPTY,)), 1, "UNHEALTHY: 1 of 2 cases are empty"),
        (made(Flag.NON_DETERMINISTIC), 1, "UNHEALTHY: 1 of 2"),
        (made(Flag.NON_DETERMINISTIC, fail_on=()), 0, "HEALTHY: 1 of 2"),
        (made(Flag.DOES_NOT_RUN, problems=("lost",)), 3, "INCOMPLETE: 1 check could not be made, first: lost"),
        (made(golds=0), 5, "NOTHING"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, str) else None,
)
def test_the_verdict_line_equals_the_exit_code(found, code, word):
    """Faults of ours come first, then a pack without gold, then the flags that were named."""
    assert int(found.exit_code) == code
    last = render(found, "h", width=90, color=False).splitlines()[-1]
    assert last == found.verdict_line
    assert last.startswith(word)
    assert last.endswith(f"(exit {code})")


def test_every_flag_has_a_meaning_and_a_remedy():
    """A flag without words would be no help."""
    assert set(MEANINGS) == set(Flag)
    assert all(all(words) for words in MEANINGS.values())


def test_nothing_of_a_statement_acts_in_the_page(tmp_path):
    """No control character, markup, password or fence of a statement survives; the JSON is whole."""
    found = made(*Flag)
    for text in (page(found), render(found, "h", width=90, color=False)):
        assert "\x1b" not in text
        assert "secret" not in text
    assert page(found).count("\n```sql\n") == 0
    assert "<script>" not in page(found).replace(_fenced(page(found)), "")
    files = write(found, tmp_path)
    assert [file.name for file in files] == ["health.json", "health.md"]
    again = json.loads(files[0].read_text(encoding="utf-8"))
    assert again["counts"] == {flag.value: {"sqlite": 1} for flag in Flag}
    assert "secret" not in files[0].read_text(encoding="utf-8")
    for flag in Flag:
        assert f"## {flag}".replace("_", "&#95;") in page(found) or f"## {flag}" in page(found)


def _fenced(text: str) -> str:
    """Return the first fenced statement of the page, which shows markup as it is."""
    start = text.index("````sql")
    return text[start : text.index("````", start + 7)]
