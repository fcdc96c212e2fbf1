"""The journal: whole lines count, one writer at a time, nothing half-written stays, no breach is forgotten."""

from __future__ import annotations

import errno
import json

import pytest

from sqlassay.cases.errors import InfrastructureError, InputError
from sqlassay.cases.verdicts import Verdict
from sqlassay.harness.results.case_result import CaseResult, Timing
from sqlassay.harness.results.run_result import Manifest
from sqlassay.harness.run.book import Book
from sqlassay.harness.run.earlier import Earlier, day_of
from sqlassay.harness.store.folder import RunFolder
from sqlassay.harness.store.journal import JOURNAL, Journal, read


def result(case_id: str, trial: int = 0) -> CaseResult:
    """Return a small result."""
    return CaseResult(
        case_id=case_id, trial=trial, dialect="sqlite", question="?", snapshot="s", verdict=Verdict.MATCH, reason="r"
    )


def timing(case_id: str, trial: int = 0) -> Timing:
    """Return its timing."""
    return Timing(case_id=case_id, trial=trial)


def test_lines_of_every_kind_come_back(tmp_path):
    """Results, problems, breaches and the end are read as they were written, an empty note writes nothing."""
    journal = Journal(tmp_path / JOURNAL, new=True)
    journal.note()
    assert journal.empty
    journal.note(problems=("p",))
    journal.add(result("a", 1), timing("a", 1))
    journal.note(breaches=("b",))
    journal.end(4, "BREACH")
    journal.close()
    found = read(tmp_path / JOURNAL)
    assert (list(found.finished), found.problems, found.breaches) == ([("a", 1)], ["p"], ["b"])
    assert (found.end, found.torn) == ((4, "BREACH"), 0)


@pytest.mark.parametrize("tail", [b"{", b'{"result": 1', b"\0\0\0", b'{"end": {"exit_code": 0, "verdict_line": "x"}}'])
def test_what_follows_the_last_whole_line_does_not_count(tmp_path, tail):
    """A line counts with its end: what was being written at the kill is cut off, even where it could be read."""
    with RunFolder(tmp_path / "run") as folder:
        folder.append(result("a"), timing("a"))
    path = tmp_path / "run" / JOURNAL
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    with RunFolder(tmp_path / "run", earlier=True) as folder:
        found = folder.earlier()
        assert (list(found.finished), found.end, found.torn) == ([("a", 0)], None, len(tail))
        assert path.read_bytes() == whole
        folder.append(result("b"), timing("b"))
    assert list(read(path).finished) == [("a", 0), ("b", 0)]


def test_one_process_writes_at_a_time(tmp_path):
    """A journal that is open is refused to others, whether they start or resume; it is free once closed."""
    first = RunFolder(tmp_path / "run")
    for earlier in (False, True):
        with pytest.raises(InputError, match="still lives"):
            RunFolder(tmp_path / "run", earlier=earlier)
    with first:
        first.append(result("a"), timing("a"))
    with pytest.raises(InputError, match="resume"):
        RunFolder(tmp_path / "run")
    RunFolder(tmp_path / "run", earlier=True).journal.close()


def test_a_line_that_does_not_fit_leaves_the_journal_as_it_was(tmp_path, monkeypatch):
    """A full disk in the middle of a line: the part that was written is taken back, the error names the way on."""
    journal = Journal(tmp_path / JOURNAL, new=True)
    journal.add(result("a"), timing("a"))
    whole = (tmp_path / JOURNAL).read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sqlassay.harness.store.journal.os.fsync", full)
    with pytest.raises(InfrastructureError, match="sqlassay resume"):
        journal.add(result("b"), timing("b"))
    journal.close()
    assert (tmp_path / JOURNAL).read_bytes() == whole


@pytest.mark.parametrize("blank", [b"\n", b"\n\n", b"\r\n", b" \n\t\n"])
def test_blank_lines_at_the_end_say_nothing(tmp_path, blank):
    """An editor's empty last lines damage no journal; going on writes over them."""
    with RunFolder(tmp_path / "run") as folder:
        folder.append(result("a"), timing("a"))
    path = tmp_path / "run" / JOURNAL
    whole = path.read_bytes()
    path.write_bytes(whole + blank)
    found = read(path)
    assert (list(found.finished), found.size, found.torn) == ([("a", 0)], len(whole), len(blank))


@pytest.mark.parametrize("damage", [b"{torn\n", b"[]\n", b'{"result": {}}\n', b"7\n"])
def test_damage_before_the_last_line_is_named(tmp_path, damage):
    """A line that is none, before the last, is refused with its number."""
    path = tmp_path / JOURNAL
    path.write_bytes(damage + b"{}")
    with pytest.raises(InfrastructureError, match=r"journal\.jsonl:1"):
        read(path)


def test_a_damaged_line_that_held_a_result_costs_that_result_alone(tmp_path):
    """What is whole is kept, the damaged case is open again, and the damage is told with its line."""
    journal = Journal(tmp_path / JOURNAL, new=True)
    for name in "abc":
        journal.add(result(name), timing(name))
    journal.close()
    whole = (tmp_path / JOURNAL).read_bytes()
    lines = whole.splitlines(keepends=True)
    nested = b'{"case_id": ' + b"[" * 100_000 + b"\n"
    verdict = b'"verdict":"' + result("b").verdict.encode() + b'"'
    altered = lines[1].replace(verdict, b'"verdict":"timeout"')
    assert altered != lines[1]
    for damaged in (lines[1][:40] + b"\n", lines[1].replace(b'"verdict"', b'"verdicu"'), nested, altered):
        (tmp_path / JOURNAL).write_bytes(lines[0] + damaged + lines[2])
        found = read(tmp_path / JOURNAL)
        assert [*found.finished] == [("a", 0), ("c", 0)]
        assert found.problems == ["journal.jsonl:2: damaged line left out; the case it held is asked again"]


def test_a_damaged_line_that_may_tell_of_a_breach_is_refused(tmp_path):
    """What got through is never lost with a damaged line: the person is asked to look."""
    path = tmp_path / JOURNAL
    path.write_bytes(b'{"note":{"problems":[],"breaches":["case_id \n{}\n')
    with pytest.raises(InfrastructureError, match="says that something got through"):
        read(path)


@pytest.mark.parametrize(("change", "field"), [({"format": 2}, "format"), ({"newer": 1}, "newer")])
def test_a_line_of_another_version_is_refused_as_such(tmp_path, change, field):
    """A format number or a field that this version does not know is no damage: the way on is the other version."""
    journal = Journal(tmp_path / JOURNAL, new=True)
    journal.add(result("a"), timing("a"))
    journal.close()
    value = json.loads((tmp_path / JOURNAL).read_bytes())
    value["result"] |= change
    (tmp_path / JOURNAL).write_text(json.dumps(value) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"journal\.jsonl:1:{field}: .* reads format 1\. Use the version"):
        read(tmp_path / JOURNAL)


def test_a_result_stands_once(tmp_path):
    """One case and trial twice cannot come from a run: refused."""
    journal = Journal(tmp_path / JOURNAL, new=True)
    for _ in range(2):
        journal.add(result("a"), timing("a"))
    journal.close()
    with pytest.raises(InfrastructureError, match=r"journal\.jsonl:2"):
        read(tmp_path / JOURNAL)


def test_a_fault_of_ours_is_no_last_word(tmp_path):
    """A result that failed on our side does not stay: asked again, the later line counts; any other stands once."""
    path = tmp_path / "run" / JOURNAL
    lost = result("a").model_copy(update={"verdict": Verdict.INFRASTRUCTURE})
    broken = result("b").model_copy(update={"verdict": Verdict.GOLD_ERROR})
    with RunFolder(path.parent) as folder:
        folder.journal.add_all([(lost, timing("a")), (broken, timing("b")), (lost, timing("a"))])
        found = read(path)
        assert (list(found.finished), list(found.kept)) == ([("a", 0), ("b", 0)], [("b", 0)])
        folder.append(result("a"), timing("a"))
        assert {key: pair[0].verdict for key, pair in read(path).kept.items()} == {
            ("a", 0): Verdict.MATCH,
            ("b", 0): Verdict.GOLD_ERROR,
        }
        folder.append(lost, timing("a"))
    with pytest.raises(InfrastructureError, match=r"journal\.jsonl:5"):
        read(path)


def test_a_breach_outlives_a_kill(tmp_path):
    """What got through is journalled at once, so that a resumed run still ends as a breach; each line stands once."""
    with RunFolder(tmp_path / "run") as folder:
        book = Book(folder, None)
        book.problem(["p", "p"])
        book.keep()
        book.breach(["x changed"])
        book.breach(["x changed", "y changed"])
    with RunFolder(tmp_path / "run", earlier=True) as folder:
        found = folder.earlier()
        manifest = Manifest.model_construct()
        book = Book(folder, Earlier(folder, manifest, {}, tuple(found.problems), tuple(found.breaches)))
        book.problem(["p", "q"])
        book.breach(["y changed"])
        book.keep()
    assert (book.problems, book.breaches) == (["p", "q"], ["x changed", "y changed"])
    found = read(tmp_path / "run" / JOURNAL)
    assert (found.problems, found.breaches) == (["p", "q"], ["x changed", "y changed"])


def test_an_interrupted_run_counts_what_its_journal_says(tmp_path):
    """Ctrl-C between a line and its count loses no result."""
    with RunFolder(tmp_path / "run") as folder:
        book = Book(folder, None)
        folder.append(result("a"), timing("a"))
        book.interrupt()
        assert (list(book.finished), book.interrupted) == ([("a", 0)], True)


def test_a_run_keeps_the_day_it_began_on():
    """A run's id says its day, so that a resumed one tells the clock as the first part did."""
    assert day_of("20261128T235959Z_sqlite_abcdef").isoformat() == "2026-11-28T00:00:00+00:00"
