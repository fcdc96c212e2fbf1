"""`sqlassay compare` writes one JSON line a pair, judges past bad lines, and says last how it ended."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.typed_json import encode
from sqlassay.harness.cli.main import _run
from sqlassay.harness.verdict import judge_rows

CORPUS = Path(__file__).parents[2].parent / "shared" / "data" / "comparison"


def pair(name: str, gold: list[Any], pred: list[Any], **fields: Any) -> str:
    sides = ({"columns": [{"name": "a"}], "rows": [[cell] for cell in cells]} for cells in (gold, pred))
    return json.dumps({"id": name, **fields, "gold": next(sides), "pred": next(sides)}) + "\n"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_text(pair("same", [1, 2], [2, 1]) + pair("not", [1], ["<b>1"]) + pair("none", [], [], policy="bird"))
    return path


def test_each_pair_gives_one_line(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output holds the answers alone; the verdict line is the last on standard error."""
    assert _run(["compare", str(pairs)]) == 0
    out, err = capsys.readouterr()
    assert [json.loads(line) for line in out.splitlines()] == [
        {"id": "same", "verdict": "match", "reason": "the rows are equal", "rule": "exact"},
        {
            "id": "not",
            "verdict": "mismatch",
            "reason": "rows differ; row 0, column 'a': 1 is not '<b>1'",
            "rule": "rows",
        },
        {"id": "none", "verdict": "match", "reason": "equal by the rule of bird", "rule": "bird"},
    ]
    assert err == "OK: 3 pairs: 2 match, 1 mismatch, 0 undecided (exit 0)\n"


def test_the_policy_below_the_lines_is_chosen_by_name(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--policy serves the lines that name none."""
    assert _run(["compare", str(pairs), "--policy", "strict+row_order=exact"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[0])["rule"] == "row_order"


def test_a_malformed_line_is_named_and_nothing_else_is_lost(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lines before and after are judged, and the exit code is 2."""
    pairs.write_text(pair("a", [1], [1]) + "junk\n" + pair("b", [1], [1], policy={"x": 1}) + pair("c", [1], [1]))
    assert _run(["compare", str(pairs)]) == 2
    out, err = capsys.readouterr()
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["a", "c"]
    assert err.splitlines()[0].startswith(f"INPUT: {pairs}:2: not JSON")
    assert err.splitlines()[1].startswith(f"INPUT: {pairs}:3:policy.x: unknown field")
    assert err.splitlines()[-1] == "INPUT: 2 malformed lines, 2 pairs judged: 2 match, 0 mismatch, 0 undecided (exit 2)"


def test_a_policy_that_cannot_be_applied_is_named_with_its_line(
    pairs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown zone shows only when a cell needs it; the line is named all the same."""
    cells = [{"$datetime": "2024-01-01T00:00:00"}], [{"$datetime": "2024-01-01T00:00:00+00:00"}]
    pairs.write_text(pair("a", *cells, policy={"naive_tz": "Nowhere/X"}))
    assert _run(["compare", str(pairs)]) == 2
    assert capsys.readouterr().err.startswith(f"INPUT: {pairs}:1:")


@pytest.mark.parametrize(
    ("form", "start", "needle"),
    [
        ("text", "same: match by rule exact", "  > a: 1 | '<b>1'"),
        (
            "markdown",
            "## <code>same</code>",
            "| ≠ <b>a</b> | <b><code>1</code></b> | <b><code>'&#60;b&#62;1'</code></b> |",
        ),
        ("html", "<!doctype html>", "<td>&#x27;&lt;b&gt;1&#x27;</td>"),
        (
            "json",
            '{"id":"same"',
            '"missing":1,"extra":1,"first":{"index":0,"gold":[1],"predicted":["<b>1"],"cells":[0]}',
        ),
    ],
)
def test_the_evidence_is_shown_in_four_forms(
    pairs: Path, capsys: pytest.CaptureFixture[str], form: str, start: str, needle: str
) -> None:
    """Each form holds every pair and escapes what the cells hold."""
    assert _run(["compare", str(pairs), "--evidence", form]) == 0
    out = capsys.readouterr().out
    assert out.startswith(start)
    assert needle in out
    assert all(name in out for name in ("same", "not", "none"))


def test_it_writes_to_a_file_and_reads_standard_input(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--out takes the answers, - is standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pairs.read_bytes())))
    out = tmp_path / "answers.jsonl"
    assert _run(["compare", "-", "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    assert len(out.read_text(encoding="utf-8").splitlines()) == 3


@pytest.mark.parametrize(
    ("content", "code", "line"),
    [
        (None, 2, "cannot be read: No such file or directory. Check the path (exit 2)"),
        ("", 5, "(exit 5)"),
        ("\n\n", 5, "(exit 5)"),
    ],
)
def test_nothing_to_judge_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, code: int, line: str
) -> None:
    """A missing file is an input fault; a file without a pair has nothing scorable."""
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_text(content)
    assert _run(["compare", str(path)]) == code
    assert capsys.readouterr().err.rstrip().endswith(line)


def test_an_output_that_cannot_be_written_is_our_fault(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 3 names the file."""
    assert _run(["compare", str(pairs), "--out", str(tmp_path / "no" / "x")]) == 3
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.slow
def test_ten_thousand_pairs_take_less_than_a_minute(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """2,000 small pairs, half of them different, are judged in under 12 s of CPU."""
    path = tmp_path / "many.jsonl"
    rows = list(range(20))
    path.write_text("".join(pair(str(n), rows, [*rows[:-1], 19 + n % 2]) for n in range(2000)))
    started = time.process_time()
    assert _run(["compare", str(path)]) == 0
    assert time.process_time() - started < 12
    assert len(capsys.readouterr().out.splitlines()) == 2000


@pytest.mark.slow
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the handed corpus is not beside the project")
def test_every_pair_of_the_handed_corpus_is_right(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The corpus written as labelled pairs in typed JSON meets its 165 labels through the command."""
    spec = importlib.util.spec_from_file_location("read_corpus", CORPUS / "read_corpus.py")
    assert spec is not None
    assert spec.loader is not None
    reader = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reader)
    wanted = {}
    lines = (CORPUS / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    with (tmp_path / "corpus.jsonl").open("w", encoding="utf-8") as target:
        for given in map(json.loads, lines):
            wanted[given["id"]] = given["verdict"]
            sides = {name: _side(given[name], dict(reader.NAMES)) for name in ("gold", "pred")}
            target.write(json.dumps({**given, **sides}) + "\n")
    assert _run(["compare", str(tmp_path / "corpus.jsonl")]) == 0
    out, err = capsys.readouterr()
    found = {value["id"]: value["verdict"] for value in map(json.loads, out.splitlines())}
    assert err.endswith(f"; {len(wanted)} of {len(wanted)} labels met (exit 0)\n")
    assert len(wanted) >= 165
    assert {name: verdict for name, verdict in wanted.items() if found[name] != verdict} == {}


def _side(side: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """Return one side in typed JSON; documents are Python values in the corpus."""
    kinds = [column.rsplit(":", 1)[1] for column in side["columns"]]
    rows = eval(side["rows"], names)
    cells = [[_cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)] for row in rows]
    return {"columns": side["columns"], "rows": cells}


def _cell(cell: Any, kind: str) -> Any:
    """Return one cell in typed JSON."""
    if isinstance(cell, dict) or (kind == "json" and isinstance(cell, list)):
        return {"$json": json.dumps(cell)}
    return encode(cell)


def test_a_pair_that_fails_inside_costs_that_pair_alone(
    pairs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the comparator raises is that pair's `undecided` with the reason; the other pairs are judged."""

    def fail_once(gold: Any, predicted: Any, policy: Any) -> Any:
        if len(gold.relation.rows) == 1:
            raise ZeroDivisionError("no such number")
        return judge_rows(gold, predicted, policy)

    monkeypatch.setattr("sqlassay.harness.verdict.judge_rows", fail_once)
    assert _run(["compare", str(pairs)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["verdict"] for line in lines] == ["match", "undecided", "match"]
    assert lines[1]["reason"] == "the comparator failed on this pair: ZeroDivisionError: no such number"


def test_labels_are_told_met_or_not(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A label stands beside the verdict with its tag and reason; one that is not met is named and ends in exit 1."""
    right = pair("a", [1], [1], verdict="match", tag="rows", reason="the same")
    pairs.write_text(right + pair("b", [1], [2], verdict="match") + pair("c", [1], [2]))
    assert _run(["compare", str(pairs)]) == 1
    out, err = capsys.readouterr()
    first, second, third = map(json.loads, out.splitlines())
    assert (first["label"], first["met"], first["tag"], first["why"]) == ("match", True, "rows", "the same")
    assert (second["met"], second["verdict"]) == (False, "mismatch")
    assert "label" not in third
    told = "FAIL: 1 of 2 labels met; not met: b (match, found mismatch); 3 pairs: 1 match, 2 mismatch, 0 undecided"
    assert err == f"{told} (exit 1)\n"
    pairs.write_text(pair("a", [1], [1], verdict="same"))
    assert _run(["compare", str(pairs)]) == 2
    assert f"{pairs}:1:verdict: " in capsys.readouterr().err


def test_columns_may_be_names_with_kinds(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`x:int` is a name and a kind; a colon before anything else belongs to the name."""
    sides = {
        "gold": {"columns": ["x:int", "a:b"], "rows": [[1, 2]]},
        "pred": {"columns": ["x", "a:b"], "rows": [[1, 2]]},
    }
    pairs.write_text(json.dumps({"id": "a", "policy": {"columns": "name"}, **sides}) + "\n")
    assert _run(["compare", str(pairs)]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "match"


def test_two_files_or_two_folders_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file is a result; files of two folders are paired by name, and one without its counterpart is named."""
    for folder in ("gold", "pred"):
        (tmp_path / folder).mkdir()
    (tmp_path / "gold" / "a.csv").write_text("n,day\n1,2026-01-31\n2,\n")
    (tmp_path / "pred" / "a.json").write_text('[{"n": 2, "day": null}, {"n": 1, "day": {"$date": "2026-01-31"}}]')
    assert _run(["compare", str(tmp_path / "gold" / "a.csv"), str(tmp_path / "pred" / "a.json")]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "id": "a",
        "verdict": "match",
        "reason": "the rows are equal",
        "rule": "exact",
    }
    (tmp_path / "gold" / "b.csv").write_text("n\n1\n")
    assert _run(["compare", str(tmp_path / "gold"), str(tmp_path / "pred")]) == 2
    assert "no file 'b' to compare with" in capsys.readouterr().err
    assert _run(["compare", str(tmp_path / "gold"), str(tmp_path / "pred" / "a.json")]) == 2
    assert "a folder is compared with a folder" in capsys.readouterr().err
