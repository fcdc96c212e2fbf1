"""Bring up a container engine where none answers: install it, start it once, wait for it, and say so."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from sqlassay.cases.errors import EngineUnavailableError, SqlassayError
from sqlassay.cases.verdicts import ExitCode
from sqlassay.sandboxes import apt
from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.contract import Notice
from sqlassay.sandboxes.locks import exclusive

EnginePolicy = Literal["auto", "ask", "none"]
PACKAGES = ("docker.io", "iptables", "mmdebstrap")
"""The engine, what it needs to publish ports, and the tool that builds base images where no registry is reached."""

_START_SECONDS = 60
_PID_FILES = (Path("/var/run/docker.pid"), Path("/run/docker.pid"))
_OWNERS = {
    **dict.fromkeys(_PID_FILES, "dockerd"),
    Path("/var/run/docker/containerd/containerd.pid"): "containerd",
}
"""Which program each pid file speaks of."""


def ensure_engine(policy: EnginePolicy, notice: Notice) -> None:
    """Return once a container engine answers, installing and starting one where policy and machine allow.

    `auto` asks on a terminal; without one it changes the machine for CI and for make alone. `ask` always needs one,
    `none` never changes it.

    Raises:
        EngineUnavailableError: none answers and none may be started, with one line of what to do.
    """
    unavailable = _unavailable()
    if unavailable is None:
        return
    _refuse_unless_allowed(policy, unavailable)
    with exclusive(cache_dir() / "locks", "engine"):
        if _unavailable() is None:
            return
        _bring_up(notice)


def _unavailable() -> EngineUnavailableError | None:
    """Return why no engine can be reached, or None where one answers."""
    from sqlassay.sandboxes.docker.client import connect

    try:
        connect(timeout=10).api.close()
    except EngineUnavailableError as fault:
        return fault
    return None


def _refuse_unless_allowed(policy: EnginePolicy, fault: EngineUnavailableError) -> None:
    """Raise unless this process may install and start the machine's own engine."""
    from sqlassay.sandboxes.docker.client import EngineForbiddenError

    if isinstance(fault, EngineForbiddenError):
        raise fault
    if "DOCKER_HOST" in os.environ:
        raise EngineUnavailableError(fault.message, remedy="Start that engine, or unset DOCKER_HOST")
    if policy == "none":
        raise fault
    if not apt.is_debian_like() and shutil.which("dockerd") is None:
        raise EngineUnavailableError(fault.message, remedy="Install and start Docker or Podman")
    if os.geteuid() != 0:
        raise EngineUnavailableError(fault.message, remedy="Start Docker, or run `make engine` as root")
    interactive = sys.stdin is not None and sys.stdin.isatty()
    if not interactive and (policy == "ask" or not _meant()):
        raise EngineUnavailableError(fault.message, remedy="Run `make engine ENGINE=auto`, or answer on a terminal")
    if interactive and not _agreed():
        raise EngineUnavailableError(fault.message, remedy="Start Docker yourself, or agree next time")


def _meant() -> bool:
    """Return whether whoever runs us without a terminal said that a machine may be changed: CI does, and make."""
    return any(os.environ.get(name) for name in ("CI", "MAKELEVEL"))


def _agreed() -> bool:
    """Ask the person at the terminal whether a root daemon may be started."""
    step = "start dockerd" if shutil.which("dockerd") else f"install {', '.join(PACKAGES)} and start dockerd"
    sys.stderr.write(f"No container engine answers. May I {step} as root? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _bring_up(notice: Notice) -> None:
    """Install the engine where it is missing, start it unless one runs already, and wait until it answers."""
    if shutil.which("dockerd") is None:
        notice(f"installing {', '.join(PACKAGES)}, about 30 s")
        apt.install(PACKAGES)
    log = cache_dir() / "dockerd.log"
    if _running_daemon() is None:
        notice("starting the container engine, about 10 s")
        _start(log)
    else:
        notice("waiting for the container engine that is starting, about 10 s")
    deadline = time.monotonic() + _START_SECONDS
    while _unavailable() is not None:
        if time.monotonic() > deadline:
            raise EngineUnavailableError(
                f"the container engine did not answer within {_START_SECONDS} s: {_last_line(log)}",
                remedy=f"Read {log}; in a container without privileges no engine can run",
            )
        time.sleep(0.25)
    notice("the container engine answers")


def _running_daemon() -> int | None:
    """Return the pid of a dockerd on this machine: a second one would remove the first one's network."""
    for path in _PID_FILES:
        if path.is_file() and _is_dockerd(path.read_text("utf-8").strip()):
            return int(path.read_text("utf-8"))
    return next((int(path.name) for path in Path("/proc").glob("[0-9]*") if _is_dockerd(path.name)), None)


def _is_dockerd(pid: str) -> bool:
    """Return True where the process of that id is a dockerd."""
    return _command(pid) == "dockerd"


def _command(pid: str) -> str:
    """Return the name of the program a process runs, empty where there is none, or one that has ended already."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text("utf-8").partition("(")[2].rpartition(")")
    except OSError:
        return ""
    # One that nobody has collected keeps its id and its name for as long as its parent does not ask.
    return "" if rest.split()[:1] in (["Z"], ["X"]) else name


def _drop_stale_pids(files: Mapping[Path, str]) -> None:
    """Remove pid files of daemons that were killed: a new one believes them where another process has that id now."""
    for path, name in files.items():
        try:
            pid = path.read_text("utf-8").strip()
            if not pid.isdigit() or _command(pid) != name:
                path.unlink()
        except OSError:
            continue


def _start(log: Path) -> None:
    """Start the daemon so that it outlives this process: by systemd where that runs, else detached."""
    if Path("/run/systemd/system").is_dir():
        subprocess.run(("systemctl", "start", "docker"), check=False, capture_output=True)
        return
    _drop_stale_pids(_OWNERS)
    with log.open("ab") as stream:
        subprocess.Popen(("dockerd",), stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True)


def _last_line(log: Path) -> str:
    """Return the last line the daemon wrote, for the error."""
    lines = log.read_text("utf-8", "replace").splitlines() if log.is_file() else []
    return lines[-1] if lines else "it wrote no log"


def main() -> int:
    """Bring up the engine for `make engine`; the policy is the first argument (default auto)."""
    policy = sys.argv[1] if len(sys.argv) > 1 else "auto"
    if policy not in ("auto", "ask", "none"):
        sys.stderr.write(f"ENGINE is auto, ask or none, not '{policy}'\n")
        return int(ExitCode.INPUT)
    try:
        ensure_engine("auto" if policy == "auto" else "ask" if policy == "ask" else "none", _print)
    except SqlassayError as fault:
        sys.stderr.write(f"{fault}\n")
        return int(fault.exit_code)
    return 0


def _print(line: str) -> None:
    """Print one phase line."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
