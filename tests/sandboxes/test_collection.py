"""Images are collected by last use; one that a live run holds stays, and a dry run removes nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sqlassay.cases.errors import EngineUnavailableError
from sqlassay.cases.relation import Kind
from sqlassay.cases.snapshot import ColumnDef, Snapshot, TableDef
from sqlassay.dialect_adapters import registry
from sqlassay.sandboxes.collection import Collected, collect
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.docker.provider import DockerProvider
from sqlassay.sandboxes.holds import hold, is_held, unheld
from sqlassay.sandboxes.inventory import ImageLine, images
from sqlassay.sandboxes.process.images import prepare_image
from sqlassay.sandboxes.process.interpreter import host_interpreter
from sqlassay.sandboxes.process.provider import ProcessProvider
from sqlassay.sandboxes.store import Store

TABLES = (TableDef("t", (ColumnDef("n", Kind.INT),)),)


def _quiet(line: str) -> None:
    """Take a phase line and say nothing."""


def _unreachable(**_: object) -> None:
    """Be no engine."""
    raise EngineUnavailableError("no engine here")


@pytest.fixture
def four(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[ImageLine, ...]:
    """Four SQLite images, used an hour after one another, the latest first; no container engine."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sqlassay.sandboxes.docker.client.connect", _unreachable)
    for number in range(4):
        made = prepare_image(
            registry.adapter("sqlite"),
            [Snapshot(id="s", database="d", digest=str(number), tables=TABLES)],
            host_interpreter(),
            _quiet,
        )
        used = 1_000_000_000 + number * 3600
        os.utime(tmp_path / "sqlassay" / "process" / made.key / "catalog.json", (used, used))
    return images()


def test_the_images_used_last_stay(four: tuple[ImageLine, ...]) -> None:
    """The bytes that are freed are those of the removed images."""
    done = list(collect(2))
    assert [(one.ref, one.fate, one.freed) for one in done] == [(line.ref, "removed", line.size) for line in four[2:]]
    assert all(one.freed >= 8192 for one in done)
    assert images() == four[:2]
    assert not four[3].folder.exists()


def test_a_dry_run_removes_nothing(four: tuple[ImageLine, ...]) -> None:
    """It says the same."""
    assert [one.fate for one in collect(0, dry_run=True)] == ["would be removed"] * 4
    assert images() == four


def test_what_a_live_run_holds_stays(four: tuple[ImageLine, ...]) -> None:
    """Until the run lets go or dies: the kernel frees its lock."""
    cache = four[0].folder.parents[1]
    lock = hold(cache, four[1].key)
    assert is_held(cache, four[1].key)
    assert [line.in_use for line in images()] == [False, True, False, False]
    done = list(collect(0))
    assert done[1] == Collected(four[1].ref, "process", "in use", 0)
    assert [line.ref for line in images()] == [four[1].ref]
    lock.release()
    assert [one.fate for one in collect(0)] == ["removed"]
    assert list((cache / "uses").iterdir()) == []


def test_an_image_is_not_taken_while_it_is_removed(tmp_path: Path) -> None:
    """Whoever wants to use it waits until the removal is over, and holds a lock that the next removal sees."""
    import threading

    with unheld(tmp_path, "k") as free:
        assert free is True
        locks = []
        waiting = threading.Thread(target=lambda: locks.append(hold(tmp_path, "k")))
        waiting.start()
        waiting.join(0.2)
        assert locks == []
    waiting.join(10)
    assert is_held(tmp_path, "k")
    with unheld(tmp_path, "k") as free:
        assert free is False
    locks[0].release()


@pytest.mark.docker
def test_images_of_the_engine_are_collected(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that an open provider uses stays; so does nothing that no catalogue names; bytes are those of its layers."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache = tmp_path / "sqlassay"
    provider = DockerProvider(cache=cache)
    adapter = registry.adapter("sqlite")
    first = provider.prepare(adapter, [Snapshot(id="s", database="one", digest="1", tables=TABLES)], _quiet)
    provider.close()
    used = 1_000_000_000
    os.utime(cache / "images" / first.key / "catalog.json", (used, used))
    provider = DockerProvider(cache=cache)
    second = provider.prepare(adapter, [Snapshot(id="s", database="two", digest="2", tables=TABLES)], _quiet)
    (planned,) = collect(1, dry_run=True)
    assert (planned.ref, planned.fate) == (first.ref, "would be removed")
    assert planned.freed >= images()[1].size > 8192
    assert [(one.ref, one.fate) for one in collect(0)] == [(second.ref, "in use"), (first.ref, "removed")]
    assert engine.api.images(first.ref) == []
    provider.close()
    Store(cache).forget(second.key)
    assert [(one.ref, one.fate) for one in collect(5)] == [(second.ref, "removed")]
    assert engine.api.images(second.ref) == []


def test_an_open_provider_holds_its_images(four: tuple[ImageLine, ...]) -> None:
    """From prepare on, with no sandbox running, until it is closed."""
    provider = ProcessProvider()
    snapshot = Snapshot(id="s", database="d", digest="3", tables=TABLES)
    image = provider.prepare(registry.adapter("sqlite"), [snapshot], _quiet)
    assert image.ref == four[0].ref
    assert [one.fate for one in collect(0)] == ["in use", "removed", "removed", "removed"]
    provider.close()
    assert [one.fate for one in collect(0)] == ["removed"]
