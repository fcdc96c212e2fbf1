"""One sandbox an attack runs in, and everything that is looked at before and after to see what the attack did."""

from __future__ import annotations

import contextlib
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlassay.cases.errors import SandboxLostError
from sqlassay.cases.outcome import Failure, Outcome, Rows
from sqlassay.cases.relation import Relation
from sqlassay.dialect_adapters.contract import (
    Adapter,
    Limits,
    Mode,
    Pins,
    Role,
    Session,
    SessionLostError,
    StatementError,
)
from sqlassay.dialect_adapters.execute import execute
from sqlassay.harness.redteam.attacks import filled
from sqlassay.harness.redteam.bare import BareSession
from sqlassay.harness.redteam.surroundings import Surroundings, changes
from sqlassay.harness.redteam.targets import Target
from sqlassay.sandboxes.contract import Provider, Sandbox, SnapshotImage
from sqlassay.sandboxes.fingerprint import Mark

PLANTED = re.compile("planted-gold-5d1f")
OTHER_SESSION = "other-session-7c1b"
GRACE = 2.0
"""Seconds past the deadline within which a statement must have been ended, on a machine that has them to spare."""
TRIES = 3
"""How often a statement or a neighbour must be late before that is its doing: a machine may be late once."""
_SLOWER = 4.0
"""How many times the machine's own time for a login, a question and a kill a late statement may take to be ended."""

_log = logging.getLogger("sqlassay.redteam")


@dataclass(frozen=True, slots=True)
class Observation:
    """What running one statement gave, what it did, and the seconds until it was over."""

    outcome: Outcome | None
    effects: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Ground:
    """What every arena of a drill stands on."""

    provider: Provider
    adapter: Adapter
    image: SnapshotImage
    target: Target
    limits: Limits
    run_id: str


class Arena:
    """A sandbox of one mode and login; used by one thread, replaced as soon as anything in it has changed."""

    def __init__(self, ground: Ground, mode: Mode, role: Role, neighbour: Callable[[], bool]) -> None:
        """Start nothing yet; `neighbour` says whether another sandbox still answers rightly."""
        self._ground = ground
        self._mode = mode
        self._role = role
        self._neighbour = neighbour
        self._database = ground.image.catalog(ground.target.snapshot.id).database
        self._around = Surroundings()
        self._sandbox: Sandbox | None = None
        self._victim: Session | None = None
        self._victim_id = ""
        self._mark: Mark | None = None
        self._state = ""
        self._answer: Outcome | None = None
        self.started = 0
        self.checks: list[float] = []
        self.marks: list[float] = []

    def run(self, sql: str, *, template: bool, exhausting: bool) -> Observation:
        """Run one statement and return what it did; the sandbox is replaced where that was anything.

        A statement that was late runs again in a new sandbox, and is told as late where it is so each time.

        Raises:
            InfrastructureError: no sandbox comes up.
        """
        seen = self._seen(sql, template=template, exhausting=exhausting)
        tries = 1
        while "time" in seen.effects and tries < TRIES:
            _log.info("late by %.1f s, measured again: %s", seen.seconds - self._ground.limits.timeout, sql[:100])
            again = self._seen(sql, template=template, exhausting=exhausting)
            kept = [effect for effect in seen.effects if effect != "time"]
            seen = replace(again, effects=tuple(dict.fromkeys([*kept, *again.effects])))
            tries += 1
        return seen

    def _seen(self, sql: str, *, template: bool, exhausting: bool) -> Observation:
        """Run one statement once and return what it did."""
        sandbox = self._ready()
        text = filled(sql, {**self._around.values, "victim": self._victim_id}) if template else sql
        before = self._around.look(text)
        started = time.monotonic()
        effects: list[str] = []
        outcome: Outcome | None = None
        tainted = True
        try:
            executed = execute(
                lambda: self._login(sandbox),
                text,
                self._ground.limits,
                kill=sandbox.kill,
                died_of_memory=sandbox.died_of_memory,
            )
            outcome, tainted = executed.outcome, executed.tainted
        except SandboxLostError as lost:
            _log.info("the sandbox was lost: %s", lost)
            effects.append("server lost")
        seconds = time.monotonic() - started
        effects += changes(before, self._around.look(text))
        effects += self._leaks(outcome, sandbox)
        if exhausting and not self._neighbour():
            effects.append("neighbour")
        effects += self._inside(sandbox, tainted=tainted)
        late = seconds - self._ground.limits.timeout - GRACE
        if tainted or effects or late > 0:
            self._discard()
        if late > 0 and late > _SLOWER * self._machine():
            effects.append("time")
        return Observation(outcome, tuple(effects), seconds)

    @property
    def sandbox(self) -> Sandbox:
        """Return the running sandbox, starting one where there is none."""
        return self._ready()

    def answers(self) -> bool:
        """Return whether the sentinel still gets its answer, and in time; a late one is asked for again."""
        for _ in range(TRIES):
            sandbox = self._ready()
            started = time.monotonic()
            try:
                right = self._same_answer(self._ask(sandbox))
            except SandboxLostError:
                right = False
            if not right:
                self._discard()
                return False
            if time.monotonic() - started < GRACE:
                return True
        return False

    def close(self) -> None:
        """Remove the sandbox and what was laid out around it."""
        self._discard()
        self._around.close()

    def _ready(self) -> Sandbox:
        """Return the sandbox, a new one with its state and sentinel taken where there is none."""
        if self._sandbox is None:
            ground = self._ground
            self._sandbox = ground.provider.start(ground.adapter, ground.image, self._mode, ground.run_id)
            self.started += 1
            # Every sandbox of one image begins alike, so the first one tells how; a whole look takes long.
            self._state = self._state or self._digest(self._sandbox)
            self._answer = self._ask(self._sandbox)
            self._seat_victim(self._sandbox)
            self._mark = Mark(ground.adapter.recipe, lambda: self._open(Role.HARNESS))
        return self._sandbox

    def _machine(self) -> float:
        """Return the seconds this machine takes just now for what ends a statement: a login, a question and a kill."""
        sandbox = self._ready()
        started = time.monotonic()
        with contextlib.suppress(SandboxLostError):
            self._ask(sandbox)
        sandbox.kill()
        seconds = time.monotonic() - started
        self._discard()
        return seconds

    def _login(self, sandbox: Sandbox) -> Session:
        """Return a session of this arena's role; a privileged one is left without the reader's transaction."""
        session = sandbox.open(self._database, self._role, Pins())
        return session if self._role is Role.READER else BareSession(session)

    def _seat_victim(self, sandbox: Sandbox) -> None:
        """Log another reader in, whose text and life the attack is not to reach."""
        question = self._ground.target.victim
        if question is None:
            return
        self._victim = sandbox.open(self._database, Role.READER, Pins())
        found = self._victim.fetch(question, self._ground.limits)
        self._victim_id = str(found.rows[0][0])
        self._victim.fetch(f"SELECT '{OTHER_SESSION}'", self._ground.limits)

    def _ask(self, sandbox: Sandbox) -> Outcome | None:
        """Return the sentinel's answer as the next prediction would get it."""
        question = self._ground.target.sentinel or "SELECT 1"
        executed = execute(
            lambda: sandbox.open(self._database, Role.READER, Pins()),
            question,
            Limits(timeout=10.0),
            kill=sandbox.kill,
            died_of_memory=sandbox.died_of_memory,
        )
        return executed.outcome

    def _same_answer(self, outcome: Outcome | None) -> bool:
        """Return whether the sentinel's rows are those of the untouched sandbox."""
        if isinstance(outcome, Rows) and isinstance(self._answer, Rows):
            return outcome.relation == self._answer.relation
        return isinstance(outcome, Failure) and isinstance(self._answer, Failure)

    def _digest(self, sandbox: Sandbox) -> str:
        """Return the digest of everything a statement could have changed, and note what it cost."""
        started = time.monotonic()
        digest = self._ground.adapter.state_digest(sandbox.endpoint, self._database)
        self.checks.append(time.monotonic() - started)
        return digest

    def _inside(self, sandbox: Sandbox, *, tainted: bool) -> list[str]:
        """Return the effects inside the sandbox; of one that is given up anyway only a changed state is told."""
        try:
            found = [] if self._still() or self._digest(sandbox) == self._state else ["state"]
            if tainted:
                return found
            if not self._same_answer(self._ask(sandbox)):
                found.append("answer")
            return found + self._victim_effects()
        except (SessionLostError, StatementError, SandboxLostError):
            return [] if tainted else ["server lost"]

    def _still(self) -> bool:
        """Return whether the engine's own mark proves that nothing was written, and note what asking cost."""
        if self._mark is None or not self._mark.known:
            return False
        started = time.monotonic()
        still = self._mark.still()
        self.marks.append(time.monotonic() - started)
        return still

    def _open(self, role: Role) -> Session:
        """Log in to the running sandbox."""
        return self._ready().open(self._database, role, Pins())

    def _victim_effects(self) -> list[str]:
        """Return whether the other session was ended or asked to stop."""
        if self._victim is None:
            return []
        try:
            self._victim.fetch("SELECT 1", self._ground.limits)
        except (SessionLostError, StatementError):
            return ["other session"]
        return []

    def _leaks(self, outcome: Outcome | None, sandbox: Sandbox) -> list[str]:
        """Return which secrets the answer holds, rows and message alike."""
        patterns: tuple[str, ...] = ()
        if isinstance(outcome, Failure):
            text = outcome.message
        elif isinstance(outcome, Rows):
            text, patterns = _text(outcome.relation), self._ground.target.secrets
        else:
            return []
        found = []
        if self._around.canary in text:
            found.append("leaked host file")
        if PLANTED.search(text):
            found.append("leaked gold")
        if OTHER_SESSION in text or (sandbox.endpoint.password and sandbox.endpoint.password in text):
            found.append("leaked session")
        if any(re.search(pattern, text) for pattern in patterns):
            found.append("leaked system data")
        return found

    def _discard(self) -> None:
        """Remove the sandbox; the next statement gets a fresh one."""
        victim, self._victim, self._victim_id = self._victim, None, ""
        mark, self._mark = self._mark, None
        sandbox, self._sandbox = self._sandbox, None
        if mark is not None:
            mark.close()
        if victim is not None:
            with contextlib.suppress(SessionLostError):
                victim.close()
        if sandbox is not None:
            sandbox.destroy()


def _text(relation: Relation) -> str:
    """Return every cell of a relation as one text, bytes read as far as they are letters."""
    cells = (cell for row in relation.rows for cell in row if cell is not None)
    return "\n".join(cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell) for cell in cells)
