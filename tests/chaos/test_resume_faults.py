"""`sqlassay resume` asks again for what failed on our side, and for nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from chaos_ground import CASES, VERDICTS, Ground
from chaos_same import differences

pytestmark = pytest.mark.jail

_FAULTY = """
import sys
from sqlassay.cases.errors import InfrastructureError
from sqlassay.sandboxes.station import Station

sound = Station.run

def run(self, snapshot, sql, *limits, **more):
    if sql in {lost!r}:
        raise InfrastructureError("the sandbox was lost")
    return sound(self, snapshot, sql, *limits, **more)

Station.run = run
from sqlassay.harness.cli.main import main
main(sys.argv[1:])
"""
"""The command on a machine where some statements lose every sandbox."""

_UNREAD = """
import os, signal, sys
from sqlassay.harness.parse.parser import Parser

sound = Parser._ask

def ask(self, request, *more):
    if request["sql"] in {lost!r}:
        if self.pid is None:
            self._start("sqlite")
        os.kill(self.pid, signal.SIGKILL)
    return sound(self, request, *more)

Parser._ask = ask
from sqlassay.harness.cli.main import main
main(sys.argv[1:])
"""
"""The command on a machine where the parser is killed whenever it reads some statements, as by an OOM killer."""


def faulty(ground: Ground, lost: list[str], *arguments: str, machine: str = _FAULTY) -> tuple[int, str]:
    """Run a command on a faulty machine with those statements lost; return its exit code and the last line printed."""
    code = machine.format(lost=lost)
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=ground.home,
        env=ground.env(),
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, (done.stdout.rstrip() or done.stderr.rstrip()).splitlines()[-1]


@pytest.fixture
def undisturbed(ground: Ground) -> Path:
    """The folder of a run that nothing disturbed, which keeps no gold for the next one."""
    arguments = ground.run_arguments("undisturbed", "sqlite", "--jobs", "2", "--no-gold-cache", "--store-rows", "all")
    code, said = ground.call(*arguments)
    assert code == 0, said
    ground.log.unlink()
    return ground.home / "undisturbed"


def test_faults_of_ours_are_asked_again(ground, undisturbed):
    """Exit 3 says how to go on; resume asks those alone, and leaves what nothing disturbed would."""
    lost = [CASES["count"][1], CASES["sum"][0], CASES["typo"][0]]
    again, folder = {"count", "sum", "typo"}, ground.home / "run"
    arguments = ground.run_arguments("run", "sqlite", "--jobs", "2", "--no-gold-cache", "--store-rows", "all")
    code, last = faulty(ground, lost, *arguments)
    assert (code, "`sqlassay resume` asks" in last) == (3, True), last
    assert {case for case, verdict in ground.verdicts("run").items() if verdict == "infrastructure"} == again
    asked = len(ground.asked())
    code, last = faulty(ground, lost, "resume", str(folder))
    assert (code, "`sqlassay resume` asks all 3 again" in last) == (3, True), last
    assert {case for case, _ in ground.asked()[asked:]} == again
    asked = len(ground.asked())
    code, said = ground.call("resume", str(folder))
    assert code == 0, said
    assert {case for case, _ in ground.asked()[asked:]} == again
    assert (differences(undisturbed, folder), ground.verdicts("run"), ground.settled()) == ([], VERDICTS, [])
    code, said = ground.call("resume", str(folder))
    assert (code, "is finished; nothing was run again" in said) == (0, True), said


def test_statements_over_which_the_parser_is_lost_are_asked_again(ground, undisturbed):
    """No right answer is blocked and no gold loses its order: what could not be read is ours, and resume mends it."""
    lost = [CASES["count"][1], CASES["all"][0]]
    arguments = ground.run_arguments("run", "sqlite", "--jobs", "2", "--no-gold-cache", "--store-rows", "all")
    code, last = faulty(ground, lost, *arguments, machine=_UNREAD)
    found = ground.verdicts("run")
    assert (code, found) == (3, VERDICTS | dict.fromkeys(("count", "all"), "infrastructure")), last
    code, said = ground.call("resume", str(ground.home / "run"))
    assert code == 0, said
    assert (differences(undisturbed, ground.home / "run"), ground.verdicts("run")) == ([], VERDICTS)


def test_a_parser_that_is_always_lost_ends_the_run(ground, undisturbed):
    """Nothing is scored on a machine that kills the parser each time; the run says so and can go on."""
    lost = [sql for case in CASES.values() for sql in case if sql]
    arguments = ground.run_arguments("run", "sqlite", "--jobs", "1", "--no-gold-cache", "--store-rows", "all")
    code, last = faulty(ground, lost, *arguments, machine=_UNREAD)
    assert (code, "statements in a row were lost" in last) == (3, True), last


def test_an_alternative_we_lost_decides_nothing_against_the_agent(ground):
    """Of two accepted gold statements one is lost: what matches the other is a match, what does not is asked again."""
    cases = [
        {"id": name, "question": "?", "snapshot": "s", "gold": {"sqlite": ["SELECT 1", "SELECT 2"]}} for name in "ab"
    ]
    ground.write("pack/cases.jsonl", "".join(json.dumps(case) + "\n" for case in cases))
    answers = [{"case_id": "a", "sql": "SELECT 1"}, {"case_id": "b", "sql": "SELECT 2 + 0"}]
    ground.write("p.jsonl", "".join(json.dumps(row) + "\n" for row in answers))
    told = ["--out", "run", "--jobs", "1", "--no-gold-cache"]
    code, last = faulty(ground, ["SELECT 2"], "run", str(ground.pack), "--predictions", "p.jsonl", *told)
    assert (code, ground.verdicts("run")) == (3, {"a": "match", "b": "infrastructure"}), last
    code, said = ground.call("resume", "run")
    assert (code, ground.verdicts("run")) == (0, {"a": "match", "b": "match"}), said


def test_a_broken_gold_stays(ground):
    """Gold that fails by itself is the pack's: the run is finished, and resume asks nobody."""
    rows = [json.loads(line) for line in (ground.pack / "cases.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[0]["gold"]["sqlite"] = "SELECT nothing FROM nowhere"
    ground.write("pack/cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    code, said = ground.call(*ground.run_arguments("run", "sqlite"))
    assert (code, ground.verdicts("run")["sum"]) == (3, "gold_error"), said
    asked = len(ground.asked())
    code, said = ground.call("resume", str(ground.home / "run"))
    assert (code, "is finished; nothing was run again" in said) == (3, True), said
    assert len(ground.asked()) == asked
