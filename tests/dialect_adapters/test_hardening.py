"""Every setting of the servers stops an attack that succeeds once the setting is taken away."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from rows import rows_of

from sqlassay.dialect_adapters.contract import (
    Adapter,
    Limits,
    Mode,
    Pins,
    Role,
    ServerRecipe,
    Session,
    SessionLostError,
    StatementError,
)
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.redteam.targets import find_target
from sqlassay.sandboxes.contract import Provider, Sandbox, SnapshotImage
from sqlassay.sandboxes.docker.client import connect as connect_engine
from sqlassay.sandboxes.registry import provider

pytestmark = pytest.mark.docker
ROWS = rows_of("hardening")
LIMITS = Limits(timeout=0.5)
OURS = Limits(timeout=60.0)
LATE = LIMITS.timeout + 1.4
"""Seconds after which it was our own socket that gave up, not a limit of the engine."""


class Served:
    """An adapter whose server is started with some arguments replaced."""

    def __init__(self, real: Adapter, replaced: Mapping[str, str]) -> None:
        self._real = real
        self._replaced = replaced
        self.name = real.name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    @property
    def recipe(self) -> ServerRecipe:
        recipe = self._real.recipe
        serve = {mode: tuple(self._replaced.get(part, part) for part in argv) for mode, argv in recipe.serve.items()}
        return replace(recipe, serve=serve)


class Range:
    """One engine's image and the servers an attack is tried on."""

    def __init__(self, dialect: str) -> None:
        self.adapter = adapter(dialect)
        self.provider: Provider = provider("docker")
        snapshot = find_target(dialect, None).snapshot
        self.image: SnapshotImage = self.provider.prepare(self.adapter, (snapshot,), lambda line: None)
        self.database = self.image.catalogs[0].database

    @contextlib.contextmanager
    def server(self, row: Mapping[str, Any], replaced: Mapping[str, str]) -> Iterator[Sandbox]:
        """A fresh server with what the row is given."""
        spoken: Any = Served(self.adapter, replaced)
        mode = Mode(row.get("mode", "write"))
        sandbox = self.provider.start(spoken, self.image, mode, f"hardening-{uuid4().hex[:8]}")
        try:
            self.ours(sandbox, row.get("given", ()))
            yield sandbox
        finally:
            sandbox.destroy()

    def ours(self, sandbox: Sandbox, statements: Sequence[str]) -> None:
        """Run statements as the harness."""
        for sql in statements:
            with contextlib.closing(sandbox.open(self.database, Role.HARNESS, Pins())) as session:
                session.fetch(sql, OURS)

    def attempt(self, sandbox: Sandbox, row: Mapping[str, Any], role: Role, begin: str | Sequence[str]) -> str:
        """Try the attack: `refused`, `lost` (it outlived its deadline), `died` (of memory) or what it answered."""
        with contextlib.ExitStack() as stack:
            for key, who in (("other", Role.READER), ("holds", Role.HARNESS)):
                if key in row:
                    session = stack.enter_context(contextlib.closing(sandbox.open(self.database, who, Pins())))
                    for sql in [row[key]] if isinstance(row[key], str) else row[key]:
                        session.fetch(sql, OURS)
            if row.get("flood"):
                return self.flood(sandbox, stack)
            try:
                session = self.login(sandbox, row.get("database", self.database), role)
            except SessionLostError:
                return "refused"
            stack.enter_context(contextlib.closing(session))
            limits = LIMITS if row.get("lost") else OURS
            _begin(session, begin, limits)
            answer = _tried(session, row["attack"], limits)
        if row.get("log"):
            return f"answered {_log_of(sandbox)}"
        if row.get("died"):
            return "died" if _died(sandbox) else answer
        return answer

    def login(self, sandbox: Sandbox, database: str, role: Role) -> Session:
        """Log in as this snapshot's role, to a database that may be another's."""
        if database == self.database:
            return sandbox.open(database, role, Pins())
        with pytest.MonkeyPatch.context() as patch:
            named = "sqlassay.dialect_adapters.postgres.session.login_name"
            patch.setattr(named, lambda _, who: f"{who.value}_{self.database}")
            return self.adapter.connect(sandbox.endpoint, database, role, Pins())

    def flood(self, sandbox: Sandbox, stack: contextlib.ExitStack) -> str:
        """Log in as the reader until refused; a success is that another login of the snapshot is refused as well."""

        def enter(role: Role) -> None:
            """Log in and stay."""
            session = self.adapter.connect(sandbox.endpoint, self.database, role, Pins())
            stack.enter_context(contextlib.closing(session))

        with contextlib.suppress(SessionLostError):
            for _ in range(60):
                enter(Role.READER)
        try:
            enter(Role.WRITER)
        except SessionLostError:
            return "answered nobody else"
        return "refused"


def _tried(session: Session, attack: Sequence[str], limits: Limits) -> str:
    """Run the attack's statements one after the other."""
    started = time.monotonic()
    try:
        relations = [session.fetch(sql, limits) for sql in attack]
    except StatementError:
        return "refused"
    except SessionLostError:
        return "lost" if time.monotonic() - started > LATE else "refused"
    return f"answered {relations[-1].rows!r}"


def _died(sandbox: Sandbox) -> bool:
    """Return whether the server or one of its processes died of memory; the engine may need a moment to tell."""
    deadline = time.monotonic() + 5.0
    while not sandbox.died_of_memory():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _log_of(sandbox: Sandbox) -> str:
    """Return everything the server has logged."""
    text: bytes = connect_engine().api.logs(sandbox.id)
    return text.decode(errors="replace")


def _begin(session: Session, begin: str | Sequence[str], limits: Limits) -> None:
    """Start the session as a run does, or by statements of the row."""
    if begin == "read":
        session.begin_read(limits)
    else:
        for sql in begin:
            session.fetch(sql, OURS)


@pytest.fixture(scope="module")
def grounds() -> Iterator[Callable[[str], Range]]:
    """Each engine, prepared when first asked for."""
    made: dict[str, Range] = {}

    def of(dialect: str) -> Range:
        """Return one engine."""
        if dialect not in made:
            made[dialect] = Range(dialect)
        return made[dialect]

    yield of
    for ground in made.values():
        ground.provider.close()


def _succeeded(row: Mapping[str, Any], answer: str) -> bool:
    """Return whether an attempt was a success for the attacker."""
    if row.get("lost") or row.get("died"):
        return answer == ("lost" if row.get("lost") else "died")
    return answer.startswith("answered") and row.get("proof", "") in answer


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['dialect']}: {row['setting']}" for row in ROWS])
def test_a_setting_stops_its_attack(grounds: Callable[[str], Range], row: dict[str, Any]) -> None:
    """With the setting the attack fails; without it, and with everything else as it was, it succeeds."""
    ground = grounds(row["dialect"])
    role = Role(row.get("role", "reader"))
    without = Role(row.get("without_role", role))
    serve, also = row.get("serve", {}), row.get("also", {})
    with contextlib.ExitStack() as stack:
        sandbox = stack.enter_context(ground.server(row, serve if row.get("kept") == "serve" else also))
        assert _succeeded(row, ground.attempt(sandbox, row, role, row["begin"])) is False
        if serve:
            sandbox = stack.enter_context(ground.server(row, {**serve, **also}))
        ground.ours(sandbox, row.get("undo", ()))
        answer = ground.attempt(sandbox, row, without, row.get("without_begin", row["begin"]))
        assert _succeeded(row, answer) is True, answer


@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_a_flood_of_logins_leaves_room_for_the_harness(grounds: Callable[[str], Range], dialect: str) -> None:
    """One reader may hold only so many sessions: past them it is refused, and the harness still gets in."""
    ground = grounds(dialect)
    with ground.server({}, {}) as sandbox, contextlib.ExitStack() as stack:

        def flood() -> None:
            """Log in until refused, at most as often as the server has room."""
            for _ in range(45):
                session = ground.adapter.connect(sandbox.endpoint, ground.database, Role.READER, Pins())
                stack.enter_context(contextlib.closing(session))

        with pytest.raises(SessionLostError):
            flood()
        ground.ours(sandbox, ["SELECT 1"])
