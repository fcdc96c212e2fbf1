"""What a provider of sandboxes promises: prepare an image once, start isolated servers from it, leave nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.snapshot import Snapshot
from sqlassay.dialect_adapters.contract import Adapter, Endpoint, Mode, Pins, Role, Session

Notice = Callable[[str], None]
"""Told each long phase in one line, with the expected seconds ("building base image for mysql, about 30 s")."""


_RELEASE = re.compile(r"(?:\d+:)?(\d+)(?:\.(\d+))?")


def release(version: str) -> tuple[int, int] | None:
    """Return the first two numbers of a version such as `14.11-1` or `1:11.8.3`, None where it begins with none."""
    found = _RELEASE.match(version)
    return (int(found[1]), int(found[2] or 0)) if found else None


@dataclass(frozen=True, slots=True)
class BaseImage:
    """An engine without data, whatever its source: `local`, `registry` or `debian` (or `host` for processes)."""

    ref: str
    digest: str
    bin_dir: str
    uid: int
    version: str
    source: str

    @property
    def release(self) -> tuple[int, int] | None:
        """Return the engine's version by its first two numbers, None where the image does not say it."""
        return release(self.version)


@dataclass(frozen=True, slots=True)
class SnapshotImage:
    """A base with data loaded: keyed by content, with one catalogue a snapshot database.

    A large pack's snapshots are in several images: then `parts` are those, and a server is started from one of them.
    """

    ref: str
    key: str
    dialect: str
    base: BaseImage
    catalogs: tuple[Catalog, ...]
    parts: tuple[SnapshotImage, ...] = ()

    def holding(self, snapshot_id: str) -> SnapshotImage:
        """Return the image a server of this snapshot is started from."""
        found = (part for part in self.parts if any(c.snapshot == snapshot_id for c in part.catalogs))
        return next(found, self)

    def catalog(self, snapshot_id: str) -> Catalog:
        """Return the catalogue of one snapshot."""
        return next(c for c in self.catalogs if c.snapshot == snapshot_id)


@dataclass(frozen=True, slots=True)
class Isolation:
    """How a sandbox is isolated, for the report: no silent downgrade. `missing` lists limits that are off here."""

    provider: str
    method: str
    network: str
    limits: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class Sandbox(Protocol):
    """One running server. States: created, booting, ready, leased, dirty, destroyed; one owner."""

    id: str
    endpoint: Endpoint
    isolation: Isolation

    def open(self, database: str, role: Role, pins: Pins) -> Session:
        """Log in to one snapshot database. Raises SandboxLostError where the server is gone."""
        ...

    def died_of_memory(self) -> bool:
        """Return True where the server or one of its processes was killed by a resource limit."""
        ...

    def kill(self) -> None:
        """Stop the server at once; sessions break. Callable from any thread, never raises."""
        ...

    def destroy(self) -> None:
        """Remove the sandbox and everything it left on the host; idempotent, never raises."""
        ...


class Provider(Protocol):
    """A way to run servers. Registered under `sqlassay.sandboxes`.

    `needs_engine` says whether a container engine must answer first (`sqlassay.sandboxes.engine.ensure_engine`).
    """

    name: str
    needs_engine: bool

    def prepare(self, adapter: Adapter, snapshots: Sequence[Snapshot], notice: Notice) -> SnapshotImage:
        """Return the image for exactly these snapshots, building base and image once under a lock.

        Raises:
            EngineUnavailableError: no engine, with the line that brings one up.
            InputError: a snapshot that cannot be loaded.
            InfrastructureError: anything else of ours.
        """
        ...

    def start(self, adapter: Adapter, image: SnapshotImage, mode: Mode, run_id: str) -> Sandbox:
        """Start one isolated server and return it ready (a real query was answered).

        Raises:
            InfrastructureError: it did not come up, with the server's last log lines.
        """
        ...

    def sweep(self) -> tuple[str, ...]:
        """Remove sandboxes of dead runs, by run id, and return what was removed.

        On their own host a free run lock proves them dead; for other hosts' sandboxes only the expiry speaks.
        """
        ...

    def close(self) -> None:
        """Remove every sandbox this provider started; called on every exit path."""
        ...
