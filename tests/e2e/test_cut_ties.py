"""A gold whose LIMIT cuts a tie: its members are asked for, and what stays open may leave the denominator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

_SCHEMA = """format: 1
tables:
  - name: t
    columns:
      - {name: name, kind: text, nullable: false}
      - {name: score, kind: int}
    primary_key: [name]
"""
_ROWS = "name,score\na,1\nb,2\nc,2\nd,2\ne,3\n"
_TIED = "SELECT name FROM t ORDER BY score LIMIT 2"
_SKIPPING = "SELECT name FROM t ORDER BY score LIMIT 1 OFFSET 1"
_CASES = {
    "the gold's": (_TIED, _TIED, "match"),
    "another member": (_TIED, "SELECT name FROM t WHERE name IN ('a', 'd') ORDER BY score", "match"),
    "no member": (_TIED, "SELECT name FROM t WHERE name IN ('a', 'e') ORDER BY score", "mismatch"),
    "not in order": (_TIED, "SELECT name FROM t WHERE name IN ('a', 'd') ORDER BY score DESC", "mismatch"),
    "skipped": (_SKIPPING, "SELECT name FROM t WHERE name = 'd'", "undecided"),
}


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A pack of golds with a hidden key, judged by `cut_ties: any`."""
    folder = tmp_path / "pack"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "t.csv").write_text(_ROWS)
    (folder / "schema.yaml").write_text(_SCHEMA)
    header = {"format": 1, "name": "p", "snapshots": {"s": {"schema": "schema.yaml", "data": "data"}}}
    (folder / "pack.yaml").write_text(json.dumps({**header, "policy": {"cut_ties": "any"}, "cases": ["cases.jsonl"]}))
    cases = [{"id": name, "question": "?", "gold": {"sqlite": [gold]}} for name, (gold, _, _) in _CASES.items()]
    predictions = [{"case_id": name, "sql": sql} for name, (_, sql, _) in _CASES.items()]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (folder / "predictions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in predictions))
    return folder


@pytest.mark.jail
@pytest.mark.parametrize("leaves", [False, True])
def test_members_decide_a_cut_tie_and_the_open_rest_counts_0_or_leaves(cli, pack, leaves):
    """A hidden key hinders no verdict; an undecided gold counts 0, or leaves the denominator where the run says so."""
    flag = ("--leave-undetermined",) if leaves else ()
    ran = cli("run", str(pack), "--dialect", "sqlite", "--predictions", str(pack / "predictions.jsonl"), *flag)
    wanted = {name: verdict for name, (_, _, verdict) in _CASES.items()}
    assert ran.verdicts == wanted | ({"skipped": "unavailable"} if leaves else {})
    differing = {path.name[:8] for path in (ran.folder / "differences").iterdir()}
    assert differing == {"no_membe", "not_in_o"}
    manifest = json.loads((ran.folder / "manifest.json").read_text())
    assert manifest["settings"]["leave_undetermined"] is leaves
    assert f"(2 of {4 if leaves else 5} scorable cases match)" in ran.out
    again = cli("rescore", str(ran.folder), "--policy", "strict", "--out", str(ran.folder.parent / "again"))
    assert again.code == 0, again.out
    own = json.loads((ran.folder.parent / "again" / "rescore.json").read_text())["totals"][0]
    assert (own["match"], own["undecided"], own["left_out"]) == (2, 1, int(leaves))
    assert own["accuracy"] == pytest.approx(2 / (4 if leaves else 5))
    assert ("left out of the denominator (leave_undetermined): run 1" in again.out) is leaves
