"""The DuckDB dialect: files written on the host, sessions answered in process by a jailed worker."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.extras import install_line
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
from sqlassay.dialect_adapters.duckdb.recipe import RECIPE
from sqlassay.dialect_adapters.duckdb.session import DuckdbSession, ask

if TYPE_CHECKING:
    from pathlib import Path

    from sqlassay.dialect_adapters.explaining import PlanRules
    from sqlassay.dialect_adapters.transpile.causes import Difference
    from sqlassay.dialect_adapters.transpile.spelling import Spelling
    from sqlassay.dialect_adapters.transpile.telling import Telling


class DuckdbAdapter:
    """One engine without a server: a snapshot database is a file `<database>.duckdb`."""

    name = "duckdb"

    @property
    def recipe(self) -> ServerRecipe:
        """Return how the worker is built and served."""
        return RECIPE

    @property
    def rules(self) -> GrammarRules:
        """Return what the guard may let through."""
        from sqlassay.dialect_adapters.duckdb.grammar import RULES

        return RULES

    @property
    def state(self) -> StateRules:
        """Return how the state a statement leaves is read."""
        from sqlassay.dialect_adapters.duckdb.state import STATE

        return STATE

    @property
    def plans(self) -> PlanRules:
        """Return how the engine's plan of a query is asked for and read."""
        from sqlassay.dialect_adapters.duckdb.plan import PLANS

        return PLANS

    @property
    def spelling(self) -> Spelling:
        """Return the engine's own words, for statements rewritten from other dialects."""
        from sqlassay.dialect_adapters.duckdb.spelling import DuckdbSpelling

        return DuckdbSpelling()

    @property
    def telling(self) -> Telling:
        """Return the engine's own words, for statements of other engines than SQLite."""
        from sqlassay.dialect_adapters.duckdb.telling import DuckdbTelling

        return DuckdbTelling()

    @property
    def complaints(self) -> tuple[tuple[str, Difference], ...]:
        """Return what the engine's error messages are about."""
        from sqlassay.dialect_adapters.duckdb.complaints import COMPLAINTS

        return COMPLAINTS

    def set_up(self, endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins) -> None:
        """Run a case's trusted setup SQL."""
        from sqlassay.dialect_adapters.duckdb.state import set_up

        set_up(endpoint, database, scripts, pins)

    def connect(self, endpoint: Endpoint, database: str, role: Role, pins: Pins) -> Session:
        """Open a session; raises SessionLostError where the worker does not answer."""
        return DuckdbSession(endpoint, database, role, pins)

    def ping(self, endpoint: Endpoint) -> bool:
        """Return True once the worker names its engine."""
        try:
            return "version" in ask(endpoint, {"op": "ping"})
        except (SessionLostError, StatementError):
            return False

    def load(self, endpoint: Endpoint, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
        """Write every snapshot into the folder `endpoint.socket` and return the catalogues.

        Raises:
            InputError: a snapshot that cannot be loaded, or the duckdb package is not installed.
        """
        folder = endpoint.socket
        if folder is None:
            raise InfrastructureError("DuckDB files need a folder to be written to", remedy="Give one as the socket")
        if importlib.util.find_spec("_duckdb") is None:
            remedy = f"Install it by {install_line('duckdb')}"
            raise InputError("the Python package duckdb is not installed", field="--dialect", remedy=remedy)
        _refuse_names(snapshots)
        return tuple(_load_one(folder, snapshot) for snapshot in snapshots)

    def shutdown(self, endpoint: Endpoint) -> None:
        """Do nothing: a written file is complete."""

    def state_digest(self, endpoint: Endpoint, database: str) -> str:
        """Return the sha256 of the database file, read by the worker."""
        session = DuckdbSession(endpoint, database, Role.HARNESS, Pins())
        try:
            return session.digest()
        finally:
            session.close()


def _load_one(folder: Path, snapshot: Snapshot) -> Catalog:
    """Write one snapshot's file and return its catalogue."""
    import duckdb  # the engine itself, as SQLAlchemy below, loads only where something is built

    from sqlassay.dialect_adapters.duckdb.load import write_database
    from sqlassay.dialect_adapters.duckdb.reflect import read_catalog

    path = folder / f"{snapshot.database}.duckdb"
    try:
        write_database(snapshot, path)
    except duckdb.Error as error:
        raise InputError(f"DuckDB refused: {error}", file=snapshot.id, remedy="Correct the snapshot") from error
    path.chmod(0o444)
    return read_catalog(path, snapshot)


def _refuse_names(snapshots: Sequence[Snapshot]) -> None:
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
