"""Compare the final files of two runs, apart from what must differ: run id, moments and durations."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

MEASURED = re.compile(
    r"^(run_id|created|health|time|timestamp|percentiles|sandboxes|gold_cached|.*seconds|.*_ms|.*latency.*|.*duration.*)$"
)
"""Fields that hold a run's id or what its clock said."""

_IMAGE = re.compile(r"(sqlassay/snapshot-\w+:[0-9a-f]{16})-[0-9a-f]{8}")
"""An image's tag ends in chance: one that was baked anew has the same key and content."""

_EXACT = {"results.jsonl"}
_OWN = {"journal.jsonl"}
_TEXT = (
    (re.compile(r"\d{8}T\d{6}Z_[a-z]+_[0-9a-f]{6}"), "RUN"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "MOMENT"),
    (re.compile(r"\d\d\d\d-\d\d-\d\d \d\d:\d\d(:\d\d)?( UTC)?"), "MOMENT"),
    (re.compile(r'time="[0-9.]+"'), "TIME"),
    (re.compile(r"(?m)^- (sandboxes|health): .*\n"), ""),
    (re.compile(r'<property name="health" value="[^"]*" />'), ""),
    (re.compile(r"\b[0-9.,]+ ?(ms|s)\b"), "SECONDS"),
)


def differences(one: Path, two: Path) -> list[str]:
    """Return the names of final files that two runs do not have alike."""
    names = {str(p.relative_to(folder)) for folder in (one, two) for p in folder.rglob("*") if p.is_file()}
    return sorted(name for name in names - _OWN if _content(one, name) != _content(two, name))


def _content(folder: Path, name: str) -> Any:
    """Return a file's content without what must differ; None where it is missing."""
    path = folder / name
    if not path.is_file():
        return None
    if name in _EXACT or name.endswith(".gz"):
        return path.read_bytes()
    text = _IMAGE.sub(r"\1", path.read_text(encoding="utf-8"))
    if name.endswith(".jsonl"):
        return [_plain(json.loads(line)) for line in text.splitlines()]
    if name.endswith(".json"):
        return _plain(json.loads(text))
    if name.endswith(".csv"):
        rows = csv.DictReader(io.StringIO(text))
        return [{k: v for k, v in row.items() if not MEASURED.match(k)} for row in rows]
    for pattern, word in _TEXT:
        text = pattern.sub(word, text)
    return text


def _plain(value: Any) -> Any:
    """Return a JSON value without measured fields."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if not MEASURED.match(key)}
    return [_plain(item) for item in value] if isinstance(value, list) else value
