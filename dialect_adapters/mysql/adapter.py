"""The MySQL adapter: joins recipe, rules, sessions, loading and digests under one name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import (
    Endpoint,
    GrammarRules,
    Pins,
    Role,
    ServerRecipe,
    Session,
    StateRules,
)
from sqlassay.dialect_adapters.mysql.own import MYSQL
from sqlassay.dialect_adapters.mysql.session import ADMIN, answers, connect, open_session, settle

if TYPE_CHECKING:
    from sqlassay.dialect_adapters.explaining import PlanRules
    from sqlassay.dialect_adapters.taking import TakingRules
    from sqlassay.dialect_adapters.transpile.causes import Difference
    from sqlassay.dialect_adapters.transpile.spelling import Spelling
    from sqlassay.dialect_adapters.transpile.telling import Habits, Telling


class MysqlAdapter:
    """MySQL 9; see `sqlassay.dialect_adapters.contract.Adapter`."""

    name = "mysql"
    folds_text = True

    @property
    def recipe(self) -> ServerRecipe:
        """Return the server recipe."""
        from sqlassay.dialect_adapters.mysql.recipe import RECIPE

        return RECIPE

    @property
    def rules(self) -> GrammarRules:
        """Return the grammar rules the guard reads."""
        from sqlassay.dialect_adapters.mysql.grammar import RULES

        return RULES

    @property
    def state(self) -> StateRules:
        """Return how the state a statement leaves is read."""
        return MYSQL.state

    @property
    def taking(self) -> TakingRules:
        """Return how a live database is asked for its rows."""
        from sqlassay.dialect_adapters.mysql.taking import TAKING

        return TAKING

    @property
    def habits(self) -> Habits:
        """Return how MySQL means what other engines write alike."""
        from sqlassay.dialect_adapters.transpile.telling import Habits

        return Habits(
            "mysql", whole_division=False, days_between=False, skips_nulls=False, trims_letters=False,
            counts_from_end=False, iso_weeks=False, truth_words=False,
        )  # fmt: skip

    @property
    def telling(self) -> Telling:
        """Return the words for statements of other engines than SQLite."""
        from sqlassay.dialect_adapters.mysql.telling import MysqlTelling

        return MysqlTelling()

    @property
    def spelling(self) -> Spelling:
        """Return the engine's own words, for statements rewritten from other dialects."""
        from sqlassay.dialect_adapters.mysql.spelling import MysqlSpelling

        return MysqlSpelling()

    @property
    def plans(self) -> PlanRules:
        """Return how the engine's plan of a query is asked for and read."""
        from sqlassay.dialect_adapters.mysql.plan import PLANS

        return PLANS

    @property
    def complaints(self) -> tuple[tuple[str, Difference], ...]:
        """Return what the engine's error messages are about."""
        from sqlassay.dialect_adapters.mysql.complaints import COMPLAINTS

        return COMPLAINTS

    def set_up(self, endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins) -> None:
        """Run a case's trusted setup SQL."""
        from sqlassay.dialect_adapters.mysql.state import set_up

        set_up(endpoint, database.lower(), scripts, pins, MYSQL.executable)

    def connect(self, endpoint: Endpoint, database: str, role: Role, pins: Pins) -> Session:
        """Log in to one snapshot database."""
        return open_session(endpoint, database, role, pins, MYSQL)

    def ping(self, endpoint: Endpoint) -> bool:
        """Return True once a real query is answered, before and after `load` gave the administrator a password."""
        return answers(endpoint)

    def load(self, endpoint: Endpoint, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
        """Fill an empty server with snapshots and return their catalogues."""
        from sqlassay.dialect_adapters.mysql.load import LOADING, load

        return load(endpoint, snapshots, LOADING)

    def unload(self, endpoint: Endpoint, databases: Sequence[str]) -> None:
        """Remove databases and their logins from a server that is changed instead of filled anew."""
        from sqlassay.dialect_adapters.mysql.load import unload

        unload(endpoint, databases)

    def shutdown(self, endpoint: Endpoint) -> None:
        """Ask for a shutdown that leaves nothing to purge or recover: a read-only boot could do neither."""
        settle(endpoint)

    def state_digest(self, endpoint: Endpoint, database: str) -> str:
        """Return a digest over rows, schema and rights."""
        from sqlassay.dialect_adapters.mysql.digest import state_digest

        with connect(endpoint, database.lower(), ADMIN) as connection:
            return state_digest(connection, database.lower(), MYSQL)
