"""A pack that allows one function of its snapshot: answers that call it are judged, those that call another blocked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

HEADER = """\
format: 1
name: billing
snapshots:
  billing: {scripts: {postgres: postgres.sql, mysql: mysql.sql}}
allowed_functions:
  billing: [f_total]
cases:
  - id: total
    question: How much does customer 7 owe?
    gold: {postgres: SELECT f_total(7), mysql: SELECT f_total(7)}
  - id: all
    question: How much do all owe?
    gold: {postgres: SELECT sum(amount) FROM bills, mysql: SELECT sum(amount) FROM bills}
  - id: each
    question: How much does each customer owe?
    gold:
      postgres: SELECT customer, f_total(customer) FROM bills GROUP BY customer
      mysql: SELECT customer, f_total(customer) FROM bills GROUP BY customer
predictions: predictions.jsonl
"""
SCRIPTS = {
    "postgres": """
CREATE TABLE bills (id int PRIMARY KEY, customer int, amount numeric);
INSERT INTO bills VALUES (1, 7, 10.5), (2, 7, 2), (3, 8, 1);
CREATE FUNCTION f_total(of integer) RETURNS numeric LANGUAGE sql STABLE
  AS 'SELECT sum(amount) FROM bills WHERE customer = of';
CREATE FUNCTION f_wipe() RETURNS int LANGUAGE sql SECURITY DEFINER AS 'DELETE FROM bills; SELECT 1';
""",
    "mysql": """
CREATE TABLE bills (id int PRIMARY KEY, customer int, amount decimal(8,2));
INSERT INTO bills VALUES (1, 7, 10.5), (2, 7, 2), (3, 8, 1);
DELIMITER //
CREATE FUNCTION f_total(wanted INT) RETURNS DECIMAL(8,2) READS SQL DATA
  RETURN (SELECT SUM(amount) FROM bills WHERE customer = wanted)//
CREATE FUNCTION f_wipe() RETURNS INT MODIFIES SQL DATA BEGIN DELETE FROM bills; RETURN 1; END//
""",
}
ANSWERS = {
    "total": "SELECT SUM(amount) FROM bills WHERE customer = 7",
    "all": "SELECT f_wipe()",
    "each": "SELECT DISTINCT customer, f_total(customer) FROM bills",
}


@pytest.mark.docker
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_exactly_the_allowed_function_may_be_called(cli, dialect: str, tmp_path: Path) -> None:
    """Gold and prediction may call it and are flagged; a routine that is not listed is blocked and named."""
    pack = tmp_path / "pack"
    pack.mkdir()
    (pack / "pack.yaml").write_text(HEADER)
    for name, text in SCRIPTS.items():
        (pack / f"{name}.sql").write_text(text)
    lines = [json.dumps({"case_id": case, "sql": sql}) for case, sql in ANSWERS.items()]
    (pack / "predictions.jsonl").write_text("\n".join(lines) + "\n")
    ran = cli("run", str(pack), "--dialect", dialect, "--sandbox", "docker", "--jobs", "1")
    assert ran.code == 0, ran.out + ran.err
    assert ran.verdicts == {"total": "match", "all": "blocked", "each": "match"}
    results = {result["case_id"]: result for result in ran.results}
    assert results["each"]["guard"]["flags"] == ["routine: f_total"]
    assert "'f_wipe' is a function" in results["all"]["guard"]["reason"]
    assert results["all"]["guard"]["node"] == "function"

    (pack / "pack.yaml").write_text(HEADER.replace("[f_total]", "[f_totals]"))
    refused = cli("run", str(pack), "--dialect", dialect, "--sandbox", "docker", name="refused")
    assert refused.code == 2
    assert "allowed_functions.billing: no function 'f_totals'. The snapshot's functions: f_total, f_wipe" in refused.err
