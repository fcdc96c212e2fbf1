"""Packs in our own format load whole, and each fault in one names file, line, field and remedy."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import find_pack, load_pack, own_packs
from sqlassay.cases.policy import PolicyOverrides
from sqlassay.cases.predictions import check_known, predictions_of, read_predictions
from sqlassay.cases.starter import write_starter

HEADER = """\
format: 1
name: small
snapshots:
  main:
    database: shop
    schema: schema.yaml
    data: data
routes:
  shop: main
  wiki: null
visible:
  main: [items]
policy: {preset: skill, rel_tol: 0.001}
clock: 2026-01-31 12:00:00
timeout: 5
row_limit: 10
alpha: 0.4
cases: [cases.jsonl, more.yaml]
predictions: predictions.jsonl
"""
SCHEMA = """\
format: 1
tables:
  - name: items
    columns:
      - {name: id, kind: bigint, nullable: false}
      - {name: title, kind: varchar, length: 20}
    primary_key: [id]
"""
CASES = """\
{"id": "a", "question": "q", "route": "shop", "gold": {"sqlite": "SELECT 1"}}

{"id": "b", "question": "q", "gold": {"sqlite": ["SELECT 1", "SELECT 2"], "mysql": "SELECT 3"}, "tags": ["x"]}
"""
MORE = """\
- id: c
  question: q
  route: wiki
- id: d
  question: q
  gold:
    sqlite: |
      SELECT 1
  policy:
    row_order: exact
"""


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack that uses every part of the format."""
    (tmp_path / "data").mkdir()
    files = {
        "pack.yaml": HEADER,
        "schema.yaml": SCHEMA,
        "cases.jsonl": CASES,
        "more.yaml": MORE,
        "predictions.jsonl": '{"case_id": "a", "sql": "SELECT 1"}\n',
        "data/items.csv": 'id,title\n1,one\n2,""\n3,\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_every_part_of_a_pack_is_read(pack: Path) -> None:
    """Header, routes, settings, cases from both kinds of file and the data arrive."""
    found = load_pack(pack)
    assert [case.id for case in found.cases] == ["a", "b", "c", "d"]
    assert {case.snapshot for case in found.cases} == {"main"}
    assert found.cases[1].gold == {"sqlite": ("SELECT 1", "SELECT 2"), "mysql": ("SELECT 3",)}
    assert found.cases[3].policy == PolicyOverrides(row_order="exact")
    assert found.routes == (("shop", "main"), ("wiki", None))
    assert found.visible == (("main", ("items",)),)
    assert found.settings.policy_preset == "skill"
    assert found.settings.policy == PolicyOverrides(preset="skill", rel_tol=0.001)
    assert found.settings.clock == datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert (found.settings.timeout, found.settings.row_limit, found.settings.alpha) == (5, 10, 0.4)
    assert found.predictions == pack / "predictions.jsonl"
    snapshot = found.snapshot("main")
    assert snapshot.database == "shop"
    assert snapshot.source is not None
    assert list(snapshot.source.rows("items")) == [(1, "one"), (2, ""), (3, None)]


def test_one_file_is_a_pack_too(pack: Path) -> None:
    """A single YAML file with its cases in place loads, and BOM and CRLF change nothing."""
    text = HEADER.replace(
        "cases: [cases.jsonl, more.yaml]", "cases:\n  - {id: z, question: q, gold: {sqlite: SELECT 1}}"
    )
    file = pack / "single.yaml"
    file.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert [case.id for case in load_pack(file).cases] == ["z"]
    (pack / "cases.jsonl").write_bytes(b"\xef\xbb\xbf" + CASES.replace("\n", "\r\n").encode())
    assert len(load_pack(pack).cases) == 4


def test_the_digests_name_what_they_cover(pack: Path) -> None:
    """A changed question changes the case-set hash alone; a changed value changes the snapshot's alone."""
    first = load_pack(pack)
    assert load_pack(pack).digest == first.digest
    (pack / "cases.jsonl").write_text(CASES.replace('"q"', '"other"', 1))
    second = load_pack(pack)
    assert second.digest != first.digest
    assert second.snapshots[0].digest == first.snapshots[0].digest
    (pack / "data/items.csv").write_text("id,title\n1,two\n")
    third = load_pack(pack)
    assert third.digest == second.digest
    assert third.snapshots[0].digest != second.snapshots[0].digest


HEADER_FAULTS = [
    ("format: 1", "format: 2", "pack.yaml:1:format"),
    ("format: 1\n", "", "format: field is missing"),
    ("name: small", "name: small\ncolour: red", "pack.yaml:3:colour: unknown field"),
    ("alpha: 0.4", "alhpa: 0.4", "Did you mean 'alpha'"),
    ("name: small", "name: small\nname: twice", "pack.yaml:3:name: key 'name' stands twice"),
    ("name: small", "name: ../evil", "pack.yaml:2:name"),
    ("database: shop", "database: 'sh;op'", "snapshots.main.database"),
    (
        "schema: schema.yaml",
        "schema: ../schema.yaml",
        "pack.yaml:6:snapshots.main.schema: path '../schema.yaml' leaves",
    ),
    ("data: data", "data: /etc", "leaves the pack's folder"),
    ("data: data", "data: missing", "no folder 'missing'"),
    ("data: data", "sqlite: x.db", "schema and data belong together"),
    ("    schema: schema.yaml\n    data: data\n", "    database: x\n", "database' stands twice"),
    ("    schema: schema.yaml\n    data: data\n", "", "needs schema and data, a sqlite file, or scripts"),
    ("shop: main", "shop: nowhere", "pack.yaml:9:routes.shop: unknown snapshot 'nowhere'"),
    ("main: [items]", "main: [things]", "pack.yaml:12:visible.main: no table 'things'"),
    ("main: [items]", "other: [items]", "visible.other: unknown snapshot"),
    ("rel_tol: 0.001", "rel_tol: -1", "policy.rel_tol"),
    ("rel_tol: 0.001", "rel_tolerance: 1", "policy.rel_tolerance: unknown field"),
    (
        "preset: skill",
        "preset: skil",
        "pack.yaml:13:policy.preset: unknown policy preset 'skil'. Known presets: strict",
    ),
    ("{preset: skill, rel_tol: 0.001}", "skil", "pack.yaml:13:policy.preset: unknown policy preset"),
    ("timeout: 5", "timeout: 0", "pack.yaml:15:timeout"),
    ("timeout: 5", "timeout: .inf", "timeout"),
    ("timeout: 5", "timeout: soon", "timeout"),
    ("clock: 2026-01-31 12:00:00", "clock: whenever", "clock"),
    ("[cases.jsonl, more.yaml]", "[]", "cases"),
    ("[cases.jsonl, more.yaml]", "[none.jsonl]", "pack.yaml:18:cases.0: no file 'none.jsonl'"),
    ("predictions.jsonl", "../predictions.jsonl", "predictions: path"),
    ("name: small", "name: &x small\ndescription: *x", "aliases are not accepted"),
    ("name: small", "name: !!python/object/apply:os.system ['true']", "not YAML"),
    ("name: small", "name: [", "not YAML"),
    ("name: small", "? [a, b]\n: c\nname: small", "a key must be plain text"),
    ("  main:\n    database: shop", "  ma in:\n    database: shop", "cannot be a snapshot id"),
    ("  main:\n    database: shop", "  ma-in:", "cannot name a database"),
]


@pytest.mark.parametrize(("old", "new", "said"), HEADER_FAULTS)
def test_a_fault_in_the_header_is_named(pack: Path, old: str, new: str, said: str) -> None:
    """Each fault is one input error with place and remedy."""
    assert old in HEADER
    (pack / "pack.yaml").write_text(HEADER.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_pack(pack)
    assert said in str(caught.value)
    assert caught.value.exit_code == 2


CASE_FAULTS = [
    ('"id": "b"', '"id": "a"', "cases.jsonl:3:id: case 'a' stands already at cases.jsonl:1"),
    ('"id": "b"', '"id": 5', "cases.jsonl:3:id"),
    ('"id": "b", ', "", "cases.jsonl:3:id: field is missing"),
    ('"id": "b"', '"id": ""', "cases.jsonl:3:id"),
    ('"tags": ["x"]', '"tgas": ["x"]', "Did you mean 'tags'"),
    ('"tags": ["x"]', '"snapshot": "none"', "cases.jsonl:3:snapshot: unknown snapshot 'none'"),
    ('"tags": ["x"]', '"route": "none"', "cases.jsonl:3:route: unknown route 'none'. Known routes: shop, wiki"),
    ('"tags": ["x"]', '"tags": ["x"], "tags": []', "key 'tags' stands twice"),
    ('"tags": ["x"]', '"timeout": NaN', "NaN is no JSON"),
    ('"mysql": "SELECT 3"', '"mysql": " "', "gold.mysql: empty SQL"),
    ('"mysql": "SELECT 3"', '"mysql": []', "gold.mysql: empty SQL"),
    ('"mysql": "SELECT 3"', '"mysql": 3', "gold.mysql"),
    ('"mysql": "SELECT 3"', '"postgresql": "SELECT 3"', "Write 'postgres'"),
    ('"mysql": "SELECT 3"', '"My SQL": "SELECT 3"', "not a dialect's name"),
    ('"gold": {"sqlite": "SELECT 1"}', '"gold": {}', "cases.jsonl:1:gold: case 'a' has no gold SQL"),
    ('"tags": ["x"]', '"policy": {"preset": "x"}', "cases.jsonl:3:policy.preset: unknown policy preset"),
    ('{"id": "b"', '{"id": "b', "cases.jsonl:3: not JSON"),
    ('{"id": "b"', '[{"id": "b"', "cases.jsonl:3: not JSON"),
    ("\n\n", "\n[]\n", "cases.jsonl:2: a case is a mapping"),
    ("\n\n", "\n" + "[" * 100_000 + "\n", "cases.jsonl:2: nested too deeply"),
    ("\n\n", "\n\0\n", "cases.jsonl:2: NUL byte"),
    ("\n\n", "\n\ufeff\n", "cases.jsonl:2: byte order mark"),
]


@pytest.mark.parametrize(("old", "new", "said"), CASE_FAULTS)
def test_a_fault_in_a_case_is_named(pack: Path, old: str, new: str, said: str) -> None:
    """Each fault names the file, the line and the field."""
    assert old in CASES
    (pack / "cases.jsonl").write_text(CASES.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_pack(pack)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("row_order: exact", "row_order: sometimes", "more.yaml:10:policy.row_order"),
        ("  route: wiki", "  route: wikki", "more.yaml:1:route: unknown route"),
        ("  route: wiki", "  rout: wiki", "more.yaml:3:rout: unknown field"),
        (
            "  route: wiki",
            "  turns: []",
            "more.yaml:1: 'turns' is not supported: nothing would read it, so leave it out",
        ),
        (
            "  route: wiki",
            "  graders: []",
            "more.yaml:1: 'graders' is not supported: nothing would read it, so leave it out",
        ),
        ("- id: c", "id: c", "more.yaml"),
    ],
)
def test_a_fault_in_a_yaml_case_has_its_own_line(pack: Path, old: str, new: str, said: str) -> None:
    """The line is the field's, not the case's."""
    (pack / "more.yaml").write_text(MORE.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_pack(pack)
    assert said in str(caught.value)


def test_several_faults_are_told_at_once(pack: Path) -> None:
    """The first five are listed and the rest counted."""
    (pack / "cases.jsonl").write_text("".join(f'{{"id": "x{i}"}}\n' for i in range(8)))
    with pytest.raises(InputError) as caught:
        load_pack(pack)
    assert str(caught.value).count("cases.jsonl:") == 5
    assert "and 3 more faults" in str(caught.value)
    assert caught.value.line == 1


def test_a_route_and_a_snapshot_that_differ_are_refused(pack: Path) -> None:
    """A case cannot be asked of one snapshot and routed to another."""
    (pack / "pack.yaml").write_text(
        HEADER.replace("routes:", "  second:\n    schema: schema.yaml\n    data: data\nroutes:")
    )
    (pack / "cases.jsonl").write_text(
        '{"id": "a", "question": "q", "route": "shop", "snapshot": "second", "gold": {"sqlite": "SELECT 1"}}\n'
    )
    (pack / "more.yaml").write_text("- {id: b, question: q, snapshot: second, out_of_scope: true}\n")
    with pytest.raises(InputError, match="leads to snapshot 'main', the case says 'second'"):
        load_pack(pack)


def test_two_snapshots_cannot_share_a_database_name(pack: Path) -> None:
    """Names that an engine would fold into one are refused."""
    second = "  second:\n    database: SHOP\n    schema: schema.yaml\n    data: data\nroutes:"
    (pack / "pack.yaml").write_text(HEADER.replace("routes:", second))
    with pytest.raises(InputError, match="share the database name"):
        load_pack(pack)


def test_bytes_that_are_no_text_are_one_clear_error(pack: Path) -> None:
    """Latin-1, UTF-16 and an endless line name the line and what to do."""
    (pack / "cases.jsonl").write_bytes(b'{"id": "a"}\n{"id": "\xe9"}\n')
    with pytest.raises(InputError, match=r"cases.jsonl:2: not UTF-8 text. Save"):
        load_pack(pack)
    (pack / "cases.jsonl").write_bytes(CASES.encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16"):
        load_pack(pack)
    with (pack / "cases.jsonl").open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)
    with pytest.raises(InputError, match=r"cases.jsonl:1: line is longer than 16,777,216 bytes"):
        load_pack(pack)
    for deep in ("a: " + "[" * 500_000, "a:\n" + "- " * 50_000, "a: " + "{a: " * 101 + "}" * 101):
        (pack / "pack.yaml").write_text(deep)
        with pytest.raises(InputError, match="nested too deeply"):
            load_pack(pack)
    (pack / "pack.yaml").write_text("format: 2\nname: x\nsnapshots: {}\ncases: []\n")
    with pytest.raises(
        InputError, match=r"pack.yaml:1:format: format 2 is not known: this version of sqlassay reads 1"
    ):
        load_pack(pack)


def test_links_do_not_lead_out_of_a_pack(pack: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A symbolic link to a file or a folder is refused wherever it stands."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "items.csv").write_text("id,title\n")
    (pack / "data/items.csv").unlink()
    (pack / "data/items.csv").symlink_to(outside / "items.csv")
    with pytest.raises(InputError, match="symbolic link"):
        load_pack(pack)
    (pack / "link").symlink_to(outside)
    (pack / "pack.yaml").write_text(HEADER.replace("data: data", "data: link"))
    with pytest.raises(InputError, match="symbolic link"):
        load_pack(pack)


def test_scripts_are_read_per_dialect(pack: Path) -> None:
    """Scripts stand beside or instead of tables; their text is part of the digest."""
    (pack / "s.sql").write_text("CREATE TABLE t(a int);")
    changed = HEADER.replace("schema: schema.yaml\n    data: data", "scripts: {sqlite: s.sql, mysql: [s.sql]}")
    (pack / "pack.yaml").write_text(changed.replace("visible:\n  main: [items]\n", ""))
    snapshot = load_pack(pack).snapshot("main")
    assert snapshot.scripts == {"sqlite": (pack / "s.sql",), "mysql": (pack / "s.sql",)}
    assert snapshot.tables == ()
    (pack / "s.sql").write_text("CREATE TABLE t(b int);")
    assert load_pack(pack).snapshot("main").digest != snapshot.digest
    (pack / "s.sql").write_text("\n")
    with pytest.raises(InputError, match="script is empty"):
        load_pack(pack)


def test_predictions_are_tied_to_cases(pack: Path) -> None:
    """Unknown cases are named, or left out where that is allowed."""
    found = load_pack(pack)
    (pack / "p.jsonl").write_text('{"case_id": "a", "sql": "SELECT 1"}\n{"case_id": "zz", "sql": null}\n')
    predictions = read_predictions(pack / "p.jsonl")
    with pytest.raises(InputError, match=r"1 cases that pack 'small' does not have: zz"):
        check_known(predictions, found)
    assert [one.case_id for one in check_known(predictions, found, allow_unknown=True)] == ["a"]


def test_a_header_names_a_part_of_its_predictions_as_a_command_line_does(pack: Path) -> None:
    """`FILE#ids` and `FILE#sql=COLUMN` work in a pack; the file alone is what an agent must not read."""
    (pack / "p.csv").write_text("case_id,first,second\na,SELECT 1,SELECT 2\n")
    text = HEADER.replace("predictions: predictions.jsonl", "predictions: 'p.csv#id=case_id,sql=second'")
    (pack / "pack.yaml").write_text(text)
    found = load_pack(pack)
    assert found.predictions is not None
    assert [one.sql for one in predictions_of(found.predictions, found)] == ["SELECT 2"]
    assert pack / "p.csv" in found.files
    (pack / "pack.yaml").write_text(text.replace("p.csv#", "q.csv#"))
    with pytest.raises(InputError, match=r"pack\.yaml:\d+:predictions: no file 'q\.csv'"):
        load_pack(pack)
    (pack / "pack.yaml").write_text(text.replace("p.csv#", "../p.csv#"))
    with pytest.raises(InputError, match="leaves the pack's folder"):
        load_pack(pack)


PREDICTION_FAULTS = [
    ('{"case_id": "a", "sql": "x"}\n{"case_id": "a", "sql": "y"}\n', "p.jsonl:2:case_id: case 'a' trial 0"),
    ('{"case_id": "a", "sql": 5}\n', "p.jsonl:1:sql"),
    ('\n{"sql": "x"}\n', "p.jsonl:2:case_id: field is missing"),
    ('{"case_id": "a", "trial": -1}\n', "p.jsonl:1:trial"),
    ('{"case_id": "a", "query": "x"}\n', "p.jsonl:1:query: unknown field"),
    ('"text"\n', "p.jsonl:1: a prediction is an object"),
    ('[\n {"case_id": "a"},\n\n {"case_id": 1}\n]\n', "p.jsonl:4:case_id"),
    ('[\n {"case_id": "a"},\n oops\n]\n', "p.jsonl:3: not JSON"),
]


@pytest.mark.parametrize(("text", "said"), PREDICTION_FAULTS)
def test_a_fault_in_a_prediction_is_named(tmp_path: Path, text: str, said: str) -> None:
    """JSON lines and a JSON list name the line alike."""
    (tmp_path / "p.jsonl").write_text(text)
    with pytest.raises(InputError) as caught:
        read_predictions(tmp_path / "p.jsonl")
    assert said in str(caught.value)


def test_predictions_per_dialect_and_trial_are_no_duplicates(tmp_path: Path) -> None:
    """One case may be predicted once for each dialect and trial; a JSON list is read as well."""
    lines = [
        {"case_id": "a", "sql": "x"},
        {"case_id": "a", "sql": "x", "trial": 1},
        {"case_id": "a", "sql": "x", "dialect": "mysql"},
    ]
    (tmp_path / "p.json").write_text(json.dumps(lines, indent=1))
    assert len(read_predictions(tmp_path / "p.json")) == 3
    with pytest.raises(InputError, match="no such file"):
        read_predictions(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="not a regular file"):
        read_predictions(tmp_path)


def test_the_demo_pack_is_found_by_name() -> None:
    """The demo has eleven cases, two routes to one snapshot, and its own predictions, all known."""
    assert "demo" in own_packs()
    demo = load_pack(Path("demo"))
    assert len(demo.cases) == 11
    assert demo.routes == (("sales_db", "sales"), ("archive_db", "sales"))
    assert {tuple(sorted(case.gold)) for case in demo.cases} == {("duckdb", "mysql", "postgres", "sqlite")}
    assert demo.predictions is not None
    predictions = check_known(read_predictions(demo.predictions), demo)
    assert len(predictions) == 11
    assert sum(one.route == "archive_db" for one in predictions) == 1
    with pytest.raises(InputError, match=r"one of: .*demo"):
        find_pack("no-such-pack")


def test_the_starter_pack_loads_and_is_never_overwritten(tmp_path: Path) -> None:
    """What `init` writes is a whole pack; a second time nothing is touched."""
    written = write_starter(tmp_path / "new")
    assert all(path.is_file() for path in written)
    pack = load_pack(tmp_path / "new")
    assert pack.predictions is not None
    assert len(check_known(read_predictions(pack.predictions), pack)) == 2
    assert [len(list(pack.snapshots[0].source.rows(t.name))) for t in pack.snapshots[0].tables] == [3, 3]  # type: ignore[union-attr]
    (tmp_path / "new/cases.jsonl").write_text("mine")
    with pytest.raises(InputError, match=r"cases.jsonl.*exists already"):
        write_starter(tmp_path / "new")
    assert (tmp_path / "new/cases.jsonl").read_text() == "mine"


def test_a_path_that_is_no_pack_says_so(tmp_path: Path) -> None:
    """A folder without a header and a file of another kind are refused with the formats' names."""
    with pytest.raises(InputError, match="no format recognises this pack"):
        load_pack(tmp_path)
    with pytest.raises(InputError, match=r"no pack.yaml here"):
        load_pack(tmp_path, format="own")
    with pytest.raises(InputError, match=r"unknown format 'csv'.*own, skill"):
        load_pack(tmp_path, format="csv")
