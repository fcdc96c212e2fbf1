"""The machine's own mirrors are read from its source lists, whichever style they are written in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.errors import InfrastructureError
from sqlassay.sandboxes import apt

ROWS = rows_of("apt_sources")


@pytest.mark.parametrize("row", ROWS)
def test_mirrors_are_the_archives_of_whole_releases(row: dict[str, Any]) -> None:
    """Updates, security, sources, disabled and foreign archives are no place to build a base image from."""
    read = apt.from_deb822 if row["style"] == "deb822" else apt.from_one_line
    assert list(read(row["text"])) == row["mirrors"]


def test_both_styles_are_read_and_listed_once(tmp_path: Path) -> None:
    """One archive named in sources.list and in a .sources file counts once."""
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list").write_text("deb http://one.example/debian trixie main\n")
    (tmp_path / "sources.list.d" / "x.sources").write_text(
        "Types: deb\nURIs: http://one.example/debian http://two.example/debian\nSuites: trixie\nComponents: main\n"
    )
    assert apt.mirrors(tmp_path) == ("http://one.example/debian", "http://two.example/debian")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ID=debian\n", True),
        ('ID=ubuntu\nID_LIKE="debian"\n', True),
        ("ID=mint\nID_LIKE=ubuntu\n", True),
        ("ID=fedora\n", False),
    ],
)
def test_debian_and_its_children_are_recognised(tmp_path: Path, text: str, expected: bool) -> None:
    """Only where apt is the machine's own installer may packages be installed."""
    release = tmp_path / "os-release"
    release.write_text(text)
    assert apt.is_debian_like(release) is expected


def _apt(folder: Path, script: str) -> None:
    """Put an apt-get of ours first on the path."""
    program = folder / "apt-get"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_a_broken_third_party_source_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Refreshing the lists fails, installing works: that is enough."""
    _apt(tmp_path, f'[ "$2" = update ] && exit 100; echo "$@" > {tmp_path}/done')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    apt.install(["one", "two"])
    assert (tmp_path / "done").read_text() == "-q -y install --no-install-recommends one two\n"


def test_a_failed_installation_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command and apt's last words, so that it can be repeated by hand."""
    _apt(tmp_path, '[ "$2" = update ] && exit 0; echo first >&2; echo "E: Unable to locate package one" >&2; exit 100')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(InfrastructureError, match="one` failed: E: Unable to locate package one"):
        apt.install(["one"])
