"""Build packs from the handed Text-to-SQL data, which stays outside the project."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "text2sql"

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the handed data is not beside this checkout")


def read_jsonl(path: Path) -> list[dict]:
    """Return the objects of a JSONL file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def build_pack(folder: Path, name: str, cases: list[dict], types: str = "values") -> Path:
    """Write a pack of handed cases into `folder` and return it; the databases are copied beside it.

    A database has the vendor's own name in the engine, by which some of defog's gold calls it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    snapshots = {}
    for database in sorted({case["db"] for case in cases}):
        shutil.copy(SHARED / "databases" / database / f"{database}.sqlite", folder / f"{database}.sqlite")
        own_name = database.removeprefix("defog_")
        snapshots[database] = {"database": own_name, "sqlite": f"{database}.sqlite", "types": types}
    header = {"format": 1, "name": name, "snapshots": snapshots, "cases": ["cases.jsonl"]}
    # JSON is YAML: no need for a writer.
    (folder / "pack.yaml").write_text(json.dumps(header, indent=1), encoding="utf-8")
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as stream:
        for case in cases:
            own = {"id": case["id"], "question": case["question"], "snapshot": case["db"], "gold": case["gold"]}
            stream.write(json.dumps(own) + "\n")
    return folder


def gold_as_predictions(path: Path, cases: list[dict], dialect: str) -> Path:
    """Write the first gold of every case as its prediction."""
    with path.open("w", encoding="utf-8") as stream:
        for case in cases:
            gold = case["gold"][dialect]
            sql = gold if isinstance(gold, str) else gold[0]
            stream.write(json.dumps({"case_id": case["id"], "sql": sql}) + "\n")
    return path
