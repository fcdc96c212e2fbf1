"""The one way into a container: a unix socket in a private folder, or a port where a socket cannot be shared."""

from __future__ import annotations

import posixpath
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sqlassay.cases.errors import InfrastructureError
from sqlassay.dialect_adapters.contract import Endpoint, ServerRecipe
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.scratch import Scratch
from sqlassay.sandboxes.sockets import close_folder, open_folder

Transport = Literal["auto", "socket", "port"]

_LONGEST_SOCKET = 100
"""A unix socket's path may have 107 bytes; some clients add a few of their own."""

FOLDER_PREFIX = "sqlassay-"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Channel:
    """Where the server will be reached: `folder` holds the socket, or `network` publishes the port (never both)."""

    recipe: ServerRecipe
    folder: Path | None = None
    network: str = ""
    host: str = ""
    scratch: Scratch | None = field(default=None, repr=False, compare=False)

    @property
    def describe(self) -> str:
        """Return what the network looks like from inside, for the report."""
        if self.folder is not None:
            return "none"
        return f"bridge without a way out, one port published on {self.host}"

    def settings(self) -> dict[str, Any]:
        """Return the part of a container's host configuration that this channel decides."""
        if self.folder is not None:
            inside = posixpath.dirname(self.recipe.socket)
            return {"network_mode": "none", "binds": {str(_shared(self.folder)): {"bind": inside, "mode": "rw"}}}
        address = "127.0.0.1" if self.host in _LOOPBACK else ""
        return {"network_mode": self.network, "port_bindings": {self.recipe.port: (address, None)}}

    def options(self) -> tuple[str, ...]:
        """Return the extra server arguments this channel needs."""
        return () if self.folder is not None else self.recipe.tcp_options

    def endpoint(self, engine: Engine, container: str, password: str) -> Endpoint:
        """Return where the started container listens.

        Raises:
            InfrastructureError: the engine published no port.
        """
        if self.folder is not None:
            return Endpoint(_shared(self.folder) / posixpath.basename(self.recipe.socket), password=password)
        ports = engine.inspect(container)["NetworkSettings"]["Ports"].get(f"{self.recipe.port}/tcp")
        if not ports:
            raise InfrastructureError(
                f"the engine published no port for {self.recipe.dialect}", remedy="Check that iptables is installed"
            )
        return Endpoint(None, self.host, int(ports[0]["HostPort"]), password)

    def open(self) -> None:
        """Let a server that is about to start make its socket."""
        if self.folder is not None:
            open_folder(_shared(self.folder))

    def close(self) -> None:
        """Leave a server that has started nothing to write in but what its container bounds."""
        if self.folder is not None:
            close_folder(_shared(self.folder))

    def remove(self) -> None:
        """Remove the socket's folder."""
        if self.scratch is not None:
            self.scratch.close()


def socket_channel(recipe: ServerRecipe) -> Channel:
    """Return a channel through a new folder that only this user can enter; the server makes its socket inside."""
    scratch = Scratch(root=_short_root(posixpath.basename(recipe.socket)))
    return Channel(recipe, scratch.folder, scratch=scratch)


def _shared(folder: Path) -> Path:
    """Return the inner folder that is mounted: open to the server's user, behind one that is closed to all others."""
    return folder / "s"


def _short_root(name: str) -> str:
    """Return a folder for temporary files short enough for a unix socket's path."""
    roots = (tempfile.gettempdir(), "/tmp")  # noqa: S108 - the folder made in it is private
    return next((root for root in roots if len(f"{root}/{FOLDER_PREFIX}12345678/s/{name}") <= _LONGEST_SOCKET), "/tmp")  # noqa: S108
