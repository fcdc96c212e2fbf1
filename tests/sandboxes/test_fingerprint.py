"""The fingerprint: a mark that stands still proves a statement harmless, anything else is looked at whole and named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from sqlassay.cases.catalog import Catalog
from sqlassay.cases.relation import Column, Kind, Relation
from sqlassay.dialect_adapters.contract import SessionLostError
from sqlassay.sandboxes.contract import BaseImage, SnapshotImage
from sqlassay.sandboxes.fingerprint import Fingerprint


@dataclass
class Server:
    """A server whose mark and state the test moves; counts how often it is looked at whole."""

    mark: int = 1
    state: str = "baked"
    question: str = "mark?"
    digests: int = 0
    gone: bool = False
    closed: int = 0
    endpoint: None = None
    opened: list[str] = field(default_factory=list)

    @property
    def recipe(self) -> Any:
        return SimpleNamespace(mark=self.question)

    def state_digest(self, endpoint: object, database: str) -> str:
        self.digests += 1
        if self.gone:
            raise SessionLostError("gone")
        return self.state

    def open(self, database: str, role: object, pins: object) -> Any:
        self.opened.append(database)
        return SimpleNamespace(fetch=self._fetch, close=self._close)

    def _fetch(self, sql: str, limits: object) -> Relation:
        if self.gone:
            raise SessionLostError("gone")
        return Relation((Column("mark", Kind.INT),), ((self.mark,),))

    def _close(self) -> None:
        self.closed += 1


def _watch(server: Server, snapshots: Sequence[str] = ("a",)) -> Fingerprint:
    """Return what watches the server."""
    catalogs = tuple(
        Catalog(dialect="x", snapshot=name, database=name, engine_version="1", tables=(), state_digest="baked")
        for name in snapshots
    )
    image = SnapshotImage("r", "k", "x", BaseImage("r", "d", "", 1, "1", "local"), catalogs)
    return Fingerprint(server, image, server)  # type: ignore[arg-type]


def _run(watch: Fingerprint, sql: str, change: Callable[[], None] = lambda: None, *, suspect: bool = False) -> Any:
    """Run one statement that does what `change` does."""
    watch.before("a", sql)
    change()
    return watch.after(suspect=suspect)


def test_a_mark_that_stands_still_needs_no_look() -> None:
    """Statements that moved nothing cost one question each, over one login, even where they are suspect."""
    server = Server()
    watch = _watch(server)
    assert _run(watch, "SELECT 1") == ()
    assert _run(watch, "SELECT 2", suspect=True) == ()
    assert server.digests == 0
    assert server.opened == ["a"]
    watch.close()
    assert server.closed == 1


def test_a_moved_mark_over_the_same_state_is_no_drift() -> None:
    """A write that was undone moves the mark only; the next statement is measured against the new one."""
    server = Server()
    watch = _watch(server)
    assert _run(watch, "SELECT 1", lambda: setattr(server, "mark", 2)) == ()
    assert server.digests == 1
    assert _run(watch, "SELECT 2") == ()
    assert server.digests == 1


def test_the_statement_that_changed_the_state_is_named() -> None:
    """With a mark every statement is looked at, so the very one is named."""
    server = Server()
    watch = _watch(server)
    _run(watch, "SELECT 1")

    def wipe() -> None:
        server.mark, server.state = 2, "wiped"

    assert _run(watch, "SELECT f_wipe()", wipe) == ("snapshot a changed; statement: SELECT f_wipe()",)


def test_without_a_mark_suspects_are_looked_at_whole() -> None:
    """A flagged statement is looked at at once, others at the end of the lease, all that may have done it named."""
    server = Server(question="")
    watch = _watch(server)
    assert _run(watch, "SELECT 1") == ()
    assert server.digests == 0
    assert _run(watch, "SELECT random()", suspect=True) == ()
    assert server.digests == 1
    _run(watch, "SELECT 3", lambda: setattr(server, "state", "wiped"))
    _run(watch, "SELECT 4")
    assert watch.whole(proven=True) == (
        "snapshot a changed; one of 2 statements, the latest first: SELECT 4 | SELECT 3",
    )


def test_the_end_of_a_lease_looks_at_what_the_mark_cleared_too() -> None:
    """A change that no mark showed is still found when the server is given back."""
    server = Server()
    watch = _watch(server)
    _run(watch, "SELECT 1", lambda: setattr(server, "state", "wiped"))
    assert watch.whole() == ()
    assert watch.whole(proven=True) == ("snapshot a changed; no statement moved the server's mark",)


@pytest.mark.parametrize("question", ["mark?", ""])
def test_a_server_that_is_gone_has_no_state(question: str) -> None:
    """A killed server's state died with it: no drift is invented."""
    server = Server(question=question)
    watch = _watch(server)
    assert _run(watch, "SELECT 1", lambda: setattr(server, "gone", True), suspect=True) == ()
    assert watch.whole(proven=True) == ()
