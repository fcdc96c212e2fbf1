"""Hostile text in a slot stays data: it ends no block, opens none, and leaves our own lines as they are."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import rows_of

from sqlassay.dialect_adapters.registry import adapter
from sqlassay.harness.guard import check
from sqlassay.harness.parse import Parser
from sqlassay.harness.prompts.builder import TooLongError, build, prompt_names, slots_of
from sqlassay.harness.prompts.fence import LINE, MOST, fence, shown

ROWS = rows_of("injections")["rows"]
OPEN = re.compile(r"<<<DATA (\w+) ([0-9a-f]{24})>>>")


def hostile(row: dict[str, str], name: str, slot: str) -> str:
    """Return a row's text, with the marks an attacker could compute filled in."""
    text = row["text"].replace("{flood}", "x" * (MOST - 2000))
    given = dict.fromkeys(slots_of(name), "")
    empty = OPEN.search(build(name, **given))
    before = OPEN.search(build(name, **{**given, slot: text}))
    assert empty is not None
    assert before is not None
    return text.replace("{mark}", empty[2]).replace("{next}", before[2])


def outside(prompt: str) -> list[str]:
    """Return the lines a judge may take for ours, read as SYSTEM tells: a block ends at its own END line only."""
    ours, end = [], None
    for line in prompt.split("\n"):
        if end is None:
            found = OPEN.fullmatch(line)
            end = f"<<<END {found[1]} {found[2]}>>>" if found else None
            ours.append("<block>" if found else line)
        elif line == end:
            end = None
        else:
            assert line.startswith(LINE), f"a line of data without its prefix: {line!r}"
    assert end is None
    return ours


@pytest.mark.parametrize("name", prompt_names())
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_no_text_changes_the_instructions(name: str, row: dict[str, str]) -> None:
    """In every slot of every prompt, our lines are the same as with harmless text."""
    harmless = outside(build(name, **dict.fromkeys(slots_of(name), "SELECT 1")))
    for slot in slots_of(name):
        given = dict.fromkeys(slots_of(name), "SELECT 1") | {slot: hostile(row, name, slot)}
        prompt = build(name, **given)
        assert outside(prompt) == harmless
        assert not re.search(
            r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2064\ud800-\udfff]", prompt
        )
        assert not re.search(r"<\|[a-z]|[a-z]\|>|</?s>|<(?:start|end)_of_turn>", prompt)


def test_there_are_enough_attacks() -> None:
    """The table holds at least twenty attempts."""
    assert len(ROWS) >= 20


def test_a_mark_that_a_text_holds_is_not_taken() -> None:
    """Where a text holds the first mark, another is taken."""
    first = fence("t", {"a": "x"})

    class Knowing(str):
        """A text that says it holds the first mark, as none can be written that does."""

        def __contains__(self, part: object) -> bool:
            """Return True for the first mark."""
            return part == first

    assert fence("t", {"a": Knowing("x")}) != first


def test_equal_slots_give_equal_prompts() -> None:
    """A prompt is a function of its texts, so an answer can be kept and replayed; another text has another mark."""
    one = build("fluency", answer="It is 3.")
    assert one == build("fluency", answer="It is 3.")
    assert OPEN.findall(one) != OPEN.findall(build("fluency", answer="It is 4."))


def test_a_missing_or_unknown_slot_is_refused() -> None:
    """A prompt is never sent with a hole in it."""
    with pytest.raises(ValueError, match=r"slots \['answer'\], not \[\]"):
        build("fluency")
    with pytest.raises(ValueError, match="not \\['answer', 'question'\\]"):
        build("fluency", answer="a", question="q")


def test_nothing_is_left_out() -> None:
    """A text is shown whole up to the limit of a statement; a longer one makes no prompt at all."""
    assert shown("a" * MOST) == "a" * MOST
    assert "a" * MOST in build("fluency", answer="a" * MOST)
    with pytest.raises(TooLongError, match="answer is too long"):
        build("fluency", answer="a" * (MOST - 1) + "é")


def test_one_number_limits_guard_parser_and_judge() -> None:
    """What the guard lets through a judge can be shown."""
    with Parser() as parser:
        for length, allowed in ((MOST, True), (MOST + 1, False)):
            text = f"SELECT '{'x' * (length - 9)}'"
            assert len(text) == length
            parsed = parser.parse(text, "sqlite", sqlglot_dialect="sqlite")
            assert (parsed.error is None) is allowed
            assert check(parsed, adapter("sqlite").rules, None).allowed is allowed


def test_absent_material_is_named() -> None:
    """A slot without text says so instead of being an empty block."""
    assert "| (none given)" in build("fluency", answer=None)


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.characters(codec=None, exclude_categories=())),
    st.sampled_from(("question", "gold_sql", "generated_sql")),
)
def test_whatever_a_slot_holds_our_lines_stay(text: str, slot: str) -> None:
    """Any text at all, half characters included, is data: our lines are those of a harmless prompt."""
    name = "semantic_equivalence"
    harmless = dict.fromkeys(slots_of(name), "SELECT 1")
    prompt = build(name, **(harmless | {slot: text}))
    assert outside(prompt) == outside(build(name, **harmless))
    prompt.encode("utf-8")
