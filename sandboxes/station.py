"""One worker's place at a server: it leases, replaces what was tainted, and checks the state before it leaves."""

from __future__ import annotations

import logging

from cases.errors import InfrastructureError, SandboxLostError, SandboxStartError
from cases.outcome import Outcome
from dialect_adapters.contract import Adapter, Limits, Mode, Pins, Role, Session
from dialect_adapters.execute import Change, Workshop, execute, execute_change
from sandboxes.contract import Provider, Sandbox, SnapshotImage
from sandboxes.fingerprint import Fingerprint

LOST_ATTEMPTS = 2
"""How often one statement may lose its sandbox before the loss is reported as ours."""

_log = logging.getLogger("sqlassay.station")


class Station:
    """Runs statements one after another on a server of its own; not shared between threads, except `kill`."""

    def __init__(self, provider: Provider, adapter: Adapter, image: SnapshotImage, *, mode: Mode, run_id: str) -> None:
        """Start nothing yet: the first statement brings the server up."""
        self._provider = provider
        self._adapter = adapter
        self._image = image
        self._mode = mode
        self._run_id = run_id
        self._sandbox: Sandbox | None = None
        self._throwaway: Sandbox | None = None
        self._fingerprint: Fingerprint | None = None
        self._drift: list[str] = []
        self.started = 0

    @property
    def sandbox(self) -> Sandbox:
        """Return the running server, starting one where there is none.

        Raises:
            SandboxStartError: it does not come up.
        """
        if self._sandbox is None:
            try:
                self._sandbox = self._provider.start(self._adapter, self._image, self._mode, self._run_id)
            except InfrastructureError as error:
                raise SandboxStartError(error.message, remedy=error.remedy) from error
            self.started += 1
        return self._sandbox

    @property
    def drift(self) -> tuple[str, ...]:
        """Return one line for each drift found so far that `close` has not reported."""
        return tuple(self._drift)

    def run(self, snapshot_id: str, sql: str, limits: Limits, pins: Pins, *, flagged: bool = False) -> Outcome:
        """Run one untrusted statement as the snapshot's reader on a fresh session and return its outcome.

        The state is looked at afterwards: by the engine's mark always, whole where the mark moved and, on an engine
        without one, where the guard `flagged` the statement. A changed server is replaced and reported by `close`.

        Raises:
            InfrastructureError: the sandbox was lost more than once under this statement.
        """
        for _ in range(LOST_ATTEMPTS):
            try:
                return self._attempt(snapshot_id, sql, limits, pins, flagged=flagged)
            except SandboxLostError as lost:
                _log.warning("sandbox lost, a fresh one takes over: %s", lost)
                reason = str(lost)
                self._discard()
        raise InfrastructureError(
            f"the sandbox was lost {LOST_ATTEMPTS} times under one statement: {reason}",
            remedy="Run `sqlassay doctor`; the statement may need more memory than the sandbox has",
        )

    def change(self, snapshot_id: str, change: Change, limits: Limits, pins: Pins) -> Outcome:
        """Run one untrusted change on a WRITE-mode server of its own, thrown away at once, and return what it left.

        Raises:
            GoldBrokenError: the case's setup failed.
            InfrastructureError: no such server comes up, or it was lost more than once.
        """
        for _ in range(LOST_ATTEMPTS):
            try:
                return self._changed(snapshot_id, change, limits, pins)
            except SandboxLostError as lost:
                _log.warning("throwaway sandbox lost, a fresh one takes over: %s", lost)
                reason = str(lost)
        raise InfrastructureError(
            f"the throwaway sandbox was lost {LOST_ATTEMPTS} times under one statement: {reason}",
            remedy="Run `sqlassay doctor`; the statement may need more memory than the sandbox has",
        )

    def _changed(self, snapshot_id: str, change: Change, limits: Limits, pins: Pins) -> Outcome:
        """Start a server, run the change once, and destroy the server whatever happens."""
        database = self._image.catalog(snapshot_id).database
        try:
            sandbox = self._provider.start(self._adapter, self._image, Mode.WRITE, self._run_id)
        except InfrastructureError as error:
            raise SandboxStartError(error.message, remedy=error.remedy) from error
        self.started += 1
        self._throwaway = sandbox

        def opened(role: Role) -> Session:
            """Log in to the throwaway server."""
            return sandbox.open(database, role, pins)

        try:
            shop = Workshop(
                self._adapter, sandbox.endpoint, database, opened, sandbox.kill, sandbox.died_of_memory, pins
            )
            return execute_change(shop, change, limits)
        finally:
            self._throwaway = None
            sandbox.destroy()

    def _attempt(self, snapshot_id: str, sql: str, limits: Limits, pins: Pins, *, flagged: bool) -> Outcome:
        """Run the statement once; a tainted server is discarded and its outcome kept."""
        sandbox = self.sandbox
        database = self._image.catalog(snapshot_id).database
        watch = self._watched(sandbox)
        watch.before(snapshot_id, sql)
        executed = execute(
            lambda: sandbox.open(database, Role.READER, pins),
            sql,
            limits,
            kill=sandbox.kill,
            died_of_memory=sandbox.died_of_memory,
        )
        drift = watch.after(suspect=flagged or executed.tainted)
        self._drift.extend(drift)
        if executed.tainted or drift:
            self._discard()
        return executed.outcome

    def _watched(self, sandbox: Sandbox) -> Fingerprint:
        """Return what watches the running server's state."""
        if self._fingerprint is None:
            self._fingerprint = Fingerprint(self._adapter, self._image, sandbox)
        return self._fingerprint

    def kill(self) -> None:
        """Stop the server at once, from any thread: the running statement ends as lost."""
        for sandbox in (self._sandbox, self._throwaway):
            if sandbox is not None:
                sandbox.kill()

    def close(self) -> tuple[str, ...]:
        """Check that no snapshot changed, then remove the server; return one line for each drift found."""
        if self._fingerprint is not None:
            self._drift.extend(self._fingerprint.whole(proven=True))
        return self.abandon()

    def abandon(self) -> tuple[str, ...]:
        """Remove the server without looking at its state again, for the ways out that cannot wait.

        Return one line for each drift that was found before and that `close` has not reported.
        """
        self._discard()
        drift, self._drift = tuple(self._drift), []
        return drift

    def _discard(self) -> None:
        """Remove the server; the next statement gets a fresh one."""
        watch, self._fingerprint = self._fingerprint, None
        sandbox, self._sandbox = self._sandbox, None
        if watch is not None:
            watch.close()
        if sandbox is not None:
            sandbox.destroy()
