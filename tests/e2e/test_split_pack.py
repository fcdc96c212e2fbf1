"""A pack whose snapshots are in several images gives the results it gives in one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.jail

SNAPSHOTS = ("north", "south", "west")


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """Three snapshots of one table, each with its own number of rows, asked in turn."""
    folder = tmp_path / "pack"
    folder.mkdir()
    cases = []
    for count, name in enumerate(SNAPSHOTS, 1):
        data = folder / name
        data.mkdir()
        rows = "\n".join(str(row) for row in range(count))
        (data / "t.csv").write_text(f"n\n{rows}\n")
        (folder / f"{name}.sql").write_text("")
    schema = {"format": 1, "tables": [{"name": "t", "columns": [{"name": "n", "kind": "int"}]}]}
    (folder / "schema.yaml").write_text(json.dumps(schema))
    for number in range(9):
        cases.append({"id": f"c{number}", "question": "How many?", "snapshot": SNAPSHOTS[number % 3],
                      "gold": {"sqlite": "SELECT count(*) FROM t"}})  # fmt: skip
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    # Of one, two and three rows it makes 3, 2 and 1: right of the second snapshot alone. It reads the table, as an
    # answer that reads none matches nowhere.
    answer = "SELECT 4 - count(*) FROM t"
    (folder / "p.jsonl").write_text("".join(json.dumps({"case_id": c["id"], "sql": answer}) + "\n" for c in cases))
    header = {"format": 1, "name": "three", "cases": ["cases.jsonl"], "predictions": "p.jsonl",
              "snapshots": {name: {"schema": "schema.yaml", "data": name} for name in SNAPSHOTS}}  # fmt: skip
    (folder / "pack.yaml").write_text(json.dumps(header))
    return folder


PROGRAM = """
import sys
from sqlassay.harness.cli.main import main
from sqlassay.sandboxes import shares
shares.MOST_DATABASES = int(sys.argv.pop(1))
main()
"""


@pytest.mark.parametrize("isolation", ["run", "case"])
def test_results_do_not_depend_on_how_a_pack_is_split(pack: Path, tmp_path: Path, isolation: str) -> None:
    """Every case is judged against its own snapshot's rows, on one image or on three."""
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    found = {}
    for most in ("50", "1"):
        out = tmp_path / f"run{most}"
        asked = ["run", str(pack), "--out", str(out), "--isolation", isolation, "--jobs", "2"]
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, most, *asked], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
        found[most] = [(line["case_id"], line["verdict"]) for line in lines]
        image = json.loads((out / "manifest.json").read_text())["image"]
        assert image.endswith(" and 2 more") is (most == "1")
    assert found["50"] == found["1"]
    assert [verdict for _, verdict in found["1"]] == ["mismatch", "match", "mismatch"] * 3
