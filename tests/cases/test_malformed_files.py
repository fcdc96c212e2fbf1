"""Whatever bytes a pack's files hold, loading ends in a pack or in one input error, never in a traceback."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.predictions import read_predictions
from sqlassay.cases.starter import write_starter

PIECES = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\n",
    b'"',
    b"'",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b": ",
    b"- ",
    b",",
    b"null",
    b"true",
    b"1e999",
    b"-1",
    b"0x10",
    b"2026-13-45",
    b"2026-01-01",
    b"&a",
    b"*a",
    b"<<: ",
    b"!!binary x",
    b"!!set {a, b}",
    b"!!timestamp x",
    b"%YAML 9.9",
    b"---",
    b"? ",
    b"|",
    b"\\ud800",
    b"\xed\xa0\x80",
    b"../",
    b"/etc/passwd",
    b"9" * 5000,
    b"\t",
    b"#",
]
FILES = ["pack.yaml", "schema.yaml", "cases.jsonl", "predictions.jsonl", "data/books.csv"]


def _mutated(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes after a few cuts, copies and insertions."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice([0, 1, 3, 20, 200]))
        data = data[:at] + rng.choice([*PIECES, data[at:end] * 2]) + data[end:]
    return data


def _load(folder: Path) -> None:
    """Load everything a pack holds."""
    pack = load_pack(folder)
    if pack.predictions is not None:
        read_predictions(pack.predictions)
    for snapshot in pack.snapshots:
        for table in snapshot.tables:
            assert snapshot.source is not None
            for _ in snapshot.source.rows(table.name):
                pass


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_of_a_pack_is_an_input_error(tmp_path: Path, name: str) -> None:
    """Sixty seeded damages of each file: a pack or an InputError of readable length."""
    write_starter(tmp_path / "p")
    file = tmp_path / "p" / name
    good = file.read_bytes()
    rng = random.Random(name)
    refused: list[str] = []
    for _ in range(60):
        file.write_bytes(_mutated(good, rng))
        try:
            _load(tmp_path / "p")
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert max(map(len, refused)) < 4000


def test_a_damaged_dataset_is_an_input_error(tmp_path: Path) -> None:
    """The Skill's dataset and config are as safe to read."""
    rows = [{"id": f"r{i}", "question": "q", "ground_truth_sql": "SELECT 1", "predicted_sql": "x"} for i in range(3)]
    dataset = json.dumps({"schema": "CREATE TABLE t(a INT);", "cases": rows}, indent=1).encode()
    config = b"timeout: 5\ndata_sources:\n  a: sqlite:///x.db\n"
    rng = random.Random(5)
    refused: list[str] = []
    for index in range(120):
        (tmp_path / "d.json").write_bytes(_mutated(dataset, rng) if index % 2 else dataset)
        (tmp_path / "config.yaml").write_bytes(config if index % 2 else _mutated(config, rng))
        for target in ("d.json", "config.yaml"):
            try:
                load_pack(tmp_path / target, format="skill")
            except InputError as error:
                refused.append(str(error))
    assert len(refused) > 20
    assert max(map(len, refused)) < 4000


@pytest.mark.parametrize("kind", ["folder", "missing", "fifo"])
def test_what_is_no_file_is_an_input_error(tmp_path: Path, kind: str) -> None:
    """A folder, nothing and a pipe in a file's place are refused at once."""
    write_starter(tmp_path / "p")
    file = tmp_path / "p" / "cases.jsonl"
    file.unlink()
    if kind == "folder":
        file.mkdir()
    elif kind == "fifo":
        os.mkfifo(file)
    with pytest.raises(InputError, match=r"cases.jsonl"):
        load_pack(tmp_path / "p")
    with pytest.raises(InputError):
        read_predictions(file)
