"""One worker's place at the pool: it leases a server a statement, and gives up what was tainted.

The isolation level says what a server may be used for. `run`: any statement of the run, one after the other.
`case`: the statements of one case's prediction, or of its gold, and nothing else. `statement`: one statement.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from sqlassay.cases.errors import InfrastructureError, SandboxLostError, SandboxStartError
from sqlassay.cases.isolation import IsolationLevel
from sqlassay.cases.outcome import Failure, Outcome
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins
from sqlassay.dialect_adapters.execute import Change
from sqlassay.dialect_adapters.timing import Paced
from sqlassay.sandboxes.contract import SnapshotImage
from sqlassay.sandboxes.pool import Pool
from sqlassay.sandboxes.pool_server import PooledServer, Ran

LOST_ATTEMPTS = 2
"""How often one statement may lose its sandbox before the loss is reported as ours."""


class Care(StrEnum):
    """What the guard knows of a statement.

    PLAIN: it may run, and every function of it is known to change nothing. FLAGGED: it may run, and what it gives may
    differ from one run to the next. UNKNOWN: it was not let through, as a gold may be.
    """

    PLAIN = "plain"
    FLAGGED = "flagged"
    UNKNOWN = "unknown"


MOST_DEAD = 64
"""How many ready servers may be found dead in a row: more than a pool ever holds."""

_log = logging.getLogger("sqlassay.station")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The server a statement needs: of which image, in which mode, shared as far as which level lets it."""

    image: SnapshotImage
    mode: Mode
    level: IsolationLevel


class Station:
    """Runs statements one after another on the pool's servers; not shared between threads."""

    def __init__(self, pool: Pool, image: SnapshotImage, *, mode: Mode = Mode.READ) -> None:
        """Lease nothing yet; `mode` is that of the servers queries run on."""
        self._pool = pool
        self._image = image
        self._mode = mode
        self._held: PooledServer | None = None
        self._drift: list[str] = []

    @property
    def drift(self) -> tuple[str, ...]:
        """Return one line for each change that a statement run here was found to have made."""
        return tuple(self._drift)

    def run(
        self,
        snapshot_id: str,
        sql: str,
        limits: Limits,
        pins: Pins,
        *,
        level: IsolationLevel = "run",
        care: Care = Care.UNKNOWN,
        visible: frozenset[str] | None = None,
    ) -> Outcome:
        """Run one untrusted statement as the snapshot's reader, or as its guest where some tables alone are `visible`.

        A server that the statement tainted (killed at the deadline, lost, out of a resource, or changed) is replaced
        and the outcome kept; a statement that lost its server without being to blame is run again on a fresh one.

        Raises:
            InfrastructureError: no sandbox comes up, or it was lost more than once under this statement.
        """

        def attempt(server: PooledServer) -> Ran:
            """Run it once."""
            plain, flagged = care is Care.PLAIN, care is Care.FLAGGED
            return server.run(snapshot_id, sql, limits, pins, plain=plain, flagged=flagged, visible=visible)

        return self._tried(attempt, _Wanted(self._image.holding(snapshot_id), self._mode, level))

    def change(self, snapshot_id: str, change: Change, limits: Limits, pins: Pins, *, trusted: bool = False) -> Outcome:
        """Run one change on a WRITE-mode server of its own, thrown away at once, and return what it left.

        A `trusted` one, which is the pack's own text, may come after others of its kind on one server, where the
        engine can put the database back.

        Raises:
            GoldBrokenError: the case's setup failed.
            InfrastructureError: no such server comes up, or it was lost more than once.
        """
        again = trusted and self._pool.renews

        def attempt(server: PooledServer) -> Ran:
            """Run it once; a server on which it failed is not trusted with another."""
            renewed = again and server.renewed(snapshot_id)
            if server.used and not renewed:
                raise SandboxLostError("the database could not be put back to how it was")
            outcome = server.change(snapshot_id, change, limits, pins)
            return Ran(outcome, tainted=again and (not renewed or isinstance(outcome, Failure)))

        level: IsolationLevel = "run" if again else "statement"
        return self._tried(attempt, _Wanted(self._image.holding(snapshot_id), Mode.WRITE, level))

    def timed(
        self, snapshot_id: str, first: tuple[str, Limits], second: tuple[str, Limits], rounds: int, pins: Pins
    ) -> Paced:
        """Time two queries in turn on a server that nothing has run on, thrown away afterwards whatever the level.

        Raises:
            InfrastructureError: no sandbox comes up, or it was lost under a statement that is not to blame.
        """
        self.rest()
        server = self._pool.lease(self._image.holding(snapshot_id), self._mode, fresh=True)
        try:
            paced, drift = server.timed(snapshot_id, first, second, rounds, pins)
        finally:
            self._pool.release(server, again=False)
        if drift:
            self._drift.extend(drift)
            self._pool.note(drift)
        return paced

    def rest(self) -> None:
        """End what belongs to one case: its server, where it has one of its own, is thrown away."""
        held, self._held = self._held, None
        if held is not None:
            self._pool.release(held, again=False)

    def _tried(self, attempt: Callable[[PooledServer], Ran], wanted: _Wanted) -> Outcome:
        """Run a statement, once more where its server is lost and it is not to blame, or may have stood still."""
        for number in range(LOST_ATTEMPTS):
            try:
                outcome = self._once(attempt, wanted, doubtful=number > 0)
            except SandboxLostError as lost:
                reason = str(lost)
            else:
                doubt = outcome.doubt if isinstance(outcome, Failure) else ""
                if number or not doubt:
                    return outcome
                reason = f"a timeout, but {doubt}"
            _log.warning("sandbox lost, a fresh one takes over: %s", reason)
        raise InfrastructureError(
            f"the sandbox was lost {LOST_ATTEMPTS} times under one statement: {reason}",
            remedy="Run `sqlassay doctor`; the statement may need more memory than the sandbox has",
        )

    def _once(self, attempt: Callable[[PooledServer], Ran], wanted: _Wanted, *, doubtful: bool) -> Outcome:
        """Lease a server as the level asks, run the statement, and give the server back or up."""
        server = self._sound(wanted) if doubtful else self._leased(wanted)
        ran = None
        try:
            ran = attempt(server)
        finally:  # a loss, a broken setup, Ctrl-C: a server is never kept unless its statement is known to be over
            spoilt = ran is None or ran.tainted
            if wanted.level == "case" and not spoilt:
                self._held = server
            else:
                self._pool.release(server, again=wanted.level == "run", tainted=spoilt)
        if ran.drift:
            self._drift.extend(ran.drift)
            self._pool.note(ran.drift)
        return ran.outcome

    def _sound(self, wanted: _Wanted) -> PooledServer:
        """Lease a server that answers: whatever ended one may have ended the others that are kept ready.

        Raises:
            SandboxStartError: none comes up.
        """
        for _ in range(MOST_DEAD):
            server = self._leased(wanted)
            if server.answers():
                return server
            self._pool.release(server, again=False, tainted=True)
        raise SandboxStartError(
            f"{MOST_DEAD} servers ended one after the other", remedy="Run `sqlassay doctor`: something ends them"
        )

    def _leased(self, wanted: _Wanted) -> PooledServer:
        """Return the case's own server where it has one; nothing is held while another is waited for."""
        held, self._held = self._held, None
        alike = held is not None and held.mode is wanted.mode and held.image == wanted.image
        if held is not None and alike and wanted.level == "case":
            return held
        if held is not None:
            self._pool.release(held, again=False)
        return self._pool.lease(wanted.image, wanted.mode, fresh=wanted.level != "run")
