"""Make standard output and error safe to write to, whoever closed, filled or left them."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_OUTPUT, _ERRORS = 1, 2


class _Left(io.FileIO):
    """A stream's file that may stop taking what is written: the rest goes nowhere, so that nothing fails at exit."""

    def write(self, data: ReadableBuffer, /) -> int:
        """Write; where the reader has left (`| head`), or errors cannot be told, the work and its exit code stand.

        Raises:
            OSError: standard output takes no more for another reason, such as a full disk.
        """
        try:
            return super().write(data)
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if self.fileno() == _ERRORS or isinstance(error, BrokenPipeError):
                return memoryview(data).nbytes
            raise


def prepare() -> None:
    """Open what of the three streams is closed, and make the two written ones outlive their reader."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is given: else the next file that is opened would get what is printed.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout = _outliving(sys.stdout, _OUTPUT)
    sys.stderr = _outliving(sys.stderr, _ERRORS)


def _outliving(stream: TextIO | None, number: int) -> TextIO:
    """Return a stream on the same file that survives its reader and any encoding."""
    encoding = stream.encoding if stream is not None else "utf-8"
    buffered = io.BufferedWriter(_Left(number, "w", closefd=False))
    line_wise = number == _ERRORS or os.isatty(number)
    return io.TextIOWrapper(buffered, encoding, "backslashreplace", line_buffering=line_wise)
