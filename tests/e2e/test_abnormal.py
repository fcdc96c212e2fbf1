"""What can go wrong from outside: each ends with one clear message, the right exit code, and nothing left or lost."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.jail


def predictions(path, *rows):
    """Write prediction lines and return the file's path as text."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def last_line(text: str) -> str:
    """Return the last line of an output."""
    return text.rstrip().splitlines()[-1]


def test_unknown_case_is_refused_before_anything_runs(cli, tmp_path):
    """A prediction for a case the pack does not have is exit 2 and leaves no run folder; --allow-unknown lets it be."""
    file = predictions(tmp_path / "p.jsonl", {"case_id": "demo-99", "sql": "SELECT 1"})
    ran = cli("run", "demo", "--predictions", file)
    assert (ran.code, ran.folder.exists()) == (2, False)
    assert "demo-99" in last_line(ran.err)
    assert "--allow-unknown" in last_line(ran.err)
    assert cli("run", "demo", "--predictions", file, "--allow-unknown").code == 5  # no case has an answer


@pytest.mark.parametrize(
    ("sql", "verdict"),
    [
        ("", "no_prediction"),
        ("   \n", "no_prediction"),
        (None, "no_prediction"),
        ("SELECT 1; SELECT 2", "error"),
        ("\x00\x01\x02\ufffd", "error"),
        ("SELECT '" + "x" * 1_000_000 + "'", "error"),
        ("SELECT name FROM", "error"),
        ("SELECT nme FROM customers", "error"),
        ("DROP TABLE customers", "blocked"),
        ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r", "timeout"),
        ("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 90) SELECT n FROM r", "too_many_rows"),
    ],
)
def test_strange_statements_get_a_verdict(cli, tmp_path, sql, verdict):
    """Whatever an agent answers is a verdict, never a crash; the run ends with 0, with 5 where nothing was answered."""
    file = predictions(tmp_path / "p.jsonl", {"case_id": "demo-01", "sql": sql})
    ran = cli("run", "demo", "--predictions", file, "--only", "demo-01", "--timeout", "1", "--row-limit", "50")
    assert ran.code == (5 if verdict == "no_prediction" else 0), ran.err
    assert ran.verdicts == {"demo-01": verdict}, ran.results[0]["reason"]


def test_a_file_of_junk_is_named(cli, tmp_path):
    """Binary junk as a prediction file is one line with the file's name, exit 2."""
    junk = tmp_path / "junk.jsonl"
    junk.write_bytes(base64.b64decode("/9j/4AAQSkZJRgABAQ==") * 100)
    ran = cli("run", "demo", "--predictions", str(junk))
    assert ran.code == 2
    assert "junk.jsonl" in last_line(ran.err)


def pack(folder, cases, **header):
    """Write a small SQLite pack and return its path as text."""
    folder.mkdir()
    (folder / "s.sql").write_text("CREATE TABLE t(a INTEGER); INSERT INTO t VALUES (1), (2);", encoding="utf-8")
    value = {
        "format": 1,
        "name": "small",
        "snapshots": {"s": {"scripts": {"sqlite": ["s.sql"]}}},
        "cases": ["cases.jsonl"],
        **header,
    }
    (folder / "pack.yaml").write_text(json.dumps(value), encoding="utf-8")
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return str(folder)


def case(case_id, gold="SELECT a FROM t", **more) -> dict:
    """Return a case of that pack."""
    return {"id": case_id, "question": "?", "snapshot": "s", "gold": {"sqlite": gold}, **more}


def test_broken_gold_is_ours_and_leaves_the_denominator(cli, tmp_path):
    """One broken gold among two: the other counts alone, the run ends with 3 and says that the number is not whole."""
    folder = pack(tmp_path / "pack", [case("good"), case("bad", "SELECT b FROM t")])
    file = predictions(tmp_path / "p.jsonl", *({"case_id": c, "sql": "SELECT a FROM t"} for c in ("good", "bad")))
    ran = cli("run", folder, "--predictions", file)
    assert (ran.code, ran.verdicts) == (3, {"good": "match", "bad": "gold_error"})
    assert ran.mean("execution_accuracy") == 1.0
    assert last_line(ran.out).startswith("NOT WHOLE: 1 gold error")


def test_slow_gold_is_gold_timeout(cli, tmp_path):
    """Gold past its own deadline is gold_timeout, never the agent's failure."""
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r"
    folder = pack(tmp_path / "pack", [case("slow", endless)])
    file = predictions(tmp_path / "p.jsonl", {"case_id": "slow", "sql": "SELECT 1"})
    ran = cli("run", folder, "--predictions", file, "--gold-timeout", "1", "--no-gold-cache")
    assert (ran.code, ran.verdicts) == (3, {"slow": "gold_error"})
    assert ran.results[0]["reason"].startswith("gold_timeout")


def test_nothing_scorable_is_five(cli, tmp_path):
    """Cases without gold in this dialect and out-of-scope ones cannot be scored: exit 5."""
    folder = pack(tmp_path / "pack", [case("none") | {"gold": {"mysql": "SELECT 1"}}, case("out", out_of_scope=True)])
    file = predictions(tmp_path / "p.jsonl", {"case_id": "none", "sql": "SELECT 1"})
    ran = cli("run", folder, "--predictions", file)
    assert (ran.code, ran.verdicts) == (5, {"none": "unavailable", "out": "out_of_scope"})
    assert ran.mean("execution_accuracy") is None


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("pack.yaml", "format: 1\nname: [", "pack.yaml:"),
        ("pack.yaml", "format: 2\nname: x\nsnapshots: {}\ncases: []\n", "format"),
        ("cases.jsonl", '{"id": "a", "question": "?"}\n', "cases.jsonl:1"),
        ("cases.jsonl", '{"id": "a"\n', "cases.jsonl:1"),
    ],
)
def test_malformed_pack_is_named_with_its_line(cli, tmp_path, name, text, said):
    """A malformed pack is exit 2 with file and line, and nothing was run."""
    folder = pack(tmp_path / "pack", [case("a")])
    (tmp_path / "pack" / name).write_text(text, encoding="utf-8")
    ran = cli("run", folder)
    assert (ran.code, ran.folder.exists()) == (2, False)
    assert said in ran.err


def test_usage_errors_are_two(cli):
    """A misspelt option, dialect, policy or pack is exit 2 with the way out in the line."""
    for arguments in (["--nope"], ["--dialect", "oracle"], ["--policy", "x"], ["--jobs", "many"], ["--metrics", "x"]):
        ran = cli("run", "demo", *arguments)
        assert ran.code == 2, (arguments, ran.err)
        assert len(ran.err.strip().splitlines()) == 1
    assert cli("run", "no-such-pack").code == 2
    assert cli("frobnicate").code == 2


AGENT = """
import os, time
def good(request):
    return "SELECT name FROM customers WHERE active = 1"
def hangs(request):
    time.sleep(60)
def leaves(request):
    os._exit(7)
def raises(request):
    raise ValueError("no idea")
def junk(request):
    return object()
def loud(request):
    print("hello from the agent")
    return {"sql": "SELECT name FROM customers WHERE active = 1", "route": "sales_db"}
async def waits(request):
    return "SELECT name FROM customers WHERE active = 1"
"""


@pytest.mark.parametrize(
    ("function", "verdict", "said"),
    [
        ("good", "match", ""),
        ("loud", "match", ""),
        ("waits", "match", ""),
        ("hangs", "no_prediction", ""),
        ("leaves", "no_prediction", "7"),
        ("raises", "no_prediction", "no idea"),
        ("junk", "no_prediction", ""),
    ],
)
def test_callables_are_asked_in_a_process_of_their_own(cli, tmp_path, function, verdict, said):
    """A callable that hangs, exits, raises or answers junk costs its case only, and the reason says why."""
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    ran = cli("run", "demo", "--agent", f"{tmp_path}/agent.py:{function}", "--only", "demo-01", "--agent-timeout", "3")
    assert (ran.code, ran.verdicts) == (5 if verdict == "no_prediction" else 0, {"demo-01": verdict}), ran.err
    assert said in ran.results[0]["reason"]


def test_missing_callable_is_refused_before_anything_runs(cli, tmp_path):
    """No such function is exit 2, before any sandbox."""
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    ran = cli("run", "demo", "--agent", f"{tmp_path}/agent.py:nobody")
    assert (ran.code, ran.folder.exists()) == (2, False)


def children(marker: str) -> list[str]:
    """Return the command lines of living processes whose command line carries a marker."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if marker in line:
            found.append(line)
    return found


def slow_run(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    """Start a run whose agent takes its time, wait for two finished cases, and return it with its journal."""
    (tmp_path / "agent.py").write_text(
        "import time\ndef slow(request):\n    time.sleep(0.4)\n    return 'SELECT name FROM customers'\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "sqlassay.harness.cli", "run", "demo", "--agent", f"{tmp_path}/agent.py:slow"]
    started = subprocess.Popen(
        [*command, "--out", str(tmp_path / "run"), "--jobs", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    journal = tmp_path / "run" / "journal.jsonl"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (journal.exists() and journal.read_bytes().count(b"\n") >= 2):
        time.sleep(0.05)
    return started, journal


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_keeps_what_is_finished(tmp_path, number):
    """Ctrl-C and SIGTERM end with 130: finished cases are in every file, and no process of the run is left."""
    started, _ = slow_run(tmp_path)
    started.send_signal(number)
    out, err = started.communicate(timeout=30)
    assert started.returncode == 130, err
    assert "Traceback" not in err
    assert last_line(out).startswith("INTERRUPTED")
    kept = (tmp_path / "run" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    assert 2 <= len(kept) < 11
    assert children(str(tmp_path)) == []


def test_killed_harness_leaves_no_worker(tmp_path):
    """SIGKILL of the harness: its jailed workers and its agent are gone within seconds and the journal is whole."""
    started, journal = slow_run(tmp_path)
    started.kill()
    started.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and children(str(tmp_path)):
        time.sleep(0.1)
    assert children(str(tmp_path)) == []
    lines = journal.read_bytes().split(b"\n")
    assert all(json.loads(line)["result"]["verdict"] for line in lines[:-1])


def test_run_folder_holds_no_secret_and_no_machine_path(cli, tmp_path):
    """No file of a run names a password, a socket or a folder of this machine."""
    ran = cli("run", "demo")
    home = str(Path.home())
    for path in ran.folder.rglob("*"):
        if path.is_file() and path.suffix != ".gz":
            text = path.read_text(encoding="utf-8")
            for secret in (str(tmp_path), home + "/", "password", ".sock"):
                assert secret not in text, (path.name, secret)


def test_full_disk_is_not_a_pass(cli, tmp_path):
    """Reports that cannot be written make the run not whole: exit 3, and the last line says which."""
    target = tmp_path / "small"
    target.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=80k", "none", str(target)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system can be mounted by root alone")
    try:
        ran = cli("run", "demo", "--store-rows", "none", "--out", str(target / "run"))
    finally:
        subprocess.run(["umount", str(target)], check=True)
    assert ran.code == 3
    last = last_line(ran.out + ran.err)
    assert "could not be written" in last or "cannot be written" in last


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fail-under", "execution_accuracy=2"], "from 0 to 1"),
        (["--fail-under", "disagreement=0.1"], "better the lower"),
        (["--fail-under", "routings=0.1"], "does not compute"),
        (["--trials", "3"], "Trials are numbered from 0"),
        (["--only", ""], "names nothing"),
        (["--out", "/dev/null/x"], "--out"),
        (["--dialect", "mysql", "--sandbox", "process", "--engine", "none"], "--sandbox docker"),
    ],
)
def test_what_cannot_be_meant_is_refused(cli, arguments, said):
    """A threshold that cannot hold, trials nobody predicted, an empty selection: exit 2 before anything runs."""
    ran = cli("run", "demo", *arguments)
    assert (ran.code, said in ran.err) == (2, True), ran.err


def test_broken_alternative_is_told(cli, tmp_path):
    """An accepted gold that fails beside one that works is a problem line, not silence."""
    folder = pack(tmp_path / "pack", [case("two", ["SELECT b FROM t", "SELECT a FROM t"])])
    file = predictions(tmp_path / "p.jsonl", {"case_id": "two", "sql": "SELECT a FROM t"})
    ran = cli("run", folder, "--predictions", file)
    assert (ran.code, ran.verdicts) == (0, {"two": "match"})
    assert "accepted gold 1 of 2 failed" in ran.out


def test_a_name_that_is_not_utf8_is_one_clear_error(cli, tmp_path):
    """A pack in a folder whose name no JSON file can hold is refused before anything is judged, with the way out."""
    folder = tmp_path / os.fsdecode(b"p\xe4ck")
    shutil.copytree(Path(__file__).parents[2] / "cases" / "packs" / "demo", folder)
    ran = cli("run", str(folder), "--limit", "1")
    assert ran.code == 2
    assert "the name is not UTF-8" in last_line(ran.err)
    assert not (tmp_path / "run").exists()
    assert "Rename" in last_line(ran.err)
    assert not (ran.folder / "results.jsonl").exists()
