"""The MariaDB adapter: MySQL's sessions and loading under MariaDB's own recipe, rules and rights."""

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
from sqlassay.dialect_adapters.mariadb.own import MARIADB
from sqlassay.dialect_adapters.mysql.session import ADMIN, answers, connect, open_session, settle

if TYPE_CHECKING:
    from sqlassay.dialect_adapters.explaining import PlanRules
    from sqlassay.dialect_adapters.taking import TakingRules
    from sqlassay.dialect_adapters.transpile.causes import Difference
    from sqlassay.dialect_adapters.transpile.spelling import Spelling
    from sqlassay.dialect_adapters.transpile.telling import Telling


class MariadbAdapter:
    """MariaDB 11.8; see `sqlassay.dialect_adapters.contract.Adapter`."""

    name = "mariadb"
    folds_text = True
    kin = "mysql"

    @property
    def recipe(self) -> ServerRecipe:
        """Return the server recipe."""
        from sqlassay.dialect_adapters.mariadb.recipe import RECIPE

        return RECIPE

    @property
    def rules(self) -> GrammarRules:
        """Return the grammar rules the guard reads."""
        from sqlassay.dialect_adapters.mariadb.grammar import RULES

        return RULES

    @property
    def state(self) -> StateRules:
        """Return how the state a statement leaves is read."""
        return MARIADB.state

    @property
    def taking(self) -> TakingRules:
        """Return how a live database is asked for its rows."""
        from sqlassay.dialect_adapters.mariadb.taking import TAKING

        return TAKING

    @property
    def telling(self) -> Telling:
        """Return the words for statements of other engines than SQLite: MySQL's."""
        from sqlassay.dialect_adapters.mariadb.spelling import matching
        from sqlassay.dialect_adapters.mysql.telling import MysqlTelling

        return MysqlTelling(derived_sees_out=False, rollup=None, matching=matching)

    @property
    def spelling(self) -> Spelling:
        """Return the engine's own words, for statements rewritten from other dialects."""
        from sqlassay.dialect_adapters.mariadb.spelling import spelling

        return spelling()

    @property
    def plans(self) -> PlanRules:
        """Return how the engine's plan of a query is asked for and read."""
        from sqlassay.dialect_adapters.mysql.plan import PLANS

        return PLANS

    @property
    def complaints(self) -> tuple[tuple[str, Difference], ...]:
        """Return what the engine's error messages are about."""
        from sqlassay.dialect_adapters.mariadb.complaints import COMPLAINTS

        return COMPLAINTS

    def set_up(self, endpoint: Endpoint, database: str, scripts: Sequence[str], pins: Pins) -> None:
        """Run a case's trusted setup SQL."""
        from sqlassay.dialect_adapters.mysql.state import set_up

        set_up(endpoint, database.lower(), scripts, pins, MARIADB.executable)

    def connect(self, endpoint: Endpoint, database: str, role: Role, pins: Pins) -> Session:
        """Log in to one snapshot database."""
        return open_session(endpoint, database, role, pins, MARIADB)

    def ping(self, endpoint: Endpoint) -> bool:
        """Return True once a real query is answered, before and after `load` gave the administrator a password."""
        return answers(endpoint)

    def load(self, endpoint: Endpoint, snapshots: Sequence[Snapshot]) -> tuple[Catalog, ...]:
        """Fill an empty server with snapshots and return their catalogues."""
        from sqlassay.dialect_adapters.mariadb.load import LOADING
        from sqlassay.dialect_adapters.mysql.load import load

        return load(endpoint, snapshots, LOADING)

    def unload(self, endpoint: Endpoint, databases: Sequence[str]) -> None:
        """Remove databases and their logins from a server that is changed instead of filled anew."""
        from sqlassay.dialect_adapters.mysql.load import unload

        unload(endpoint, databases)

    def shutdown(self, endpoint: Endpoint) -> None:
        """Ask for a shutdown that leaves nothing to purge or recover."""
        settle(endpoint)

    def state_digest(self, endpoint: Endpoint, database: str) -> str:
        """Return a digest over rows, schema and rights."""
        from sqlassay.dialect_adapters.mysql.digest import state_digest

        with connect(endpoint, database.lower(), ADMIN) as connection:
            return state_digest(connection, database.lower(), MARIADB)
