"""Find the databases that a foreign data set names, below the folders such sets keep them in, as snapshots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.formats.snapshots import snapshot_digest
from sqlassay.cases.paths import asks
from sqlassay.cases.reading import read_text
from sqlassay.cases.snapshot import Snapshot
from sqlassay.cases.sources.scripts import kept_script, scripts_digest
from sqlassay.cases.sources.sqlite_file import sqlite_content

SQLITE = (".sqlite", ".sqlite3", ".db")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_KEPT = 60
_IN_SCHEMA = re.compile(r'(?im)^\s*CREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?"?(\w+)"?\s*\.\s*"?(\w+)"?')
"""A table that a script makes in a named schema."""


@dataclass(frozen=True, slots=True)
class Found:
    """One database by name: its SQLite files, the first one the real one, or its scripts per dialect.

    `declared` says that gold is written for the types the tables declare: dates are no text there. `vendor` is the
    Postgres script it was made from: tables that it makes in a schema of their own are found there on Postgres too.
    """

    name: str
    files: tuple[Path, ...] = ()
    scripts: tuple[tuple[str, tuple[Path, ...]], ...] = ()
    declared: bool = False
    vendor: Path | None = None


def named_folders(start: Path, names: Sequence[str]) -> tuple[Path, ...]:
    """Return the folders of these names at `start`, one of the same name inside it first (archives nest them)."""
    found = []
    for name in names:
        folder = start / name
        if asks((folder / name).is_dir):
            found.append(folder / name)
        if asks(folder.is_dir):
            found.append(folder)
    return tuple(found)


def find_sqlite(roots: Iterable[Path], name: str) -> tuple[Path, ...]:
    """Return a database's SQLite files below the first root that has it, `NAME/NAME.sqlite` before its neighbours.

    A name that could leave the folder is never looked up.
    """
    if not _NAME.fullmatch(name):
        return ()
    for root in roots:
        for suffix in SQLITE:
            for path in (root / name / f"{name}{suffix}", root / f"{name}{suffix}"):
                if asks(path.is_file):
                    return (path, *_neighbours(path, name))
        alone = _sqlite_in(root / name)
        if len(alone) == 1:
            return alone
    return ()


def find_one(roots: Sequence[Path], name: str) -> Found | None:
    """Return a database by its name, without the neighbours of its file, which are no test suite where one looks.

    Where the vendor's Postgres script lies beside the file, gold is written for the types that it declares.
    """
    files = find_sqlite(roots, name)
    if not files:
        return None
    vendor = next(iter(sorted(files[0].parent.glob("postgres*.sql"))), None)
    return Found(name, files[:1], declared=vendor is not None, vendor=vendor)


def _neighbours(path: Path, name: str) -> tuple[Path, ...]:
    """Return the other SQLite files of a database's own folder: the same schema with other rows."""
    if path.parent.name != name:
        return ()
    return tuple(other for other in _sqlite_in(path.parent) if other != path)


def _sqlite_in(folder: Path) -> tuple[Path, ...]:
    """Return the SQLite files of a folder, sorted by name."""
    if not asks(folder.is_dir):
        return ()
    return tuple(sorted(file for file in folder.iterdir() if file.suffix in SQLITE and file.is_file()))


def snapshots_of(found: Iterable[Found]) -> tuple[tuple[Snapshot, ...], Mapping[str, tuple[str, ...]]]:
    """Return a snapshot for every file and script set, and each database's snapshot ids, the real one first.

    Raises:
        InputError: a file that is no SQLite database, or is damaged.
    """
    made: list[Snapshot] = []
    ids: dict[str, tuple[str, ...]] = {}
    for one in found:
        own = [_from_file(one, number, file, made) for number, file in enumerate(one.files)]
        if one.scripts:
            own.append(_from_scripts(one, made))
        made.extend(own)
        ids[one.name] = tuple(snapshot.id for snapshot in own)
    return tuple(made), ids


def _from_file(one: Found, number: int, file: Path, made: Sequence[Snapshot]) -> Snapshot:
    """Return the snapshot of one SQLite file; neighbours are named after their files."""
    snapshot_id = one.name if number == 0 else f"{one.name}--{file.stem}"
    content = sqlite_content(file, declared=one.declared)
    database = database_name(one.name if number == 0 else f"{one.name}_{number}", [item.database for item in made])
    moves = _moves(one.vendor, [table.name for table in content.tables]) if one.vendor is not None else ""
    scripts = {"postgres": (kept_script(moves),)} if moves else {}
    digest = snapshot_digest(database, content.digest, scripts_digest(scripts), str(False))
    return Snapshot(
        snapshot_id, database, digest, content.tables, content.source, scripts, sqlite_file=file, notes=content.notes
    )


def _moves(vendor: Path, tables: Sequence[str]) -> str:
    """Return the statements that put tables into the schemas in which a vendor's Postgres script makes them."""
    known = {table.lower(): table for table in tables}
    schemas: dict[str, list[str]] = {}
    for found in _IN_SCHEMA.finditer(read_text(vendor)):
        schema, table = found[1].lower(), found[2].lower()
        if schema != "public" and table in known:
            schemas.setdefault(schema, []).append(table)
    lines = []
    for schema, moved in schemas.items():
        lines.append(f'CREATE SCHEMA "{schema}";')
        # Names are in lower case on Postgres, as tables of every snapshot are.
        lines += [f'ALTER TABLE "{table}" SET SCHEMA "{schema}";' for table in dict.fromkeys(moved)]
    return "".join(f"{line}\n" for line in lines)


def _from_scripts(one: Found, made: Sequence[Snapshot]) -> Snapshot:
    """Return the snapshot of a database that is written down as scripts, one set a dialect."""
    database = database_name(one.name, [item.database for item in made])
    scripts = dict(one.scripts)
    digest = snapshot_digest(database, "", scripts_digest(scripts), str(False))
    return Snapshot(one.name, database, digest, scripts=scripts)


def database_name(name: str, taken: Sequence[str]) -> str:
    """Return a plain database name, distinct from the others."""
    plain = re.sub(r"[^a-z0-9_]", "_", name.lower())[:_KEPT] or "data"
    plain = plain if plain[0].isalpha() else f"d{plain}"[:_KEPT]
    number, made = 1, plain
    while made in taken:
        number, made = number + 1, f"{plain[:55]}_{number}"
    return made


def no_databases(path: Path, names: Sequence[str]) -> InputError:
    """Return the error of a data set whose databases are not there at all."""
    listed = " or ".join(f"'{name}/'" for name in names)
    message = "none of its databases was found"
    return InputError(message, file=path, remedy=f"Put the SQLite files at {listed} beside it, as DB/DB.sqlite")
