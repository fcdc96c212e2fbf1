"""Settings in the environment count for every command that has the option, and a misspelt one ends any command."""

from __future__ import annotations

import click
import pytest

from sqlassay.cases.errors import InputError
from sqlassay.harness.cli.environment import check_environment, let_in
from sqlassay.harness.cli.main import COMMANDS, cli, main, module_of

_FILES = {name: f"sqlassay.harness.cli.{module_of(name)}" for name in COMMANDS}


def _said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Run a command line and return its exit code and what it wrote to standard error."""
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0), capsys.readouterr().err


def test_a_setting_that_no_command_has_is_refused_with_what_was_meant() -> None:
    """The name and the likely one are told; settings of any command, and other programs' variables, are let be."""
    with pytest.raises(InputError, match="SQLASSAY_DIALEKT") as refused:
        check_environment(_FILES, {"SQLASSAY_DIALEKT": "mysql"})
    assert refused.value.remedy == "Did you mean SQLASSAY_DIALECT? Unset it otherwise"
    given = dict.fromkeys(("SQLASSAY_ENGINE", "SQLASSAY_ATTACKS", "SQLASSAY_FAIL_ON", "SQLASSAY_GATE", "OTHER"), "x")
    check_environment(_FILES, given)


@pytest.mark.parametrize("command", ["redteam", "check-cases demo", "snapshot build demo", "run demo"])
def test_a_sandbox_in_the_environment_counts_in_every_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Each command looks for the provider that the environment names."""
    monkeypatch.setenv("SQLASSAY_SANDBOX", "bogus")
    code, said = _said(capsys, *command.split())
    assert code == 2
    assert "unknown sandbox provider 'bogus'" in said


@pytest.mark.parametrize(
    "command", ["redteam", "check-cases demo", "crosscheck demo", "snapshot build demo", "run demo"]
)
def test_a_registry_is_forbidden_to_every_command_that_makes_images(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Each of them reads the setting `SQLASSAY_PULL` of the option `--pull`: none asks a registry past a `never`."""
    monkeypatch.setenv("SQLASSAY_PULL", "bogus")
    code, said = _said(capsys, *command.split())
    assert (code, "never" in said) == (2, True), said


def test_every_command_but_those_with_layers_reads_its_options() -> None:
    """Click fills them in below the command line; run and crosscheck have a layer of their own for them."""
    for name in COMMANDS:
        found = cli.get_command(click.Context(cli), name)
        assert isinstance(found, click.Command)
        prefix = found.context_settings.get("auto_envvar_prefix")
        assert prefix == (None if name in {"run", "crosscheck"} else "SQLASSAY")
        assert let_in(name, found) is found


def test_a_misspelt_setting_ends_a_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`list packs` ends with 2; `--help` is shown all the same."""
    monkeypatch.setenv("SQLASSAY_JOBBS", "2")
    code, said = _said(capsys, "list", "packs")
    assert (code, "Did you mean SQLASSAY_JOBS?" in said) == (2, True)
    assert _said(capsys, "list", "--help")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("run", "demo", "--dialect", "postgresql"), "Did you mean postgres?"),
        (("run", "demo", "--dialect", "Sqlite3"), "Did you mean sqlite?"),
        (("run", "demo", "--metrics", "execution_acuracy"), "Did you mean execution_accuracy?"),
        (("guard", "x.jsonl", "--dialect", "mysq"), "Did you mean mysql?"),
    ],
)
def test_an_unknown_name_is_told_with_the_one_that_was_meant(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], meant: str
) -> None:
    """Dialects, metrics and all else that is installed by name."""
    code, said = _said(capsys, *arguments)
    assert (code, meant in said) == (2, True), said


def test_policies_are_listed_by_what_they_change(capsys: pytest.CaptureFixture[str]) -> None:
    """Each preset says where it differs from strict, beside its digest."""
    with pytest.raises(SystemExit):
        main(["list", "policies"])
    lines = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert lines["skill"].startswith("columns any, extra_columns allow")
    assert lines["strict"].startswith("every row, cell, type, order and column as it is")
