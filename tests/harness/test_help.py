"""Every command's --help is quick: nothing heavy is imported for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sqlassay.harness.cli.main import COMMANDS

HEAVY = (
    "pydantic",
    "sqlglot",
    "sqlalchemy",
    "psycopg",
    "docker",
    "testcontainers",
    "pymysql",
    "rich",
    "yaml",
    "jinja2",
)

_CODE = """
import sys
from sqlassay.harness.cli.main import _run
code = _run({arguments!r})
heavy = [name for name in {heavy!r} if name in sys.modules]
sys.stderr.write(f"{{code}} {{heavy}}")
"""


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)], ids=" ".join)
def test_help_imports_nothing_heavy(arguments):
    """--help of every command ends with 0 and leaves every heavy package unimported."""
    code = _CODE.format(arguments=arguments, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == "0 []"
    assert "Usage: sqlassay" in done.stdout


def test_root_logger_is_never_touched():
    """-v gives the logger sqlassay a handler; the root logger keeps what the program gave it."""
    code = (
        "import logging\nfrom sqlassay.harness.cli.main import _run\n_run(['-vv', '--log-json', 'list', 'dialects'])\n"
        "import sys\nsys.stderr.write(f'{logging.getLogger().handlers} {logging.getLogger().level}')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr.endswith("[] 30")


def test_a_machine_fault_is_no_internal_error(monkeypatch, capsys):
    """What the operating system refuses is infrastructure with its path, not a bug to report."""
    from sqlassay.harness.cli import main

    def refused(**_: object) -> None:
        raise PermissionError(13, "Permission denied", "/some/where")

    monkeypatch.setattr(main.cli, "main", refused)
    assert main._run(["run", "demo"]) == 3
    assert capsys.readouterr().err.startswith("INFRASTRUCTURE: /some/where: Permission denied")


def test_a_quoted_value_cannot_steer_the_terminal(tmp_path, capsys):
    """The line that ends a command spells out what a terminal would obey in a name or a value of a file."""
    from sqlassay.harness.cli.main import _run

    assert _run(["run", str(tmp_path / "\x1b[31mred\u202e")]) == 2
    said = capsys.readouterr().err
    assert "\\x1b[31mred\\u202e" in said
    assert not set("\x1b\u202e") & set(said)
