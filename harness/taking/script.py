"""A dump as a source: what pg_dump (-Fc, -Ft and -Fd too), mysqldump, mariadb-dump or SQLite's shell wrote."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from sqlassay.cases.errors import InputError
from sqlassay.cases.paths import asks
from sqlassay.cases.sources.archives import is_archive, is_folder
from sqlassay.cases.sources.packing import head_of
from sqlassay.cases.sources.scripts import script_text
from sqlassay.harness.taking.contract import Taken

_LOOK = 65_536
_MARKS = (
    ("postgres", re.compile(rb"(?m)^-- PostgreSQL database (cluster )?dump")),
    ("mariadb", re.compile(rb"(?m)^(/\*M?!999999.*\n)?-- MariaDB dump ")),
    ("mysql", re.compile(rb"(?m)^-- MySQL dump ")),
    ("sqlite", re.compile(rb"\A\s*(PRAGMA foreign_keys=OFF;\s*)?BEGIN TRANSACTION;")),
)
_HABITS = (
    ("mysql", re.compile(rb"(?i)`\w+`|\bENGINE\s*=|\bAUTO_INCREMENT\b")),
    (
        "postgres",
        re.compile(rb"(?i)\bpublic\.\w|\bFROM stdin\b|\bSERIAL\b|::\w|\bCREATE SCHEMA\b|\bTIMESTAMPTZ\b|\bjsonb\b"),
    ),
    ("sqlite", re.compile(rb"(?i)\bAUTOINCREMENT\b|\bPRAGMA\b|\bWITHOUT ROWID\b")),
)
"""What a script without a tool's head is known by: words of one engine alone."""
_TABLE = re.compile(r"(?im)^\s*CREATE TABLE (?:IF NOT EXISTS )?([^\s(]+(?:\s*\.\s*[^\s(]+)?)")


class Script:
    """Takes a dump as a script of its own engine."""

    name = (
        "a dump of pg_dump (plain, -Fc, -Ft, -Fd), mysqldump, mariadb-dump or SQLite's .dump, or a .sql script, "
        "also packed"
    )

    def recognises(self, source: str) -> bool:
        """Return whether the file begins as one of these dumps does, or is called a script."""
        return _dialect(Path(source)) is not None or _is_script(Path(source))

    def speaks(self, source: str) -> str:
        """Return the dialect of the tool that wrote the dump, or whose words the script has.

        Raises:
            InputError: it has the words of no engine, or of several.
        """
        return _spoken(Path(source))[0]

    def take(self, source: str, folder: Path, *, tables: tuple[str, ...] = ()) -> Taken:
        """Copy the dump as it is, for scripts are read in all of these forms; of a folder, the SQL it holds.

        Raises:
            InputError: an unreadable file, one without tables, or tables named: a dump is taken whole.
        """
        path = Path(source)
        dialect, note = _spoken(path)
        if tables:
            raise InputError("a dump is taken whole", field="--tables", remedy="Leave --tables out")
        text = script_text(path)
        names = tuple(dict.fromkeys(_TABLE.findall(text)))
        if not names:
            raise InputError("the dump makes no table", file=path, remedy="Dump schema and data, not the data alone")
        if is_folder(path):
            (folder / "data.sql").write_text(text, encoding="utf-8")
        else:
            shutil.copyfile(path, folder / "data.sql")
        return Taken(dialect, {"scripts": {dialect: ["data.sql"]}}, names, notes=(note,) if note else ())


def _is_script(path: Path) -> bool:
    """Return whether a file's name says that it holds SQL."""
    plain = path.name.lower()
    for suffix in (".gz", ".bz2", ".xz", ".lz4", ".zst"):
        plain = plain.removesuffix(suffix)
    return plain.endswith(".sql") and asks(path.is_file)


def _spoken(path: Path) -> tuple[str, str]:
    """Return a script's dialect, and a note where it was guessed.

    Raises: InputError for one that has the words of no engine, or of several.
    """
    headed = _dialect(path)
    if headed is not None:
        return headed, ""
    text = script_text(path).encode()
    found = [dialect for dialect, habit in _HABITS if habit.search(text)]
    if len(found) != 1:
        what = f"it may be {' or '.join(found)}" if found else "it has the words of no engine alone"
        remedy = "Name it in a pack: snapshots: {data: {scripts: {DIALECT: [FILE]}}}"
        raise InputError(f"no tool's head says whose SQL this is, and {what}", file=path, remedy=remedy)
    return found[0], f"{path.name} is read as {found[0]}, by its words"


def _dialect(path: Path) -> str | None:
    """Return whose dump a file is, None where it is none; never raises."""
    if is_folder(path):
        return "postgres"
    if not asks(path.is_file):
        return None
    head = head_of(path, _LOOK)
    if is_archive(head[:16]):
        return "postgres"
    return next((dialect for dialect, mark in _MARKS if mark.search(head)), None)
