"""`sqlassay rescore` judges stored rows again: the run's own verdicts come back, other policies' beside them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.outcome import Changed, Failure, TableState
from sqlassay.cases.policy import Policy, PolicyOverrides
from sqlassay.cases.policy_spelling import policy_named
from sqlassay.cases.presets import case_policy, preset
from sqlassay.cases.relation import Column, Relation, Row
from sqlassay.cases.verdicts import FailureKind, Verdict
from sqlassay.harness.change import compare_states
from sqlassay.harness.cli.main import _run
from sqlassay.harness.compare import compare, resolve_policy
from sqlassay.harness.results.case_result import CaseResult, OrderRecord, StructureRecord, Timing
from sqlassay.harness.results.evidence import GoldAnswer
from sqlassay.harness.results.parsed import OrderFacts, OrderKey, ParsedQuery
from sqlassay.harness.results.records import comparison_record
from sqlassay.harness.results.run_result import IsolationRecord, Manifest
from sqlassay.harness.run.rescore import differing_under, rescore
from sqlassay.harness.store.folder import RunFolder, file_name
from sqlassay.harness.store.reading import read_run, read_sides
from sqlassay.harness.store.sides import Side, row_sides, side_from_json, side_to_json, state_sides

HOSTILE = "<script>|`x`\x1b[31m"
POLICIES = (("bird", preset("bird")), ("strict", preset("strict")))


@dataclass(frozen=True)
class Made:
    """One case of a run made by hand."""

    id: str
    gold: tuple[Row, ...]
    pred: tuple[Row, ...] | None
    order: tuple[int | None, ...] = ()
    probe: tuple[Row, ...] | None = None
    order_required: bool | None = None
    overrides: dict[str, Any] | None = None
    verdict: Verdict | None = None
    stored: bool = True
    others: tuple[tuple[Row, ...], ...] = ()


CASES = (
    Made("same", ((1, "a"), (2, "b")), ((2, "b"), (1, "a"))),
    Made("double", ((1, "a"),), ((1, "a"), (1, "a"))),
    Made("turned", ((1, "a"), (2, "b")), (("a", 1), ("b", 2))),
    Made("ordered", ((1, "a"), (2, "b")), ((2, "b"), (1, "a")), order=(0,)),
    Made("hidden", ((1, "a"), (1, "b")), ((1, "b"), (1, "a")), order=(None,), probe=((1, "a", 7), (1, "b", 7))),
    Made("allowed", ((1, "a"), (2, "b")), ((2, "b"), (1, "a")), order=(0,), order_required=False),
    Made("loose", ((1, Decimal("1.00")),), ((1, Decimal("1.004")),), overrides={"abs_tol": 0.01}),
    Made("blocked", ((1, "a"),), None, verdict=Verdict.BLOCKED),
    Made(f"hostile {HOSTILE}", ((1, HOSTILE),), ((1, HOSTILE), (1, HOSTILE))),
)


def relation(rows: Sequence[Row]) -> Relation:
    width = len(rows[0]) if rows else 2
    return Relation(tuple(Column(f"c{index}") for index in range(width)), tuple(rows))


def result(made: Made, base: Policy) -> CaseResult:
    """Judge a case as evaluate does and return its record."""
    gold = relation(made.gold)
    overrides = None if made.overrides is None else PolicyOverrides.model_validate(made.overrides)
    case = Case(id=made.id, question="?", snapshot="s", order_required=made.order_required, policy=overrides)
    keys = tuple(OrderKey(column, "asc", None, "k") for column in made.order)
    facts = OrderFacts(keys, None, has_limit=False, probe_sql=None) if keys else None
    record = None
    if made.pred is not None:
        probe = None if made.probe is None else relation(made.probe)
        policy, order = resolve_policy(case_policy(base, case), facts=facts, gold=gold, probe=probe)
        record = comparison_record(compare(gold, relation(made.pred), policy, order=order))
    order_record = OrderRecord(keys=tuple((k.column, k.direction, k.nulls, k.sql) for k in keys)) if keys else None
    return CaseResult(
        case_id=made.id,
        dialect="sqlite",
        question="?",
        snapshot="s",
        gold_sql="SELECT 1",
        verdict=made.verdict or Verdict(record.verdict if record else "error"),
        reason="r",
        comparison=record,
        gold_structure=StructureRecord(parser="x", order=order_record),
        gold_shape=gold.shape,
        predicted_shape=None if made.pred is None else relation(made.pred).shape,
        gold_columns=tuple(column.name for column in gold.columns),
        predicted_columns=() if made.pred is None else tuple(c.name for c in relation(made.pred).columns),
        order_required=made.order_required,
        policy_overrides=made.overrides,
    )


def manifest(base: Policy, store_rows: str) -> Manifest:
    """Return a manifest of a run under a policy."""
    return Manifest(
        run_id="r1",
        created="2026-01-01T00:00:00Z",
        sqlassay="0",
        packages={},
        dialect="sqlite",
        engine_version="3",
        image="i",
        image_key="k",
        base_image="b",
        base_digest="d",
        base_source="s",
        isolation=IsolationRecord(provider="process", method="x", network="none"),
        pack="p",
        pack_format="own",
        case_set="c",
        cases=9,
        agent="a",
        predictions_digest=None,
        settings={"policy": "skill", "store_rows": store_rows},
        policy=base.model_dump(mode="json"),
        policy_origin={},
        policy_digest=base.digest,
        metrics=(),
        seed=0,
    )


def made_run(path: Path, cases: Sequence[Made] = CASES, base: Policy | None = None, store_rows: str = "all") -> Path:
    """Write a run folder as a run leaves it."""
    policy = base or preset("skill")
    with RunFolder(path) as folder:
        folder.write_manifest(manifest(policy, store_rows))
        results = [result(made, policy) for made in cases]
        for made, one in zip(cases, results, strict=True):
            if made.stored:
                sides = [("gold", made.gold), ("probe", made.probe), ("predicted", made.pred)]
                others = [Side("gold", relation(rows), n, f"SELECT {n}") for n, rows in enumerate(made.others, 1)]
                stored = [Side(name, relation(rows)) for name, rows in sides if rows is not None]
                folder.store_relations(one, [*stored, *others])
        folder.finish(results, [Timing(case_id=one.case_id, trial=0) for one in results])
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made_run(tmp_path / "run")


def test_the_runs_own_verdicts_come_back(run: Path) -> None:
    """Order, hidden keys, what a case allows and its own tolerance are all in the folder."""
    found = rescore(run, POLICIES)
    assert found.not_reproduced == ()
    own = found.totals[0]
    assert (own.name, own.n, own.match, own.mismatch, own.undecided) == ("run", 8, 5, 3, 0)
    assert own.accuracy == 5 / 9
    assert (found.compared, found.judged, found.carried) == (8, 8, {"blocked": 1})
    assert found.exit_code == 0
    assert found.verdict_line == "OK: 8 results judged again; matches: run 5, bird 6, strict 4; 5 differ (exit 0)"


def test_flips_name_each_policys_verdict_and_reason(run: Path) -> None:
    """What differs between the policies, or from the run, is listed with rule and reason; the rest is not."""
    flips = {flip.case_id: flip for flip in rescore(run, POLICIES).flips}
    verdicts = {name: {p: (r.verdict, r.rule) for p, r in flip.judged.items()} for name, flip in flips.items()}
    assert set(verdicts) == {"double", "turned", "ordered", "loose", f"hostile {HOSTILE}"}
    assert verdicts["double"] == {
        "run": ("mismatch", "row_count"),
        "bird": ("match", "bird"),
        "strict": ("mismatch", "row_count"),
    }
    assert verdicts["turned"]["strict"] == ("mismatch", "rows")
    assert verdicts["ordered"]["bird"] == ("match", "bird")
    assert flips["double"].judged["strict"].reason.startswith("the gold has 1 rows, the prediction 2")


def test_a_peer_brings_strict_along(run: Path) -> None:
    """Where a peer is asked for, strict is judged too, so that the report says where they differ."""
    assert [total.name for total in rescore(run, POLICIES[:1]).totals] == ["run", "bird", "strict"]
    assert [total.name for total in rescore(run, [("skill", preset("skill"))]).totals] == ["run", "skill"]


def test_rows_that_were_not_stored_are_counted(tmp_path: Path) -> None:
    """With --store-rows diff the rest is judged, no accuracy is given, and the missing ones are named."""
    some = made_run(tmp_path / "diff", [Made(m.id, m.gold, m.pred, stored=m.id == "double") for m in CASES[:3]])
    found = rescore(some, POLICIES)
    assert (found.compared, found.judged, found.not_stored) == (3, 1, ("same", "turned"))
    assert {total.accuracy for total in found.totals} == {None}
    assert "1 results judged again, 2 have no stored rows" in found.verdict_line
    none = made_run(tmp_path / "none", [Made("a", ((1,),), ((1,),), stored=False)], store_rows="none")
    found = rescore(none, POLICIES)
    assert (found.exit_code, found.verdict_line) == (
        5,
        "NOTHING SCORABLE: the rows of 1 compared results were not stored (exit 5)",
    )


def test_a_verdict_that_is_not_found_again_is_said(run: Path) -> None:
    """Stored rows that give another verdict than was recorded make the number no whole one: exit 3."""
    path = run / "results.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    value = json.loads(lines[0])
    value["verdict"] = "mismatch"
    path.write_text("\n".join([json.dumps(value), *lines[1:]]) + "\n", encoding="utf-8")
    found = rescore(run, POLICIES)
    assert (found.not_reproduced, found.exit_code) == (("same",), 3)
    assert found.verdict_line.startswith("NOT WHOLE: 1 recorded verdicts are not found again")


def test_a_gold_error_in_the_run_keeps_its_exit_code(tmp_path: Path) -> None:
    """What made the run's number not whole makes this one so too."""
    path = made_run(tmp_path / "r", [CASES[0], Made("broken", ((1,),), None, verdict=Verdict.GOLD_ERROR)])
    assert rescore(path, POLICIES).exit_code == 3


def _relations(run: Path, name: str) -> Path:
    """Return the file of a case's stored rows."""
    return run / "relations" / f"{file_name(name)}.0.jsonl.gz"


def _torn(run: Path) -> None:
    path = _relations(run, "same")
    path.write_bytes(path.read_bytes()[:-12])


def _swapped(run: Path) -> None:
    _relations(run, "same").write_bytes(_relations(run, "double").read_bytes())


def _edited(run: Path, before: bytes, after: bytes) -> None:
    path = _relations(run, "same")
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(before, after)))


def _half(run: Path) -> None:
    path = _relations(run, "same")
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).splitlines(keepends=True)[0]))


def _doubled(run: Path) -> None:
    path = run / "results.jsonl"
    first = path.read_bytes().splitlines(keepends=True)[0]
    path.write_bytes(path.read_bytes() + first)


DAMAGE: list[tuple[str, Any, str]] = [
    ("torn rows", _torn, "same.0.jsonl.gz: cannot be unpacked"),
    ("no gzip", lambda run: _relations(run, "same").write_bytes(b"junk"), "same.0.jsonl.gz: cannot be unpacked"),
    ("rows of another case", _swapped, "same.0.jsonl.gz:1:case_id: belongs to case 'double' trial 0"),
    ("a row more", lambda run: _edited(run, b'[[1,"a"],', b'[[1,"a"],[1,"a"],'), "gold rows are not those of results"),
    ("another column", lambda run: _edited(run, b'"c0"', b'"x0"'), "gold rows are not those of results.jsonl"),
    ("a broken cell", lambda run: _edited(run, b'"a"', b'{"$x":1}'), "same.0.jsonl.gz:1:gold.rows[0][1]: unknown tag"),
    ("another side", lambda run: _edited(run, b'"gold"', b'"silver"'), "same.0.jsonl.gz:1:side: 'silver' is no side"),
    ("a side twice", lambda run: _edited(run, b'"predicted"', b'"gold"'), "same.0.jsonl.gz:2:side: side gold stands"),
    ("one side only", _half, "same.0.jsonl.gz:predicted: has no predicted rows"),
    ("a field to come", lambda run: _edited(run, b'"side":', b'"colour":1,"side":'), "no stored side: 1 validation"),
    (
        "a state among rows",
        lambda run: _edited(run, b'"side":"gold"', b'"state":{"parts":[],"touched":[],"answers":[]},"side":"gold"'),
        "same.0.jsonl.gz:gold: holds rows where a state is",
    ),
    ("a format to come", lambda run: _edited(run, b'"format":1', b'"format":2'), ":1:format: format 2 is not known"),
    ("no manifest", lambda run: (run / "manifest.json").unlink(), "is no run folder: it has no manifest.json"),
    ("no results", lambda run: (run / "results.jsonl").unlink(), "has no results.jsonl: the run did not finish"),
    ("a torn manifest", lambda run: (run / "manifest.json").write_text("{"), "manifest.json:1: not JSON"),
    ("another manifest", lambda run: (run / "manifest.json").write_text('{"format": 9}'), "manifest.json:format: "),
    ("an empty manifest", lambda run: (run / "manifest.json").write_text('{"format": 1}'), "field is missing"),
    ("torn results", lambda run: (run / "results.jsonl").write_text('{"format": 1'), "results.jsonl:1: not JSON"),
    ("a result twice", _doubled, "results.jsonl:10:case_id: case 'same' trial 0 stands twice"),
]


@pytest.mark.parametrize(("damage", "message"), [pytest.param(d, m, id=name) for name, d, m in DAMAGE])
def test_a_torn_or_tampered_folder_is_one_clear_error(
    run: Path, damage: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names file, line and field; nothing is written; the exit code is 2."""
    damage(run)
    with pytest.raises(InputError) as caught:
        rescore(run, POLICIES)
    assert message in str(caught.value)
    assert _run(["rescore", str(run)]) == 2
    assert message in capsys.readouterr().err
    assert not (run / "rescore.json").exists()


def test_the_policy_of_another_version_is_refused(run: Path) -> None:
    """A manifest whose policy has fields this version lacks cannot be judged again."""
    path = run / "manifest.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    value["policy"]["colour"] = "red"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(InputError, match="policy"):
        rescore(run, POLICIES)


def test_the_command_writes_both_files_and_ends_with_the_verdict_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """rescore.json holds everything, rescore.md can be read, the terminal ends with the verdict."""
    assert _run(["rescore", str(run), "--policy", "bird,strict", "--policy", "strict+rel_tol=0.1"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1].startswith("OK: 8 results judged again")
    assert "\x1b" not in out
    assert "never compared, so the same under every policy: 1 blocked" in out
    value = json.loads((run / "rescore.json").read_text(encoding="utf-8"))
    assert [total["name"] for total in value["totals"]] == ["run", "bird", "strict", "strict+rel_tol=0.1"]
    page = (run / "rescore.md").read_text(encoding="utf-8")
    html = MarkdownIt("commonmark", {"html": True}).enable("table").render(page)
    assert "<script" not in html
    assert "double" in html
    other = tmp_path / "elsewhere"
    assert _run(["rescore", str(run), "--out", str(other)]) == 0
    assert sorted(path.name for path in other.iterdir()) == [".sqlassay", "rescore.json", "rescore.md"]


def test_the_same_folder_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    """Nothing in the answer depends on the clock or the machine."""
    for name in ("a", "b"):
        assert _run(["rescore", str(run), "--policy", "bird", "--out", str(tmp_path / name)]) == 0
    for file in ("rescore.json", "rescore.md"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_every_accepted_gold_may_decide_under_another_policy(tmp_path: Path) -> None:
    """The run went by its first gold; a policy under which only another one matches goes by that, and says so."""
    turned = Made("turned", ((1, "a"),), (("a", 1),), others=(((2, "z"),), (("a", 1),)))
    worse = Made("worse", ((1, "a"),), ((1, "b"),), others=(((2, "z"),),))
    found = rescore(made_run(tmp_path / "run", [turned, worse]), [("strict", preset("strict"))])
    assert found.not_reproduced == ()
    assert [(total.match, total.mismatch) for total in found.totals] == [(1, 1), (1, 1)]
    assert found.flips == ()
    one = made_run(tmp_path / "one", [Made("turned", ((1, "a"),), (("a", 1),), others=(((3, "c"), (4, "d")),))])
    flip = rescore(one, [("strict", preset("strict"))]).flips[0]
    assert (flip.judged["strict"].verdict, flip.other_gold) == ("mismatch", {})


def test_a_policy_that_goes_by_another_gold_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Folded text meets the second gold only: the flip shows its SQL and its columns."""
    made = Made("case", ((1, "a"),), ((2, "B"),), others=(((2, "b"),),))
    run = made_run(tmp_path / "run", [made])
    fold = policy_named("skill+text_case=fold")
    flip = rescore(run, [("fold", fold)]).flips[0]
    assert {name: record.verdict for name, record in flip.judged.items()} == {"run": "mismatch", "fold": "match"}
    assert {name: gold.sql for name, gold in flip.other_gold.items()} == {"run": "SELECT 1", "fold": "SELECT 1"}
    assert _run(["rescore", str(run), "--policy", "skill+text_case=fold"]) == 0
    assert "goes by another accepted gold: <code>SELECT 1</code>" in (run / "rescore.md").read_text(encoding="utf-8")
    capsys.readouterr()


def changed(rows: tuple[Row, ...], *answers: Relation | Failure, touched: tuple[str, ...] = ("table t",)) -> Changed:
    """Return a state of one changed and one untouched table."""
    parts = (
        TableState("t", "table", len(rows), str(rows), relation(rows)),
        TableState("u", "table", 1, "same", relation(((1, "u"),))),
        TableState("v", "view", 0, f"v{rows}", None, "division by zero"),
    )
    return Changed(parts, touched, answers, 0.5)


def answer(state: Changed, sql: str) -> GoldAnswer:
    """Return a gold that left a state."""
    return GoldAnswer(sql, ParsedQuery(sql=sql, dialect="sqlite", parser="p"), None, changed=state)


def test_states_that_changes_left_are_judged_again(tmp_path: Path) -> None:
    """What a prediction left is held to every accepted gold under each policy, without a database."""
    failure = Failure(FailureKind.ERROR, "no such column")
    golds = [answer(changed(((1, "x"),), relation(((1, 2),))), "G1"), answer(changed(((1, "A"),), failure), "G2")]
    left = changed(((1, "a"),), relation(((1, 2),)))
    sides = state_sides(golds, left, (OrderFacts((OrderKey(0, "asc", None, "k"),), None, False, None),))
    assert [part.relation is None for part in sides[0].content.state] == [False, True, True]  # type: ignore[union-attr]
    record = comparison_record(compare_states(golds[0].changed, left, preset("skill")))  # type: ignore[arg-type]
    one = result(Made("change", ((1, "a"),), None), preset("skill")).model_copy(
        update={"comparison": record, "verdict": Verdict.MISMATCH, "gold_shape": None, "predicted_shape": None}
    )
    with RunFolder(tmp_path / "run") as folder:
        folder.write_manifest(manifest(preset("skill"), "all"))
        folder.store_relations(one, sides)
        folder.finish([one], [Timing(case_id="change", trial=0)])
    again = read_sides(read_run(tmp_path / "run"), one)
    assert again is not None
    assert (again.golds[1].sql, again.golds[1].content.answers) == ("G2", (failure,))  # type: ignore[union-attr]
    assert again.orders[0] is not None
    ((name, _, told),) = differing_under(tmp_path / "run", [])
    assert name == "run"
    assert told.splitlines()[1] == "table t,differs,0,0,c1,c1,x,a"
    assert told.splitlines()[0].startswith("part,difference,gold_row,")
    found = rescore(tmp_path / "run", [("fold", policy_named("skill+text_case=fold"))])
    assert (found.judged, found.not_stored, found.not_reproduced) == (1, (), ())
    assert {t.name: (t.match, t.mismatch, t.undecided) for t in found.totals} == {"run": (0, 1, 0), "fold": (0, 0, 1)}


def test_stored_sides_come_back_as_they_were() -> None:
    """Texts, ORDER BY with its offset, probes, numbers a text repeats and alternatives survive the file."""
    facts = OrderFacts((OrderKey(None, "desc", "last", "x"),), 3, True, None, offset=True)
    parsed = ParsedQuery(sql="Q", dialect="sqlite", parser="p", order=facts)
    rows = relation(((1, Decimal("1.50")),))
    golds = [
        GoldAnswer("Q", parsed, rows, rows),
        GoldAnswer("R", parsed, None, failure="x"),
        GoldAnswer("S", replace(parsed, nodes=frozenset({"avg"}), numbers=("", "1.5")), rows),
    ]
    sides = row_sides(golds, rows)
    assert [(side.name, side.alternative, side.sql) for side in sides] == [
        ("gold", 0, "Q"),
        ("probe", 0, None),
        ("gold", 1, "S"),
        ("predicted", 0, None),
    ]
    assert [side_from_json(json.loads(json.dumps(side_to_json(side)))) for side in sides] == sides
    assert sides[0].order is not None
    assert sides[0].order.offset is True
    assert [side.divides for side in sides] == [False, False, True, False]
    assert [side.literals for side in sides] == [set(), set(), {1}, set()]


@pytest.mark.jail
@pytest.mark.parametrize("own", ["skill", "bird"])
def test_a_real_run_is_found_again(tmp_path: Path, own: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The shop pack's careless agent is judged by one policy and rescored by it: every verdict comes back."""
    predictions = Path(__file__).parents[2] / "cases" / "packs" / "shop" / "predictions" / "careless.jsonl"
    out = str(tmp_path / "run")
    code = _run(
        ["run", "shop", "--dialect", "sqlite", "--predictions", str(predictions), "--out", out, "--policy", own]
    )
    assert code == 0
    found = rescore(Path(out), [(own, preset(own))])
    assert (found.not_reproduced, found.not_stored) == ((), ())
    assert found.judged == found.compared > 50
    assert found.totals[1].match == found.totals[0].match
    capsys.readouterr()


def test_every_differing_cell_is_written_where_asked(run: Path, tmp_path: Path) -> None:
    """`--differences` leaves one CSV for each policy and result that differs under it, and none for a match."""
    out = tmp_path / "again"
    assert _run(["rescore", str(run), "--policy", "strict", "--out", str(out), "--differences"]) == 0
    found = {str(path.relative_to(out / "rescore-differences")) for path in out.rglob("*.csv")}
    assert {"run/ordered.0.csv", "strict/ordered.0.csv", "strict/turned.0.csv", "run/double.0.csv"} <= found
    assert not {"run/turned.0.csv", "run/same.0.csv", "strict/same.0.csv"} & found
    lines = (out / "rescore-differences" / "strict" / "double.0.csv").read_text().splitlines()
    assert lines[1:] == ["extra,,1,,c0,,1", "extra,,1,,c1,,a"]
