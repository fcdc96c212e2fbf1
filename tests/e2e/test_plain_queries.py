"""Analytical questions in each dialect's own idioms pass every layer and run on the real engine."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from rows import rows_of

_ROOT = Path(__file__).parents[2]
_TABLE = rows_of("plain")
_SCRIPTS = _ROOT / "cases" / "packs" / "redteam"
ENGINES = [
    pytest.param("sqlite", "process", marks=pytest.mark.jail),
    pytest.param("postgres", "docker", marks=pytest.mark.docker),
    pytest.param("mysql", "docker", marks=pytest.mark.docker),
]
_UTILITIES = ("EXPLAIN", "SHOW", "DESCRIBE", "PRAGMA")
"""What begins so is no question of a case; the guard's own test has it."""


def _queries(dialect: str) -> dict[str, str]:
    """Return the table's queries by the id of their case."""
    queries = [sql for sql in _TABLE["queries"][dialect] if not sql.startswith(_UTILITIES)]
    return {f"q{number:03}": sql for number, sql in enumerate(queries)}


@pytest.mark.parametrize(("dialect", "sandbox"), ENGINES)
def test_plain_queries_match_themselves(cli, tmp_path, dialect, sandbox):
    """Each query, as gold and as prediction, is run and matches: none is blocked, fails or is no query."""
    pack = tmp_path / "pack"
    pack.mkdir()
    script = shutil.copy(_SCRIPTS / f"{dialect}.sql", pack)
    described = {
        "format": 1,
        "name": "plain",
        "snapshots": {"shop": {"scripts": {dialect: Path(script).name}}},
        "cases": ["cases.yaml"],
    }
    cases = [{"id": name, "question": "?", "gold": {dialect: sql}} for name, sql in _queries(dialect).items()]
    lines = [json.dumps({"case_id": name, "sql": sql}) for name, sql in _queries(dialect).items()]
    (pack / "pack.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    (pack / "cases.yaml").write_text(yaml.safe_dump(cases), encoding="utf-8")
    (pack / "predictions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    arguments = ["run", str(pack), "--dialect", dialect, "--sandbox", sandbox, "--clock", "2024-06-01T00:00:00Z"]
    ran = cli(*arguments, "--predictions", str(pack / "predictions.jsonl"))
    asked = _queries(dialect)
    others = {asked[r["case_id"]]: (r["verdict"], r["reason"]) for r in ran.results if r["verdict"] != "match"}
    assert others == {}
    assert ran.code == 0, ran.err
    assert set(ran.verdicts) == set(asked)
