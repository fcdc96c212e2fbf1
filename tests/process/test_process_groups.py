"""Control groups: all limits or none, under both layouts, joined before the program runs, and none left behind."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlassay.sandboxes.process import cgroups
from sqlassay.sandboxes.process.cgroups import Caps, Group, groups_work, make_group, remove, remove_forgotten

CAPS = Caps(64 * 1024 * 1024, 20)
UNIFIED = ("memory.max", "memory.swap.max", "pids.max", "cpu.max", "cgroup.procs")
SPLIT = {
    "memory": ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.oom_control"),
    "pids": ("pids.max",),
    "cpu": ("cpu.cfs_period_us", "cpu.cfs_quota_us"),
}


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, tuple[str, ...]]]:
    """Stand for the kernel: a folder that is made has files in it, and can be removed with them."""
    files: dict[str, tuple[str, ...]] = {}
    make, unmake = Path.mkdir, Path.rmdir

    def mkdir(path: Path, *arguments: object, **options: object) -> None:
        """Make a folder and the files of its hierarchy."""
        make(path, *arguments, **options)  # type: ignore[arg-type]
        for name in next((names for part, names in files.items() if part in path.parts), ()):
            (path / name).write_text("", encoding="ascii")

    def rmdir(path: Path) -> None:
        """Remove a folder and those files."""
        for file in path.glob("*"):
            file.unlink()
        unmake(path)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", rmdir)
    yield files
    monkeypatch.undo()


def test_one_hierarchy_takes_every_limit(kernel: dict[str, tuple[str, ...]], tmp_path: Path) -> None:
    """Where all controllers share a hierarchy a group lies in a folder of ours, with no swap instead of memory."""
    kernel["sqlassay"] = (*UNIFIED, "cgroup.subtree_control")
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids", encoding="ascii")
    group = make_group(CAPS, root=tmp_path)
    assert group is not None
    (folder,) = group.folders
    assert folder.parent == tmp_path / "sqlassay"
    assert (folder.parent / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"
    told = {name: (folder / name).read_text() for name in UNIFIED[:4]}
    assert told == {"memory.max": "67108864", "memory.swap.max": "0", "pids.max": "20", "cpu.max": "100000 100000"}
    group.remove()
    assert not folder.exists()


def test_a_hierarchy_each_lies_below_our_own_group(kernel: dict[str, tuple[str, ...]], tmp_path: Path) -> None:
    """Where controllers have hierarchies of their own, no limit that we are under ourselves is left."""
    kernel |= SPLIT
    own = tmp_path / "own"
    own.write_text("4:memory:/box\n3:cpu,cpuacct:/\n2:pids:/\n", encoding="ascii")
    for folder in ("memory/box", "pids", "cpu"):
        (tmp_path / folder).mkdir(parents=True)
    group = make_group(CAPS, root=tmp_path, own=own)
    assert group is not None
    memory, pids, cpu = group.folders
    assert memory.parent == tmp_path / "memory/box"
    assert (memory / "memory.limit_in_bytes").read_text() == "67108864"
    assert (pids / "pids.max").read_text() == "20"
    assert (cpu / "cpu.cfs_quota_us").read_text() == "100000"
    assert group.killed() is False
    (memory / "memory.oom_control").write_text("under_oom 0\noom_kill 2\n", encoding="ascii")
    assert group.killed() is True


def test_half_a_group_is_none(kernel: dict[str, tuple[str, ...]], tmp_path: Path) -> None:
    """A limit that cannot be set leaves no group and no folder: a report never promises what does not hold."""
    kernel |= SPLIT | {"pids": ()}
    own = tmp_path / "own"
    own.write_text("4:memory:/\n3:cpu:/\n2:pids:/\n", encoding="ascii")
    for folder in SPLIT:
        (tmp_path / folder).mkdir()
    assert make_group(CAPS, root=tmp_path, own=own) is None
    assert [path for folder in SPLIT for path in (tmp_path / folder).iterdir() if path.is_dir()] == []
    own.write_text("0::/\n", encoding="ascii")
    assert make_group(CAPS, root=tmp_path, own=own) is None


def test_a_folder_of_somebody_else_is_never_removed(tmp_path: Path) -> None:
    """What a damaged record names is left alone unless it bears our name."""
    (tmp_path / "system.slice").mkdir()
    (tmp_path / "sqlassay-1").mkdir()
    remove([tmp_path / "system.slice", tmp_path / "sqlassay-1", tmp_path / "sqlassay-gone"])
    assert [path.name for path in tmp_path.iterdir()] == ["system.slice"]


def test_a_forgotten_group_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty group is removed a minute after it was made, one that is new or has processes is not."""
    own = tmp_path / "own"
    own.write_text("4:memory:/\n3:cpu:/\n2:pids:/\n", encoding="ascii")
    for folder in ("memory/sqlassay-1", "pids/sqlassay-1", "pids/other", "cpu/sqlassay-busy/process"):
        (tmp_path / folder).mkdir(parents=True)
    remove_forgotten(root=tmp_path, own=own)
    assert (tmp_path / "memory/sqlassay-1").exists()
    monkeypatch.setattr(cgroups, "_JOINED_SECONDS", -1.0)
    remove_forgotten(root=tmp_path, own=own)
    left = {str(path.relative_to(tmp_path)) for home in SPLIT for path in (tmp_path / home).iterdir()}
    assert left == {"pids/other", "cpu/sqlassay-busy"}


def test_a_lingering_group_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that does not empty is waited for shortly, never for good."""
    monkeypatch.setattr(cgroups, "_EMPTY_SECONDS", 0.05)
    (tmp_path / "sqlassay-1").mkdir()
    (tmp_path / "sqlassay-1/busy").write_text("")
    Group((tmp_path / "sqlassay-1",)).remove()
    assert (tmp_path / "sqlassay-1").exists()


def test_what_cannot_be_joined_does_not_run(tmp_path: Path) -> None:
    """A program that its group does not take ends before it begins, with a code of its own."""
    command = Group((tmp_path / "sqlassay-gone",)).joining(("/bin/sh", "-c", "echo ran"))
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (125, b"")


@pytest.mark.jail
@pytest.mark.skipif(not groups_work(), reason="no control groups can be made here")
def test_the_kernel_holds_the_caps() -> None:
    """A greedy program is killed, and counted; one that forks past its number is refused."""
    group = make_group(CAPS)
    assert group is not None
    try:
        greedy = group.joining(("/usr/bin/env", "python3", "-c", "bytearray(200 << 20)"))
        assert subprocess.run(greedy, capture_output=True, check=False).returncode == -9
        assert group.killed() is True
        fork = "for n in $(seq 40); do sleep 0.3 & done; wait"
        bomb = subprocess.run(group.joining(("/bin/sh", "-c", fork)), capture_output=True, text=True, check=False)
        assert "ork" in bomb.stderr
    finally:
        group.remove()
    assert not any(folder.exists() for folder in group.folders)
