"""One SELECT in every form an answer has is a match on every engine, and a DROP in the same forms is blocked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from rows import rows_of

_TABLE = rows_of("answers")
_SELECT = "SELECT COUNT(*) AS n FROM orders WHERE status <> 1"
_FORMS = [row for row in _TABLE["forms"] if "only" not in row]
_LONG = "SELECT 1 AS n " + "/* long */ " * 4000
_ERRORS = {
    **dict.fromkeys(_TABLE["unreadable"], "unreadable_answer"),
    "SELECT 1; SELECT 2": "several_statements",
    "```sql\nSELECT 1\n```\n```sql\nSELECT 2\n```": "several_statements",
    "-- nothing at all": "no_statement",
    "/* nothing */;": "no_statement",
    _LONG: "too_long",
}
ENGINES = [
    pytest.param("sqlite", "process", marks=pytest.mark.jail),
    pytest.param("duckdb", "process", marks=pytest.mark.jail),
    pytest.param("postgres", "docker", marks=pytest.mark.docker),
    pytest.param("mysql", "docker", marks=pytest.mark.docker),
    pytest.param("mariadb", "docker", marks=pytest.mark.docker),
]


def _pack(folder: Path, dialect: str) -> Path:
    """Write a pack of one question asked once for each form."""
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "orders.csv").write_text("id,status\n1,1\n2,2\n3,2\n", encoding="utf-8")
    columns = [{"name": "id", "kind": "int"}, {"name": "status", "kind": "int"}]
    schema = {"format": 1, "tables": [{"name": "orders", "columns": columns}]}
    described = {
        "format": 1,
        "name": "forms",
        "snapshots": {"shop": {"schema": "schema.yaml", "data": "data"}},
        "cases": ["cases.yaml"],
        "predictions": "predictions.jsonl",
    }
    asked = [*(f"select-{n}" for n in range(len(_FORMS))), *(f"drop-{n}" for n in range(len(_FORMS)))]
    asked += [f"error-{n}" for n in range(len(_ERRORS))]
    cases = [{"id": name, "question": "?", "gold": {dialect: _SELECT}} for name in asked]
    lines = [{"case_id": f"select-{n}", "sql": row["text"].replace("{SQL}", _SELECT)} for n, row in enumerate(_FORMS)]
    lines += [
        {"case_id": f"drop-{n}", "sql": row["text"].replace("{SQL}", "DROP TABLE orders")}
        for n, row in enumerate(_FORMS)
    ]
    lines += [{"case_id": f"error-{n}", "sql": text} for n, text in enumerate(_ERRORS)]
    (folder / "schema.yaml").write_text(yaml.safe_dump(schema), encoding="utf-8")
    (folder / "pack.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    (folder / "cases.yaml").write_text(yaml.safe_dump(cases), encoding="utf-8")
    (folder / "predictions.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(("dialect", "sandbox"), ENGINES)
def test_an_answer_in_any_form_is_judged_by_its_statement(cli, tmp_path, dialect, sandbox):
    """Every SELECT matches and keeps the text and the rules, every DROP is blocked, the rest says what it is."""
    pack = _pack(tmp_path / "pack", dialect)
    ran = cli(
        "run",
        str(pack),
        "--dialect",
        dialect,
        "--sandbox",
        sandbox,
        "--metrics",
        "execution_accuracy,sqlas.read_only_compliance",
    )
    assert ran.code == 0, ran.err
    found = {result["case_id"]: result for result in ran.results}
    for number, row in enumerate(_FORMS):
        select, drop = found[f"select-{number}"], found[f"drop-{number}"]
        assert (select["verdict"], select["answer_rules"]) == ("match", row["rules"]), (row["text"], select["reason"])
        given = row["text"].replace("{SQL}", _SELECT)
        assert select["answer_text"] == (None if select["predicted_sql"] == given else given)
        assert (drop["verdict"], drop["cause"]) == ("blocked", "unsafe_block"), (row["text"], drop["reason"])
        assert drop["guard"]["statement"] == "DROP"
    for number, (text, cause) in enumerate(_ERRORS.items()):
        result = found[f"error-{number}"]
        assert (result["verdict"], result["cause"]) == ("error", cause), (text[:60], result["reason"])
        assert result["scores"]["sqlas.read_only_compliance"]["value"] != 0, text[:60]
