"""Looks the locked packages up among known vulnerabilities: `python tests/tools/audit.py VENV LOCK…` (`make audit`).

A finding fails. A service that is not reached is said in one line and fails nothing: builds work without a network.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
import venv
from collections.abc import Sequence
from pathlib import Path

SERVICE = "https://api.osv.dev/v1/query"
_QUESTION = b'{"package": {"name": "pip", "ecosystem": "PyPI"}, "version": "0"}'
_PATIENCE = 5.0
_LONGEST = 300
_LOCK = Path(__file__).parents[2] / "requirements" / "audit.txt"


def reachable(service: str = SERVICE, patience: float = _PATIENCE) -> bool:
    """Return whether the vulnerability service answers a question as it should, in time."""
    request = urllib.request.Request(service, data=_QUESTION)
    try:
        with urllib.request.urlopen(request, timeout=patience) as answer:
            return isinstance(json.load(answer), dict)
    except (OSError, ValueError):  # no name, no route, refused, late, or a gateway's page in its place
        return False


def findings(report: str) -> list[str]:
    """Return one line for each vulnerability of a pip-audit report, and for each package it had to leave out.

    Raises:
        ValueError: it is no such report.
    """
    lines = []
    for package in json.loads(report)["dependencies"]:
        name = package["name"]
        if reason := package.get("skip_reason"):
            lines.append(f"{name}: not looked up: {reason}")
        for found in package.get("vulns", ()):
            fixed = ", ".join(found["fix_versions"]) or "no version yet"
            lines.append(f"{name} {package['version']}: {found['id']}, fixed in {fixed}")
    return lines


def audit(program: Sequence[str], lock: Path) -> list[str]:
    """Return what a run of pip-audit over one lock file found.

    Raises:
        ValueError: it wrote no report.
    """
    options = ("--vulnerability-service", "osv", "--require-hashes", "--disable-pip", "--progress-spinner", "off")
    command = (*program, *options, "--format", "json", "--requirement", str(lock))
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_LONGEST)
    try:
        return findings(done.stdout)
    except ValueError as fault:
        raise ValueError((done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]) from fault


def _installed(folder: Path) -> Path:
    """Return pip-audit in an environment of its own, installed from its lock file where it is not there yet."""
    program = folder / "bin" / "pip-audit"
    if not program.exists():
        venv.create(folder, with_pip=True)
        pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        subprocess.run((*pip, "--require-hashes", "-r", _LOCK), check=True)
    return program


def main(folder: str, *locks: str) -> int:
    """Audit every lock file; 1 where anything was found."""
    if not reachable():
        print(f"audit: {SERVICE} is not reached, so nothing was looked up among known vulnerabilities; going on")
        return 0
    program = str(_installed(Path(folder)))
    try:
        found = sorted({line for lock in locks for line in audit((program,), Path(lock))})
    except (ValueError, subprocess.TimeoutExpired) as fault:
        print(f"audit: pip-audit gave no report: {fault}")
        return 1 if reachable() else 0
    print("\n".join(found) or f"audit: no known vulnerability in {len(locks)} lock files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
