"""Who a sandbox belongs to, written on it as labels, so that a later run can tell a dead run's from a live one's."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PREFIX = "io.sqlassay"
RUN = f"{PREFIX}.run"
"""The label every sandbox carries; its value is the run id."""

_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Owner:
    """The run and process that started a sandbox, where its lock and folder are, and when anyone may remove it."""

    run_id: str
    host: str
    pid: int
    started: str
    lock: str
    expires: float
    folder: str = ""

    def labels(self) -> dict[str, str]:
        """Return the labels to put on a container or network."""
        return {
            RUN: self.run_id,
            f"{PREFIX}.host": self.host,
            f"{PREFIX}.pid": str(self.pid),
            f"{PREFIX}.started": self.started,
            f"{PREFIX}.lock": self.lock,
            f"{PREFIX}.expires": str(self.expires),
            f"{PREFIX}.folder": self.folder,
        }


def owner(run_id: str, lock: Path, now: float, *, hours: float, folder: str = "") -> Owner:
    """Return this process as the owner of a sandbox that expires `hours` after `now`."""
    pid = os.getpid()
    expires = now + hours * _HOUR
    return Owner(run_id, host_identity(), pid, process_start(pid) or "", str(lock), expires, folder)


def read(labels: Mapping[str, str]) -> Owner | None:
    """Return the owner written in labels, or None where they are not ours or damaged (then we touch nothing)."""
    try:
        return Owner(
            run_id=labels[RUN],
            host=labels[f"{PREFIX}.host"],
            pid=int(labels[f"{PREFIX}.pid"]),
            started=labels[f"{PREFIX}.started"],
            lock=labels[f"{PREFIX}.lock"],
            expires=float(labels[f"{PREFIX}.expires"]),
            folder=labels.get(f"{PREFIX}.folder", ""),
        )
    except (KeyError, ValueError):
        return None


@cache
def host_identity() -> str:
    """Return what tells this machine, this boot and this process namespace from any other sharing an engine."""
    parts = [socket.gethostname(), _text(Path("/proc/sys/kernel/random/boot_id"))]
    try:
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        parts.append("")
    return "/".join(parts)


def process_start(pid: int) -> str | None:
    """Return a process's start time in clock ticks since boot, or None where it is gone (or /proc is absent)."""
    text = _text(Path(f"/proc/{pid}/stat"))
    return text.rpartition(")")[2].split()[19] if text else None


def _text(path: Path) -> str:
    """Return a small file's text, or nothing where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
