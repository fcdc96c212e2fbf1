"""A temporary folder lives as long as its owner and no longer, whatever ends it."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sqlassay.sandboxes.process.sandbox import remove_left_over
from sqlassay.sandboxes.removal import remove_folder
from sqlassay.sandboxes.scratch import Scratch, sweep

HOLD = """
import sys, time
from sqlassay.sandboxes.scratch import Scratch
print(Scratch(sys.argv[1]).folder, flush=True)
time.sleep(60)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def _held(root: Path, kind: str) -> tuple[subprocess.Popen[str], Path]:
    """Start another process that holds a scratch folder under `root`."""
    made = subprocess.Popen(
        [sys.executable, "-c", HOLD, kind], stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(root)}
    )
    assert made.stdout is not None
    return made, Path(made.stdout.readline().strip())


@pytest.mark.parametrize("kind", ["", "agent", "base", "files", "redteam"])
def test_folder_of_a_killed_process_is_swept_and_of_a_living_one_is_not(root: Path, kind: str) -> None:
    """SIGKILL leaves the folder; the next scratch folder of anyone removes it, and never one that is in use."""
    process, folder = _held(root, kind)
    try:
        (folder / "s" / "file").write_text("x")
        with Scratch("agent"):
            assert folder.is_dir() is True
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with Scratch("agent"):
            assert folder.exists() is False
    finally:
        process.kill()
        process.communicate()


def test_no_sweep_takes_a_folder_that_is_being_made(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep of another thread or run at any moment of the making leaves the folder alone."""
    taken = fcntl.flock

    def swept_before(descriptor: int, how: int) -> None:
        """Sweep when the lock file is open and not yet held."""
        monkeypatch.setattr(fcntl, "flock", taken)
        assert sweep() == ()
        taken(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", swept_before)
    with Scratch("files") as folder:
        assert folder.is_dir() is True


def test_draft_of_a_process_killed_while_making_it_is_swept(root: Path) -> None:
    """A folder with nothing but a free draft of a lock goes when it is old."""
    draft = root / "sqlassay-files-draft000"
    draft.mkdir()
    (draft / "lock.new").touch()
    os.utime(draft, (0, 0))
    assert sweep() == (draft.name,)


@pytest.mark.parametrize("sweeping", [False, True])
def test_a_kill_while_a_folder_is_removed_leaves_one_that_is_swept(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, sweeping: bool
) -> None:
    """Owner or sweeper: whoever removes it may be ended after any entry, and the next sweep finishes."""
    scratch = Scratch("agent")
    for name in ("a", "b"):
        (scratch.path / name).mkdir()
        (scratch.folder / name).touch()
    removed = [shutil.rmtree, os.unlink]
    if sweeping:
        os.close(scratch._lock)
        scratch._lock = -1
    removing = sweep if sweeping else partial(remove_folder, scratch.folder, "lock")
    for ended in range(3):
        left = [ended]

        def step(real: Callable[..., None], *given: Any, left: list[int] = left, **named: Any) -> None:
            """Remove one entry, or be killed before it."""
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            real(*given, **named)

        monkeypatch.setattr(shutil, "rmtree", partial(step, removed[0]))
        monkeypatch.setattr(os, "unlink", partial(step, removed[1]))
        with pytest.raises(KeyboardInterrupt):
            removing()
        assert (scratch.folder / "lock").exists()
    monkeypatch.setattr(shutil, "rmtree", removed[0])
    monkeypatch.setattr(os, "unlink", removed[1])
    if scratch._lock >= 0:
        os.close(scratch._lock)
    assert sweep() == (scratch.folder.name,)
    assert list(root.iterdir()) == []


def test_closing_removes_the_folder_once(root: Path) -> None:
    """Closing twice is closing once."""
    scratch = Scratch("files")
    scratch.close()
    scratch.close()
    assert list(root.iterdir()) == []


def test_folders_that_are_not_ours_stay(root: Path) -> None:
    """Folders of others and of a user, a link, a full folder without a lock and one with its own lock stay."""
    for name in ("sqlassay-12345678", "sqlassay-other-abcdefgh", "sqlassay-agent-full0000", "else"):
        (root / name).mkdir()
        (root / name / "file").touch()
    for name in ("sqlassay-mydata00", "sqlassay-agent-mydata00"):
        (root / name).mkdir()
        (root / name / "lock").touch()
    (root / "sqlassay-agent-empty000").mkdir()
    (root / "sqlassay-agent-linked00").symlink_to(root / "else")
    for path in root.iterdir():
        os.utime(path, (0, 0), follow_symlinks=False)
    kept = {path.name for path in root.iterdir()} - {"sqlassay-agent-empty000"}
    sweep()
    assert {path.name for path in root.iterdir()} == kept


def test_a_run_folder_whose_removal_was_cut_short_is_swept(root: Path) -> None:
    """Its owner goes last: an empty folder is nobody's, and one with anything in it and no owner is not judged."""
    runs = root / f"sqlassay-{os.geteuid()}"
    for name in ("gone-abcdefgh", "full-abcdefgh", ".new-abcdefgh"):
        (runs / name).mkdir(parents=True)
    (runs / "full-abcdefgh" / "file").touch()
    assert "gone-abcdefgh" in [*remove_left_over()]
    assert {path.name for path in runs.iterdir()} == {"full-abcdefgh", ".new-abcdefgh"}
