"""What stands in a case's personal columns is in no file of a run, no judge's prompt and no line that is printed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
import yaml

_PEOPLE = (
    ("Ann", "ann.smith@example.org", "1961-05-17", 73214),
    ("Bea", "bea.jones-with-a-rather-long-name-for-a-cell@mail.example.net", "1974-11-02", 81906),
    ("Cem", "cem@example.com", "1988-01-30", 64077),
)
_SECRETS = [str(value) for row in _PEOPLE for value in row[1:]]
_GOLD = "SELECT name, email, born, salary FROM people"
_CASES = {
    "all": ("SELECT name, email, born, salary FROM people", "match"),
    "alias": ("SELECT name, email AS contact, born AS b, salary + 0 AS s FROM people", "match"),
    "fewer": ("SELECT name, email, born, salary FROM people WHERE name <> 'Bea'", "mismatch"),
    "computed": ("SELECT name, UPPER(email), born, salary FROM people", "mismatch"),
    "swapped": ("SELECT name, born, email, salary * 2 FROM people", "mismatch"),
    "star": ("SELECT * FROM people", "match"),
    "nested": ("SELECT name, e, b, s FROM (SELECT name, email e, born b, salary s FROM people LIMIT 1) q", "mismatch"),
    "slip": ("SELECT emial FROM people", "error"),
    "literal": (f"SELECT name, email FROM people WHERE email = '{_SECRETS[0]}' -- {_SECRETS[0]}", "mismatch"),
}
ENGINES = [
    pytest.param("sqlite", "process", marks=pytest.mark.jail),
    pytest.param("postgres", "docker", marks=pytest.mark.docker),
]


def _pack(folder: Path, dialect: str) -> Path:
    """Write a pack of people, with an agent that repeats an address in its answer and its steps."""
    (folder / "data").mkdir(parents=True)
    kinds = {"name": "text", "email": "text", "born": "date", "salary": "int"}
    schema = {
        "format": 1,
        "tables": [{"name": "people", "columns": [{"name": name, "kind": kind} for name, kind in kinds.items()]}],
    }
    rows = [",".join(map(str, row)) for row in (tuple(kinds), *_PEOPLE)]
    (folder / "data" / "people.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "schema.yaml").write_text(yaml.safe_dump(schema), encoding="utf-8")
    described = {
        "format": 1,
        "name": "people",
        "snapshots": {"people": {"schema": "schema.yaml", "data": "data"}},
        "cases": ["cases.yaml"],
        "predictions": "predictions.jsonl",
    }
    asked = {**_CASES, "typed": ("SELECT CAST(email AS int) FROM people", "error")} if dialect != "sqlite" else _CASES
    cases = [
        {"id": name, "question": "Who?", "gold": {dialect: _GOLD}, "pii_columns": ["email", "born", "salary"]}
        for name in asked
    ]
    told = {"answer": f"Ann is {_SECRETS[0]}", "steps": [{"tool": "sql_query", "output": [list(_PEOPLE[0])]}]}
    lines = [{"case_id": name, "sql": sql, **told} for name, (sql, _) in asked.items()]
    (folder / "pack.yaml").write_text(yaml.safe_dump(described), encoding="utf-8")
    (folder / "cases.yaml").write_text(yaml.safe_dump(cases), encoding="utf-8")
    (folder / "predictions.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    (folder / "judge.py").write_text(
        "import json, pathlib\n"
        "def judge(prompt):\n"
        "    with open(pathlib.Path(__file__).with_name('prompts.txt'), 'a') as seen:\n"
        "        seen.write(str(prompt) + chr(10))\n"
        "    graded = 'score' in prompt[-600:]\n"
        "    said = {'score': 0.5} if graded else {'verdict': 'correct'}\n"
        "    if 'top_k' in prompt:\n"
        "        return json.dumps({'outputs': ['name'], 'filters': []})\n"
        "    return json.dumps({**said, 'reason': 'seen'})\n",
        encoding="utf-8",
    )
    return folder


def _leaks(folder: Path) -> list[tuple[str, str]]:
    """Return every personal value that stands in a file of a folder, as (file, value)."""
    found = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = file.read_bytes()
        text = (gzip.decompress(data) if file.suffix == ".gz" else data).decode("utf-8", "replace")
        shown = text.lower()
        found += [(file.name, secret) for secret in _SECRETS if secret.lower() in shown]
        found += [(file.name, secret[:16]) for secret in _SECRETS if len(secret) > 16 and secret[:16].lower() in shown]
    return found


@pytest.mark.parametrize("kept", ["all", "diff", "none"])
@pytest.mark.parametrize(("dialect", "sandbox"), ENGINES)
def test_no_file_prompt_or_line_shows_a_personal_value(cli, tmp_path, dialect, sandbox, kept):
    """Addresses, dates and numbers of personal columns are marked everywhere, and every verdict is as without marks."""
    pack = _pack(tmp_path / "pack", dialect)
    judge = f"callable:{pack / 'judge.py'}:judge"
    ran = cli(
        *("run", str(pack), "--dialect", dialect, "--sandbox", sandbox, "--store-rows", kept, "--judge", judge),
        *("--metrics", "execution_accuracy,sqlas.semantic_equivalence,evalbench.llmrater,sqlas.faithfulness,stef"),
        *("--judge-record", str(tmp_path / "record.jsonl")),
    )
    assert ran.code == 0, ran.err
    assert {name: verdict for name, verdict in ran.verdicts.items() if name != "typed"} == {
        name: verdict for name, (_, verdict) in _CASES.items()
    }
    prompts = (pack / "prompts.txt").read_text(encoding="utf-8")
    assert "[masked 1]" in prompts
    assert _leaks(ran.folder) == []
    assert [secret for secret in _SECRETS if secret in prompts + ran.out + ran.err] == []
    assert [secret for secret in _SECRETS if secret in (tmp_path / "record.jsonl").read_text(encoding="utf-8")] == []
    fewer = next(result for result in ran.results if result["case_id"] == "fewer")
    assert "[masked " in json.dumps(fewer["comparison"])
    assert "Bea" in json.dumps(fewer["comparison"])


@pytest.mark.jail
def test_stored_rows_can_be_judged_again(cli, tmp_path):
    """Equal cells have equal marks: `rescore` under another policy finds what the run would have found."""
    pack = _pack(tmp_path / "pack", "sqlite")
    ran = cli("run", str(pack))
    again = cli("rescore", str(ran.folder), "--policy", "strict", "--out", str(tmp_path / "again"))
    assert again.code in {0, 1, 3}, again.err
    assert _leaks(tmp_path / "again") == []
    assert [secret for secret in _SECRETS if secret in again.out + again.err] == []


_GOLDS = {
    "dialects": {"sqlite": _GOLD, "duckdb": "SELECT name, UPPER(email), born, salary FROM people"},
    "alternatives": {"sqlite": [_GOLD, "SELECT name, email, born, salary FROM people WHERE name <> 'Ann'"]},
    "literal": {
        "sqlite": f"SELECT email FROM people WHERE email = '{_SECRETS[0]}'",
        "duckdb": "SELECT email FROM people",
    },
    "tie": {"sqlite": "SELECT email, born FROM people ORDER BY length(name) LIMIT 1"},
    "nulls": {"sqlite": "SELECT name, email FROM people ORDER BY NULLIF(name, 'Ann') LIMIT 1"},
    "fails": {"sqlite": _GOLD, "duckdb": "SELECT CAST(email AS int) FROM people"},
}


def _crossed_pack(folder: Path) -> Path:
    """Write the pack of people with golds of two dialects that differ, leave rows open, or fail on a value."""
    pack = _pack(folder, "sqlite")
    cases = [
        {"id": name, "question": "Who?", "gold": gold, "pii_columns": ["email", "born", "salary"]}
        for name, gold in _GOLDS.items()
    ]
    (pack / "cases.yaml").write_text(yaml.safe_dump(cases), encoding="utf-8")
    return pack


@pytest.mark.jail
def test_a_check_of_gold_shows_no_personal_value(cli, tmp_path):
    """Golds that disagree, tie or fail are flagged as they are, with marks for addresses, dates and numbers."""
    pack = _crossed_pack(tmp_path / "pack")
    out = tmp_path / "health"
    ran = cli("check-cases", str(pack), "--dialects", "sqlite,duckdb", "--out", str(out))
    found = json.loads((out / "health.json").read_text(encoding="utf-8"))
    flags = {(one["case_id"], one["flag"]) for one in found["findings"]}
    assert flags >= {
        ("dialects", "dialects_disagree"),
        ("alternatives", "alternatives_disagree"),
        ("tie", "tie_at_limit"),
        ("fails", "does_not_run"),
    }, ran.err
    assert "[masked " in json.dumps(found["findings"])
    assert _leaks(out) == []
    assert [secret for secret in _SECRETS if secret.lower() in (ran.out + ran.err).lower()] == []


@pytest.mark.jail
@pytest.mark.parametrize("given", ["gold", "predictions"])
def test_a_crosscheck_shows_no_personal_value(cli, tmp_path, given):
    """Engines that disagree on a personal value are reported with marks, in every file and on the terminal."""
    pack = _crossed_pack(tmp_path / "pack")
    out = tmp_path / "cross"
    lines = [
        {"case_id": name, "sql": sql, "dialect": dialect}
        for name, golds in _GOLDS.items()
        for dialect, sql in golds.items()
        if isinstance(sql, str)
    ]
    (pack / "predictions.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    asked = ("--predictions", str(pack / "predictions.jsonl")) if given == "predictions" else ()
    ran = cli("crosscheck", str(pack), "--dialects", "sqlite,duckdb", "--out", str(out), *asked)
    found = json.loads((out / "crosscheck.json").read_text(encoding="utf-8"))
    agreed = {case["case_id"]: case["pairs"][0]["agreement"] for case in found["cases"]}
    assert (agreed["dialects"], agreed["fails"]) == ("silent", "error"), ran.err
    assert "[masked " in (out / "crosscheck.json").read_text(encoding="utf-8")
    assert _leaks(out) == []
    assert [secret for secret in _SECRETS if secret.lower() in (ran.out + ran.err).lower()] == []
