"""The oracle's surroundings: a file written, a gold file changed and a connection made are each seen."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlassay.harness.redteam.surroundings import Surroundings, changes


@pytest.fixture
def around() -> Iterator[Surroundings]:
    """Surroundings that are removed again."""
    made = Surroundings()
    yield made
    made.close()


def test_nothing_done_is_nothing_seen(around: Surroundings) -> None:
    """Two looks at untouched surroundings are equal."""
    assert changes(around.look(), around.look()) == ()


def test_a_file_written_is_seen(around: Surroundings) -> None:
    """A new file in the open folder is an effect."""
    before = around.look()
    Path(around.values["tmp"], "x").write_text("x")
    assert changes(before, around.look()) == ("files",)


def test_a_changed_gold_file_is_seen(around: Surroundings) -> None:
    """Gold that was written to is an effect of its own."""
    before = around.look()
    Path(around.values["gold"]).write_text("{}")
    assert changes(before, around.look()) == ("gold file",)


def test_a_connection_is_seen(around: Surroundings) -> None:
    """Whoever reaches the listening port got out."""
    before = around.look()
    address = (around.values["listener_host"], int(around.values["listener_port"]))
    socket.create_connection(address, timeout=5).close()
    assert changes(before, around.look()) == ("socket",)


def test_nothing_is_left() -> None:
    """Closing removes the folder with the gold in it."""
    made = Surroundings()
    made.close()
    assert made.gold.parent.exists() is False


def test_a_file_the_statement_names_is_seen(around: Surroundings, tmp_path: Path) -> None:
    """A path of the attack's own choosing is watched on the host, whatever folder it is in."""
    text = f"COPY customers TO '{tmp_path}/pwn_copy'"
    before = around.look(text)
    (tmp_path / "pwn_copy").write_text("x")
    assert changes(before, around.look(text)) == ("files",)
