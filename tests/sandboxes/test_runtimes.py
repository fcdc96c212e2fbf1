"""Another container runtime is chosen by name, and one the engine does not have is refused before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.cli.main import _run
from sqlassay.sandboxes.docker import runtimes, trial
from sqlassay.sandboxes.docker.client import Engine, connect
from sqlassay.sandboxes.docker.provider import DockerProvider
from sqlassay.sandboxes.opening import open_provider

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


SHARING = {"path": "/usr/bin/runsc", "runtimeArgs": ["--host-uds=create"]}


@pytest.mark.parametrize(
    ("known", "sockets", "chosen"),
    [
        ({"runc": {}, "runsc": SHARING}, True, "runsc"),
        ({"runc": {}, "gvisor": SHARING}, True, "gvisor"),
        ({"runc": {}, "runsc": {"path": "runsc"}}, True, ""),
        ({"runc": {}, "runsc": {"path": "runsc"}}, False, "runsc"),
        ({"runc": {}, "runsc": {"path": "runsc"}, "runsc-kvm": SHARING}, True, "runsc-kvm"),
        ({"runc": {}, "crun": {"path": "/usr/bin/crun"}}, True, ""),
        ({"runc": {}}, True, ""),
    ],
)
def test_gvisor_is_chosen_where_it_is_there(known: dict[str, object], *, sockets: bool, chosen: str) -> None:
    """By its program, under whatever name it was entered; not where no server could be met under it."""
    assert runtimes.stronger({"Runtimes": known, "DefaultRuntime": "runc"}, sockets=sockets) == chosen


def test_where_gvisor_is_the_engine_s_own_nothing_is_chosen() -> None:
    """It is used anyway, and named as the default."""
    assert runtimes.stronger({"Runtimes": {"runsc": SHARING}, "DefaultRuntime": "runsc"}, sockets=True) == ""
    assert runtimes.stronger({}, sockets=True) == ""


def _provider(monkeypatch: pytest.MonkeyPatch, refusal: str, runtime: str = "") -> tuple[DockerProvider, list[str]]:
    """Return a provider that has chosen its runtime on an engine with gVisor, and what it said."""
    monkeypatch.setattr(trial, "refusal", lambda engine, runtime, image: refusal)
    engine = cast(Engine, SimpleNamespace(facts={"Runtimes": {"runc": {}, "runsc": SHARING}, "DefaultRuntime": "runc"}))
    provider, said = DockerProvider(transport="socket", runtime=runtime), list[str]()
    for _ in range(2):
        provider._choose_runtime(engine, "image:1", said.append)
    return provider, said


def test_a_run_without_a_word_is_under_gvisor(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried and told once; a name, be it the engine's own, is taken instead."""
    provider, said = _provider(monkeypatch, "")
    assert provider._runtime == "runsc"
    assert said == ["runtime: runsc, as it is there; --runtime runc takes the engine's own"]
    provider, said = _provider(monkeypatch, "", runtime="runc")
    assert (provider._runtime, said) == ("runc", [])


def test_gvisor_that_starts_nothing_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on under the engine's own runtime and says why."""
    provider, said = _provider(monkeypatch, "exec format error")
    assert provider._runtime == ""
    assert said == ["runtime: runsc is there and starts no container, so it is not used: exec format error"]


@pytest.mark.docker
def test_a_chosen_runtime_is_named_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A runtime that really starts containers stands for gVisor: the one that runs is the one that is named."""
    own = connect()
    known = runtimes.names(own.facts)
    own.api.close()
    other = next((name for name in known if name.startswith("io.containerd.runc")), None)
    if other is None:
        pytest.skip("the engine knows its own runtime under one name alone")
    monkeypatch.setattr(runtimes, "stronger", lambda facts, sockets: other)
    command = ["run", "demo", "--dialect", "postgres", "--limit", "1", "--jobs", "1"]
    assert _run([*command, "--out", str(tmp_path / "out")]) == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    assert manifest["isolation"]["method"] == f"container ({other})"
    assert f"container ({other})" in capsys.readouterr().out


def test_a_rootless_engine_is_named_as_one() -> None:
    """From what the engine says of its own security."""
    assert runtimes.is_rootless({"SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless"]}) is True
    assert runtimes.is_rootless({"SecurityOptions": ["name=seccomp,profile=builtin"]}) is False
    assert runtimes.is_rootless({}) is False


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
