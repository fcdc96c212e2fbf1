"""Changes as each engine spells them are admitted, run on the real engine, and judged by the state they leave."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from rows import rows_of

_ROOT = Path(__file__).parents[2]
_TABLE = rows_of("changes")
_OFFICE = _ROOT / "cases" / "packs" / "changes" / "scripts"
ENGINES = [
    pytest.param("sqlite", "process", marks=pytest.mark.jail),
    pytest.param("postgres", "docker", marks=pytest.mark.docker),
    pytest.param("mysql", "docker", marks=pytest.mark.docker),
]
SHARE = 1 if os.environ.get("SPELLINGS") == "all" else 4
"""Every how many rows one is run; each needs three servers of its own, so `make soak` runs them all."""


def _rows(dialect: str, share: int = SHARE) -> dict[str, dict[str, Any]]:
    """Return the table's rows of one dialect by the id of their case."""
    rows = [row for row in _TABLE["rows"] if row["dialect"] == dialect][::share]
    return {f"{row['kind']}-{row['what'].replace(' ', '-')}": row for row in rows}


def _pack(folder: Path, dialect: str) -> Path:
    """Write a pack of the table's rows on the office of the pack `changes`."""
    folder.mkdir()
    script = shutil.copy(_OFFICE / f"{dialect}.sql", folder)
    described = {
        "format": 1,
        "name": "spellings",
        "snapshots": {"office": {"scripts": {dialect: Path(script).name}}},
        "cases": ["cases.yaml"],
        "policy": "skill",
    }
    cases = [
        {"id": name, "question": row["what"], "query_type": row["kind"], "gold": {dialect: row["gold"]}}
        | ({"setup_sql": {dialect: row["setup"]}} if "setup" in row else {})
        for name, row in _rows(dialect).items()
    ]
    (folder / "pack.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    (folder / "cases.yaml").write_text(yaml.safe_dump(cases), encoding="utf-8")
    lines = [
        json.dumps({"case_id": name, "trial": trial, "sql": row[side]})
        for name, row in _rows(dialect).items()
        for trial, side in enumerate(("right", "wrong"))
    ]
    (folder / "predictions.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(("dialect", "sandbox"), ENGINES)
def test_spellings_are_judged_by_their_effect(cli, tmp_path, dialect, sandbox):
    """Another spelling of the same effect matches, a valid change of another does not; none is blocked."""
    pack = _pack(tmp_path / "pack", dialect)
    arguments = ["run", str(pack), "--dialect", dialect, "--sandbox", sandbox, "--jobs", "2", "--trials", "2"]
    ran = cli(*arguments, "--predictions", str(pack / "predictions.jsonl"))
    assert ran.code == 0, ran.err
    wanted = ["match", "mismatch"]
    assert [(r["case_id"], r["verdict"], r["reason"]) for r in ran.results if r["verdict"] != wanted[r["trial"]]] == []
    assert {(r["case_id"], r["trial"]) for r in ran.results} == {(n, t) for n in _rows(dialect) for t in (0, 1)}


@pytest.mark.parametrize("dialect", ["sqlite", "postgres", "mysql"])
def test_every_row_has_a_name_of_its_own(dialect):
    """No row hides another."""
    assert len(_rows(dialect, 1)) == sum(row["dialect"] == dialect for row in _TABLE["rows"])
