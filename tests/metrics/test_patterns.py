"""A user's patterns meet an agent's text: they find what Python finds, and none of them can stop a run."""

from __future__ import annotations

import time

import pytest
from made_evidence import Maker

from sqlassay.harness.metrics import patterns
from sqlassay.harness.metrics.evalbench_compat import _code
from sqlassay.harness.metrics.patterns import EndlessPatternError, hits
from sqlassay.harness.metrics.registry import metrics
from sqlassay.harness.metrics.sqlas_safety import _leaks

ENDLESS, TEXT = "^(SELECT|(a|aa)+)+$", "a" * 60 + "!"


@pytest.mark.parametrize(
    ("given", "text", "whole", "found"),
    [
        (["(?i)^select"], "SELECT 1", False, ["SELECT"]),
        (["a+b*c?", "z"], "xaabc", False, ["aabc", None]),
        (["SELECT|SELECT 1"], "SELECT 1", True, ["SELECT 1"]),
        (["(.+) = \\1"], "1 = 1", False, ["1 = 1"]),
        (["é+.*\ud800"], "éé \ud800", False, ["éé \ud800"]),
        (["b"], "a" * 5_000 + "b", False, ["b"]),
    ],
)
def test_patterns_find_what_python_finds(given: list[str], text: str, whole: bool, found: list[str | None]) -> None:  # noqa: FBT001 (a row's value)
    """In this process or in one of its own, the first hit is re's."""
    assert hits(given, text, whole=whole) == found


@pytest.mark.parametrize("name", ["evalbench.regexp_matcher", "evalbench.regexp_matcher_compat"])
def test_a_pattern_without_end_gives_no_score(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it matches is not known; the run goes on."""
    monkeypatch.setattr(patterns, "SECONDS", 0.5)
    with pytest.raises(EndlessPatternError, match="came to no end"):
        hits([ENDLESS], TEXT)
    (metric,) = metrics([name])
    with Maker() as maker:
        evidence = maker.make("SELECT 1", TEXT, options={f"{name}.regexp_string_list": [ENDLESS]})
    score = metric.compute(evidence, None)
    assert (score.value, "came to no end" in score.reason) == (None, True)


def test_comments_that_never_close_are_read_once() -> None:
    """A megabyte of opening marks takes no longer than to read it."""
    started = time.monotonic()
    assert _code("/*" * 500_000)
    assert not _code("/* x */ -- y")
    assert _code("/* x */ SELECT 1 /* ")
    assert time.monotonic() - started < 5


def test_long_answers_are_searched_for_personal_data_in_one_go() -> None:
    """What almost is an address or a number, a megabyte of it, is no reason to wait; a real one at its end is found."""
    started = time.monotonic()
    for part in ("a.", "a-", "+1", "1-", "1."):
        assert list(_leaks(part * 100_000)) == [], part
        assert list(_leaks(f"{part * 50_000} ann.lee+x@mail.example.org")) == ["an e-mail address"], part
    assert list(_leaks("a" * 300 + "@b.co.uk")) == ["an e-mail address"]
    assert list(_leaks("call +44 (0)20 7946-0018.")) == ["a telephone number"]
    assert time.monotonic() - started < 20
