"""Locks say who lives and let one builder in at a time; labels carry enough to judge a run from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from sqlassay.sandboxes import labels
from sqlassay.sandboxes.locks import RunLock, exclusive, is_free, remove_free
from sqlassay.sandboxes.reaper import is_left_over

HOLDER = """
import sys, time
from pathlib import Path
from sqlassay.sandboxes.locks import RunLock
lock = RunLock(Path(sys.argv[1]), "run")
print("held", flush=True)
time.sleep(60)
"""


def test_a_run_is_alive_until_its_last_holder_lets_go(tmp_path: Path) -> None:
    """Two providers of one run share its lock; the file goes with the second."""
    first, second = RunLock(tmp_path, "run"), RunLock(tmp_path, "run")
    assert is_free(first.path) is False
    first.release()
    first.release()
    assert is_free(second.path) is False
    second.release()
    assert is_free(second.path) is None


def test_a_killed_process_frees_its_lock(tmp_path: Path) -> None:
    """The kernel frees the lock at death, and the file stays as the proof that the run is over."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert is_free(tmp_path / "run.lock") is False
        holder.kill()
    assert is_free(tmp_path / "run.lock") is True


def test_only_a_free_lock_file_is_removed(tmp_path: Path) -> None:
    """A held file stays, a free one goes, a missing one is nothing to remove."""
    lock = RunLock(tmp_path, "run")
    assert remove_free(lock.path) is False
    assert is_free(lock.path) is False
    lock.release()
    (tmp_path / "dead.lock").touch()
    assert remove_free(tmp_path / "dead.lock") is True
    assert remove_free(tmp_path / "dead.lock") is False


def test_one_builder_at_a_time(tmp_path: Path) -> None:
    """A second thread waits for the lock; neither sees the other inside."""
    inside, seen = [], []

    def build() -> None:
        with exclusive(tmp_path, "key"):
            inside.append(1)
            seen.append(len(inside))
            time.sleep(0.05)
            inside.pop()

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1, 1, 1, 1]


def test_whoever_waits_is_told_so(tmp_path: Path) -> None:
    """A long wait for another run's build is never a silent one; without one nothing is said."""
    said: list[str] = []
    inside = threading.Event()

    def hold() -> None:
        with exclusive(tmp_path, "key", lambda: said.append("first")):
            inside.set()
            time.sleep(0.1)

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait()
    with exclusive(tmp_path, "key", lambda: said.append("second")):
        assert said == ["second"]
    holder.join()


def test_labels_carry_the_owner_whole(tmp_path: Path) -> None:
    """What is read back from labels is the owner that was written."""
    owner = labels.owner("run", tmp_path / "run.lock", 1000.0, hours=2, folder="/tmp/sqlassay-x")
    assert labels.read(owner.labels()) == owner
    assert owner.expires == 1000.0 + 7200


@pytest.mark.parametrize("damage", [{labels.RUN: None}, {"io.sqlassay.pid": "x"}, {"io.sqlassay.expires": None}])
def test_damaged_labels_name_no_owner(tmp_path: Path, damage: dict[str, str | None]) -> None:
    """A container whose labels cannot be read is nobody's: it is never removed."""
    written = labels.owner("run", tmp_path / "run.lock", 0, hours=1).labels() | damage
    assert labels.read({name: value for name, value in written.items() if value is not None}) is None


def test_a_live_run_is_never_a_left_over(tmp_path: Path) -> None:
    """While the lock is held nothing else counts, not even the expiry."""
    lock = RunLock(tmp_path, "run")
    owner = labels.owner("run", lock.path, 0.0, hours=0)
    assert is_left_over(owner, now=time.time()) is False
    lock.release()


def test_a_free_lock_is_a_dead_run(tmp_path: Path) -> None:
    """A lock file that nobody holds proves the death, long before the expiry."""
    (tmp_path / "run.lock").touch()
    owner = labels.owner("run", tmp_path / "run.lock", time.time(), hours=24)
    assert is_left_over(owner, now=time.time()) is True


def test_without_a_lock_file_the_process_decides(tmp_path: Path) -> None:
    """Pid and start time together: a pid that was given to another process is no life sign."""
    owner = labels.owner("run", tmp_path / "none.lock", time.time(), hours=24)
    assert owner.pid == os.getpid()
    assert is_left_over(owner, now=time.time()) is False
    assert is_left_over(replace(owner, started="1"), now=time.time()) is True


def test_another_machine_s_run_stays_until_it_expires(tmp_path: Path) -> None:
    """Its lock cannot be seen from here, so only the expiry speaks."""
    (tmp_path / "run.lock").touch()
    owner = replace(labels.owner("run", tmp_path / "run.lock", 1000.0, hours=1), host="elsewhere")
    assert is_left_over(owner, now=1000.0 + 3599) is False
    assert is_left_over(owner, now=1000.0 + 3601) is True
