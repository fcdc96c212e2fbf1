"""`sqlassay init DIR --from SOURCE` makes a pack that runs: data, questions and predictions as people have them."""

from __future__ import annotations

import gzip
import json
import shlex
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.predictions import read_predictions
from sqlassay.cases.relation import Interval
from sqlassay.cases.sources.scripts import script_text
from sqlassay.harness.cli.init_command import command
from sqlassay.harness.cli.main import cli
from sqlassay.harness.taking.pack import next_command, plan_pack, write_plan
from sqlassay.harness.taking.registry import SOURCES, source_of

QUESTIONS = (
    "Nr;Frage;SQL\n1;Wie viele Kunden?;SELECT COUNT(*) FROM customers\n2;Namen?;SELECT id, name FROM customers\n"
)
PREDICTIONS = 'id,answer\n1,SELECT COUNT(id) FROM customers\n2,"SELECT id, name FROM customers WHERE id = 1"\n'

DUMPS = {
    "pg.sql": ("postgres", "--\n-- PostgreSQL database dump\n--\n\nCREATE TABLE public.t (n integer);\n"),
    "my.sql": ("mysql", "-- MySQL dump 10.13  Distrib 8.4\nCREATE TABLE `t` (\n  `n` int\n);\n"),
    "maria.sql": (
        "mariadb",
        "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19\nCREATE TABLE `t` (n int);\n",
    ),
    "lite.sql": ("sqlite", "PRAGMA foreign_keys=OFF;\nBEGIN TRANSACTION;\nCREATE TABLE t (n INTEGER);\nCOMMIT;\n"),
}


def shop(path: Path) -> Path:
    """Write a small SQLite database."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);"
            "INSERT INTO customers VALUES (1, 'Ada'), (2, 'Grace');"
        )
    return path


def invoked(*arguments: object) -> Result:
    """Run the command; its faults are raised."""
    return CliRunner().invoke(command, [str(one) for one in arguments], standalone_mode=False, catch_exceptions=False)


@pytest.mark.jail
def test_data_questions_and_predictions_become_a_pack_that_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that is named next works as it is, and judges the predictions that were brought."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.csv").write_text(QUESTIONS, encoding="utf-8-sig")
    (tmp_path / "p.csv").write_text(PREDICTIONS)
    told = invoked("new", "--from", shop(tmp_path / "shop.db"), "--questions", "q.csv", "--predictions", "p.csv").output
    assert "columns of q.csv (separated by semicolon): id = Nr, gold = SQL, question = Frage" in told
    assert "wrote 1 table, 2 cases, 2 predictions to new" in told
    assert told.splitlines()[-1] == "Next: sqlassay run new"
    ran = CliRunner().invoke(cli, told.splitlines()[-1].split()[2:], standalone_mode=False)
    assert "execution_accuracy 0.500" in ran.output
    assert "(1 of 2 scorable cases match)" in ran.output
    assert ran.return_value == 0


@pytest.mark.jail
@pytest.mark.parametrize("questions", [True, False])
def test_what_is_named_next_works_without_predictions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, questions: bool
) -> None:
    """A pack without predictions is checked; one without questions has a first one, with its answer."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "q.csv").write_text(QUESTIONS)
    given = ["--questions", "q.csv"] if questions else []
    line = invoked("new", "--from", shop(tmp_path / "shop.db"), *given).output.splitlines()[-1]
    assert line == f"Next: sqlassay {'check-cases' if questions else 'run'} new"
    ran = CliRunner().invoke(cli, line.split()[2:], standalone_mode=False)
    assert ran.return_value == 0


@pytest.mark.jail
@pytest.mark.parametrize("predicted", [True, False])
def test_what_convert_names_next_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, predicted: bool) -> None:
    """A converted pack runs where predictions came with it, and is checked where none did."""
    monkeypatch.chdir(tmp_path)
    shop(tmp_path / "shop.db")
    (tmp_path / "q.csv").write_text(QUESTIONS)
    (tmp_path / "p.csv").write_text(PREDICTIONS)
    given = ["--predictions", "p.csv"] if predicted else []
    done = CliRunner().invoke(cli, ["convert", "auto", "q.csv", "--out", "new pack", *given], standalone_mode=False)
    line = done.output.splitlines()[-1]
    assert line == f"Next: sqlassay {'run' if predicted else 'check-cases'} 'new pack'"
    assert CliRunner().invoke(cli, shlex.split(line)[2:], standalone_mode=False).return_value == 0


def test_on_a_terminal_nothing_is_written_until_yes_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A person sees the guess first; a program, which reads no terminal, gets the pack at once."""
    source = shop(tmp_path / "shop.db")
    monkeypatch.setattr("sqlassay.harness.cli.init_command.on_terminal", lambda: True)
    assert "Nothing was written" in invoked(tmp_path / "new", "--from", source).output
    assert not (tmp_path / "new").exists()
    invoked(tmp_path / "new", "--from", source, "--yes")
    assert (tmp_path / "new" / "pack.yaml").is_file()


def test_a_dry_run_writes_nothing_and_shows_the_guess(tmp_path: Path) -> None:
    """What would be written is said with the first rows as they were understood."""
    (tmp_path / "q.csv").write_text(QUESTIONS)
    source = shop(tmp_path / "shop.db")
    told = invoked(tmp_path / "new", "--from", source, "--questions", tmp_path / "q.csv", "--dry-run").output
    assert "  id: 1, gold: SELECT COUNT(*) FROM customers, question: Wie viele Kunden?" in told
    assert "a SQLite file, 2 cases, 0 predictions, gold for sqlite" in told
    assert told.endswith("Nothing was written: add --yes to go on\n")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", DUMPS)
def test_dumps_are_known_by_their_heads(tmp_path: Path, name: str, *, packed: bool) -> None:
    """Each tool's dump becomes a script of its own engine, packed or not, with a first question."""
    dialect, text = DUMPS[name]
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    started = write_plan(plan_pack(str(path)), tmp_path / "new")
    pack = load_pack(tmp_path / "new")
    assert list(pack.snapshot("data").scripts) == [dialect]
    assert script_text(pack.snapshot("data").scripts[dialect][0]) == text
    assert list(pack.cases[0].gold) == [dialect]
    assert read_predictions(tmp_path / "new" / "predictions.jsonl")[0].sql == pack.cases[0].gold[dialect][0]
    engine = "" if dialect == "sqlite" else f" --dialect {dialect}"
    assert started.following == f"sqlassay run {tmp_path / 'new'}{engine}"


TABLES = (
    "CREATE TABLE sales AS SELECT 1 AS id, 1.50::DECIMAL(8, 2) AS price, DATE '2026-01-31' AS day, true AS paid,"
    " TIMESTAMP '2026-01-31 12:00:00.5' AS at, 'ä,\"b' AS note, NULL::TEXT AS empty, 0.1::DOUBLE AS part"
    " UNION ALL SELECT 2, -7, NULL, false, NULL, '', 'x', NULL"
)
ROWS = [
    (1, Decimal("1.50"), date(2026, 1, 31), True, datetime(2026, 1, 31, 12, 0, 0, 500000), 'ä,"b', None, 0.1),
    (2, Decimal("-7.00"), None, False, None, "", "x", None),
]


def content(folder: Path) -> list[tuple[object, ...]]:
    """Return the rows of the first table of a pack."""
    snapshot = load_pack(folder).snapshot("data")
    assert snapshot.source is not None
    return list(snapshot.source.rows(snapshot.tables[0].name))


def test_a_duckdb_file_and_parquet_are_taken_with_their_types(tmp_path: Path) -> None:
    """Every cell comes back as it was; a type that our files cannot spell, and a view, are told of."""
    duckdb = pytest.importorskip("duckdb", reason="the extra `duckdb` is not installed")
    (tmp_path / "files").mkdir()
    with duckdb.connect(tmp_path / "shop.duckdb") as made:
        made.execute(TABLES)
        made.execute(f"COPY sales TO '{tmp_path}/files/sales.parquet' (FORMAT parquet)")
        made.execute("CREATE TABLE odd AS SELECT '\\x00\\xFF'::BLOB AS raw, [1, 2] AS list")
        made.execute("CREATE VIEW seen AS SELECT 1 AS n")
    started = write_plan(plan_pack(str(tmp_path / "shop.duckdb")), tmp_path / "whole")
    assert started.taken.notes == (
        "view 'main.seen' is taken to DuckDB only",
        "column 'odd.list' (INTEGER[]) is taken as an array of text",
    )
    assert (started.taken.tables, started.taken.rows) == (("odd", "sales"), 3)
    assert started.following.endswith(" --dialect duckdb")
    assert content(tmp_path / "whole") == [(b"\0\xff", (1, 2))]
    write_plan(plan_pack(str(tmp_path / "shop.duckdb")), tmp_path / "a", tables=("sales",))
    write_plan(plan_pack(str(tmp_path / "files")), tmp_path / "b")
    write_plan(plan_pack(str(tmp_path / "files" / "sales.parquet")), tmp_path / "c")
    assert content(tmp_path / "a") == ROWS
    assert content(tmp_path / "b") == ROWS
    assert content(tmp_path / "c") == ROWS


@pytest.mark.parametrize("predicted", [True, False])
@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_the_command_that_goes_on_is_one_there_is(dialect: str, predicted: bool) -> None:
    """What is proposed names options that its command has, and the engine of the gold."""
    case = Case(id="a", question="q", snapshot="data", gold={dialect: ("SELECT 1",)})
    words = shlex.split(next_command(Path("a pack"), (case,), dialect, predicted=predicted))
    assert CliRunner().invoke(cli, [*words[1:], "--help"]).exit_code == 0
    assert (words[-1] == dialect) == (dialect != "sqlite")


RICH = """
CREATE TYPE mood AS ENUM ('b', 'a');
CREATE TABLE t (e mood, a VARCHAR[], f DOUBLE[2], n INT[][], s STRUCT(x INT), big HUGEINT, wide HUGEINT, vast HUGEINT,
  u UBIGINT, gap INTERVAL, fine TIMESTAMP_NS, whole TIMESTAMP_NS, bits BIT, zoned TIMETZ);
INSERT INTO t VALUES ('a', ['x,"', NULL, ''], [1.5, 'nan'::DOUBLE], [[1]], {'x': 1}, 7, -9223372036854775809,
  170141183460469231731687303715884105727, 18446744073709551615, INTERVAL '-14 months 2 days -3723.000001 seconds',
  '2020-01-01 00:00:00.123456789', '2020-01-01 00:00:00.123456', '101', '10:00:00+02'), (NULL, NULL, NULL, NULL, NULL,
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE VIEW z AS SELECT big FROM t;
CREATE VIEW a AS SELECT big + 1 AS more FROM z;
CREATE VIEW fields AS SELECT s.x FROM t;
"""


def test_types_and_views_of_duckdb_are_kept_where_there_are_such(tmp_path: Path) -> None:
    """Wide numbers, intervals, moments, bits and lists keep their kind; views are made where the tables let them."""
    duckdb = pytest.importorskip("duckdb", reason="the extra `duckdb` is not installed")
    from sqlassay.dialect_adapters.duckdb.load import write_database

    with duckdb.connect(tmp_path / "rich.duckdb") as made:
        made.execute(RICH)
    started = write_plan(plan_pack(str(tmp_path / "rich.duckdb")), tmp_path / "pack")
    assert started.taken.notes == (
        "view 'main.a' is taken to DuckDB only",
        "view 'main.fields' is not taken",
        "view 'main.z' is taken to DuckDB only",
        "column 't.e' (ENUM('b', 'a')) is taken as text",
        "column 't.a' (VARCHAR[]) is taken as an array of text",
        "column 't.f' (DOUBLE[2]) is taken as an array of text",
        "column 't.n' (INTEGER[][]) is taken as text",
        "column 't.s' (STRUCT(x INTEGER)) is taken as text",
        "column 't.big' (HUGEINT) is taken as int, as all of its values are",
        "column 't.wide' (HUGEINT) is taken as decimal",
        "column 't.vast' (HUGEINT) is taken as text",
        "column 't.u' (UBIGINT) is taken as decimal",
        "column 't.fine' (TIMESTAMP_NS) is taken as text",
    )
    first, second = content(tmp_path / "pack")
    assert first == (
        "a",
        ('x,"', None, ""),
        ("1.5", "nan"),
        "[[1]]",
        "{'x': 1}",
        7,
        Decimal("-9223372036854775809"),
        str(2**127 - 1),
        Decimal(2**64 - 1),
        Interval(-14, 2, -3_723_000_001),
        "2020-01-01 00:00:00.123456789",
        datetime(2020, 1, 1, 0, 0, 0, 123456),
        "101",
        time.fromisoformat("10:00:00+02:00"),
    )
    assert second == (None,) * 14
    write_database(load_pack(tmp_path / "pack").snapshot("data"), tmp_path / "again.duckdb")
    with duckdb.connect(tmp_path / "again.duckdb", read_only=True) as again:
        assert again.execute("SELECT more FROM a ORDER BY 1").fetchall() == [(8,), (None,)]


def test_a_folder_of_csv_is_taken_by_what_its_columns_spell(tmp_path: Path) -> None:
    """Kinds are told; a blank cell is NULL, and digits with noughts in front are text."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "sales.csv").write_text(
        "id;price;day;paid;zip;at\n1;1.50;2026-01-31;TRUE;007;2026-01-31T12:00:00+02:00\n2;-7;;false;8;\n"
    )
    started = write_plan(plan_pack(str(tmp_path / "files")), tmp_path / "new")
    told = "sales.csv: id int, price decimal, day date, paid bool, zip text, at timestamptz"
    assert started.taken.notes == (told,)
    moment = datetime(2026, 1, 31, 10, tzinfo=UTC)
    assert content(tmp_path / "new") == [
        (1, Decimal("1.50"), date(2026, 1, 31), True, "007", moment),
        (2, Decimal("-7"), None, False, "8", None),
    ]
    write_plan(plan_pack(str(tmp_path / "files" / "sales.csv")), tmp_path / "one")
    assert content(tmp_path / "one") == content(tmp_path / "new")
    packed = tmp_path / "packed" / "sales.csv.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress((tmp_path / "files" / "sales.csv").read_bytes()))
    started = write_plan(plan_pack(str(packed.parent)), tmp_path / "unpacked")
    assert started.taken.tables == ("sales",)
    assert content(tmp_path / "unpacked") == content(tmp_path / "new")
    (tmp_path / "files" / "sales.tsv").write_text("id\n1\n")
    with pytest.raises(InputError, match="two files of table 'sales'"):
        write_plan(plan_pack(str(tmp_path / "files")), tmp_path / "other")


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("CREATE TABLE public.t (n int);", "postgres"),
        ("CREATE TABLE t (n SERIAL);", "postgres"),
        ("CREATE TABLE `t` (n int) ENGINE=InnoDB;", "mysql"),
        ("CREATE TABLE t (n INTEGER PRIMARY KEY AUTOINCREMENT);", "sqlite"),
        ("CREATE TABLE t (n int);", None),
        ("CREATE TABLE `t` (n int); INSERT INTO t SELECT 1::int;", None),
    ],
)
def test_a_script_without_a_head_is_known_by_its_words(tmp_path: Path, text: str, dialect: str | None) -> None:
    """The guess is told; the words of no engine, or of two, are refused with the way to say it."""
    (tmp_path / "s.sql").write_text(f"{text}\n")
    if dialect is None:
        with pytest.raises(InputError, match="no tool's head says whose SQL this is.*scripts: "):
            plan_pack(str(tmp_path / "s.sql"))
        return
    taken = write_plan(plan_pack(str(tmp_path / "s.sql")), tmp_path / "new").taken
    assert (taken.dialect, taken.notes) == (dialect, (f"s.sql is read as {dialect}, by its words",))


def test_gold_is_of_the_source_unless_somebody_says(tmp_path: Path) -> None:
    """A plain column of SQL is written in the source's dialect, in the one named, or in that of its column's name."""
    (tmp_path / "pg.sql").write_text(DUMPS["pg.sql"][1])
    (tmp_path / "q.csv").write_text("question,sql\nHow many?,SELECT 1\n")
    (tmp_path / "own.csv").write_text("question,mysql,sqlite\nHow many?,SELECT 1,SELECT 2\n")
    source = str(tmp_path / "pg.sql")
    assert plan_pack(source, questions=tmp_path / "q.csv").cases[0].gold == {"postgres": ("SELECT 1",)}
    named = plan_pack(source, questions=tmp_path / "q.csv", dialect="mysql")
    assert named.cases[0].gold == {"mysql": ("SELECT 1",)}
    own = plan_pack(source, questions=tmp_path / "own.csv")
    assert own.cases[0].gold == {"mysql": ("SELECT 1",), "sqlite": ("SELECT 2",)}


def test_what_cannot_be_taken_is_one_clear_line(tmp_path: Path) -> None:
    """An unknown source lists the known ones; predictions need questions; nothing that exists is overwritten."""
    with pytest.raises(InputError, match="no source of data that is known here.*a SQLite file; .*a dump of pg_dump"):
        plan_pack(str(tmp_path / "nothing"))
    with pytest.raises(InputError, match="predictions answer questions, and none are named"):
        plan_pack(str(shop(tmp_path / "shop.db")), predictions=tmp_path / "p.csv")
    (tmp_path / "q.csv").write_text("db,question,sql\na,How many?,SELECT 1\nb,How many?,SELECT 1\n")
    with pytest.raises(InputError, match="the questions are of 2 databases, a source is one"):
        plan_pack(str(tmp_path / "shop.db"), questions=tmp_path / "q.csv")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine").touch()
    with pytest.raises(InputError, match="something is there already"):
        write_plan(plan_pack(str(tmp_path / "shop.db")), tmp_path / "new")
    with pytest.raises(InputError, match="a file is taken whole"):
        write_plan(plan_pack(str(tmp_path / "shop.db")), tmp_path / "other", tables=("customers",))


def test_sources_are_told_apart(tmp_path: Path) -> None:
    """Exactly one kind of source recognises each thing that can be taken."""
    named = [str(shop(tmp_path / "shop.db")), "postgresql://u@h/d"]
    for name, (_, text) in DUMPS.items():
        (tmp_path / name).write_text(text)
        named.append(str(tmp_path / name))
    for one in named:
        assert sum(kind.recognises(one) for kind in SOURCES) == 1
        assert source_of(one).recognises(one) is True


def test_questions_in_json_keep_all_they_say(tmp_path: Path) -> None:
    """Gold by dialect, alternatives, evidence and tags of a JSON list are the case's."""
    row = {
        "id": 7,
        "question": "How many?",
        "gold": {"postgresql": ["SELECT 1", "SELECT 2"]},
        "hint": "n",
        "tags": ["x"],
    }
    (tmp_path / "q.json").write_text(json.dumps([row]))
    case = plan_pack(str(shop(tmp_path / "shop.db")), questions=tmp_path / "q.json").cases[0]
    assert (case.id, case.gold, case.evidence, case.tags) == (
        "7",
        {"postgres": ("SELECT 1", "SELECT 2")},
        "n",
        ("x",),
    )
