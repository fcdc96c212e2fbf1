"""Write a pack down in our own format: a folder that holds everything it needs and loads to the same cases."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.own import HEADER
from sqlassay.cases.left_out import FILE, SHOWN
from sqlassay.cases.new_folder import new_folder
from sqlassay.cases.pack import Pack
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.sources.archives import is_folder
from sqlassay.cases.sources.csv_rows import CsvSource
from sqlassay.cases.sources.scripts import script_text
from sqlassay.cases.sources.sqlite_declared import BY_TYPE
from sqlassay.cases.tables import named_part

_UNNAMED = re.compile(r"[^A-Za-z0-9_.-]+")


def write_pack(pack: Pack, folder: Path) -> tuple[Path, ...]:
    """Write `pack` into a new or empty folder and return its files; the folder appears whole or not at all.

    Raises:
        InputError: something is there already, or the pack holds what our format cannot say.
        InfrastructureError: the folder cannot be written.
    """
    with new_folder(folder) as draft:
        _fill(pack, draft)
    return tuple(sorted(path for path in folder.rglob("*") if path.is_file()))


def _fill(pack: Pack, folder: Path) -> None:
    """Write header, cases, predictions and every snapshot's content."""
    header: dict[str, Any] = {
        "format": 1,
        "name": _UNNAMED.sub("-", pack.name).strip("-.")[:100] or "pack",
        "description": pack.description or f"Converted from the format {pack.format}.",
        "snapshots": {snapshot.id: _snapshot(snapshot, folder) for snapshot in pack.snapshots},
        "routes": dict(pack.routes),
        "visible": {snapshot: list(tables) for snapshot, tables in pack.visible},
        **_settings(pack),
        "cases": ["cases.jsonl"],
    }
    _lines(folder / "cases.jsonl", [case.model_dump(mode="json", exclude_defaults=True) for case in pack.cases])
    if pack.inline_predictions:
        header["predictions"] = "predictions.jsonl"
        made = [one.model_dump(mode="json", exclude_defaults=True) for one in pack.inline_predictions]
        _lines(folder / "predictions.jsonl", made)
    elif pack.predictions is not None and pack.predictions != pack.path:
        file, part = named_part(pack.predictions)
        header["predictions"] = file.name + f"#{part}" * bool(part)
        shutil.copyfile(file, folder / file.name)
    if len(pack.left_out) > SHOWN:
        (folder / FILE).write_text("".join(f"{line}\n" for line in pack.left_out), encoding="utf-8")
    # JSON is YAML: no writer of ours has to know YAML's quoting.
    kept = {key: value for key, value in header.items() if value not in ({}, None)}
    (folder / HEADER).write_text(json.dumps(kept, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _settings(pack: Pack) -> dict[str, Any]:
    """Return the header's settings, those that are set."""
    raw = {key: value for key, value in asdict(pack.settings).items() if value is not None}
    preset = raw.pop("policy_preset", None)
    policy = pack.settings.policy
    if policy is not None:
        raw["policy"] = policy.model_dump(mode="json", exclude_none=True)
    elif preset is not None:
        raw["policy"] = preset
    if pack.settings.clock is not None:
        raw["clock"] = pack.settings.clock.isoformat()
    return raw


def _lines(path: Path, values: list[dict[str, Any]]) -> None:
    """Write one JSON object a line."""
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), encoding="utf-8")


def _snapshot(snapshot: Snapshot, folder: Path) -> dict[str, Any]:
    """Copy one snapshot's content and return its entry in the header."""
    entry: dict[str, Any] = {"database": snapshot.database}
    place = Path("data") / snapshot.id
    if snapshot.sqlite_file is not None:
        entry["sqlite"] = _copied(snapshot.sqlite_file, folder, place.with_name(f"{snapshot.id}.sqlite"))
        if any(column.kind in BY_TYPE for table in snapshot.tables for column in table.columns):
            entry["types"] = "declared"
    elif isinstance(snapshot.source, CsvSource) and snapshot.schema_file is not None:
        entry["schema"] = _copied(snapshot.schema_file, folder, place / "schema.yaml")
        entry["data"] = (place / "rows").as_posix()
        for _, file in snapshot.source.tables:
            _copied(file, folder, place / "rows" / file.name)
    elif snapshot.tables:
        remedy = "Write it as a SQLite file, or as a schema with CSV rows"
        raise InputError("its rows cannot be written in our format", file=snapshot.id, remedy=remedy)
    scripts = {
        dialect: [_copied(file, folder, place / dialect / f"{n:02d}-{file.name}") for n, file in enumerate(files)]
        for dialect, files in snapshot.scripts.items()
    }
    return {**entry, **({"scripts": scripts} if scripts else {})}


def _copied(file: Path, folder: Path, name: Path) -> str:
    """Copy a file, or the text of a dump that is a folder, to its place in the pack; return it as the header does."""
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if is_folder(file):
        target.write_text(script_text(file), encoding="utf-8")
    else:
        shutil.copyfile(file, target)
    return name.as_posix()
