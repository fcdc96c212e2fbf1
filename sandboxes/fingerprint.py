"""Watch one server's state: a cheap mark after every statement, the whole digest where the mark moved."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlassay.cases.errors import SandboxLostError
from sqlassay.dialect_adapters.contract import (
    Adapter,
    Limits,
    Pins,
    Role,
    ServerRecipe,
    Session,
    SessionLostError,
    StatementError,
)
from sqlassay.sandboxes.contract import Sandbox, SnapshotImage

_PATIENCE = Limits(timeout=10.0)
_SHOWN = 200
_NAMED = 5
_KEPT = 1000

_log = logging.getLogger("sqlassay.fingerprint")

GONE = (SessionLostError, StatementError, SandboxLostError)
"""What a server answers that is gone or was frozen: its state dies with it, and there is nothing left to compare."""


@dataclass(slots=True)
class _Ran:
    """The statements run on a snapshot since its state was last known."""

    last: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, sql: str) -> None:
        """Keep a statement's beginning."""
        self.count += 1
        self.last = [*self.last[-_KEPT:], sql[:_SHOWN]]


class Mark:
    """The recipe's one question about a whole server, asked over a login that stays: a check costs one round trip.

    Equal answers prove that nothing was written in between; anything else proves nothing.
    """

    def __init__(self, recipe: ServerRecipe, open_session: Callable[[], Session]) -> None:
        """Ask for the first time, before anything could have changed; an engine without the question is never still."""
        self._question = recipe.mark
        self._session: Session | None = None
        self._answer: object = None
        if self._question:
            with contextlib.suppress(*GONE):
                self._session = open_session()
                self._answer = self._asked()

    @property
    def known(self) -> bool:
        """Return whether the engine has such a question and answered it."""
        return self._answer is not None

    def still(self) -> bool:
        """Return True where nothing was written since the last time; the new answer is the one to compare with."""
        if self._session is None:
            return False
        try:
            answer = self._asked()
        except GONE as lost:
            _log.info("no mark could be taken: %s", lost)
            return False
        same = answer == self._answer
        self._answer = answer
        return same

    def close(self) -> None:
        """Leave the server."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _asked(self) -> object:
        """Return the answer."""
        assert self._session is not None
        return self._session.fetch(self._question, _PATIENCE).rows


class Fingerprint:
    """What is known of one server's state; used by the one thread that runs statements on it.

    An engine without a mark is looked at whole, when a statement is suspect and at the end of the lease.
    """

    def __init__(self, adapter: Adapter, image: SnapshotImage, sandbox: Sandbox) -> None:
        """Ask nothing yet."""
        self._adapter = adapter
        self._image = image
        self._sandbox = sandbox
        self._mark: Mark | None = None
        self._ran: dict[str, _Ran] = {}

    def before(self, snapshot_id: str, sql: str) -> None:
        """Note a statement that is about to run, and take the first mark before anything could have changed."""
        self._ran.setdefault(snapshot_id, _Ran()).add(sql)
        if self._mark is None:
            database = self._image.catalog(snapshot_id).database
            self._mark = Mark(self._adapter.recipe, lambda: self._sandbox.open(database, Role.HARNESS, Pins()))

    def after(self, *, suspect: bool) -> tuple[str, ...]:
        """Return a line for each snapshot that changed; without a mark only a suspect statement is looked at."""
        if self._mark is None or not self._mark.known:
            return self.whole() if suspect else ()
        if self._mark.still():
            self._clean()
            return ()
        return self.whole()

    def whole(self, *, proven: bool = False) -> tuple[str, ...]:
        """Compare the whole state of every snapshot that statements ran on with what was baked.

        Those whose statements the mark has cleared are left out, unless `proven` asks for them as well.
        """
        found = []
        for snapshot_id, ran in self._ran.items():
            if not ran.count and not proven:
                continue
            catalog = self._image.catalog(snapshot_id)
            try:
                digest = self._adapter.state_digest(self._sandbox.endpoint, catalog.database)
            except GONE as lost:
                _log.info("state of %s could not be read: %s", snapshot_id, lost)
                continue
            if digest != catalog.state_digest:
                found.append(f"snapshot {snapshot_id} changed; {_named(ran)}")
        self._clean()
        return tuple(found)

    def close(self) -> None:
        """Leave the server."""
        if self._mark is not None:
            self._mark.close()

    def _clean(self) -> None:
        """Forget statements that are proven to have changed nothing, or whose change is reported."""
        for ran in self._ran.values():
            ran.last, ran.count = [], 0


def _named(ran: _Ran) -> str:
    """Name the statement that did it, or the last of those that may have."""
    if not ran.count:
        return "no statement moved the server's mark"
    if ran.count == 1:
        return f"statement: {ran.last[0]}"
    listed = " | ".join(reversed(ran.last[-_NAMED:]))
    return f"one of {ran.count} statements, the latest first: {listed}"
