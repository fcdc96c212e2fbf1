"""Reach the container engine: its address as testcontainers resolves it, its client, and what it can share."""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import docker
import requests
from docker.errors import DockerException

from sqlassay.cases.errors import EngineUnavailableError

START_LINE = "Start it, or run `make engine` (Debian and Ubuntu, as root) to install and start one"

FORBIDDEN_LINE = "Join the docker group (`sudo usermod -aG docker $USER`, then log in again), or run as root"


_KNOCK_SECONDS = 10.0
_OWN = ("/run/user/{uid}/docker.sock", "/run/user/{uid}/podman/podman.sock")
"""Where an engine listens that a user runs without root."""


class EngineForbiddenError(EngineUnavailableError):
    """An engine is there and this user may not use it: to start another one would be wrong."""


@dataclass(frozen=True)
class Engine:
    """A reachable engine: its low-level client, its address and the host its published ports are on."""

    api: docker.APIClient
    address: str
    host: str

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Return what the engine says about itself (`docker info`), asked once."""
        return dict(self.api.info())

    def inspect(self, container: str) -> dict[str, Any]:
        """Return the engine's description of a container."""
        described: dict[str, Any] = self.api.inspect_container(container)
        return described

    @property
    def shares_sockets(self) -> bool:
        """Return True where a unix socket in a bind mount works: a Linux engine on this very kernel and file tree."""
        desktop = "desktop" in str(self.facts.get("OperatingSystem", "")).lower()
        return sys.platform == "linux" and not desktop and _is_visible_peer(self.address)


def _is_visible_peer(address: str) -> bool:
    """Return True where the engine behind a unix socket is a process we can see: from inside a container it is not."""
    if not address.startswith("unix://"):
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(address.removeprefix("unix://"))
            pid, _, _ = struct.unpack("3i", probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        except OSError:
            return False
    return bool(pid)


def connect(timeout: int = 60) -> Engine:
    """Return the engine that DOCKER_HOST, testcontainers' properties or the Docker context name.

    Where they name none, one that this user runs without root comes before the machine's own.

    Raises:
        EngineUnavailableError: nothing answers there, in one line.
    """
    # Imported here: it costs 0.4 s, which commands that start no container must not pay.
    from testcontainers.core.docker_client import DockerClient, get_docker_host

    named = get_docker_host()
    own = "" if named else _own_engine()
    address = named or own or "unix:///var/run/docker.sock"
    _knock(address)
    try:
        if own:
            reached = docker.DockerClient(base_url=own, timeout=timeout)
            reached.ping()
            return Engine(reached.api, own, "localhost")
        client = DockerClient(timeout=timeout)
        client.client.api.ping()
    except (DockerException, requests.RequestException, OSError, ValueError) as fault:
        raise _unavailable(address) from fault
    return Engine(client.client.api, address, client.host())


def _own_engine() -> str:
    """Return the address of an engine that this user runs without root, where one answers."""
    user = os.getuid() if sys.platform == "linux" else 0
    for place in _OWN if user else ():
        address = f"unix://{place.format(uid=user)}"
        try:
            _knock(address)
        except EngineUnavailableError:
            continue
        return address
    return ""


def _knock(address: str) -> None:
    """Raise where nothing answers on a unix socket in time.

    The client would leave its own socket open where nothing listens, and would wait for ever for an engine that sends a
    byte now and then: its deadline is one for each read.
    """
    if not address.startswith("unix://"):
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(address.removeprefix("unix://"))
            probe.sendall(b"GET /_ping HTTP/1.0\r\nHost: engine\r\nConnection: close\r\n\r\n")
            _first_line(probe)
        except TimeoutError as fault:
            message = (
                f"no container engine answers at {address} within {_KNOCK_SECONDS:g} s, though something listens there"
            )
            raise EngineUnavailableError(message, remedy="Restart the engine") from fault
        except PermissionError as fault:
            message = f"a container engine is at {address}, but this user may not open it"
            raise EngineForbiddenError(message, remedy=FORBIDDEN_LINE) from fault
        except OSError as fault:
            raise _unavailable(address) from fault


def _first_line(probe: socket.socket) -> None:
    """Read the first line of an answer.

    Raises:
        TimeoutError: it is not whole in time, however often a byte comes.
    """
    deadline, answer = time.monotonic() + _KNOCK_SECONDS, b""
    while b"\n" not in answer and len(answer) < 1000:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        probe.settimeout(left)
        part = probe.recv(1000)
        if not part:
            return
        answer += part


def _unavailable(address: str) -> EngineUnavailableError:
    """Return that no engine was reached, and what to do."""
    return EngineUnavailableError(f"no container engine answers at {address}", remedy=START_LINE)
