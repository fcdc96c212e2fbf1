"""`sqlassay resume`: what is finished stays, the rest runs as it would have run, and what has changed is refused."""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos_ground import CASES, VERDICTS, Ground, wait_for
from chaos_same import differences

from sqlassay.harness.store.folder import RUN
from sqlassay.harness.store.output import mark

pytestmark = pytest.mark.jail


def killed(ground: Ground, *more: str, name: str = "run", at: int = 4, number: int = signal.SIGKILL) -> Path:
    """Return the folder of a run that was ended by a signal after some results."""
    running = ground.start(*ground.run_arguments(name, "sqlite", "--jobs", "2", *more), CHAOS_ASK="0.2")
    assert wait_for(lambda: len(ground.journalled(name)) >= at or running.poll() is not None, 60)
    running.send_signal(number)
    running.wait(timeout=60)
    assert at <= len(ground.journalled(name)) < len(CASES), ground.said()
    return ground.home / name


def resumed(ground: Ground, folder: Path, *more: str) -> tuple[int, str]:
    """Resume a run and return its exit code and the last line printed."""
    code, said = ground.call("resume", str(folder), *more)
    return code, said.rstrip().splitlines()[-1]


@pytest.fixture
def undisturbed(ground: Ground) -> Path:
    """The folder of a run that nothing disturbed, in the same place."""
    code, said = ground.call(*ground.run_arguments("undisturbed", "sqlite", "--jobs", "2"))
    assert code == 0, said
    assert ground.verdicts("undisturbed") == VERDICTS
    ground.log.unlink()
    return ground.home / "undisturbed"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_resumed_run_ends_as_if_nothing_had_happened(ground, undisturbed, number):
    """Killed or interrupted, then resumed: no finished case is asked again and every final file is the same."""
    folder = killed(ground, number=number)
    finished, asked = set(ground.journalled("run")), len(ground.asked())
    code, last = resumed(ground, folder)
    assert (code, last.startswith("DONE")) == (0, True), last
    assert finished.isdisjoint(ground.asked()[asked:])
    assert differences(undisturbed, folder) == []
    assert ground.settled() == []


def test_a_resumed_run_can_be_interrupted_and_resumed_again(ground, undisturbed):
    """Ctrl-C of a resumed run ends with 130, and the next resume goes on from there."""
    folder = killed(ground, at=2)
    again = ground.start("resume", str(folder), CHAOS_ASK="0.3")
    assert wait_for(lambda: len(ground.journalled("run")) >= 5, 60)
    again.send_signal(signal.SIGINT)
    assert again.wait(timeout=60) == 130
    assert resumed(ground, folder)[0] == 0
    assert differences(undisturbed, folder) == []


def test_a_torn_last_line_is_dropped_on_disk(ground, undisturbed):
    """Half a line at the end of the journal is cut off before anything is appended behind it."""
    folder = killed(ground)
    journal = folder / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + whole[: len(whole.splitlines()[0]) // 2])
    assert resumed(ground, folder)[0] == 0
    assert journal.read_bytes().startswith(whole)
    assert all(json.loads(line) for line in journal.read_bytes().splitlines())
    assert differences(undisturbed, folder) == []


def test_half_files_of_a_killed_run_are_gone(ground, undisturbed):
    """Scratch files, and rows of results that are not in the journal, do not outlive the resumed run."""
    folder = killed(ground, "--store-rows", "diff")
    ground.call(*ground.run_arguments("diff", "sqlite", "--jobs", "2", "--store-rows", "diff"))
    (folder / "manifest.json.tmp").write_text("half", encoding="utf-8")
    (folder / "relations").mkdir(exist_ok=True)
    (folder / "relations" / "avg.0.jsonl.gz").write_bytes(b"half")
    assert resumed(ground, folder)[0] == 0
    assert differences(ground.home / "diff", folder) == []
    assert not (folder / "places.json").exists()


def test_half_written_gold_is_swept(ground):
    """What a run was writing into the gold cache when it was killed is removed by the next run."""
    ground.call(*ground.run_arguments("one", "sqlite"))
    drafts = ground.cache / "sqlassay" / "gold" / "drafts"
    (drafts / "0000.dead").write_bytes(b"half")
    ground.call(*ground.run_arguments("two", "sqlite"))
    assert list(drafts.iterdir()) == []


def test_a_finished_run_is_not_run_again(ground, undisturbed):
    """A finished run says so, asks nobody, and ends with the exit code and verdict it had."""
    code, said = ground.call("resume", str(undisturbed))
    assert (code, "is finished" in said, ground.asked()) == (0, True, [])
    assert said.rstrip().splitlines()[-1].startswith("DONE")
    ground.call(*ground.run_arguments("low", "sqlite", "--fail-under", "execution_accuracy=0.99"))
    code, last = resumed(ground, ground.home / "low")
    assert (code, last.startswith("FAIL")) == (1, True)


def test_missing_reports_are_written_without_a_sandbox(ground, undisturbed):
    """Where every result is in the journal, resume asks nobody and writes the files that are missing."""
    running = ground.start(*ground.run_arguments("real", "sqlite", "--jobs", "2"), CHAOS_ASK="0.2")
    assert wait_for(lambda: len(ground.journalled("real")) == len(CASES) or running.poll() is not None, 60)
    running.kill()
    running.wait(timeout=60)
    real = ground.home / "real"
    (real / "summary.json").unlink(missing_ok=True)
    lines = (real / "journal.jsonl").read_bytes().splitlines(keepends=True)
    (real / "journal.jsonl").write_bytes(b"".join(line for line in lines if not line.startswith(b'{"end"')))
    if not (real / "places.json").exists():
        places = {"format": 1, "folder": str(ground.home), "pack": str(ground.pack), "pack_format": "own"}
        agent = f"{ground.home}/agent.py:answer"
        ground.write("real/places.json", json.dumps({**places, "agent": agent}))
    asked = len(ground.asked())
    assert resumed(ground, real)[0] == 0
    assert (len(ground.asked()), ground.settled()) == (asked, [])
    assert differences(undisturbed, real) == []


def test_a_run_in_progress_is_refused(ground):
    """While its process lives, a run can be neither resumed nor run over; the process goes on undisturbed."""
    running = ground.start(*ground.run_arguments("run", "sqlite", "--jobs", "2"), CHAOS_ASK="8")
    assert wait_for(lambda: len(ground.journalled("run")) >= 1, 90)
    code, last = resumed(ground, ground.home / "run")
    assert (code, "still lives" in last) == (2, True), last
    code, said = ground.call(*ground.run_arguments("run", "sqlite"))
    assert (code, "already holds a run" in said) == (2, True), said
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=60) == 130


def test_a_run_killed_before_its_manifest_is_run_again(ground):
    """A folder without a manifest holds nothing: resume says so, and the same run takes the folder over."""
    folder = ground.home / "run"
    folder.mkdir()
    (folder / "journal.jsonl").touch()
    mark(folder, RUN)
    code, last = resumed(ground, folder)
    assert (code, "before its first case" in last) == (2, True), last
    assert ground.call(*ground.run_arguments("run", "sqlite"))[0] == 0
    assert ground.verdicts("run") == VERDICTS


def _edit(path: Path, old: str, new: str) -> None:
    """Replace a text in a file."""
    text = path.read_text(encoding="utf-8")
    assert old in text, (path, old)
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def torn() -> Iterator[Ground]:
    """A place with one killed run, for tests that change nothing in it."""
    home = Path(tempfile.mkdtemp(prefix="chaos-", dir="/tmp"))
    made = Ground(home)
    try:
        killed(made)
        yield made
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.mark.parametrize(
    ("file", "old", "new", "field"),
    [
        ("pack/cases.jsonl", "SUM(a)", "SUM(a+1)", "case_set"),
        ("pack/s.sql", "'n1'", "'n2'", "image_key"),
        ("pack/pack.yaml", '"ground"', '"other"', "pack"),
        ("agent.py", "CHAOS_ASK", "CHAOS_ASKED", "agent_digest"),
        ("run/manifest.json", '"sqlassay": "', '"sqlassay": "9.', "sqlassay"),
        ("run/manifest.json", '"sqlglot": "', '"sqlglot": "9.', "packages.sqlglot"),
        ("run/manifest.json", '"policy_digest": "', '"policy_digest": "0', "policy_digest"),
        ("run/manifest.json", '"multiplicity": "', '"multiplicity": "x', "policy.multiplicity"),
        ("run/manifest.json", '"cases": 10', '"cases": 9', "cases"),
        ("run/manifest.json", '"timeout": 30.0', '"timeout": -30.0', "timeout"),
        ("run/manifest.json", '"row_limit": ', '"rows_limit": ', "rows_limit"),
        ("run/manifest.json", '"engine_version": "', '"engine_version": "9.', "engine_version"),
        ("run/manifest.json", '"provider": "process"', '"provider": "docker"', "isolation.provider"),
    ],
)
def test_what_has_changed_is_named_and_refused(torn, file, old, new, field):
    """Another pack, snapshot, agent, version or setting: exit 2, the field by name, nothing asked or written."""
    folder, path = torn.home / "run", torn.home / file
    whole, journal, asked = path.read_bytes(), (folder / "journal.jsonl").read_bytes(), len(torn.asked())
    try:
        _edit(path, old, new)
        code, said = torn.call("resume", str(folder))
    finally:
        path.write_bytes(whole)
    assert (code, field in said) == (2, True), said
    assert len(torn.asked()) == asked
    assert (folder / "journal.jsonl").read_bytes() == journal


def test_put_back_as_it_was_a_refused_run_goes_on(torn):
    """A refusal changes nothing: with everything as it was, the run is resumed to its end."""
    assert resumed(torn, torn.home / "run")[0] == 0
    assert torn.verdicts("run") == VERDICTS


def test_each_difference_has_its_own_line_and_remedy(ground):
    """Several differences are said at once: a line each, with what was, what is and what to do."""
    folder = killed(ground)
    _edit(ground.pack / "cases.jsonl", "SUM(a)", "SUM(a+1)")
    _edit(ground.home / "agent.py", "CHAOS_ASK", "CHAOS_ASKED")
    _, said = ground.call("resume", str(folder))
    lines = [line for line in said.splitlines() if ": was " in line]
    assert [line.split(":")[0].strip() for line in lines] == ["case_set", "agent_digest"], said
    assert all(", is " in line and "put the" in line for line in lines)


def test_changed_predictions_are_refused_and_moved_ones_found(ground):
    """A prediction file is known by its content: another one is refused, the same one in another place will do."""
    rows = [{"case_id": name, "sql": sql} for name, (_, sql) in CASES.items()]
    file = ground.write("p.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    arguments = ["run", str(ground.pack), "--predictions", "p.jsonl", "--out", "run", "--jobs", "1"]
    running = ground.start(*arguments)
    assert wait_for(lambda: len(ground.journalled("run")) >= 1 or running.poll() is not None, 60)
    running.kill()
    running.wait(timeout=60)
    whole = file.read_text(encoding="utf-8")
    journal = ground.home / "run" / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    if any(line.startswith(b'{"end"') for line in lines):
        pytest.skip("the run was faster than the kill")
    file.write_text(whole.replace("MAX(aa)", "MAX(a)"), encoding="utf-8")
    code, said = ground.call("resume", "run")
    assert (code, "predictions_digest" in said) == (2, True), said
    file.unlink()
    (ground.home / "moved").mkdir()
    moved = ground.write("moved/p.jsonl", whole)
    assert resumed(ground, ground.home / "run", "--predictions", str(moved))[0] == 0
    assert ground.verdicts("run") == VERDICTS


def test_a_damaged_journal_is_refused(ground):
    """A damaged line before the last, or a result that stands twice, is named with its number; nothing is run."""
    folder = killed(ground)
    journal = folder / "journal.jsonl"
    whole = journal.read_bytes()
    for text, number in ((b"{torn\n" + whole, 1), (whole + whole.splitlines(keepends=True)[0], whole.count(b"\n") + 1)):
        journal.write_bytes(text)
        code, last = resumed(ground, folder)
        assert (code, f"journal.jsonl:{number}" in last) == (3, True), last


def test_a_damaged_result_in_the_middle_is_asked_again(ground, undisturbed):
    """One line of the journal is cut by the disk: its case alone is asked again, told, and nothing else is lost."""
    folder = killed(ground)
    journal = folder / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    place = next(at for at, line in enumerate(lines) if b'"case_id"' in line)
    lost = json.loads(lines[place])["result"]["case_id"]
    lines[place] = lines[place][: len(lines[place]) // 2] + b"\n"
    journal.write_bytes(b"".join(lines))
    before = len(ground.asked())
    assert resumed(ground, folder)[0] == 0
    assert lost in {case for case, _ in ground.asked()[before:]}
    assert ground.verdicts("run") == VERDICTS
    assert (folder / "results.jsonl").read_bytes() == (undisturbed / "results.jsonl").read_bytes()
    summary = json.loads((folder / "summary.json").read_bytes())
    assert any(f"journal.jsonl:{place + 1}: damaged line left out" in line for line in summary["problems"])


def test_what_was_given_to_the_run_holds_when_it_is_resumed(ground):
    """Settings of the command line and the environment are the manifest's; today's environment changes nothing."""
    folder = killed(ground, "--row-limit", "5", "--fail-under", "execution_accuracy=0.9")
    code, said = ground.call("resume", str(folder), SQLASSAY_ROW_LIMIT="100", SQLASSAY_POLICY="strict")
    assert ground.verdicts("run")["all"] == "gold_error", said
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert (code, manifest["settings"]["row_limit"], manifest["settings"]["policy"]) == (3, 5, "skill")


@pytest.mark.parametrize("folder", ["nowhere", "pack"])
def test_what_is_no_run_is_refused(ground, folder):
    """A folder that no run left is exit 2 with the remedy."""
    code, last = resumed(ground, ground.home / folder)
    assert (code, "no run folder" in last) == (2, True), last


def test_the_way_on_is_told(ground):
    """`rescore` of an unfinished run, and a run into its folder, name the command that goes on with it."""
    folder = killed(ground)
    for arguments in (["rescore", str(folder)], ground.run_arguments("run", "sqlite")):
        code, said = ground.call(*arguments)
        assert (code, f"sqlassay resume {folder}" in said) == (2, True), said
