"""One running container as a sandbox: sessions into it, its end, and whether memory was the cause."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from docker.errors import DockerException
from requests import RequestException

from sqlassay.cases.errors import SandboxLostError
from sqlassay.dialect_adapters.contract import Adapter, Endpoint, Pins, Role, Session, SessionLostError
from sqlassay.sandboxes.contract import Isolation
from sqlassay.sandboxes.docker import container
from sqlassay.sandboxes.docker.channel import Channel
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.sockets import end, in_container, listener

_KILLED = 137
_NOTICED_SECONDS = 1.0
_LOOK_SECONDS = 0.05
_VMSTAT = Path("/proc/vmstat")
_COUNTERS = (("memory", "memory.oom_control"), ("", "memory.events"))
"""Where the kernel counts killed processes, per cgroup version: controller in /proc/<pid>/cgroup, file."""


class DockerSandbox:
    """A server in a container of its own."""

    def __init__(
        self,
        engine: Engine,
        adapter: Adapter,
        made: str,
        channel: Channel,
        isolation: Isolation,
        endpoint: Endpoint,
        on_end: Callable[[str], None],
    ) -> None:
        """Own a started container; `on_end` is told its id once it is removed."""
        self.id = made
        self.endpoint = endpoint
        self.isolation = isolation
        self._engine = engine
        self._adapter = adapter
        self._channel = channel
        self._on_end = on_end
        self._ending = threading.Lock()
        self._ended = False
        self._killed = False
        self._kills_before = _kernel_kills()
        self._listener: int | None = None

    def know_listener(self) -> None:
        """Take hold of the server's own process while nothing but it has run, to end it where the engine hangs."""
        if self.endpoint.socket is not None:
            self._listener = listener(self.endpoint.socket, lambda pid: in_container(pid, self.id))

    def open(self, database: str, role: Role, pins: Pins) -> Session:
        """Log in to one snapshot database; raises SandboxLostError with the server's last words where it is gone."""
        try:
            return self._adapter.connect(self.endpoint, database, role, pins)
        except SessionLostError as fault:
            lines = container.last_lines(self._engine, self.id)
            raise SandboxLostError(
                f"the {self._adapter.name} server is gone ({fault}); its last lines: {lines}"
            ) from fault

    def died_of_memory(self) -> bool:
        """Return True where the kernel killed the server or one of its processes for memory.

        A killed backend can leave the container running with the engine's own flag unset, so the kernel's counter is
        asked first. A server that was killed and has no flag either was killed by the kernel only if that killed
        anything meanwhile: whoever else does it is to blame, not the statement that happened to run.
        """
        deadline = time.monotonic() + _NOTICED_SECONDS
        while True:
            try:
                state = self._engine.inspect(self.id)["State"]
            except (DockerException, RequestException):
                return False
            if state.get("OOMKilled") or killed_processes(int(state.get("Pid") or 0)):
                return True
            if not state.get("Running") or time.monotonic() > deadline:
                ended = state.get("ExitCode") == _KILLED and not state.get("Running") and not self._killed
                return ended and self._kernel_may_have_killed()
            time.sleep(_LOOK_SECONDS)  # the connection breaks before the engine has noticed that the server is dead

    def _kernel_may_have_killed(self) -> bool:
        """Return False where this machine's kernel has killed nothing for memory since the server started."""
        if self.endpoint.socket is None or self._kills_before is None:  # another machine's kernel, which nobody asked
            return True
        return _kernel_kills() != self._kills_before

    def kill(self) -> None:
        """Stop the server at once, past an engine that does not answer where this user may."""
        self._killed = True
        if not container.kill(self._engine, self.id) and self._listener is not None:
            end(self._listener)

    def destroy(self) -> None:
        """Remove the container and its socket folder; a second call does nothing, a failed one may be repeated."""
        with self._ending:  # one removal at a time: the second caller returns only once it is gone
            if self._ended:
                return
            self._killed = True
            handle, self._listener = self._listener, None
            if handle is not None:
                os.close(handle)
            if container.remove(self._engine, self.id):
                self._channel.remove()
                self._ended = True
                self._on_end(self.id)


def killed_processes(pid: int, proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> int:
    """Return how many processes of a container's cgroup the kernel killed for memory; 0 where it cannot be read."""
    try:
        lines = (proc / str(pid) / "cgroup").read_text("utf-8").splitlines() if pid else []
    except OSError:
        return 0
    groups = {controller: path for _, controllers, path in (line.split(":", 2) for line in lines)
              for controller in controllers.split(",")}  # fmt: skip
    return max((_count(cgroups / name / groups[name].lstrip("/") / file) for name, file in _COUNTERS if name in groups),
               default=0)  # fmt: skip


def _kernel_kills() -> int | None:
    """Return how many processes this machine's kernel has ever killed for memory, None where it does not say."""
    try:
        lines = _VMSTAT.read_text("ascii").splitlines()
    except (OSError, ValueError):
        return None
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), None)


def _count(path: Path) -> int:
    """Return the number on a counter file's `oom_kill` line."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
