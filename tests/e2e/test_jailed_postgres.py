"""Postgres of this machine in a jail gives what containers give, and says what it cannot guarantee."""

from __future__ import annotations

import pytest

from sqlassay.cases.errors import SqlassayError
from sqlassay.dialect_adapters.postgres.recipe import RECIPE
from sqlassay.harness.metrics.registry import PRIMARY
from sqlassay.sandboxes.process.cgroups import groups_work
from sqlassay.sandboxes.process.programs import host_programs


def unavailable() -> str:
    """Return why no Postgres of this machine can be jailed, or nothing."""
    try:
        host_programs(RECIPE)
    except SqlassayError as error:
        return error.message
    return ""


pytestmark = [pytest.mark.jail, pytest.mark.skipif(bool(unavailable()), reason=unavailable())]
JAILED = ("--dialect", "postgres", "--sandbox", "process")


def test_demo_shows_the_published_numbers(cli):
    """Without any container the demo has the Skill's own numbers, and the run prints how it was isolated."""
    ran = cli("run", "demo", *JAILED, "--engine", "none")
    assert ran.code == 0, ran.err
    assert {name: round(ran.mean(name) or 0, 3) for name in PRIMARY} == {
        "routing": 0.909,
        "structural": 0.805,
        "execution_accuracy": 0.636,
        "strict_execution_accuracy": 0.364,
        "execution_score": 0.682,
        "disagreement": 0.273,
    }
    assert "network none" in ran.out
    assert ("off here: one memory cap over all sessions (cgroup)" in ran.out) is not groups_work()


@pytest.mark.docker
@pytest.mark.parametrize("pack", ["demo", "shop", "changes"])
def test_a_jail_and_a_container_give_the_same_bytes(cli, pack):
    """Queries, changes and hostile agents are judged alike: results.jsonl has the same bytes."""
    jailed = cli("run", pack, *JAILED, name="jailed")
    contained = cli("run", pack, "--dialect", "postgres", "--sandbox", "docker", name="contained")
    assert (jailed.folder / "results.jsonl").read_bytes() == (contained.folder / "results.jsonl").read_bytes()


def test_a_red_team_breaks_no_layer(cli):
    """A sample of the attacks, each layer alone and together, does nothing through the jail."""
    ran = cli("redteam", *JAILED, "--sample", "20")
    assert ran.code == 0, ran.out
    assert "0 breaches" in ran.out


def test_mysql_names_containers(cli):
    """An engine that no jail runs is refused at once, as the user's input, with the remedy."""
    ran = cli("run", "demo", "--dialect", "mysql", "--sandbox", "process")
    assert ran.code == 2
    assert "mysql" in ran.err + ran.out
    assert "--sandbox docker" in ran.err + ran.out
