"""Which cases a run takes, and what is asked wrongly."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.pack import Pack
from sqlassay.harness.run.select import select

CASES = tuple(
    Case(id=name, question="?", snapshot="s", gold={"sqlite": ("SELECT 1",)}, tags=tags)
    for name, tags in (("a", ("easy",)), ("b", ("hard", "dates")), ("c", ()))
)


def chosen(cases=CASES, **given):
    """Return the ids of the cases that are taken."""
    config = SimpleNamespace(**{"only": (), "tags": (), "sample": None, "limit": None, "seed": 0} | given)
    return [case.id for case in select(Pack("p", Path("p"), "", cases, ()), config)]


def test_tags_choose_cases_with_one_of_them():
    """A case needs one of the tags; with --only, both must hold, and nothing may be left."""
    assert chosen(tags=("easy", "dates")) == ["a", "b"]
    assert chosen(tags=("easy",), only=("b",)) == []


def test_a_tag_that_no_case_has_is_named_with_those_there_are():
    """A mistyped tag is wrong input, like an unknown id: it must not look like a run with nothing to score."""
    with pytest.raises(InputError, match="no case has the tag nope") as caught:
        chosen(tags=("easy", "nope"))
    assert "dates, easy, hard" in str(caught.value)
    with pytest.raises(InputError, match="No case has a tag"):
        chosen(cases=CASES[2:], tags=("easy",))
