"""One child process of a callable agent, from the harness's side: start, exchange frames by a deadline, kill."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from sqlassay.harness.agents import child
from sqlassay.harness.agents.hiding import Veil
from sqlassay.harness.agents.masking import masked
from sqlassay.sandboxes.scratch import Scratch

_KEPT = 4096
_CHUNK = 1 << 16


class ChildError(Exception):
    """The child gave no frame: it hung, ended, or spoke out of turn. The message says which."""


class ChildTimeoutError(ChildError):
    """No whole frame came in time."""


class ChildKilledError(ChildError):
    """The child was ended by a signal that only others send, as the kernel does that runs out of memory."""


_FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGHUP})


class ChildProcess:
    """A running child with its pipes. Used by one thread at a time; any thread may kill it."""

    def __init__(self, target: str, folder: Path, env: Mapping[str, str], veil: Veil | None) -> None:
        """Start the child in an empty folder and a session of its own, with only its three pipes, behind the veil."""
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        lifeline, self._lifeline = os.pipe()
        self._log, log = os.pipe()
        self._woken, self._wake = os.pipe()
        self._scratch = Scratch("agent")
        self._ended = False
        # Held over an exchange: a descriptor that is closed under a waiting selector would never wake it.
        self._talking = threading.Lock()
        self._tail = b""
        descriptors = (requests, answers, lifeline)
        argv = [sys.executable, "-P", child.__file__, *map(str, descriptors), target, str(folder)]
        if veil is not None:
            argv = veil.command(argv, lifeline)
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._scratch.path,
                env=dict(env),
                pass_fds=descriptors,
                start_new_session=True,
            )
        except BaseException:  # whatever ends the start must not leave a process; raised again
            # An interrupt too: the lifeline's end that is closed here ends a child that started all the same.
            self._close()
            raise
        finally:
            for descriptor in (*descriptors, log):
                os.close(descriptor)
        for descriptor in (self._requests, self._answers, self._log):
            os.set_blocking(descriptor, False)

    def exchange(self, request: bytes | None, seconds: float) -> bytes:
        """Send a request (None at the start) and return the child's next frame.

        Raises:
            ChildError: no whole frame within `seconds`, a frame past the limit, or the child ended or was killed.
        """
        with self._talking:
            if self._ended:
                raise ChildError("the agent's process was ended")
            return self._exchanged(request, seconds)

    def _exchanged(self, request: bytes | None, seconds: float) -> bytes:
        """Send a request and return the next frame, while nobody closes the pipes."""
        outgoing = b"" if request is None else struct.pack("!I", len(request)) + request
        end = time.monotonic() + seconds
        answer = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            selector.register(self._log, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            if outgoing:
                selector.register(self._requests, selectors.EVENT_WRITE)
            while True:
                left = end - time.monotonic()
                if left <= 0:
                    raise ChildTimeoutError(f"no answer within {seconds:g} s")
                for key, _ in selector.select(left):
                    if key.fd == self._requests:
                        outgoing = self._write(outgoing, selector)
                    elif key.fd == self._log:
                        self._drain(selector)
                    elif key.fd == self._woken:
                        raise ChildError("the agent's process was ended")
                    elif self._read(answer):
                        return bytes(answer[4:])

    def _write(self, outgoing: bytes, selector: selectors.BaseSelector) -> bytes:
        """Write what fits and return the rest; a closed pipe shows on the reading side."""
        try:
            rest = outgoing[os.write(self._requests, outgoing[:_CHUNK]) :]
        except BrokenPipeError:
            rest = b""
        if not rest:
            selector.unregister(self._requests)
        return rest

    def _drain(self, selector: selectors.BaseSelector) -> None:
        """Keep the last of what the callable printed."""
        part = os.read(self._log, _CHUNK)
        if not part:
            selector.unregister(self._log)
        self._tail = (self._tail + part)[-_KEPT:]

    def _read(self, answer: bytearray) -> bool:
        """Take in what the child sent; True once a frame is whole."""
        part = os.read(self._answers, _CHUNK)
        if not part:
            raise self._ending()
        answer += part
        if len(answer) < 4:
            return False
        size: int = struct.unpack("!I", answer[:4])[0]
        if size > child.MAX_ANSWER:
            raise ChildError(f"an answer of {size:,} bytes is past the limit of {child.MAX_ANSWER:,}")
        if len(answer) > size + 4:
            raise ChildError("more than one answer to one request")
        return len(answer) == size + 4

    def _ending(self) -> ChildError:
        """Return the error that says how the child ended, with the last line it printed."""
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return ChildError("the agent's process closed its pipe")
        # Behind a veil another process stands between, and tells a signal as shells do.
        code = 128 - code if code > 128 else code
        with contextlib.suppress(OSError):
            self._tail = (self._tail + os.read(self._log, _CHUNK))[-_KEPT:]
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        lines = self._tail.decode("utf-8", errors="replace").strip().splitlines()
        said = f": {masked(lines[-1])[:300]}" if lines else ""
        kind = ChildKilledError if -code in _FROM_OUTSIDE else ChildError
        return kind(f"the agent's process {how}{said}")

    def kill(self) -> None:
        """End the child and everything it started, and remove its folder; idempotent, never raises."""
        if self._ended:
            return
        self._ended = True
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        os.write(self._wake, b"0")  # whoever waits for an answer leaves, even where a pipe is held open elsewhere
        self._process.wait()
        with self._talking:
            self._close()

    def _close(self) -> None:
        """Close our ends of the pipes and remove the folder."""
        for descriptor in (self._requests, self._answers, self._log, self._lifeline, self._woken, self._wake):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        self._scratch.close()
