"""One worker's place at a server: it leases, replaces what was tainted, and checks the state before it leaves."""

from __future__ import annotations

import logging

from cases.errors import InfrastructureError, SandboxLostError, SandboxStartError
from cases.outcome import Outcome
from dialect_adapters.contract import Adapter, Limits, Mode, Pins, Role, Session, SessionLostError
from dialect_adapters.execute import Change, Workshop, execute, execute_change
from sandboxes.contract import Provider, Sandbox, SnapshotImage

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
        self._touched: dict[str, str] = {}
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

    def run(self, snapshot_id: str, sql: str, limits: Limits, pins: Pins) -> Outcome:
        """Run one untrusted statement as the snapshot's reader on a fresh session and return its outcome.

        Raises:
            InfrastructureError: the sandbox was lost more than once under this statement.
        """
        for _ in range(LOST_ATTEMPTS):
            try:
                return self._attempt(snapshot_id, sql, limits, pins)
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
            shop = Workshop(self._adapter, sandbox.endpoint, database, opened, sandbox.kill, sandbox.died_of_memory)
            return execute_change(shop, change, limits)
        finally:
            self._throwaway = None
            sandbox.destroy()

    def _attempt(self, snapshot_id: str, sql: str, limits: Limits, pins: Pins) -> Outcome:
        """Run the statement once; a tainted server is discarded and its outcome kept."""
        sandbox = self.sandbox
        database = self._image.catalog(snapshot_id).database
        self._touched[snapshot_id] = sql
        executed = execute(
            lambda: sandbox.open(database, Role.READER, pins),
            sql,
            limits,
            kill=sandbox.kill,
            died_of_memory=sandbox.died_of_memory,
        )
        if executed.tainted:
            self._discard()
        return executed.outcome

    def kill(self) -> None:
        """Stop the server at once, from any thread: the running statement ends as lost."""
        for sandbox in (self._sandbox, self._throwaway):
            if sandbox is not None:
                sandbox.kill()

    def close(self) -> tuple[str, ...]:
        """Check that no snapshot changed, then remove the server; return one line for each drift found."""
        drift = self._drift() if self._sandbox is not None else ()
        self._discard()
        return drift

    def abandon(self) -> None:
        """Remove the server without looking at its state: for the ways out that cannot wait."""
        self._discard()

    def _drift(self) -> tuple[str, ...]:
        """Return a line for every touched snapshot whose state is not the one that was baked."""
        found = []
        for snapshot_id, last_sql in self._touched.items():
            catalog = self._image.catalog(snapshot_id)
            try:
                digest = self._adapter.state_digest(self.sandbox.endpoint, catalog.database)
            except SessionLostError as lost:
                _log.warning("state of %s could not be read: %s", snapshot_id, lost)
                continue
            if digest != catalog.state_digest:
                found.append(f"snapshot {snapshot_id} changed; last statement run on it: {last_sql[:200]}")
        return tuple(found)

    def _discard(self) -> None:
        """Remove the server; the next statement gets a fresh one."""
        sandbox, self._sandbox = self._sandbox, None
        self._touched = {}
        if sandbox is not None:
            sandbox.destroy()
