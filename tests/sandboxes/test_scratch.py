"""A temporary folder lives as long as its owner and no longer, whatever ends it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from sandboxes.scratch import Scratch, sweep

HOLD = """
import sys, time
from sandboxes.scratch import Scratch
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


def test_closing_removes_the_folder_once(root: Path) -> None:
    """Closing twice is closing once."""
    scratch = Scratch("files")
    scratch.close()
    scratch.close()
    assert list(root.iterdir()) == []


def test_folders_that_are_not_ours_stay(root: Path) -> None:
    """Another program's folder, a user's folder of runs, a link and a full folder without a lock are left alone."""
    for name in ("sqlassay-12345678", "sqlassay-other-abcdefgh", "sqlassay-agent-full0000", "else"):
        (root / name).mkdir()
        (root / name / "file").touch()
    (root / "sqlassay-agent-empty000").mkdir()
    (root / "sqlassay-agent-linked00").symlink_to(root / "else")
    for path in root.iterdir():
        os.utime(path, (0, 0), follow_symlinks=False)
    kept = {path.name for path in root.iterdir()} - {"sqlassay-agent-empty000"}
    sweep()
    assert {path.name for path in root.iterdir()} == kept
