"""Where a jailed Postgres lies: its data as it was baked and no other, its socket on a path short enough."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from test_process_postgres import unavailable
from test_process_provider import SNAPSHOT

from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role
from sqlassay.dialect_adapters.postgres.adapter import PostgresAdapter
from sqlassay.sandboxes.process.images import image_data
from sqlassay.sandboxes.process.provider import ProcessProvider

pytestmark = [pytest.mark.jail, pytest.mark.skipif(bool(unavailable()), reason=unavailable())]


@pytest.fixture
def provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessProvider]:
    """A provider with a cache and a temporary folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with tempfile.TemporaryDirectory(prefix="jail-", dir="/tmp") as folder:  # noqa: S108 (made private, and short)
        monkeypatch.setattr("tempfile.tempdir", folder)
        made = ProcessProvider(write_room_mb=16)
        yield made
        made.close()


def test_a_data_folder_that_was_changed_is_not_served(provider: ProcessProvider) -> None:
    """A file of the baked folder cut, changed or removed behind our back: noticed before use, and all is made anew."""
    adapter = PostgresAdapter()
    for damage in ("cut", "changed", "gone"):
        data = image_data(provider.prepare(adapter, [SNAPSHOT], print))
        file = max((path for path in (data / "base").rglob("[0-9]*") if path.is_file()), key=lambda f: f.stat().st_size)
        whole = file.read_bytes()
        file.unlink()
        if damage != "gone":
            file.write_bytes(whole[: len(whole) // 2] if damage == "cut" else whole[:-1] + b"?")
        sandbox = provider.start(adapter, provider.prepare(adapter, [SNAPSHOT], print), Mode.READ, "run-1")
        with closing(sandbox.open("w", Role.READER, Pins())) as session:
            assert session.fetch("SELECT count(*) FROM t", Limits(timeout=20)).rows == ((10,),)
        sandbox.destroy()


def test_a_temporary_folder_too_deep_for_a_socket_is_passed_over(
    provider: ProcessProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A socket's path holds 107 bytes: the server's lies in a private folder of /tmp, and nothing is left of it."""
    long = tmp_path / ("d" * 60)
    long.mkdir()
    adapter = PostgresAdapter()
    image = provider.prepare(adapter, [SNAPSHOT], print)
    monkeypatch.setattr("tempfile.tempdir", str(long))
    sandbox = provider.start(adapter, image, Mode.READ, "run-1")
    home = sandbox.endpoint.socket.parents[2]
    assert (str(home), home.lstat().st_mode & 0o777) == (f"/tmp/sqlassay-{os.geteuid()}-short", 0o700)
    sandbox.destroy()
    assert (list(long.iterdir()), (home / sandbox.id).exists()) == ([], False)
