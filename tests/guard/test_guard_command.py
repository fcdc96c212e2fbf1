"""`sqlassay guard` judges a file line by line, tolerates what it does not know, and names the line it cannot read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import sqlassay
from sqlassay.cases.catalog import Catalog, CatalogColumn, CatalogTable
from sqlassay.cases.errors import InputError
from sqlassay.cases.relation import Kind
from sqlassay.harness.cli.guard_command import command
from sqlassay.harness.guard.statements import Statement, expand, read_statements

_CATALOG = Catalog(
    dialect="sqlite",
    snapshot="s",
    database="s",
    engine_version="0",
    tables=(CatalogTable(name="orders", columns=(CatalogColumn(name="id", kind=Kind.INT, declared=""),)),),
)


def _run(tmp_path: Path, lines: list[str], *options: str, dialect: str = "sqlite") -> Result:
    """Run the command on a file of these lines."""
    file = tmp_path / "statements.jsonl"
    file.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    return CliRunner().invoke(command, ["--dialect", dialect, *options, str(file)], standalone_mode=False)


def test_every_line_gives_one_line_in_its_order(tmp_path: Path) -> None:
    """Id, verdict, reason, node and flags come out; blank lines and unknown keys are passed over."""
    lines = [
        '{"id": "a", "sql": "SELECT 1", "class": "plain", "live": true}',
        "",
        '{"id": 2, "sql": "DROP TABLE orders"}',
        '{"id": "c", "sql": "SELECT random()"}',
    ]
    done = _run(tmp_path, lines)
    assert done.exit_code == 0
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [tuple(line) for line in found] == [("id", "verdict", "reason", "node", "flags")] * 3
    assert [(line["id"], line["verdict"], line["node"]) for line in found] == [
        ("a", "allowed", None),
        (2, "rejected", "drop"),
        ("c", "allowed", None),
    ]
    assert found[2]["flags"] == ["nondeterministic: random"]
    assert "OK: 3 statements, 1 rejected, 1 flagged (exit 0)" in done.stderr


def test_a_catalogue_decides_about_tables(tmp_path: Path) -> None:
    """With --catalog an unknown table is rejected, without it only the system's own are."""
    catalog = tmp_path / "catalog.json"
    catalog.write_text(_CATALOG.model_dump_json(), encoding="utf-8")
    lines = ['{"id": "a", "sql": "SELECT * FROM orders"}', '{"id": "b", "sql": "SELECT * FROM gold"}']
    nodes = [json.loads(line)["node"] for line in _run(tmp_path, lines, "--catalog", str(catalog)).stdout.splitlines()]
    assert nodes == [None, "unknown_table"]
    assert [json.loads(line)["node"] for line in _run(tmp_path, lines).stdout.splitlines()] == [None, None]


def test_profiles_admit_changes(tmp_path: Path) -> None:
    """--profile dml lets an UPDATE pass that the default rejects."""
    lines = ['{"id": "a", "sql": "UPDATE orders SET id = 1"}']
    assert json.loads(_run(tmp_path, lines).stdout)["verdict"] == "rejected"
    assert json.loads(_run(tmp_path, lines, "--profile", "dml").stdout)["verdict"] == "allowed"


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ('{"id": "x", "sql":', ":2: the line is not JSON"),
        ('{"id": "x", "sql": "SELECT 1", "sql": "DROP TABLE orders"}', ":2: the line has a key twice"),
        ('\ufeff{"id": "x", "sql": "SELECT 1"}', ":2: the line is not JSON"),
        ("[1]", ":2: the line is no object"),
        ('{"sql": "SELECT 1"}', ":2:id: "),
        ('{"id": true, "sql": "SELECT 1"}', ":2:id: "),
        ('{"id": "x", "sql": null}', ":2:sql: "),
        ('{"id": "\udcff", "sql": "SELECT 1"}', ":2: the line is not UTF-8"),
        ("[" * 100_000, ":2: the line is not JSON"),
        ('{"id": ' + "9" * 5_000 + ', "sql": "x"}', ":2: the line is not JSON"),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: str, place: str) -> None:
    """File, line, field and remedy stand in the message, the lines around it are judged, and the exit code is 2."""
    done = _run(tmp_path, ['{"id": "a", "sql": "SELECT 1"}', line, '{"id": "b", "sql": "DROP TABLE orders"}'])
    assert done.return_value == 2
    assert f"INPUT: {tmp_path / 'statements.jsonl'}{place}" in done.stderr
    assert any(remedy in done.stderr for remedy in ("Write {", "Give every line"))
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["a", "b"]
    assert done.stderr.endswith("INPUT: 1 malformed line, 2 statements, 1 rejected, 0 flagged (exit 2)\n")


def test_one_statement_after_a_byte_order_mark_is_counted_as_one(tmp_path: Path) -> None:
    """A file saved with a byte order mark is read, and a single statement's figures are numbers."""
    done = _run(tmp_path, ['\ufeff{"id": "a", "sql": "DROP TABLE orders"}'])
    said = "No catalogue: tables, columns and functions of the snapshot's own were not asked about.\n"
    assert done.stderr == f"{said}OK: 1 statement, 1 rejected, 0 flagged (exit 0)\n"


SHAPES = {
    "own.jsonl": '{"case_id": "a", "sql": "SELECT 1", "trial": 0}\n{"case_id": "b", "sql": "DROP TABLE t"}\n'
    '{"case_id": "c", "sql": null}\n',
    "table.csv": "\ufeffcase;Predicted SQL;note\na;SELECT 1;x\nb;DROP TABLE t;\nc;;y\n",
    "list.json": '[{"id": "a", "sql": "SELECT 1"}, {"id": "b", "sql": "DROP TABLE t"}, {"id": "c", "sql": null}]',
    "map.json": '{"a": "SELECT 1\\t----- bird -----\\tdb", "b": "DROP TABLE t", "c": null}',
    "names.jsonl": '{"question_id": "a", "generated_sql": "SELECT 1"}\n{"question_id": "b", "generated_sql": '
    '"DROP TABLE t"}\n{"question_id": "c", "generated_sql": ""}\n',
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_of_predictions_is_judged(tmp_path: Path, name: str) -> None:
    """Our own predictions, tables, lists and maps give the verdicts of their statements; one without is counted."""
    (tmp_path / name).write_text(SHAPES[name])
    done = CliRunner().invoke(command, ["--dialect", "sqlite", str(tmp_path / name)], standalone_mode=False)
    assert [(line["id"], line["verdict"]) for line in map(json.loads, done.stdout.splitlines())] == [
        ("a", "allowed"),
        ("b", "rejected"),
    ]
    assert "OK: 2 statements, 1 rejected, 0 flagged, 1 without a statement (exit 0)" in done.stderr


@pytest.mark.parametrize("lines", [[], ["", "  "]])
def test_an_empty_file_is_an_error(tmp_path: Path, lines: list[str]) -> None:
    """Nothing to judge is no success: the file is named and the remedy given."""
    done = _run(tmp_path, lines)
    assert isinstance(done.exception, InputError)
    assert done.exception.exit_code == 2
    assert "statements.jsonl: there is no statement in it" in str(done.exception)


def test_a_file_of_bad_lines_alone_names_each(tmp_path: Path) -> None:
    """Two bad lines are two lines on standard error, and no verdict."""
    done = _run(tmp_path, ["x", "y"])
    assert (done.return_value, done.stdout) == (2, "")
    assert done.stderr.count("the line is not JSON") == 2


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """A folder is named as what cannot be read."""
    done = CliRunner().invoke(command, ["--dialect", "sqlite", str(tmp_path)], standalone_mode=False)
    assert isinstance(done.exception, InputError)
    assert "cannot be read" in str(done.exception)


def test_missing_files_are_named(tmp_path: Path) -> None:
    """A file that is not there and a catalogue that is none are the user's to mend."""
    for options in (["--dialect", "sqlite", str(tmp_path / "no.jsonl")],):
        assert isinstance(CliRunner().invoke(command, options, standalone_mode=False).exception, InputError)
    (tmp_path / "c.json").write_text("{}", encoding="utf-8")
    done = _run(tmp_path, [], "--catalog", str(tmp_path / "c.json"))
    assert isinstance(done.exception, InputError)


def test_templates_are_expanded_and_only_where_the_line_says_so() -> None:
    """`{{rep:TEXT:N}}` repeats, never beyond what memory is worth; an ordinary line keeps its braces."""
    assert expand("SELECT {{rep:(:3}}1{{rep:):3}}") == "SELECT (((1)))"
    assert expand("{{rep::5}}{{victim}}") == "7"
    assert len(expand("{{rep:ab:999999999999}}")) < 2_000_001
    lines = [b'{"id": 1, "sql": "{{rep:a:2}}", "sql_template": true}', b'{"id": 2, "sql": "{{rep:a:2}}"}']
    assert [statement.sql for statement in read_statements(lines, "f") if isinstance(statement, Statement)] == [
        "aa",
        "{{rep:a:2}}",
    ]


def test_the_library_takes_a_catalogue_and_a_profile() -> None:
    """`sqlassay.guard` gives the command's verdicts."""
    assert sqlassay.guard("SELECT * FROM gold", "sqlite").allowed is True
    assert sqlassay.guard("SELECT * FROM gold", "sqlite", catalog=_CATALOG).node == "unknown_table"
    assert sqlassay.guard("DELETE FROM orders", "sqlite", catalog=_CATALOG, profile="dml").allowed is True
