"""A login without the reader's transaction around it, so that nothing but the sandbox stands against a statement."""

from __future__ import annotations

from sqlassay.cases.relation import Relation
from sqlassay.dialect_adapters.contract import Limits, Session


class BareSession:
    """A session whose statement runs by itself and stays; see `sqlassay.dialect_adapters.contract.Session`."""

    def __init__(self, session: Session) -> None:
        """Wrap a privileged login."""
        self._session = session

    def begin_read(self, limits: Limits) -> None:
        """Open no transaction: what the statement does is kept at once."""

    def begin_write(self, limits: Limits) -> None:
        """Open no transaction either."""

    def fetch(self, sql: str, limits: Limits) -> Relation:
        """Run one statement as it is."""
        return self._session.fetch(sql, limits)

    def commit(self) -> None:
        """Nothing waits to be kept."""

    def rollback(self) -> None:
        """Undo nothing."""

    def reset(self) -> bool:
        """Return False: what the statement did to the login stays."""
        return False

    def cancel(self) -> None:
        """Ask the engine to stop the statement."""
        self._session.cancel()

    def close(self) -> None:
        """Leave."""
        self._session.close()
