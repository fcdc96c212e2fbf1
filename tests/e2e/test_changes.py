"""The pack `changes` on every engine: right answers match however they are written, wrong ones fail by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlassay.cases.formats.own import OwnFormat
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.parse.parser import Parser

PACK = Path(__file__).parents[2] / "cases" / "packs" / "changes"
ENGINES = [
    pytest.param("sqlite", "process", marks=pytest.mark.jail),
    pytest.param("sqlite", "docker", marks=pytest.mark.docker),
    pytest.param("postgres", "docker", marks=pytest.mark.docker),
    pytest.param("mysql", "docker", marks=pytest.mark.docker),
]
WRONG = {
    "raise": ("mismatch", "missing_filter", "table employees: rows differ"),
    "hire": ("mismatch", None, "table employees: rows differ"),
    "hire_four": ("mismatch", None, "table employees: rows differ"),
    "close": ("mismatch", "table_mismatch", "table departments: the gold has 2 rows, the prediction 3"),
    "restock": ("mismatch", None, "table stock: the gold has 4 rows, the prediction 3"),
    "trim": ("mismatch", None, "table employees: the gold has 3 rows, the prediction 2"),
    "correct": ("mismatch", "filter_value_mismatch", "table readings: rows differ"),
    "nothing_to_do": ("mismatch", None, "table employees: rows differ"),
    "archive": ("mismatch", None, "table leavers: the gold has 3 rows, the prediction 2"),
    "promise": ("error", "execution_failure", ""),
    "tidy": ("blocked", "unsafe_block", "DROP is rejected"),
    "projects": ("mismatch", None, "constraints: the gold has"),
    "view": ("mismatch", None, "view seniors: the gold has 3 rows, the prediction 4"),
    "index": ("mismatch", None, "indexes"),
    "drop": ("mismatch", "table_mismatch", "table arrivals: the prediction leaves it, the gold does not"),
    "email": ("mismatch", None, "table employees: rows differ"),
    "count": ("mismatch", "table_mismatch", ""),
}


def arguments(dialect: str, sandbox: str, predictions: str) -> list[str]:
    """Return the command line of one run."""
    file = PACK / "predictions" / f"{predictions}.jsonl"
    return ["run", "changes", "--dialect", dialect, "--sandbox", sandbox, "--predictions", str(file)]


@pytest.mark.parametrize(("dialect", "sandbox"), ENGINES)
def test_right_changes_match(cli, dialect, sandbox):
    """Other texts of the same effect match, on fresh sandboxes: a correct CREATE finds no leftover of the gold."""
    ran = cli(*arguments(dialect, sandbox, "right"))
    assert ran.code == 0, ran.err
    assert {case: verdict for case, verdict in ran.verdicts.items() if verdict != "match"} == {}
    assert set(ran.verdicts) == set(WRONG)
    results = {result["case_id"]: result for result in ran.results}
    assert results["drop"]["gold_changed"] == results["drop"]["predicted_changed"]
    assert "table arrivals" in results["drop"]["gold_changed"]
    assert results["nothing_to_do"]["comparison"]["flags"] == ["vacuous"]
    assert results["count"]["gold_shape"] == [1, 1]


@pytest.mark.parametrize(("dialect", "sandbox"), ENGINES)
def test_wrong_changes_fail_by_name(cli, dialect, sandbox):
    """No WHERE, too wide a WHERE, no effect, another key, a lost constraint: each is a failure that names its table."""
    ran = cli(*arguments(dialect, sandbox, "wrong"))
    assert ran.code == 0, ran.err
    for result in ran.results:
        verdict, cause, words = WRONG[result["case_id"]]
        assert result["verdict"] == verdict, result
        assert words in result["reason"], result
        assert cause is None or result["cause"] == cause, result
    assert ran.mean("execution_accuracy") == 0.0
    assert (ran.folder / "junit.xml").stat().st_size > 0


def test_the_pack_is_whole():
    """Every case has gold in three dialects and is answered rightly and wrongly; its gold parses."""
    pack = OwnFormat().load(PACK)
    assert {case.id for case in pack.cases} == set(WRONG)
    with Parser() as parser:
        for case in pack.cases:
            assert set(case.gold) >= {"postgres", "mysql", "sqlite"}
            for dialect, statements in case.gold.items():
                parsed = parser.parse(
                    statements[0], dialect, None, sqlglot_dialect=adapter(dialect).rules.sqlglot_dialect
                )
                assert parsed.error is None, (case.id, dialect)
