"""The SQLite dialect: files written on the host, sessions answered by a jailed worker."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import (
    Endpoint,
    GrammarRules,
    Pins,
    Role,
    ServerRecipe,
    Session,
    SessionLostError,
    StatementError,
    StateRules,
)
from sqlassay.dialect_adapters.sqlite.recipe import RECIPE
from sqlassay.dialect_adapters.sqlite.session import SqliteSession, ask

if TYPE_CHECKING:
    from pathlib import Path

    from sqlglot import exp

    from sqlassay.dialect_adapters.explaining import PlanRules
    from sqlassay.dialect_adapters.rearranged import RowOrder
    from sqlassay.dialect_adapters.sqlite.determinism import Probe
    from sqlassay.dialect_adapters.transpile.causes import Difference
    from sqlassay.dialect_adapters.transpile.facts import SchemaFacts
    from sqlassay.dialect_adapters.transpile.telling import Telling


class SqliteAdapter:
    """One engine without a server: a snapshot database is a file `<database>.sqlite`."""

    name = "sqlite"

    @property
    def recipe(self) -> ServerRecipe:
        """Return how the worker is built and served."""
        return RECIPE

    @property
    def rules(self) -> GrammarRules:
        """Return what the guard may let through."""
        from sqlassay.dialect_adapters.sqlite.grammar import RULES

        return RULES

    @property
    def state(self) -> StateRules:
        """Return how the state a statement leaves is read."""
        from sqlassay.dialect_adapters.sqlite.state import STATE

        return STATE

    @property
    def telling(self) -> Telling:
        """Return the words for statements of other engines."""
        from sqlassay.dialect_adapters.sqlite.telling import SqliteTelling

        return SqliteTelling()

    def read_query(self, sql: str, facts: SchemaFacts) -> exp.Expr:
        """Return a query as a typed tree, to be written for other engines; raises Refused."""
        from sqlassay.dialect_adapters.sqlite.reading import read

        return read(sql, facts)

    @property
    def plans(self) -> PlanRules:
        """Return how the engine's plan of a query is asked for and read."""
        from sqlassay.dialect_adapters.sqlite.plan import PLANS

        return PLANS

    @property
    def complaints(self) -> tuple[tuple[str, Difference], ...]:
        """Return what the engine's error messages are about."""
        from sqlassay.dialect_adapters.sqlite.complaints import COMPLAINTS

        return COMPLAINTS

    def choices(self, sql: str, facts: SchemaFacts) -> tuple[Probe, ...]:
        """Return the questions that find out which rows a query may choose among; raises Refused."""
        from sqlassay.dialect_adapters.sqlite.determinism import probes

        return tuple(probes(self.read_query(sql, facts)))

    def rearranged(self, snapshot: Snapshot, order: RowOrder, seed: int, folder: Path) -> Snapshot | None:
        """Return the snapshot as a file with its rows stored in another order; None where it cannot be written anew."""
        from sqlassay.dialect_adapters.sqlite.rearrange import rearranged_file

        return rearranged_file(snapshot, order, seed, folder)

    def set_up(self, endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins) -> None:
        """Run a case's trusted setup SQL."""
        from sqlassay.dialect_adapters.sqlite.state import set_up

        set_up(endpoint, database, scripts, pins)

    def connect(self, endpoint: Endpoint, database: str, role: Role, pins: Pins) -> Session:
        """Open a session; raises SessionLostError where the worker does not answer."""
        return SqliteSession(endpoint, database, role, pins)

    def ping(self, endpoint: Endpoint) -> bool:
        """Return True once the worker names its engine."""
        try:
            return "version" in ask(endpoint, {"op": "ping"})
        except (SessionLostError, StatementError):
            return False

    def engine_version(self, endpoint: Endpoint) -> str:
        """Return the SQLite version of the worker, which may not be that of the host where its files were written.

        Raises:
            SessionLostError: the worker does not answer.
        """
        return str(ask(endpoint, {"op": "ping"}).get("version", ""))

    def load(self, endpoint: Endpoint, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
        """Write every snapshot into the folder `endpoint.socket` and return the catalogues.

        Raises:
            InputError: a snapshot that cannot be loaded.
        """
        folder = endpoint.socket
        if folder is None:
            raise InfrastructureError("SQLite files need a folder to be written to", remedy="Give one as the socket")
        _refuse_shared_names(snapshots)
        return tuple(_load_one(folder, snapshot) for snapshot in snapshots)

    def shutdown(self, endpoint: Endpoint) -> None:
        """Do nothing: a written file is complete."""

    def state_digest(self, endpoint: Endpoint, database: str) -> str:
        """Return the sha256 of the database file, read by the worker."""
        session = SqliteSession(endpoint, database, Role.HARNESS, Pins())
        try:
            return session.digest()
        finally:
            session.close()


def _load_one(folder: Path, snapshot: Snapshot) -> Catalog:
    """Write one snapshot's file and return its catalogue."""
    from sqlassay.dialect_adapters.sqlite.load import write_database  # SQLAlchemy loads only where something is built
    from sqlassay.dialect_adapters.sqlite.reflect import read_catalog

    path = folder / f"{snapshot.database}.sqlite"
    try:
        write_database(snapshot, path)
    except sqlite3.Error as error:
        raise InputError(f"SQLite refused: {error}", file=snapshot.id, remedy="Correct the snapshot") from error
    path.chmod(0o444)
    return read_catalog(path, snapshot=snapshot.id, database=snapshot.database)


def _refuse_shared_names(snapshots: Sequence[Snapshot]) -> None:
    """Refuse names that are no file name, and two snapshots that would write one file."""
    seen: set[str] = set()
    for snapshot in snapshots:
        name = snapshot.database
        if not name or name.startswith(".") or "/" in name or "\0" in name or name in seen:
            raise InputError(
                f"the database name '{name}' is empty, no file name, or used twice",
                file=snapshot.id,
                field="database",
                remedy="Give every snapshot a database name of its own",
            )
        seen.add(name)
