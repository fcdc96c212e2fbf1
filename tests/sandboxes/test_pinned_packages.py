"""Where a suite's Release file has expired, the packages that are pinned serve, and no others."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest

from sqlassay.cases.errors import InfrastructureError
from sqlassay.dialect_adapters.contract import DebianSource
from sqlassay.dialect_adapters.mysql.recipe import RECIPE as MYSQL
from sqlassay.sandboxes.images.debian import _unpack

SOURCE = DebianSource("sid", ("thing",), "/usr/bin")
FRESH = """#!/bin/sh
echo "$@" >> {folder}/asked
for one in "$@"; do case "$one" in --extract-hook=*) hook="${{one#--extract-hook=}}" ;; esac; done
if [ -z "$hook" ] && [ -e {folder}/expired ]; then
  echo "E: Release file for http://mirror/dists/sid/InRelease is expired (invalid since 22d)." >&2
  echo "E: apt-get update failed" >&2
  exit 25
fi
[ -z "$hook" ] || sh -c "$hook" exec {folder}/root
"""
"""A stand-in for the tool: it stops at an expired suite as apt does, and runs the hook where it is told not to."""


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the stand-in, and one package that it downloads."""
    program = tmp_path / "bin" / "mmdebstrap"
    program.parent.mkdir()
    program.write_text(FRESH.format(folder=tmp_path))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    archives = tmp_path / "root" / "var/cache/apt/archives"
    archives.mkdir(parents=True)
    (archives / "thing_1_amd64.deb").write_bytes(b"a package")
    return tmp_path


def _pins(folder: Path, content: bytes = b"a package") -> Path:
    """Write the pin of the one package."""
    pinned = folder / "packages.txt"
    pinned.write_text(f"{hashlib.sha256(content).hexdigest()}  thing_1_amd64.deb\n")
    return pinned


def test_a_suite_within_its_date_needs_no_pin(tool: Path) -> None:
    """Its signed Release file says which packages are its newest."""
    said: list[str] = []
    _unpack(SOURCE, "http://mirror", tool / "full.tar", _pins(tool, b"another"), said.append)
    (asked,) = (tool / "asked").read_text().splitlines()
    assert "Check-Valid-Until" not in asked
    assert said == []


def test_an_expired_suite_gives_what_is_pinned(tool: Path) -> None:
    """Its date alone is passed over, signatures are not, and the notice says so."""
    (tool / "expired").touch()
    said: list[str] = []
    _unpack(SOURCE, "http://mirror", tool / "full.tar", _pins(tool), said.append)
    first, second = (tool / "asked").read_text().splitlines()
    assert "Check-Valid-Until" not in first
    assert '--aptopt=Acquire::Check-Valid-Until "false"' in second
    assert "trusted" not in second
    assert said == ["the mirror's sid is past its date: taking the packages pinned in packages.txt alone"]


def test_another_package_of_an_expired_suite_is_refused(tool: Path) -> None:
    """By name and digest: an old Release file may vouch for a package with a hole that was closed since."""
    (tool / "expired").touch()
    found = hashlib.sha256(b"a package").hexdigest()[:12]
    with pytest.raises(
        InfrastructureError, match=rf"thing_1_amd64\.deb \({found}\) is not pinned, and the Release file"
    ):
        _unpack(SOURCE, "http://mirror", tool / "full.tar", _pins(tool, b"another"), list[str]().append)
    with pytest.raises(InfrastructureError, match="could not unpack thing: E: Release file for .* is expired"):
        _unpack(SOURCE, "http://mirror", tool / "full.tar", None, list[str]().append)


def test_no_package_at_all_is_not_what_was_pinned(tool: Path) -> None:
    """An empty list proves nothing."""
    (tool / "expired").touch()
    for package in (tool / "root" / "var/cache/apt/archives").iterdir():
        package.write_bytes(b"")
        package.rename(package.with_suffix(".txt"))
    with pytest.raises(InfrastructureError):
        _unpack(SOURCE, "http://mirror", tool / "full.tar", _pins(tool), list[str]().append)


def test_mysql_s_packages_are_pinned() -> None:
    """Each by its digest, and the server is among them; its recipe passes over no date by itself."""
    assert MYSQL.pinned is not None
    lines = MYSQL.pinned.read_text("utf-8").splitlines()
    assert [line for line in lines if not re.fullmatch(r"[0-9a-f]{64}  [a-z0-9.+-]+_\S+_(all|amd64)\.deb", line)] == []
    names = {line.split()[1].partition("_")[0] for line in lines}
    assert {*MYSQL.debian.packages, "dash", "coreutils"} <= names
    assert MYSQL.debian.apt_options == ()
