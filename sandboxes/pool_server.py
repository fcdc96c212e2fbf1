"""One pooled server with what is known of its state and the logins kept on it; used by whoever leases it."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from dataclasses import dataclass, replace

from sqlassay.cases.errors import SandboxLostError
from sqlassay.cases.outcome import Failure, Outcome
from sqlassay.cases.verdicts import FailureKind
from sqlassay.dialect_adapters.contract import Adapter, Limits, Mode, Pins, Renewing, Role, Session, SessionLostError
from sqlassay.dialect_adapters.execute import Change, Workshop, execute, execute_change
from sqlassay.dialect_adapters.timing import Paced, Paces
from sqlassay.sandboxes.contract import Sandbox, SnapshotImage
from sqlassay.sandboxes.fingerprint import Fingerprint

KEPT_LOGINS = 8
"""How many databases of one server keep a reader's login between statements."""
LONGEST_USE = 1000
"""After how many statements a kept login is left for a fresh one, so that nothing a backend gathers grows for ever."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a statement gave; a `tainted` server is not to be used again, `drift` says what it was found to change."""

    outcome: Outcome
    tainted: bool
    drift: tuple[str, ...] = ()


@dataclass(slots=True)
class _Login:
    """A reader's login that was put back to how it was opened, and how many statements it has run."""

    session: Session
    used: int


class PooledServer:
    """A ready sandbox; one thread at a time runs statements on it, any thread may kill it."""

    def __init__(self, adapter: Adapter, image: SnapshotImage, mode: Mode, sandbox: Sandbox) -> None:
        """Ask nothing of it yet."""
        self.image = image
        self.mode = mode
        self.sandbox = sandbox
        self.used = False
        self._adapter = adapter
        self._watch = Fingerprint(adapter, image, sandbox)
        self._pins = Pins()
        self._kept: OrderedDict[str, _Login] = OrderedDict()

    def run(
        self,
        snapshot_id: str,
        sql: str,
        limits: Limits,
        pins: Pins,
        *,
        plain: bool = False,
        flagged: bool = False,
        visible: frozenset[str] | None = None,
    ) -> Ran:
        """Run one untrusted statement as the snapshot's reader and look at the state afterwards.

        Where only some tables are `visible`, it runs as the snapshot's guest, who has rights on these alone.

        A `plain` one, whose every function is known to change nothing, may run on a kept login that was reset; any
        other gets a login of its own. The engine's mark is asked always; where it moved, and on an engine without
        one where the guard `flagged` the statement, the whole state is compared.

        Raises:
            SandboxLostError: the server died and neither our deadline nor a resource limit explains it.
        """
        self.used = True
        database, pins = self._place(snapshot_id, pins)
        role = Role.READER
        if visible is not None:
            role, pins = Role.GUEST, replace(pins, visible=tuple(sorted(visible)))
        self._watch.before(snapshot_id, sql)
        self._agree_on(pins)
        login = self._kept.pop(database, None) if plain else None
        used = login.used if login is not None else 0

        def keep(session: Session) -> None:
            """Keep a login that was reset for the next plain statement on its database."""
            self._keep(database, _Login(session, used + 1))

        executed = execute(
            lambda: self.sandbox.open(database, role, pins) if login is None else login.session,
            sql,
            limits,
            kill=self.sandbox.kill,
            died_of_memory=self.sandbox.died_of_memory,
            keep=keep if plain and used < LONGEST_USE else None,
        )
        drift = self._watch.after(suspect=flagged or executed.tainted)
        return Ran(executed.outcome, executed.tainted or bool(drift) or _exhausted(executed.outcome), drift)

    def timed(
        self, snapshot_id: str, first: tuple[str, Limits], second: tuple[str, Limits], rounds: int, pins: Pins
    ) -> tuple[Paced, tuple[str, ...]]:
        """Time two queries in turn as the snapshot's reader; return the seconds and what they were found to change.

        Raises:
            SandboxLostError: the server died and neither our deadline nor a resource limit explains it.
        """
        self.used = True
        database, pins = self._place(snapshot_id, pins)
        self._watch.before(snapshot_id, second[0])
        sandbox = self.sandbox
        paces = Paces(
            lambda: sandbox.open(database, Role.READER, pins),
            sandbox.kill,
            sandbox.died_of_memory,
            own_clock=pins.clock is None,  # an engine whose clock stands still times nothing
        )
        paced = paces.in_turn(first, second, rounds)
        return paced, self._watch.after(suspect=paced.tainted)

    def change(self, snapshot_id: str, change: Change, limits: Limits, pins: Pins) -> Outcome:
        """Run one untrusted change on this WRITE-mode server and return what it left; the server is spent then.

        Raises:
            GoldBrokenError: the case's setup failed.
            SandboxLostError: the server died and neither our deadline nor a resource limit explains it.
        """
        self.used = True
        database, pins = self._place(snapshot_id, pins)

        def opened(role: Role) -> Session:
            """Log in for one step of the change."""
            return self.sandbox.open(database, role, pins)

        sandbox = self.sandbox
        shop = Workshop(self._adapter, sandbox.endpoint, database, opened, sandbox.kill, sandbox.died_of_memory, pins)
        return execute_change(shop, change, limits)

    def renewed(self, snapshot_id: str) -> bool:
        """Put a snapshot's database back to how it was baked, where the engine can; at first, prepare for that."""
        if not isinstance(self._adapter, Renewing):
            return False
        return self._adapter.renew(self.sandbox.endpoint, self.image.catalog(snapshot_id).database)

    def answers(self) -> bool:
        """Return True where the server answers a login now."""
        return self._adapter.ping(self.sandbox.endpoint)

    def settled(self) -> tuple[str, ...]:
        """Compare the whole state of every snapshot that statements ran on; return a line for each that changed."""
        return self._watch.whole(proven=True)

    def _place(self, snapshot_id: str, pins: Pins) -> tuple[str, Pins]:
        """Return the database of a snapshot, and the pins under its own settings."""
        catalog = self.image.catalog(snapshot_id)
        return catalog.database, pins.under(catalog.settings)

    def kill(self) -> None:
        """Stop the server at once, from any thread: the running statement ends as lost."""
        self.sandbox.kill()

    def end(self) -> None:
        """Leave every login and remove the server; never raises."""
        self._leave()
        self._watch.close()
        self.sandbox.destroy()

    def _agree_on(self, pins: Pins) -> None:
        """Leave kept logins that were opened under other pins: an engine may have one clock for all its logins."""
        if pins != self._pins:
            self._leave()
            self._pins = pins

    def _keep(self, database: str, login: _Login) -> None:
        """Keep one login a database, those of the databases used last."""
        self._kept[database] = login
        while len(self._kept) > KEPT_LOGINS:
            self._kept.popitem(last=False)[1].session.close()

    def _leave(self) -> None:
        """Close every kept login."""
        while self._kept:
            with contextlib.suppress(SessionLostError, SandboxLostError):
                self._kept.popitem()[1].session.close()


def _exhausted(outcome: Outcome) -> bool:
    """Return whether the statement ran into a resource limit: what it left behind may starve the next one."""
    return isinstance(outcome, Failure) and outcome.kind is FailureKind.RESOURCE_LIMIT
