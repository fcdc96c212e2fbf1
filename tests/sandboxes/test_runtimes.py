"""Another container runtime is chosen by name, and one the engine does not have is refused before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cases.errors import InputError
from dialect_adapters.registry import adapter
from harness.cli.main import _run
from sandboxes.docker import runtimes
from sandboxes.opening import open_provider

FACTS = {"Runtimes": {"runsc": {}, "runc": {}}, "DefaultRuntime": "runc"}


def test_the_engine_says_which_runtimes_it_has() -> None:
    """Doctor's line names each and the default; an engine that is silent is not read as having none."""
    assert runtimes.described(FACTS) == "runc, runsc; default runc"
    assert runtimes.described({}) == "the engine names none; default unnamed"


def test_an_unknown_runtime_is_refused_with_those_there_are() -> None:
    """The error names the option, the runtime and the known ones; no name, a known one and a silent engine pass."""
    with pytest.raises(InputError, match=r"--runtime: .*no runtime 'kata'; it knows runc, runsc"):
        runtimes.refuse_unknown("kata", FACTS)
    runtimes.refuse_unknown("", FACTS)
    runtimes.refuse_unknown("runsc", FACTS)
    runtimes.refuse_unknown("kata", {})


@pytest.mark.parametrize(
    ("entry", "refused"),
    [
        ({"path": "runsc"}, True),
        ({"path": "/usr/bin/runsc", "runtimeArgs": ["--platform=kvm"]}, True),
        ({"path": "/usr/bin/runsc", "runtimeArgs": ["--host-uds=open"]}, True),
        ({"path": "/usr/bin/runsc", "runtimeArgs": ["--network=none", "--host-uds=create"]}, False),
        ({"path": "/usr/bin/runsc", "runtimeArgs": ["--host-uds=all"]}, False),
        ({"path": "/usr/bin/crun"}, False),
        ({}, False),
    ],
)
def test_gvisor_must_let_sockets_out(entry: dict[str, object], *, refused: bool) -> None:
    """A runtime that keeps a server's socket to itself is refused with the word its entry lacks."""
    facts = {"Runtimes": {"other": entry, "runc": {"path": "runc"}}, "DefaultRuntime": "runc"}
    if not refused:
        runtimes.refuse_without_sockets("other", facts)
        return
    with pytest.raises(InputError, match=r'--runtime: .*"--host-uds=create" to the runtimeArgs of other'):
        runtimes.refuse_without_sockets("other", facts)


def test_only_what_somebody_added_is_tried() -> None:
    """Doctor starts no container for the default runtime or the engine's own names for it."""
    known = {"crun": {}, "runc": {}, "io.containerd.runc.v2": {}, "runsc": {}}
    assert runtimes.added({"Runtimes": known, "DefaultRuntime": "runc"}) == ("crun", "runsc")
    assert runtimes.added({"Runtimes": known, "DefaultRuntime": "runsc"}) == ("crun",)
    assert runtimes.added({}) == ()


def test_a_jailed_process_takes_no_runtime() -> None:
    """A runtime that would be ignored is an error, not a promise that is quietly broken."""
    with pytest.raises(InputError, match=r"--runtime: the 'process' sandbox runs no container"):
        open_provider(adapter("sqlite").recipe, "auto", list[str]().append, engine="none", runtime="runsc")


@pytest.mark.docker
def test_a_run_names_the_runtime_it_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The environment may choose it, and the manifest's isolation says so; an unknown one leaves no run folder."""
    command = ["run", "demo", "--dialect", "postgres", "--limit", "1", "--jobs", "1"]
    monkeypatch.setenv("SQLASSAY_RUNTIME", "runc")
    assert _run([*command, "--out", str(tmp_path / "named")]) == 0
    manifest = json.loads((tmp_path / "named" / "manifest.json").read_text("utf-8"))
    assert manifest["isolation"]["method"] == "container (runc)"
    assert manifest["settings"]["origins"]["runtime"] == "environment"
    capsys.readouterr()
    assert _run([*command, "--runtime", "no-such", "--out", str(tmp_path / "unknown")]) == 2
    assert "has no runtime 'no-such'; it knows " in capsys.readouterr().err
    assert not (tmp_path / "unknown").exists()


@pytest.mark.docker
def test_the_red_team_refuses_an_unknown_runtime(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No attack runs and no report is written."""
    command = ["redteam", "--dialect", "postgres", "--sample", "1", "--runtime", "no-such"]
    assert _run([*command, "--out", str(tmp_path / "drill")]) == 2
    assert "has no runtime 'no-such'" in capsys.readouterr().err
    assert not (tmp_path / "drill").exists()
