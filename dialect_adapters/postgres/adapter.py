"""The Postgres adapter: joins recipe, rules, sessions, loading and digests under one name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import psycopg

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import (
    Endpoint,
    GrammarRules,
    Pins,
    Role,
    ServerRecipe,
    Session,
    SessionLostError,
    StateRules,
)
from sqlassay.dialect_adapters.postgres.session import ADMIN, MAINTENANCE, connect, open_session

if TYPE_CHECKING:
    from sqlassay.dialect_adapters.explaining import PlanRules
    from sqlassay.dialect_adapters.taking import TakingRules
    from sqlassay.dialect_adapters.transpile.causes import Difference
    from sqlassay.dialect_adapters.transpile.spelling import Spelling
    from sqlassay.dialect_adapters.transpile.telling import Habits, Telling


class PostgresAdapter:
    """Postgres 17; see `sqlassay.dialect_adapters.contract.Adapter`."""

    name = "postgres"

    @property
    def recipe(self) -> ServerRecipe:
        """Return the server recipe."""
        from sqlassay.dialect_adapters.postgres.recipe import RECIPE

        return RECIPE

    @property
    def rules(self) -> GrammarRules:
        """Return the grammar rules the guard reads."""
        from sqlassay.dialect_adapters.postgres.grammar import RULES

        return RULES

    @property
    def state(self) -> StateRules:
        """Return how the state a statement leaves is read."""
        from sqlassay.dialect_adapters.postgres.state import STATE

        return STATE

    @property
    def taking(self) -> TakingRules:
        """Return how a live database is asked for its rows."""
        from sqlassay.dialect_adapters.postgres.taking import TAKING

        return TAKING

    @property
    def habits(self) -> Habits:
        """Return how Postgres means what other engines write alike."""
        from sqlassay.dialect_adapters.transpile.telling import Habits

        return Habits(
            "postgres", whole_division=True, days_between=True, skips_nulls=True, trims_letters=True,
            counts_from_end=True, iso_weeks=True, truth_words=True, matches_letters=True,
        )  # fmt: skip

    @property
    def telling(self) -> Telling:
        """Return the words for statements of other engines than SQLite."""
        from sqlassay.dialect_adapters.postgres.telling import PostgresTelling

        return PostgresTelling()

    @property
    def spelling(self) -> Spelling:
        """Return the engine's own words, for statements rewritten from other dialects."""
        from sqlassay.dialect_adapters.postgres.spelling import PostgresSpelling

        return PostgresSpelling()

    @property
    def plans(self) -> PlanRules:
        """Return how the engine's plan of a query is asked for and read."""
        from sqlassay.dialect_adapters.postgres.plan import PLANS

        return PLANS

    @property
    def complaints(self) -> tuple[tuple[str, Difference], ...]:
        """Return what the engine's error messages are about."""
        from sqlassay.dialect_adapters.postgres.complaints import COMPLAINTS

        return COMPLAINTS

    def set_up(self, endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins) -> None:
        """Run a case's trusted setup SQL."""
        from sqlassay.dialect_adapters.postgres.state import set_up

        set_up(endpoint, database.lower(), scripts, pins)

    def connect(self, endpoint: Endpoint, database: str, role: Role, pins: Pins) -> Session:
        """Log in to one snapshot database."""
        return open_session(endpoint, database, role, pins)

    def ping(self, endpoint: Endpoint) -> bool:
        """Return True once a real query is answered."""
        try:
            with connect(endpoint, MAINTENANCE, ADMIN, seconds=2) as connection:
                return connection.execute("SELECT 1").fetchone() == (1,)
        except (SessionLostError, psycopg.Error, OSError):
            return False

    def load(self, endpoint: Endpoint, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
        """Fill an empty server with snapshots and return their catalogues."""
        from sqlassay.dialect_adapters.postgres.load import load

        return load(endpoint, snapshots)

    def unload(self, endpoint: Endpoint, databases: Sequence[str]) -> None:
        """Remove databases and their logins from a server that is changed instead of filled anew."""
        from sqlassay.dialect_adapters.postgres.load import unload

        unload(endpoint, databases)

    def renew(self, endpoint: Endpoint, database: str) -> bool:
        """Put a database back to how it was at the first call, from a copy of its files."""
        from sqlassay.dialect_adapters.postgres.clones import renew

        return renew(endpoint, database.lower())

    def shutdown(self, endpoint: Endpoint) -> None:
        """Write everything out, so that the next boot has nothing to recover."""
        with connect(endpoint, MAINTENANCE, ADMIN) as connection:
            connection.execute("CHECKPOINT")

    def state_digest(self, endpoint: Endpoint, database: str) -> str:
        """Return a digest over rows, schema and rights."""
        from sqlassay.dialect_adapters.postgres.digest import state_digest

        with connect(endpoint, database.lower(), ADMIN) as connection:
            return state_digest(connection)
