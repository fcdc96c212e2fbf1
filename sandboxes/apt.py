"""Read the machine's own Debian mirrors and install packages with apt; no mirror is ever named in the project."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from sqlassay.cases.errors import InfrastructureError

_ONE_LINE = re.compile(r"^deb\s+(?:\[[^\]]*\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)\s+(?P<components>.+)$")
_NOT_MAIN = ("security", "backports", "updates")


def mirrors(root: Path = Path("/etc/apt")) -> tuple[str, ...]:
    """Return the addresses of the Debian archives this machine installs from, in the order it lists them."""
    one_line = [root / "sources.list", *sorted((root / "sources.list.d").glob("*.list"))]
    found = [uri for path in one_line if path.is_file() for uri in from_one_line(path.read_text("utf-8"))]
    for path in sorted((root / "sources.list.d").glob("*.sources")):
        found.extend(from_deb822(path.read_text("utf-8")))
    return tuple(dict.fromkeys(found))


def from_one_line(text: str) -> Iterator[str]:
    """Yield the main archives of a one-line-style source list (`deb URI SUITE COMPONENTS`)."""
    for line in text.splitlines():
        match = _ONE_LINE.match(line.split("#", 1)[0].strip())
        if match and _is_main([match["suite"]], match["components"].split()):
            yield match["uri"]


def from_deb822(text: str) -> Iterator[str]:
    """Yield the main archives of a deb822-style source file (stanzas of `Field: value`)."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", lines):
        fields = {key.lower(): value.split() for key, value in re.findall(r"(?m)^(\S+):((?:.*)(?:\n[ \t].*)*)", stanza)}
        enabled = fields.get("enabled", ["yes"])[:1] != ["no"]
        if (
            enabled
            and "deb" in fields.get("types", ())
            and _is_main(fields.get("suites", ()), fields.get("components", ()))
        ):
            yield from fields.get("uris", ())


def _is_main(suites: Iterable[str], components: Iterable[str]) -> bool:
    """Return True for an archive of whole releases with Debian's main component, not one of their updates alone."""
    return "main" in components and any(not any(part in suite for part in _NOT_MAIN) for suite in suites)


def is_debian_like(release: Path = Path("/etc/os-release")) -> bool:
    """Return True on Debian and what derives from it (Ubuntu and others)."""
    text = release.read_text("utf-8") if release.is_file() else ""
    return bool(re.search(r'(?m)^ID(_LIKE)?="?[^\n]*\b(debian|ubuntu)\b', text))


def can_install() -> bool:
    """Return True where this process may install packages with apt."""
    return is_debian_like() and os.geteuid() == 0


def install(packages: Iterable[str]) -> None:
    """Refresh apt's lists and install packages without recommendations.

    A refresh that fails is no reason to stop: one broken third-party source fails it for all.

    Raises:
        InfrastructureError: apt could not install, with its last line.
    """
    _run("apt-get", "-q", "update")
    command = ("apt-get", "-q", "-y", "install", "--no-install-recommends", *packages)
    done = _run(*command)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise InfrastructureError(
            f"`{' '.join(command)}` failed: {''.join(last)}",
            remedy="Run it by hand and check the machine's apt sources",
        )


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run one apt command without questions."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
