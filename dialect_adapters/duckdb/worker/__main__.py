"""Start the worker: `python3 -m worker --data DIR --socket PATH`."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import socket
import sys
from pathlib import Path

from .files import copy_databases, own_databases
from .framing import MEBI
from .server import MAX_CHILDREN, Server, kill


def listen(options: argparse.Namespace) -> socket.socket:
    """Return the listening socket: inherited, at a path, or at a TCP port."""
    if options.listen_fd is not None:
        return socket.socket(fileno=options.listen_fd)
    if options.port:
        return socket.create_server(("0.0.0.0", options.port))  # noqa: S104 - inside a container's own network
    Path(options.socket).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    os.umask(0)  # the folder around the socket is private; the client's uid differs from ours
    listener.bind(options.socket)
    listener.listen(MAX_CHILDREN)
    return listener


def main() -> None:
    """Read the options, give up root where told, and serve."""
    parser = argparse.ArgumentParser(description="Serve DuckDB files over a framed socket.")
    parser.add_argument("--data", type=Path, required=True, help="folder with <database>.duckdb files")
    parser.add_argument("--socket", default="", help="path of the unix socket to create")
    parser.add_argument("--port", type=int, default=0, help="TCP port to listen on instead")
    parser.add_argument("--listen-fd", type=int, help="inherited listening socket to use instead")
    parser.add_argument("--control-fd", type=int, help="inherited pipe; the worker ends when it closes")
    parser.add_argument("--user", type=int, help="uid and gid to become before serving")
    parser.add_argument("--writable", action="store_true", help="the files are a private copy that writers may change")
    parser.add_argument("--copy-from", type=Path, help="folder whose files are copied into --data first")
    parser.add_argument("--memory-mb", type=int, default=768, help="address space of one session")
    options = parser.parse_args()
    listener = listen(options)
    if options.user is not None:
        os.setgroups([])
        os.setgid(options.user)
        os.setuid(options.user)
    if options.copy_from is not None:
        copy_databases(options.copy_from, options.data)
    if options.writable:
        own_databases(options.data)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    gc.freeze()
    server = Server(listener, options.data, options.memory_mb * MEBI, options.control_fd, writable=options.writable)
    server.run()
    for child in server.children.values():
        kill(child, "cancelled")
    sys.exit(0)


if __name__ == "__main__":
    main()
