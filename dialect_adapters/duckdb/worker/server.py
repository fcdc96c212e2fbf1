"""The warm parent: forks a child a session and kills what is late."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import socket
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import duckdb

from .child import KILL_GRACE, Child, limit_process
from .complaint import failure_message
from .files import Warm, recover, rehearse, room
from .framing import receive, send
from .statements import ROLES, WRITERS

FIRST_FRAME_SECONDS = 2.0
MAX_CHILDREN = 64
REMEMBERED_FATES = 256
DATABASE_NAME = r"[^./\x00][^/\x00]*"


@dataclass
class Watched:
    """A child as its parent sees it: process, pipe of deadlines, the time it must end by, why it was killed."""

    pid: int
    watch: int
    deadline: float = 0.0
    reason: str = ""


class Server:
    """The warm parent: accepts connections, forks a child a session, kills the late, remembers how each ended."""

    def __init__(
        self, listener: socket.socket, data: Path, memory: int, control: int | None, *, writable: bool = False
    ) -> None:
        """Take the listening socket, the data folder, the bytes a child may map and the pipe that ends us.

        `writable` says that the data is a private copy which a writer's session may change.
        """
        self.listener, self.data, self.memory, self.control = listener, data, memory, control
        self.writable = writable
        self.warm = Warm(self.engine_memory)
        rehearse()
        self.children: dict[str, Watched] = {}
        self.fates: dict[str, str] = {}

    @property
    def engine_memory(self) -> int:
        """Return the bytes that the engine itself may use of a child's memory."""
        return self.memory * 2 // 3

    def run(self) -> None:
        """Serve until the control pipe closes."""
        while True:
            sources: list[Any] = [self.listener, *(child.watch for child in self.children.values())]
            if self.control is not None:
                sources.append(self.control)
            ready, _, _ = select.select(sources, [], [], self.patience())
            if self.control in ready:
                return
            for token in [t for t, child in self.children.items() if child.watch in ready]:
                self.hear(token)
            self.kill_late()
            if self.listener in ready:
                self.accept()

    def patience(self) -> float | None:
        """Return the seconds until the next child is late."""
        deadlines = [child.deadline for child in self.children.values() if child.deadline]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def kill_late(self) -> None:
        """Kill every child past its deadline: an operator can run for long without hearing the engine's timer."""
        now = time.monotonic()
        for child in self.children.values():
            if child.deadline and child.deadline <= now:
                kill(child, "timeout")

    def hear(self, token: str) -> None:
        """Take a child's new deadline from its pipe, or its end."""
        child = self.children[token]
        message = os.read(child.watch, 8)
        if len(message) == 8:
            (seconds,) = struct.unpack("<d", message)
            child.deadline = time.monotonic() + seconds + KILL_GRACE if seconds else 0.0
            return
        os.close(child.watch)
        del self.children[token]
        _, status = os.waitpid(child.pid, 0)
        self.fates[token] = child.reason or fate_of(status)
        while len(self.fates) > REMEMBERED_FATES:
            del self.fates[next(iter(self.fates))]

    def accept(self) -> None:
        """Answer the first request of a new connection."""
        conn, _ = self.listener.accept()
        with conn:
            conn.settimeout(FIRST_FRAME_SECONDS)
            with contextlib.suppress(OSError, ValueError, KeyError):
                request = receive(conn)
                if request is not None:
                    conn.settimeout(None)
                    self.answer(conn, request)

    def answer(self, conn: socket.socket, request: dict[str, Any]) -> None:
        """Open a session, or say or do what another session's client asks."""
        match request["op"]:
            case "open":
                self.open(conn, request)
            case "ping":
                send(conn, {"version": duckdb.__version__})
            case "cancel" if child := self.children.get(request["token"]):
                kill(child, "cancelled")
            case "fate":
                send(conn, {"fate": self.fate(str(request["token"]))})

    def fate(self, token: str) -> str:
        """Return how a session ended, waiting a moment for a child that is just ending."""
        until = time.monotonic() + 1
        while token in self.children and time.monotonic() < until:
            if select.select([self.children[token].watch], [], [], 0.1)[0]:
                self.hear(token)
        return self.fates.get(token, "unknown")

    def open(self, conn: socket.socket, request: dict[str, Any]) -> None:
        """Fork the child of a new session."""
        path = self.data / f"{request['database']}.duckdb"
        if not re.fullmatch(DATABASE_NAME, str(request["database"])) or not path.is_file():
            return send(conn, {"error": "error", "message": "no such database"})
        if request["role"] not in (ROLES if self.writable else set(ROLES) - set(WRITERS)):
            return send(conn, {"error": "error", "message": "this worker serves no such role"})
        if len(self.children) >= MAX_CHILDREN:
            return send(conn, {"error": "error", "message": "too many sessions"})
        opened = None if self.writable else self.warm.held(path)
        watch, report = os.pipe()
        token = os.urandom(16).hex()
        pid = os.fork()
        if pid == 0:
            self.become_child(conn, report, path, token, request, opened)
        os.close(report)
        self.children[token] = Watched(pid, watch)
        return None

    def become_child(
        self,
        conn: socket.socket,
        report: int,
        path: Path,
        token: str,
        request: Any,
        opened: duckdb.DuckDBPyConnection | None,
    ) -> NoReturn:
        """Drop what belongs to the parent, take on limits, serve one session and end."""
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self.listener.close()
            for child in self.children.values():
                os.close(child.watch)  # the control pipe stays: whoever holds its other end sees when we all are gone
            role = str(request["role"])
            if self.writable:
                recover(path, self.engine_memory)
            writes = role in WRITERS or (self.writable and role == "harness")
            limit_process(self.memory, room(path.parent) if writes else 0)
            send(conn, {"token": token})
            visible = frozenset(map(str, request["visible"])) if role == "guest" else None
            clock = str(request.get("clock") or "")
            own = Child(conn, report, path, role, clock, self.engine_memory, opened, visible)
            own.serve(trusts=self.writable)
        except Exception as error:  # noqa: BLE001 - a child must end here, never run on in the parent's loop
            with contextlib.suppress(OSError):
                send(conn, {"error": "error", "message": failure_message(error)})
        finally:
            os._exit(0)


def kill(child: Watched, reason: str) -> None:
    """Kill a child once and note why."""
    child.deadline, child.reason = 0.0, child.reason or reason
    os.kill(child.pid, signal.SIGKILL)


def fate_of(status: int) -> str:
    """Return what a child's exit status means: a signal we did not send is a limit it ran into."""
    if not os.WIFSIGNALED(status):
        return "closed"
    return "timeout" if os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGXCPU) else "resource_limit"
