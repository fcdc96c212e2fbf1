"""The tables of rows that the tests are written in, each read once a process."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import yaml

TABLES = Path(__file__).parent / "tables"


def rows_of(name: str | Path) -> Any:
    """Return what a table holds, new to each caller: `guard`, or the path of a YAML file that lies elsewhere."""
    return pickle.loads(_read(TABLES / f"{name}.yaml" if isinstance(name, str) else name))


@cache
def _read(path: Path) -> bytes:
    """Read a file by libyaml, and by Python where it names half a character, which libyaml refuses."""
    text = path.read_text(encoding="utf-8")
    try:
        found = yaml.load(text, yaml.CSafeLoader)
    except yaml.scanner.ScannerError:
        found = yaml.safe_load(text)
    return pickle.dumps(found)
