"""The command `sqlassay`: finds the command's file by name, and turns every fault into one line and an exit code."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from importlib import import_module
from types import FrameType
from typing import Any

import click

from sqlassay.harness.cli.environment import check_environment, let_in
from sqlassay.harness.cli.streams import prepare

COMMANDS = {
    "run": "Judge an agent's SQL against gold in isolated databases.",
    "resume": "Go on with a run that was killed or interrupted.",
    "rescore": "Judge a run's stored rows again under other policies, without a database.",
    "compare": "Judge pairs of relations without a database.",
    "crosscheck": "Run every case on every engine and say which disagree, how and why.",
    "redteam": "Attack each layer of the defence alone and all together.",
    "check-cases": "Find what is wrong with a pack's own gold before it judges anybody.",
    "calibrate": "Measure a judge against people before its scores are believed.",
    "guard": "Judge a file of statements by the guard alone, without any database.",
    "stef": "Score SQL by its question alone, without schema, gold or database.",
    "convert": "Write a foreign data set as a pack in our own format.",
    "init": "Start a pack of your own in a new folder.",
    "list": "List packs, metrics, dialects, policies, formats or reports.",
    "snapshot": "Build, list, collect, export or import snapshot images.",
    "doctor": "Say what works on this machine and how to fix what does not.",
    "clean": "Remove sandboxes that dead runs left behind.",
}


REMOVAL_SECONDS = 15.0
"""How long the removal of sandboxes is not interrupted once more."""


def module_of(command: str) -> str:
    """Return the name of a command's file."""
    return command.replace("-", "_") + "_command"


def _file_of(command: str) -> str:
    """Return the name of the module a command is in."""
    return f"sqlassay.harness.cli.{module_of(command)}"


class _Lazy(click.Group):
    """A group that imports a command's file only when that command is called or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (the signature is click's)
        """Return the commands in the order of the table above."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 (as above)
        """Import one command's file and return its command."""
        if cmd_name not in COMMANDS:
            return None
        return let_in(cmd_name, import_module(_file_of(cmd_name)).command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (as above)
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="sqlassay")
@click.option("-v", "--verbose", count=True, help="Log what happens (-vv: everything) to standard error.")
@click.option("--log-json", is_flag=True, help="Log as JSON lines.")
def cli(verbose: int, log_json: bool) -> None:
    """Evaluate Text-to-SQL agents in isolated, ephemeral databases.

    Exit codes: 0 finished, every declared threshold holds; 1 a threshold failed; 2 usage or input; 3
    infrastructure or gold error; 4 a mutation, leak or escape took effect; 5 nothing scorable; 130 interrupted.
    """
    _log_to_stderr(verbose, as_json=log_json)


class _JsonLines(logging.Formatter):
    """Write a record as one JSON line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line: time, level, logger and message."""
        import json

        value = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        return json.dumps(value, ensure_ascii=False)


def _log_to_stderr(verbose: int, *, as_json: bool) -> None:
    """Give the logger `sqlassay` a handler; the root logger is never touched."""
    logger = logging.getLogger("sqlassay")
    logger.handlers.clear()
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonLines() if as_json else logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel({0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG))


_INTERRUPTED = "INTERRUPTED: a run keeps what it had finished; `sqlassay resume FOLDER` goes on with it (exit 130)"


class Interrupts:
    """Ends a command at the first signal, sandboxes removed and finished cases kept, whichever of three it was.

    Others that follow at once, as from a person who presses Ctrl-C again, would break the removal off half-way: they
    are answered by a line. One that comes later ends the command wherever it is.
    """

    def __init__(self) -> None:
        """Have heard none."""
        self._first: float | None = None

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        """Take one signal."""
        now = time.monotonic()
        if self._first is None or now - self._first > REMOVAL_SECONDS:
            self._first = now
            raise KeyboardInterrupt
        os.write(2, b"INTERRUPTED already: removing what was started, a moment more\n")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave the process with the command's exit code; given arguments, keep the streams."""
    if arguments is None:
        prepare()
    interrupts = Interrupts()
    for name in (signal.SIGTERM, signal.SIGHUP, *((signal.SIGINT,) if arguments is None else ())):
        signal.signal(name, interrupts)
    sys.exit(_run(sys.argv[1:] if arguments is None else arguments))


def _run(arguments: list[str]) -> int:
    """Return the exit code of one command; no fault ends as a traceback."""
    from sqlassay.cases.errors import SqlassayError

    try:
        if not {"-h", "--help", "--version"} & set(arguments):
            check_environment({name: _file_of(name) for name in COMMANDS})
        result: Any = cli.main(args=arguments, prog_name="sqlassay", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        return _say(_INTERRUPTED, 130)
    except KeyboardInterrupt:
        return _say(_INTERRUPTED, 130)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        usage = f" See `{context.command_path} --help`." if context is not None else ""
        return _say(f"INPUT: {error.format_message()}{usage} (exit 2)", 2)
    except SqlassayError as error:
        word = {2: "INPUT", 3: "INFRASTRUCTURE"}.get(int(error.exit_code), "ERROR")
        return _say(f"{word}: {error} (exit {int(error.exit_code)})", int(error.exit_code))
    except OSError as error:
        logging.getLogger("sqlassay").debug("the machine refused", exc_info=True)
        place = f"{error.filename}: " if error.filename else ""
        remedy = "Mend that on this machine; `sqlassay doctor` says what works here"
        return _say(f"INFRASTRUCTURE: {place}{error.strerror or error}. {remedy} (exit 3)", 3)
    except MemoryError:
        return _say("INFRASTRUCTURE: this process ran out of memory. Free some, or raise `ulimit -v` (exit 3)", 3)
    except Exception as error:  # noqa: BLE001 (the last line of defence: a tired person gets a line, not a traceback)
        logging.getLogger("sqlassay").debug("internal error", exc_info=True)
        if "can't start new thread" in str(error):
            remedy = "Look at `ulimit -u` and at the pids limit of the container, or use fewer --jobs"
            return _say(f"INFRASTRUCTURE: this machine starts no further thread. {remedy} (exit 3)", 3)
        line = f"{type(error).__name__}: {error}".replace("\n", " ")
        return _say(f"INTERNAL: {line}. Please report it; `sqlassay -vv …` shows where (exit 3)", 3)
    return result if isinstance(result, int) else 0


def _say(line: str, code: int) -> int:
    """Print the verdict line of a command that ended early, and return its code; it may quote a hostile file."""
    try:
        from sqlassay.harness.reports.escape import visible

        shown = visible(line)
    except (OSError, ImportError):  # the very fault that is told may be a disk that cannot be read
        shown = ascii(line)
    sys.stderr.write(shown + "\n")
    return code
