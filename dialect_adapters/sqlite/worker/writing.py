"""What a statement of a WRITE session may change: rows for a writer, tables, views and indexes too for an owner."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from .policy import ReaderPolicy

ENFORCED = 0x464B4F4E
"""The application id of a database whose references hold for writers; SQLite enforces none unless it is told to."""

WRITERS = ("writer", "owner")
ROLES = ("reader", "guest", "harness", *WRITERS)
ROW_CHANGES = frozenset([sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE])
NEW_RELATIONS = frozenset([sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_VIEW])
DROPPED_RELATIONS = frozenset([sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_VIEW])
INDEX_CHANGES = frozenset([sqlite3.SQLITE_CREATE_INDEX, sqlite3.SQLITE_DROP_INDEX])
BOOKKEEPING = frozenset(
    ["sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema", "sqlite_sequence", "sqlite_stat1",
     "sqlite_stat3", "sqlite_stat4"]
)  # fmt: skip
"""Tables that SQLite itself changes under CREATE, ALTER and DROP; it refuses a statement that names the schema."""

OWN_FUNCTIONS = ("sqlite_rename_", "sqlite_drop_", "sqlite_add_", "sqlite_find_", "sqlite_fail")
"""How the functions begin that ALTER TABLE calls; SQLite knows none of them in a statement's own text."""

CHECK = "quick_check"
CHECK_TABLE = f"pragma_{CHECK}"
"""What ALTER TABLE ADD COLUMN asks for where the column has a constraint."""


class WriterPolicy(ReaderPolicy):
    """The authorizer of a session that may change the rows of ordinary tables, and the schema where it owns it."""

    def __init__(self, db: sqlite3.Connection, *, owner: bool) -> None:
        """Look at the schema."""
        super().__init__(frozenset())
        self.owner = owner
        self.writable: frozenset[str] = frozenset()
        self.dropped: frozenset[str] = frozenset()
        self.look(db)

    def look(self, db: sqlite3.Connection) -> None:
        """Learn the tables there are now. Those of a virtual table are its own format: nobody writes them."""
        schema = db.execute(
            "SELECT lower(name), coalesce(sql, '') LIKE 'CREATE VIRTUAL%' FROM sqlite_master"
        ).fetchall()
        self.tables = frozenset(str(name) for name, _ in schema)
        virtual = frozenset(str(name) for name, is_virtual in schema if is_virtual)
        kept = virtual | (shadows(db, self.tables, virtual) if virtual else virtual)
        self.writable = frozenset(name for name in self.tables - kept if not name.startswith("sqlite_"))
        self.dropped = frozenset()

    def __call__(self, action: int, first: str | None, second: str | None, database: str | None, inner: object) -> int:
        """Return whether one action may be compiled; what a reader may do is always among it."""
        name = (first or "").lower()
        if action in ROW_CHANGES and database == "main" and name in self.writable:
            return sqlite3.SQLITE_OK
        if self.owner and self.owned(action, name, (second or "").lower(), database):
            return sqlite3.SQLITE_OK
        return super().__call__(action, first, second, database, inner)

    def owned(self, action: int, first: str, second: str, database: str | None) -> bool:
        """Return True for a change of the schema, and for what SQLite does to its own tables under one."""
        if action == sqlite3.SQLITE_ALTER_TABLE:
            return first == "main" and second in self.writable
        if action in DROPPED_RELATIONS:
            self.dropped |= {first}
            return database == "main" and first in self.writable
        if action == sqlite3.SQLITE_DROP_TRIGGER:
            return second in self.dropped  # a table's triggers go with it
        if action in NEW_RELATIONS:  # CREATE TABLE AS fills the table it makes
            self.tables |= {first}
            self.writable |= {first}
        if action in INDEX_CHANGES:
            return database == "main" and second in self.writable
        if action in NEW_RELATIONS or action == sqlite3.SQLITE_REINDEX:
            return database == "main"
        if action == sqlite3.SQLITE_FUNCTION:
            return second.startswith(OWN_FUNCTIONS)
        if action == sqlite3.SQLITE_PRAGMA:
            return first == CHECK
        if action == sqlite3.SQLITE_READ and first == CHECK_TABLE:
            return True
        return (action in ROW_CHANGES or action == sqlite3.SQLITE_READ) and first in BOOKKEEPING


def shadows(db: sqlite3.Connection, tables: frozenset[str], virtual: frozenset[str]) -> frozenset[str]:
    """Return the tables that virtual tables keep their content in; a library before 3.37 tells by the name alone."""
    try:
        listed = db.execute("SELECT lower(name) FROM pragma_table_list WHERE type = 'shadow'").fetchall()
    except sqlite3.Error:
        return frozenset(name for name in tables if name.startswith(tuple(f"{owner}_" for owner in virtual)))
    return frozenset(str(name) for (name,) in listed)


def recover(path: Path) -> None:
    """Undo what a killed writer left half done, which a read-only connection could not; its journal says how."""
    if path.with_name(f"{path.name}-journal").exists():
        with contextlib.closing(connect(path, "rw")) as db, contextlib.suppress(sqlite3.Error):
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()


def connect(path: Path, access: str) -> sqlite3.Connection:
    """Open one database file for "ro" or "rw", or "ro&immutable=1" where nobody writes it."""
    name = str(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(f"file:{name}?mode={access}", uri=True, isolation_level=None, check_same_thread=False)


def copy_databases(source: Path, target: Path) -> None:
    """Copy every database of one folder into another, which becomes the private one that is written."""
    for path in sorted(source.glob("*.sqlite")):
        with path.open("rb") as old, (target / path.name).open("wb") as new:
            while part := old.read(1 << 20):
                new.write(part)


def own_databases(folder: Path) -> None:
    """Make the copied databases writable for this user, whatever mode they had."""
    for path in folder.glob("*.sqlite"):
        path.chmod(0o600)


def room(folder: Path) -> int:
    """Return the size of the file system that holds a folder: no file of it can be larger."""
    found = os.statvfs(folder)
    return found.f_blocks * found.f_frsize
