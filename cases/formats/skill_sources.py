"""Turn the Skill's data sources into snapshots: SQLite paths are read, servers are refused with the remedy."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Place
from sqlassay.cases.formats.databases import database_name
from sqlassay.cases.formats.snapshots import snapshot_digest
from sqlassay.cases.paths import asks
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.sources.scripts import kept_script, scripts_digest
from sqlassay.cases.sources.sqlite_file import sqlite_content
from sqlassay.cases.yaml_reading import YamlDocument, dotted

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SUFFIX = re.compile(r"\?.*$", re.DOTALL)


def snapshots_of_config(
    sources: Mapping[str, str], config: YamlDocument, place: Place
) -> tuple[tuple[Snapshot, ...], dict[str, str | None]]:
    """Return a snapshot for every distinct SQLite file and the routes that lead there.

    Raises:
        InputError: a server's URI, which is never repeated in the message, or a file that is not there.
    """
    by_file: dict[Path, Snapshot] = {}
    routes: dict[str, str | None] = {}
    for name, uri in sources.items():
        file = _file(uri, config, (*place, name))
        if file not in by_file:
            by_file[file] = _snapshot(name, file, [snapshot.database for snapshot in by_file.values()])
        routes[name] = by_file[file].id
    return tuple(by_file.values()), routes


def _file(uri: str, config: YamlDocument, place: Place) -> Path:
    """Return the SQLite file a URI names, relative to the config or to the folder above it."""

    def refuse(message: str, remedy: str) -> InputError:
        """Build the error at the data source, without the URI, as it may hold a password."""
        return InputError(message, file=config.path, line=config.line(place), field=dotted(place), remedy=remedy)

    scheme = _SCHEME.match(uri)
    if scheme and not scheme[1].lower().startswith("sqlite"):
        message = f"data source is a {scheme[1]} server; only snapshots are evaluated"
        raise refuse(message, "Take a snapshot with `sqlassay snapshot build --from URI` and name it here")
    # Three slashes are relative, four absolute, as SQLAlchemy writes them.
    name = _SUFFIX.sub("", uri[scheme.end() :].removeprefix("/") if scheme else uri.removeprefix("file:"))
    if name in ("", ":memory:"):
        raise refuse("data source is an in-memory database", "Name a SQLite file")
    folder = config.path.resolve().parent
    for base in (folder, folder.parent):
        if asks((base / name).is_file):
            return (base / name).resolve()
    raise refuse(f"no file '{name}'", "Correct the path; it is relative to the config file")


def _snapshot(name: str, file: Path, taken: Sequence[str]) -> Snapshot:
    """Return the snapshot of one SQLite file."""
    content = sqlite_content(file)
    database = database_name(name, taken)
    digest = snapshot_digest(database, content.digest, scripts_digest({}), str(False))
    return Snapshot(name, database, digest, content.tables, content.source, sqlite_file=file, notes=content.notes)


def snapshot_of_script(sql: str, dialect: str) -> Snapshot:
    """Return the one snapshot of a dataset that carries its own schema script."""
    scripts = {dialect: (kept_script(sql),)}
    return Snapshot("data", "data", snapshot_digest("data", "", scripts_digest(scripts), str(False)), scripts=scripts)
