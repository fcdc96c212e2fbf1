"""The faults that are ours or the user's, never the agent's: every one carries what, where and the remedy."""

from __future__ import annotations

from pathlib import Path

from sqlassay.cases.verdicts import ExitCode

LINE = 600


class SqlassayError(Exception):
    """A fault that ends a command with one clear line and its own exit code."""

    exit_code: ExitCode = ExitCode.INFRASTRUCTURE

    def __init__(self, message: str, *, remedy: str = "") -> None:
        """Keep what happened and what to do about it apart, so each report can lay them out."""
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the one line a person reads: what happened, then what to do."""
        return f"{self.message}. {self.remedy}" if self.remedy else self.message


class InputError(SqlassayError):
    """Bad usage or a bad input file (exit code 2): names file, line, field and remedy."""

    exit_code = ExitCode.INPUT

    def __init__(
        self,
        message: str,
        *,
        file: Path | str | None = None,
        line: int | None = None,
        field: str | None = None,
        remedy: str,
    ) -> None:
        """Build the `file:line:field: message` line; parts that are unknown are left out."""
        place = ":".join(str(part) for part in (file, line, field) if part is not None)
        text = f"{place}: {message}" if place else message
        super().__init__("\n".join(_clipped(line) for line in text.split("\n")), remedy=remedy)
        self.file = None if file is None else str(file)
        self.line = line
        self.field = field


def _clipped(line: str) -> str:
    """Shorten a line that repeats what a file holds; the mark says that something was left out."""
    return line if len(line) <= LINE else f"{line[: LINE // 2]} … {line[-LINE // 3 :]}"


class InfrastructureError(SqlassayError):
    """Something of ours failed (exit code 3): engine, image, sandbox, disk. Never scored as the agent's."""


class EngineUnavailableError(InfrastructureError):
    """No container engine answers; the remedy is the line that brings one up."""


class RunEndsError(InfrastructureError):
    """No statement is to blame and the next one would fare no better: the run ends here and can be resumed."""


class SandboxStartError(RunEndsError):
    """A sandbox does not come up."""


class ParserStartError(RunEndsError):
    """The parser's process does not start, or is lost again and again."""


class ParserLostError(InfrastructureError):
    """The parser's process was killed or stopped from outside while it read a text; the text is not to blame."""


class SandboxLostError(InfrastructureError):
    """A sandbox died under a statement that is not to blame; the statement may be run again on a fresh one."""


class GoldBrokenError(SqlassayError):
    """A reference query failed: the case is a gold_error and leaves the denominator."""
