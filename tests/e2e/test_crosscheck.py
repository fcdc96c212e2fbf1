"""A crosscheck on three real engines: what agrees, what breaks, what silently differs, each with its cause."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from handed_data import SHARED, build_pack, needs_shared, read_jsonl

ROWS = """
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, city TEXT, code TEXT);
INSERT INTO people VALUES (1, 'Ann', 'Rome', '7'), (2, 'abel', 'Rome', '12'), (3, 'Bea', 'Oslo', '3');
"""
GOLD = {
    "alike": "SELECT name FROM people ORDER BY id",
    "quoted": 'SELECT name FROM people WHERE city = "Rome"',
    "like": "SELECT name FROM people WHERE name LIKE 'a%'",
    "division": "SELECT id / 2 FROM people",
    "number": "SELECT name FROM people WHERE code = 7",
    "bare": "SELECT city, name FROM people GROUP BY city",
    "date": "SELECT strftime('%Y', '2024-05-06')",
    "tie": "SELECT name FROM people ORDER BY city DESC LIMIT 1",
}


def pack(folder: Path) -> Path:
    """Write a pack with gold for SQLite alone."""
    folder.mkdir()
    with closing(sqlite3.connect(folder / "people.sqlite")) as connection:
        connection.executescript(ROWS)
    snapshots = {"people": {"database": "people", "sqlite": "people.sqlite"}}
    header = {"format": 1, "name": "people", "snapshots": snapshots, "cases": ["cases.jsonl"]}
    (folder / "pack.yaml").write_text(json.dumps(header), encoding="utf-8")
    cases = [
        {"id": name, "question": name, "snapshot": "people", "gold": {"sqlite": sql}} for name, sql in GOLD.items()
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return folder


def found(folder: Path) -> dict:
    """Return crosscheck.json."""
    return json.loads((folder / "crosscheck.json").read_text(encoding="utf-8"))


def causes(result: dict, other: str) -> dict[str, tuple[str, str, str]]:
    """Return (agreement, cause, owner) of each case on which an engine is not like SQLite."""
    pairs = [(case["case_id"], pair) for case in result["cases"] for pair in case["pairs"]]
    return {
        name: (pair["agreement"], pair["found"]["cause"], pair["found"]["owner"])
        for name, pair in pairs
        if (pair["one"], pair["other"]) == ("sqlite", other) and pair["found"] is not None
    }


@pytest.mark.docker
def test_the_same_text_on_three_engines(cli, tmp_path):
    """SQLite's text given to all: each failure and each silent difference has its cause, and nothing is unexplained."""
    out = tmp_path / "crossed"
    ran = cli("crosscheck", str(pack(tmp_path / "pack")), "--predict", "native", "--out", str(out))
    assert ran.code == 0, ran.err
    result = found(out)
    assert result["unexplained"] == []
    assert causes(result, "postgres") == {
        "quoted": ("error", "quoted string", "dialect"),
        "like": ("silent", "LIKE case", "dialect"),
        "number": ("error", "text and number", "dialect"),
        "bare": ("error", "bare column", "gold"),
        "date": ("error", "date function", "dialect"),
    } | {name: one for name, one in causes(result, "postgres").items() if name == "tie"}
    on_mysql = causes(result, "mysql")
    assert on_mysql["like"] == ("silent", "LIKE case", "dialect")
    assert on_mysql["division"] == ("silent", "integer division", "dialect")
    assert on_mysql["date"] == ("error", "date function", "dialect")
    assert {"alike", "quoted"}.isdisjoint(on_mysql)
    suites = {suite.get("name"): suite for suite in ET.parse(out / "junit.xml").getroot()}
    assert suites["crosscheck.sqlite to mysql"].get("failures") == str(len(on_mysql))
    assert "LIKE case" in (out / "summary.md").read_text(encoding="utf-8")
    assert ran.out.rstrip().splitlines()[-1].endswith("(exit 0)")


@pytest.mark.jail
def test_what_is_unexplained_refused_or_empty_is_not_portable(cli, tmp_path):
    """Every case is in one of five counts, whosever a difference is; a share over few cases passes no gate."""
    folder = pack(tmp_path / "pack")
    same = dict.fromkeys(("sqlite", "duckdb"), "SELECT id FROM people ORDER BY id")
    golds = {"same": same, "silent": same | {"duckdb": "SELECT id + 1 FROM people ORDER BY id"}}
    golds["empty"] = dict.fromkeys(same, "SELECT id FROM people WHERE id > 5")
    golds |= {f"refused{number}": {"sqlite": "SELECT quote(name) FROM people"} for number in range(3)}
    cases = [{"id": name, "question": "?", "snapshot": "people", "gold": gold} for name, gold in golds.items()]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    asked = ["crosscheck", str(folder), "--dialects", "sqlite,duckdb", "--out", str(tmp_path / "out")]
    ran = cli(*asked)
    counts = "1 same rows, 1 silent, 0 error, 3 refused, 1 vacuous; portability 0.500 (1 of 2), coverage 0.333"
    assert ran.out.rstrip().splitlines()[-1:] == [f"OK: {counts}, 0 unexplained (exit 0)"], ran.err
    assert "<code>empty</code>" in (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")
    assert cli(*asked, "--fail-under", "0.9").code == 1
    narrow = [*asked, "--only", "same,refused0,refused1,refused2"]
    assert cli(*narrow, "--fail-under", "0.99").code == 1
    assert cli(*narrow, "--fail-under", "0.99", "--min-coverage", "0.25").code == 0
    assert cli(*asked, "--only", "empty").code == 5


SHOWN = {
    "quoted_division": ('SELECT id / 2 FROM people WHERE name <> "Bea"', {
        "mysql": "integer division", "postgres": "quoted string", "both": "quoted string and integer division",
    }),
    "like_that_matters_not": ("SELECT id / 2 FROM people WHERE name LIKE '%a%' OR id > 0", {
        "mysql": "integer division", "both": "integer division",
    }),
    "two": ("SELECT id / 4 FROM people WHERE name LIKE '%b%'", {
        "mysql": "LIKE case and integer division", "postgres": "LIKE case", "both": "integer division",
    }),
    "quoted_name": ('SELECT "name" FROM people', {"mysql": "quoted name", "both": "quoted name"}),
    "quoted_key": ('SELECT name FROM people ORDER BY "code"', {"mysql": "quoted name", "both": "quoted name"}),
    "null_at_a_cut": ("SELECT id FROM people ORDER BY nick LIMIT 2", {"postgres": "NULL order", "both": "NULL order"}),
    "unknown_beside": ("SELECT quote(name), id / 2 FROM people WHERE id = 1", {
        "mysql": "integer division", "postgres": "missing function", "both": "missing function",
    }),
    "backslash": ("SELECT 'a\\n'", {"mysql": "literal", "both": "literal"}),
}  # fmt: skip
"""A statement of SQLite, and what causes a difference on MySQL, on Postgres, and between these two."""


@pytest.mark.docker
def test_one_suspect_at_a_time_on_each_pair_of_engines(cli, tmp_path):
    """What a statement is merely suspected of is no cause, two are named together, and each file holds the proof."""
    folder = pack(tmp_path / "pack")
    with closing(sqlite3.connect(folder / "people.sqlite")) as connection:
        connection.executescript("ALTER TABLE people ADD COLUMN nick TEXT; UPDATE people SET nick = 'x' WHERE id < 3")
    cases = [
        {"id": name, "question": name, "snapshot": "people", "gold": {"sqlite": sql}}
        for name, (sql, _) in SHOWN.items()
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    ran = cli("crosscheck", str(folder), "--predict", "native", "--out", str(tmp_path / "out"))
    assert ran.code == 0, ran.err
    result = found(tmp_path / "out")
    shown: dict[str, dict[str, str]] = {}
    for case in result["cases"]:
        for pair in case["pairs"]:
            if pair["found"] is not None:
                name = pair["other"] if pair["one"] == "sqlite" else "both"
                cause = " and ".join([pair["found"]["cause"], *pair["found"]["also"]])
                shown.setdefault(case["case_id"], {})[name] = cause
    assert shown == {name: causes for name, (_, causes) in SHOWN.items()}
    assert result["unexplained"] == []
    forms = {
        (case["case_id"], pair["other"]): pair["found"]["form"]
        for case in result["cases"]
        for pair in case["pairs"]
        if pair["found"] is not None and pair["one"] == "sqlite"
    }
    form = forms["quoted_division", "mysql"]
    assert form == 'SELECT (`people`.`id` DIV 2) FROM `people` WHERE (`people`.`name` <> "Bea")'
    assert any(form in one.text for one in ET.parse(tmp_path / "out" / "junit.xml").getroot().iter("failure"))
    assert "people`.`id` DIV 2" in (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")


TYPED = {
    "bool": "SELECT name FROM people WHERE active = 1 ORDER BY id",
    "bool_sum": "SELECT SUM(active) FROM people",
    "substr": "SELECT substr(born, 1, 4) FROM people ORDER BY id",
    "like": "SELECT name FROM people WHERE born LIKE '2020%' ORDER BY id",
    "name": 'SELECT "Score" FROM people ORDER BY "Score", id LIMIT 2',
}


@pytest.mark.docker
def test_what_does_not_fit_a_declared_type_is_a_type_error(cli, tmp_path):
    """A boolean held against a number, or a date given to a text's function, is neither text nor a missing function."""
    folder = pack(tmp_path / "pack")
    with closing(sqlite3.connect(folder / "people.sqlite")) as connection:
        connection.executescript(
            "DROP TABLE people; CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, active BOOLEAN, born DATE,"
            "Score INTEGER); INSERT INTO people VALUES (1, 'Ann', 1, '2020-01-02', NULL),"
            "(2, 'Bea', 0, '2021-03-04', 5), (3, 'Cid', 1, '2020-05-06', 6)"
        )
    header = json.loads((folder / "pack.yaml").read_text(encoding="utf-8"))
    header["snapshots"]["people"]["types"] = "declared"
    (folder / "pack.yaml").write_text(json.dumps(header), encoding="utf-8")
    cases = [
        {"id": name, "question": "?", "snapshot": "people", "gold": {"sqlite": sql}} for name, sql in TYPED.items()
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    asked = ["--dialects", "sqlite,postgres", "--predict", "native", "--out", str(tmp_path / "out")]
    ran = cli("crosscheck", str(folder), *asked)
    assert ran.code == 0, ran.err
    result = found(tmp_path / "out")
    assert causes(result, "postgres") == dict.fromkeys(TYPED, ("error", "type error", "dialect")) | {
        "name": ("error", "quoted name", "dialect"),
    }
    also = {case["case_id"]: case["pairs"][0]["found"]["also"] for case in result["cases"]}
    assert also == dict.fromkeys(TYPED, []) | {"name": ["NULL order"]}
    table = io.StringIO((tmp_path / "out" / "crosscheck.csv").read_text(encoding="utf-8"))
    rows = {row["case_id"]: row for row in csv.DictReader(table)}
    assert "NULLS FIRST" in rows["name"]["form"]
    assert "Shown by, each whole in crosscheck.csv:" in ran.out


SETTINGS = """
format: 1
name: set
snapshots:
  s:
    scripts: {mysql: s.sql, mariadb: s.sql, postgres: s.sql}
    settings:
      mysql: {sql_mode: PIPES_AS_CONCAT, collation: binary}
      mariadb: {time_zone: Europe/Berlin, collation: binary}
      postgres: {collation: en_US.utf8}
cases:
  - {id: zone, question: z, snapshot: s, gold: {mysql: SELECT FROM_UNIXTIME(1000000000)}}
  - {id: pipes, question: p, snapshot: s, gold: {mysql: "SELECT 'a' || 'b'"}}
  - {id: sorted, question: s, snapshot: s, gold: {mysql: SELECT s FROM t ORDER BY s}}
  - {id: above, question: a, snapshot: s, gold: {mysql: SELECT COUNT(*) FROM t WHERE s > 'Z'}}
"""


@pytest.mark.docker
@pytest.mark.slow
def test_the_setting_of_a_server_that_decides_is_the_cause(cli, tmp_path):
    """A zone, an sql_mode and a locale that a pack names are causes of their own, each shown on a real server."""
    (tmp_path / "pack.yaml").write_text(SETTINGS, encoding="utf-8")
    script = (
        "CREATE TABLE t (id int PRIMARY KEY, s varchar(9)); INSERT INTO t VALUES (1, 'high'), (2, 'High'), (3, 'Z');"
    )
    (tmp_path / "s.sql").write_text(script, encoding="utf-8")
    asked = ["--dialects", "mysql,mariadb,postgres", "--predict", "native", "--out", str(tmp_path / "out")]
    ran = cli("crosscheck", str(tmp_path), *asked)
    assert ran.code == 0, ran.err
    result = found(tmp_path / "out")
    shown = {
        (case["case_id"], pair["other"]): (pair["found"]["cause"], pair["found"]["probe"])
        for case in result["cases"]
        for pair in case["pairs"]
        if pair["one"] == "mysql" and pair["found"] is not None
    }
    assert shown["zone", "mariadb"] == ("time zone", "the same text agrees under time zone UTC")
    assert shown["pipes", "mariadb"] == ("sql_mode", "the same text agrees under sql_mode PIPES_AS_CONCAT")
    for name in ("sorted", "above"):
        assert shown[name, "postgres"] == ("collation", "the same text agrees under collation binary")
    assert result["engine_settings"]["postgres"].startswith("collation en_US.utf8")
    assert "time zone Europe/Berlin" in result["engine_settings"]["mariadb"]


@pytest.mark.docker
def test_rewritten_gold_and_an_agent_for_each_dialect(cli, tmp_path):
    """Rewritten gold is alike but for what its text does not decide; an agent's wrong dialect is the agent's."""
    folder = pack(tmp_path / "pack")
    out = tmp_path / "crossed"
    ran = cli("crosscheck", str(folder), "--dialects", "sqlite,postgres", "--out", str(out))
    assert ran.code == 0, ran.err
    assert set(causes(found(out), "postgres")) <= {"bare", "tie"}
    assert {owner for _, _, owner in causes(found(out), "postgres").values()} <= {"gold"}
    answers = [
        {"case_id": "alike", "dialect": dialect, "sql": "SELECT name FROM people ORDER BY id"}
        for dialect in ("sqlite", "postgres")
    ]
    answers += [
        {"case_id": "like", "dialect": "sqlite", "sql": GOLD["like"]},
        {"case_id": "like", "dialect": "postgres", "sql": "SELECT name FROM people WHERE name ILIKE 'a%'"},
        {"case_id": "date", "dialect": "sqlite", "sql": GOLD["date"]},
        {"case_id": "date", "dialect": "postgres", "sql": GOLD["date"]},
        {"case_id": "bare", "dialect": "sqlite", "sql": "DROP TABLE people"},
        {"case_id": "bare", "dialect": "postgres", "sql": "DROP TABLE people"},
    ]
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
    asked = ["--dialects", "sqlite,postgres", "--predictions", str(file), "--fail-under", "0.9"]
    ran = cli("crosscheck", str(folder), *asked, "--out", str(tmp_path / "agent"))
    assert ran.code == 1, ran.err
    result = found(tmp_path / "agent")
    assert causes(result, "postgres") == {"date": ("error", "date function", "agent")}
    cells = {
        case["case_id"]: [cell["verdict"] or cell["outcome"] for cell in case["cells"]] for case in result["cases"]
    }
    assert cells["alike"] == ["match", "match"]
    assert cells["like"] == ["match", "match"]
    assert cells["bare"] == ["blocked", "blocked"]
    assert result["portability"][0] | {"low": 0, "high": 0} == {
        "what": "sqlite to postgres",
        "same": 2,
        "silent": 0,
        "error": 2,
        "refused": 4,
        "vacuous": 0,
        "set_aside": {"both fail": 1},
        "unexplained": 0,
        "n": 3,
        "share": 2 / 3,
        "low": 0,
        "high": 0,
        "coverage": 3 / 8,
    }


@needs_shared
@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "predict"), [("chinook", "per-dialect"), ("chinook", "native"), ("spider_dev", "native")]
)
def test_handed_sets_end_without_an_unexplained_cell(cli, tmp_path, name, predict):
    """Every disagreement of the handed sets, their gold given to three engines, has a cause and a probe."""
    folder = build_pack(tmp_path / name, name, read_jsonl(SHARED / "cases" / f"{name}.jsonl"))
    ran = cli("crosscheck", str(folder), "--predict", predict, "--fail-unexplained", "--out", str(tmp_path / "out"))
    assert ran.code == 0, ran.out
    assert found(tmp_path / "out")["unexplained"] == []


def probes(folder: Path) -> Path:
    """Write a pack of the handed dialect probes: one statement of SQLite each, of which three run on no SQLite here."""
    folder.mkdir()
    shutil.copy(SHARED / "databases" / "probe.sqlite", folder / "probe.sqlite")
    snapshots = {"probe": {"database": "probe", "sqlite": "probe.sqlite"}}
    header = {"format": 1, "name": "probes", "snapshots": snapshots, "cases": ["cases.jsonl"]}
    (folder / "pack.yaml").write_text(json.dumps(header), encoding="utf-8")
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as cases:
        for row in read_jsonl(SHARED / "cases" / "dialect_probes.jsonl"):
            case = {"id": row["id"], "question": row["name"], "snapshot": "probe"}
            cases.write(json.dumps(case | {"gold": {"sqlite": row["sqlite_sql"]}}) + "\n")
    return folder


@needs_shared
@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("predict", ["native", "transpile", "per-dialect"])
def test_every_dialect_probe_is_explained(cli, tmp_path, predict):
    """SQLite's probes as they are, rewritten, and as sqlglot writes them: no cell is without a cause and a probe."""
    folder = probes(tmp_path / "probes")
    file = tmp_path / "answers.jsonl"
    with file.open("w", encoding="utf-8") as answers:
        for row in read_jsonl(SHARED / "cases" / "dialect_probes.jsonl"):
            texts = {name: row.get(f"sqlglot_{name}") for name in ("postgres", "mysql")} | {"sqlite": row["sqlite_sql"]}
            for dialect, sql in texts.items() if predict == "per-dialect" else ():
                if sql:
                    answers.write(json.dumps({"case_id": row["id"], "dialect": dialect, "sql": sql}) + "\n")
            if predict != "per-dialect":
                answers.write(json.dumps({"case_id": row["id"], "sql": row["sqlite_sql"]}) + "\n")
    asked = ["--predict", predict, "--predictions", str(file), "--fail-unexplained", "--out", str(tmp_path / "out")]
    ran = cli("crosscheck", str(folder), *asked)
    assert ran.code == 0, ran.out
    result = found(tmp_path / "out")
    causes = [pair["found"]["cause"] for case in result["cases"] for pair in case["pairs"] if pair["found"]]
    assert len(causes) >= 10
    assert "other" not in causes


REFUSED = {
    "postgres": {"sqlite": 6, "mysql": 5, "duckdb": 5},
    "mysql": {"sqlite": 6, "postgres": 6, "duckdb": 6},
}
"""How many of the shop's 94 golds are refused: JSON, a computed SUBSTRING, a list in order for SQLite or by COLLATE."""
BY_COLLATION = ["shop-015", "shop-021", "shop-022", "shop-031", "shop-040", "shop-054", "shop-079"]
"""Golds of MySQL that are refused since its own collation, which the shop is loaded under, may give them other rows."""


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("source", ["postgres", "mysql"])
def test_the_shops_gold_of_a_server_is_retold_for_the_others(cli, tmp_path, source):
    """Whatever is not refused gives the rows that the source's own engine gives."""
    others = list(REFUSED[source])
    dialects = ",".join([source, *others])
    ran = cli("crosscheck", "shop", "--dialects", dialects, "--predict", "transpile", "--out", str(tmp_path / "out"))
    assert ran.code == 0, ran.out
    result = found(tmp_path / "out")
    pairs = [pair for case in result["cases"] for pair in case["pairs"] if pair["one"] == source]
    counted = {other: Counter(pair["agreement"] for pair in pairs if pair["other"] == other) for other in others}
    collated = {other: [] for other in others}
    for case in result["cases"]:
        for pair in case["pairs"]:
            if pair["one"] == source and "the source's collation compares without case" in pair["reason"]:
                collated[pair["other"]].append(case["case_id"])
    by_collation = BY_COLLATION if source == "mysql" else []
    assert collated == dict.fromkeys(others, by_collation)
    for other, refused in REFUSED[source].items():
        assert counted[other]["not run"] == refused + len(by_collation)
        assert counted[other]["agree"] + counted[other]["vacuous"] == 94 - refused - len(by_collation)


@pytest.mark.docker
def test_a_run_borrows_gold_of_a_server(cli, tmp_path):
    """Gold of Postgres alone judges an agent on SQLite where its rows, retold, are the same on both; else why not."""
    folder = pack(tmp_path / "pack")
    gold = {
        "upper": "SELECT name FROM people WHERE name ILIKE 'a%'",
        "fold": "SELECT name FROM people WHERE name LIKE 'A%'",
        "regex": "SELECT name FROM people WHERE name ~* '^A'",
    }
    cases = [
        {"id": name, "question": "?", "snapshot": "people", "gold": {"postgres": sql}} for name, sql in gold.items()
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    file = tmp_path / "answers.jsonl"
    answers = [{"case_id": name, "sql": "SELECT name FROM people WHERE name LIKE 'A%'"} for name in gold]
    file.write_text("".join(json.dumps(answer) + "\n" for answer in answers), encoding="utf-8")
    ran = cli("run", str(folder), "--predictions", str(file), "--transpile-gold")
    assert ran.verdicts == {"upper": "match", "fold": "mismatch", "regex": "unavailable"}
    assert {one["case_id"]: one["gold_status"] for one in ran.results} == {
        "upper": "transpiled-verified", "fold": "transpiled-verified", "regex": "unavailable",
    }  # fmt: skip
    (reason,) = [one["reason"] for one in ran.results if one["case_id"] == "regex"]
    assert "the postgres gold cannot be rewritten: RegexpILike" in reason


@pytest.mark.docker
def test_a_run_borrows_verified_gold(cli, tmp_path):
    """A case without gold of its own is judged by rewritten gold that gave the same rows; every file says so."""
    folder = pack(tmp_path / "pack")
    answers = {"alike": "SELECT name FROM people ORDER BY id", "like": "SELECT name FROM people WHERE name LIKE 'a%'"}
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps({"case_id": case, "sql": sql}) + "\n" for case, sql in answers.items()))
    asked = ["run", str(folder), "--dialect", "postgres", "--predictions", str(file), "--only", "alike,like"]
    ran = cli(*asked, "--transpile-gold")
    assert ran.code == 0, ran.err
    assert ran.verdicts == {"alike": "match", "like": "mismatch"}
    assert {result["gold_status"] for result in ran.results} == {"transpiled-verified"}
    assert ran.summary["gold"] == {"transpiled-verified": 2}
    assert "gold: 2 transpiled-verified" in ran.out
    ran = cli(*asked, name="without")
    assert ran.code == 5
    assert {result["gold_status"] for result in ran.results} == {"unavailable"}
