"""Build the snapshots of a pack from its header, every file inside the pack's folder."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Place
from sqlassay.cases.formats.header import DATABASE, NAME, SnapshotModel
from sqlassay.cases.paths import inside
from sqlassay.cases.settings import EngineSettings
from sqlassay.cases.snapshot import EVERY, RowSource, Snapshot, TableDef
from sqlassay.cases.sources.archives import is_folder
from sqlassay.cases.sources.csv_rows import csv_source
from sqlassay.cases.sources.schema import read_schema
from sqlassay.cases.sources.scripts import scripts_digest
from sqlassay.cases.sources.sqlite_file import sqlite_content
from sqlassay.cases.yaml_reading import YamlDocument, dotted, read_yaml


def snapshot_digest(*parts: str) -> str:
    """Return the sha256 over the digests and names that make up a snapshot."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def build_snapshot(
    snapshot_id: str, model: SnapshotModel, root: Path, header: YamlDocument, functions: Sequence[str] = ()
) -> Snapshot:
    """Return one snapshot with its digest; `functions` are those of its scripts that queries may call.

    Raises:
        InputError: a wrong name, a path that leaves the folder, or malformed content.
    """
    place: Place = ("snapshots", snapshot_id)
    database = _database(snapshot_id, model, header)

    def locate(name: str, *field: str | int, folder: bool = False) -> Path:
        """Find one file the header names."""
        at = (*place, *field)
        return inside(root, name, file=header.path, line=header.line(at), field=dotted(at) or "", folder=folder)

    tables: tuple[TableDef, ...] = ()
    source: RowSource | None = None
    content, enforce = "", False
    notes: tuple[str, ...] = ()
    sqlite: Path | None = None
    schema: Path | None = None
    if model.schema_file is not None and model.data is not None:
        schema = locate(model.schema_file, "schema")
        tables, enforce = read_schema(read_yaml(schema))
        source, rows = csv_source(tables, locate(model.data, "data", folder=True))
        content = f"{rows}{tables!r}"
    elif model.sqlite is not None:
        sqlite = locate(model.sqlite, "sqlite")
        found = sqlite_content(sqlite, declared=model.types == "declared")
        tables, source, content, notes = found.tables, found.source, found.digest, found.notes
    scripts = {
        dialect: tuple(
            locate(name, "scripts", dialect, i, folder=is_folder(root / name)) for i, name in enumerate(files)
        )
        for dialect, files in model.scripts.items()
    }
    allowed = tuple(sorted({name.lower() for name in functions}))
    # Left out where there are none: the digest of every snapshot without such a list stays what it was.
    rights = [f"functions {', '.join(allowed)}"] if allowed else []
    settings = _settings(model)
    rights += ["whole scripts"] if model.whole_scripts else []
    rights += [f"settings {name} {one.model_dump_json()}" for name, one in sorted(settings.items())]
    digest = snapshot_digest(database, content, scripts_digest(scripts), str(enforce), *rights)
    return Snapshot(
        snapshot_id,
        database,
        digest,
        tables,
        source,
        scripts,
        enforce,
        sqlite,
        notes,
        schema,
        allowed,
        settings,
        model.whole_scripts,
    )


def _settings(model: SnapshotModel) -> dict[str, EngineSettings]:
    """Return the settings by dialect, and those for every dialect."""
    every = {EVERY: EngineSettings(collation=model.collation)} if model.collation is not None else {}
    return {**model.settings, **every}


def _database(snapshot_id: str, model: SnapshotModel, header: YamlDocument) -> str:
    """Return the database's name in the engine; the id serves where it is a plain name."""
    line = header.line(("snapshots", snapshot_id))
    if not re.fullmatch(NAME, snapshot_id):
        remedy = "Use letters, digits, '_', '-' and '.'"
        message = f"'{snapshot_id}' cannot be a snapshot id"
        raise InputError(message, file=header.path, line=line, field="snapshots", remedy=remedy)
    if model.database is not None:
        return model.database
    if re.fullmatch(DATABASE, snapshot_id) and len(snapshot_id) <= 63:
        return snapshot_id
    message = f"snapshot id '{snapshot_id}' cannot name a database"
    remedy = "Add `database:` with letters, digits and '_'"
    raise InputError(message, file=header.path, line=line, field=f"snapshots.{snapshot_id}.database", remedy=remedy)
