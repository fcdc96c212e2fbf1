"""Every differing cell as CSV: from `compare`, from a run and from `rescore`, safe for a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from decimal import Decimal
from pathlib import Path

import pytest

from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Column, Relation, Row
from sqlassay.harness.cli.main import _run
from sqlassay.harness.reports.differences import HEAD, head, lines
from sqlassay.harness.reports.escape import spelled_out
from sqlassay.harness.reports.evidence import cell_text
from sqlassay.harness.verdict import GoldRows, cells_apart

GOLD: tuple[Row, ...] = tuple((n, f"name {n}", Decimal(n)) for n in range(300))


def relation(rows: tuple[Row, ...], *names: str) -> Relation:
    return Relation(tuple(Column(name) for name in names or ("id", "name", "total")), rows)


def told(gold: Relation, pred: Relation, policy: Policy | None = None) -> list[list[str]]:
    text = head() + lines(cells_apart(GoldRows(gold), pred, policy or Policy()))
    first, *rest = csv.reader(io.StringIO(text))
    assert tuple(first) == HEAD
    return rest


def test_rows_are_set_beside_each_other_by_what_they_share() -> None:
    """Of 300 shuffled rows in which one column differs, that column alone is told, row for row."""
    pred = tuple((n, name, total + 1) for n, name, total in reversed(GOLD))  # type: ignore[operator]
    found = told(relation(GOLD), relation(pred))
    assert len(found) == 300
    assert found[7] == ["differs", "7", "292", "total", "total", "7", "8"]


def test_a_row_that_one_side_alone_has_is_told_cell_by_cell() -> None:
    """A missing and an extra row stand whole; NULL, the text NULL and an empty text are told apart."""
    gold = relation((*GOLD, (900, None, Decimal(1))))
    pred = relation((*GOLD, (901, "NULL", Decimal(2)), (902, "", Decimal(2))))
    found = told(gold, pred)
    assert [line[0] for line in found] == ["missing"] * 3 + ["extra"] * 6
    assert found[1] == ["missing", "300", "", "name", "", "NULL", ""]
    assert (found[4][6], found[7][6]) == ("'NULL'", "''")


def test_columns_that_one_side_alone_has_are_named() -> None:
    """Where the columns cannot agree those without a counterpart come first, then the cells of the others."""
    gold, pred = relation(((1, "a", 5),), "id", "name", "total"), relation(((2, "a"),), "id", "name")
    assert told(gold, pred) == [
        ["missing column", "", "", "total", "", "", ""],
        ["differs", "0", "0", "id", "id", "1", "2"],
    ]
    assert told(pred, gold)[0] == ["extra column", "", "", "", "total", "", ""]


def test_bytes_are_written_as_sql_writes_them() -> None:
    """A blob stands in hexadecimal digits."""
    gold, pred = relation(((b"a",),), "b"), relation(((b"\0",),), "b")
    assert told(gold, pred) == [["differs", "0", "0", "b", "b", "X'61'", "X'00'"]]


def test_rows_in_another_order_are_told_where_they_stand() -> None:
    """Where order alone differs, the places are told at which another row stands."""
    gold, pred = relation(((1,), (2,), (3,)), "a"), relation(((1,), (3,), (2,)), "a")
    found = told(gold, pred, Policy(row_order="exact"))
    assert found == [["moved", "1", "1", "a", "a", "2", "3"], ["moved", "2", "2", "a", "a", "3", "2"]]
    assert told(gold, pred) == []


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "＝1"])
def test_no_cell_acts_as_a_formula(text: str) -> None:
    """A text or a column's name that a spreadsheet would obey begins with an apostrophe."""
    (line,) = told(relation((("a",),), text), relation(((text,),), text))
    assert line[3].startswith("'")
    assert line[6].startswith("'")


@pytest.mark.parametrize("code", [0xA0, 0x2007, 0x202F, 0x3000, 0x200B, 0xAD, 0x3164, 0xFE0F, 0x2800, 0x115F])
def test_a_character_without_looks_is_spelled_out(code: int) -> None:
    """In the CSV, in a terminal, in Markdown and in HTML a cell shows what stands in it; letters stay."""
    text = f"a{chr(code)}ö"
    shown = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    assert spelled_out(text) == f"a{shown}ö"
    assert cell_text(text) == f"'a{shown}ö'"
    (line,) = told(relation((("a ö",),), "a"), relation(((text,),), "a"))
    assert line[5:] == ["a ö", f"a{shown}ö"]


def test_compare_writes_them(tmp_path: Path) -> None:
    """`compare --evidence csv` has one head, and the pair's id before each line."""
    side = [{"columns": [{"name": "a"}], "rows": [[cell]]} for cell in (1, 2)]
    pairs = [{"id": f"={n}", "gold": side[0], "pred": side[n]} for n in (0, 1)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in pairs))
    out = tmp_path / "out.csv"
    assert _run(["compare", str(tmp_path / "pairs.jsonl"), "--evidence", "csv", "--out", str(out)]) == 0
    assert out.read_text() == head("id") + "'=1,differs,0,0,a,a,1,2\n"


def test_a_fold_of_policy_is_heeded() -> None:
    """What the policy calls equal is no difference."""
    gold, pred = relation((("a", 1), ("b", 2)), "x", "y"), relation((("A", 1), ("B", 3)), "x", "y")
    assert [line[3] for line in told(gold, pred, Policy(text_case="fold"))] == ["y"]
