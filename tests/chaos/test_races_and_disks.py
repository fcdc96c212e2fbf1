"""Two at once, half images, full disks: one image is built, damage is seen, nothing finished is lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chaos_ground import CASES, VERDICTS, Engine, Ground
from chaos_same import differences

pytestmark = [pytest.mark.docker, pytest.mark.slow]


def test_two_that_build_one_snapshot_build_it_once(ground: Ground) -> None:
    """Two harnesses with the same pack and no image: one bakes, the other waits, both end well with one image."""
    both = [ground.start(*ground.run_arguments(name, "postgres", "--jobs", "1")) for name in ("one", "two")]
    assert [made.wait(timeout=240) for made in both] == [0, 0], ground.said()
    assert (ground.verdicts("one"), ground.verdicts("two")) == (VERDICTS, VERDICTS)
    assert differences(ground.home / "one", ground.home / "two") == []
    assert len(ground.images()) == 1
    assert ground.settled() == []


def test_two_runs_at_once_do_not_meet(postgres: Ground) -> None:
    """Two runs on one engine: neither sweeps the other's servers, both end well; so do two on jails."""
    both = [
        postgres.start(*postgres.run_arguments(f"{dialect}-{n}", dialect, "--jobs", "1"), CHAOS_ASK="0.1")
        for dialect in ("postgres", "sqlite")
        for n in (1, 2)
    ]
    assert [made.wait(timeout=240) for made in both] == [0, 0, 0, 0], postgres.said()
    for dialect in ("postgres", "sqlite"):
        assert differences(postgres.home / f"{dialect}-1", postgres.home / f"{dialect}-2") == []
    assert postgres.settled() == []


def _key(ground: Ground) -> Path:
    """Return the folder of the one image's catalogue."""
    return next((ground.cache / "sqlassay" / "images").iterdir())


def _damage_catalogue(ground: Ground) -> None:
    """Tear the catalogue."""
    path = _key(ground) / "catalog.json"
    path.write_bytes(path.read_bytes()[:100])


def _lose_secret(ground: Ground) -> None:
    """Lose the file with the image's password."""
    (_key(ground) / "secret").unlink()


def _lose_image(ground: Ground) -> None:
    """Remove the image behind the catalogue's back."""
    ref = json.loads((_key(ground) / "catalog.json").read_bytes())["ref"]
    with Engine() as api:
        api.remove_image(ref, force=True)


def _replace_image(ground: Ground) -> None:
    """Give the image's name to another one."""
    stored = json.loads((_key(ground) / "catalog.json").read_bytes())
    with Engine() as api:
        api.remove_image(stored["ref"], force=True)
        repository, _, tag = stored["ref"].rpartition(":")
        api.tag(stored["base"]["ref"], repository, tag)


def test_a_damaged_image_is_baked_again(ground: Ground) -> None:
    """Catalogue torn, secret lost, image gone or replaced under its name: noticed before use, baked anew, right."""
    run = [*ground.run_arguments("run", "postgres", "--jobs", "1", "--only", "sum,all")]
    for damage in (lambda _: None, _damage_catalogue, _lose_secret, _lose_image, _replace_image):
        damage(ground)
        shutil.rmtree(ground.home / "run", ignore_errors=True)
        code, said = ground.call(*run, timeout=240)
        assert (code, ground.verdicts("run")) == (0, {"sum": "match", "all": "match"}), said
    assert len(ground.images()) == 1
    assert ground.settled() == []


def test_a_changed_database_file_is_not_trusted(ground: Ground) -> None:
    """SQLite's baked file changed behind the catalogue's back: noticed before use and written anew."""
    arguments = ground.run_arguments("run", "sqlite", "--only", "sum,all", "--no-gold-cache")
    assert ground.call(*arguments)[0] == 0
    file = next((ground.cache / "sqlassay" / "process").glob("*/data/*"))
    for change in (lambda data: data.replace(b"n3", b"n4", 1), lambda data: data[: len(data) // 2]):
        file.chmod(0o600)
        file.write_bytes(change(file.read_bytes()))
        shutil.rmtree(ground.home / "run")
        code, said = ground.call(*arguments)
        assert (code, ground.verdicts("run")) == (0, {"sum": "match", "all": "match"}), said
        assert b"n3" in file.read_bytes()


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """Give a file system of a few kilobytes, beside the place: what is mounted in it would show in every process."""
    target = Path(tempfile.mkdtemp(prefix="small-", dir="/tmp"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(target)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        target.rmdir()
        pytest.skip("a small file system can be mounted by root alone")
    try:
        yield target
    finally:
        subprocess.run(["umount", str(target)], check=True)
        target.rmdir()


def test_a_full_disk_loses_nothing_and_is_resumed(ground: Ground) -> None:
    """The run folder's disk is full: exit 3 names file and way on; with space again the run is resumed as it was."""
    assert ground.call(*ground.run_arguments("undisturbed", "sqlite", "--jobs", "2"))[0] == 0
    with small_disk("64k") as small:
        folder = small / "run"
        code, said = ground.call(*ground.run_arguments(str(folder), "sqlite", "--jobs", "2"))
        assert code == 3, said
        assert ("No space left on device" in said, f"sqlassay resume {folder}" in said) == (True, True), said
        finished, asked = set(ground.journalled(str(folder))), len(ground.asked())
        assert 0 < len(finished) <= len(CASES)
        subprocess.run(["mount", "-o", "remount,size=8m", str(small)], check=True)
        code, said = ground.call("resume", str(folder))
        assert code == 0, said
        assert finished.isdisjoint(ground.asked()[asked:])
        assert differences(ground.home / "undisturbed", folder) == []
    assert ground.settled() == []


def test_a_full_cache_disk_is_told(ground: Ground) -> None:
    """No room in the cache for the databases: one line that names it, exit 3; none for gold alone: said once."""
    with small_disk("4k") as small:
        code, said = ground.call(*ground.run_arguments("run", "sqlite"), XDG_CACHE_HOME=str(small))
    assert (code, "XDG_CACHE_HOME" in said) == (3, True), said
    with small_disk("24k") as small:
        code, said = ground.call(*ground.run_arguments("run", "sqlite"), XDG_CACHE_HOME=str(small))
    assert (code, said.count("gold could not be kept"), ground.verdicts("run")) == (0, 1, VERDICTS), said
    assert ground.settled() == []


@pytest.mark.parametrize("dialect", ["postgres", "sqlite"])
def test_a_change_that_fills_its_sandbox_costs_itself(ground: Ground, dialect: str) -> None:
    """A write sandbox's disk is bounded: the statement that fills it is a resource limit, the next one is judged."""
    many = "INSERT INTO t SELECT x.a, REPEAT(x.b, 9) FROM t x, t y, t z, t u, t v"
    if dialect == "sqlite":
        many = many.replace("REPEAT(x.b, 9)", "x.b")
    rows = [
        {
            "id": name,
            "question": "?",
            "snapshot": "s",
            "gold": {dialect: "DELETE FROM t WHERE a = 1"},
            "query_type": "dml",
        }
        for name in ("before", "fills", "after")
    ]
    ground.write("pack/cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    good = "DELETE FROM t WHERE a < 2 AND a > 0"
    answers = [{"case_id": name, "sql": many if name == "fills" else good} for name in ("before", "fills", "after")]
    ground.write("p.jsonl", "".join(json.dumps(row) + "\n" for row in answers))
    arguments = ["run", str(ground.pack), "--dialect", dialect, "--predictions", "p.jsonl", "--out", "run"]
    code, said = ground.call(*arguments, "--timeout", "60", timeout=240)
    found = ground.verdicts("run")
    assert (code, found["before"], found["after"]) == (0, "match", "match"), said
    assert found["fills"] in ("resource_limit", "too_many_rows", "too_many_bytes"), said
    assert ground.settled() == []
