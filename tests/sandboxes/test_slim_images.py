"""A Debian system is cut down to its programs, what they load and what they read, always to the same bytes."""

from __future__ import annotations

import gzip
import io
import shutil
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from sqlassay.dialect_adapters.contract import DebianSource
from sqlassay.dialect_adapters.postgres.recipe import RECIPE
from sqlassay.sandboxes.images.elf import needed
from sqlassay.sandboxes.images.slim import reduce

SHELL = Path(shutil.which("sh") or "/bin/sh").resolve()
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads this machine's own ELF programs")


def _library() -> Path:
    """Return this machine's C library."""
    lines = Path("/proc/self/maps").read_text("utf-8").splitlines()
    return Path(next(line.split()[-1] for line in lines if "/libc.so.6" in line or "/libc-" in line))


def _archive(path: Path, mtime: int) -> None:
    """Write a small unpacked system: a shell, its library behind a link, data, and what nobody needs."""
    changelog = gzip.compress(b"thing (2:17.4-1+deb13u1) trixie; urgency=medium\n")
    files = {
        "./usr/bin/dash": SHELL.read_bytes(),
        "./usr/bin/cp": SHELL.read_bytes(),
        "./usr/bin/thingd": SHELL.read_bytes(),
        "./usr/lib/x/libc-real.so": _library().read_bytes(),
        "./usr/lib/x/unneeded.so": b"\x7fELF junk",
        "./usr/share/thing/a.sql": b"select 1",
        "./usr/share/thing/b.sql": b"select 2",
        "./usr/share/doc/thing/changelog.Debian.gz": changelog,
    }
    with tarfile.open(path, "w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime, entry.mode, entry.uname = len(data), mtime, 0o755, "someone"
            archive.addfile(entry, io.BytesIO(data))
        link = tarfile.TarInfo("./usr/lib/x/libc.so.6")
        link.type, link.linkname, link.mtime = tarfile.SYMTYPE, "libc-real.so", mtime
        archive.addfile(link)


SOURCE = DebianSource(
    suite="trixie", packages=("thing",), bin_dir="/usr/bin", programs=("thingd",),
    keep=("/usr/share/thing/*",), drop=("usr/share/thing/b.sql",),
)  # fmt: skip


def _reduced(tmp_path: Path, mtime: int = 7) -> Path:
    """Return the cut-down archive."""
    full, slim = tmp_path / f"full-{mtime}.tar", tmp_path / f"slim-{mtime}.tar"
    _archive(full, mtime)
    assert reduce(full, slim, replace(RECIPE, debian=SOURCE)) == "17.4"
    return slim


def test_only_programs_libraries_and_kept_data_stay(tmp_path: Path) -> None:
    """A library stays through its link, dropped and unneeded files go."""
    with tarfile.open(_reduced(tmp_path)) as slim:
        names = set(slim.getnames())
    assert {
        "usr/bin/thingd",
        "usr/bin/dash",
        "usr/bin/cp",
        "usr/lib/x/libc.so.6",
        "usr/lib/x/libc-real.so",
        "usr/share/thing/a.sql",
    } <= names
    assert not {"usr/lib/x/unneeded.so", "usr/share/thing/b.sql", "usr/share/doc/thing/changelog.Debian.gz"} & names
    assert {"bin", "lib", "usr/bin/sh", "etc/passwd", "tmp"} <= names


def test_the_server_s_user_is_known_by_number(tmp_path: Path) -> None:
    """Initdb and mysqld look their user up; its folders are owned by uid, never by a name of this machine."""
    with tarfile.open(_reduced(tmp_path)) as slim:
        passwd = slim.extractfile("etc/passwd")
        assert passwd is not None
        assert f"sqlassay:x:{RECIPE.uid}:" in passwd.read().decode()
        home = slim.getmember("var/lib/sqlassay")
        assert (home.uid, home.uname) == (RECIPE.uid, "")


def test_the_same_packages_give_the_same_bytes(tmp_path: Path) -> None:
    """Unpack times do not change the image, so its digest keys snapshots on every machine alike."""
    assert _reduced(tmp_path, 1).read_bytes() == _reduced(tmp_path, 2).read_bytes()


def test_a_missing_program_is_named(tmp_path: Path) -> None:
    """A package that moved its program is found at build time."""
    _archive(tmp_path / "full.tar", 1)
    recipe = replace(RECIPE, debian=replace(SOURCE, programs=("gone",)))
    with pytest.raises(KeyError, match="usr/bin/gone"):
        reduce(tmp_path / "full.tar", tmp_path / "slim.tar", recipe)


def test_a_program_names_its_loader_and_libraries() -> None:
    """The shell of any Linux needs a C library and a loader, read from its bytes alone."""
    names = needed(SHELL.read_bytes())
    assert "libc.so.6" in names
    assert any(name.startswith("ld-") for name in names)


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", bytes(range(128, 192))])
def test_what_is_no_program_needs_nothing(data: bytes) -> None:
    """Scripts and data have no libraries."""
    assert needed(data) == ()
