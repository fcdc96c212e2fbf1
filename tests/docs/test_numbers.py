"""Every number in the pages has a source, and tests/tables/numbers.yaml names it.

A row quotes the page (`says`, or the head of a `table` with its numbers in order) and gives one source:

* nothing more: each number is a `{placeholder}`, filled in from the program or a file, so that the page must follow;
* `by`: a make target or a file (perhaps `::a test`) that makes, prints or checks the number;
* `measured`: the month or day, and how; for what nothing here can make again;
* `given`: what fixes the number outside this project: a standard, a paper, another program, plain arithmetic.

Fenced blocks are run by test_docs.py and code spans are code. Exit codes, numbers of list items, and links to a
decision are checked here without a row.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from rows import rows_of

from sqlassay.cases.formats.registry import load_pack
from sqlassay.cases.policy import Policy
from sqlassay.cases.verdicts import ExitCode
from sqlassay.dialect_adapters.registry import names
from sqlassay.harness.judges.spec import Conduct
from sqlassay.harness.metrics.registry import installed, metrics
from sqlassay.harness.redteam.attacks import read_attacks
from sqlassay.harness.redteam.variants import variants
from sqlassay.harness.stef.rules import Tolerance

ROOT = Path(__file__).parents[2]
_TABLE: dict[str, Any] = rows_of("numbers")
_SOURCES = {"by", "measured", "given"}
_WORDS: list[str] = _TABLE["words"].split()
_LARGE = {30: "thirty", 40: "forty", 50: "fifty", 100: "hundred", 1000: "thousand", 1_000_000: "million"}
_FENCE = re.compile(r"(?ms)^ *(`{3,})[^\n]*\n.*?^ *\1 *$")
_NUMBER = re.compile(
    r"(?<![\w.^/-])\d+(?:\^\d+|(?:[.,:]\d+)*(?:e-?\d+)?)(?![\w^])"
    rf"|(?i:\b(?:{'|'.join([*_WORDS[10:], *_LARGE.values()])})\b)"
)
_EXIT = re.compile(r"\bexit(?: code)?(?: is)? (\d+)", re.IGNORECASE)
_DECISION = re.compile(r"\[(\d{4})\]\((?:[^)]*/)?(\d{4})-[^)]*\)")
_ITEM = re.compile(r"(?m)^(?:#+|) *\d+\. ")
_BLANKED = (re.compile(r"`(?:[^`\n]|\n(?!\n))*`"), _DECISION, re.compile(r"\]\([^)]*\)"), _EXIT, _ITEM)
_PLACEHOLDER = re.compile(r"\{([^{}|]+)(?:\|([^{}]+))?\}")

PAGES = sorted(
    str(page.relative_to(ROOT))
    for pattern in ("*.md", "docs/*.md", "docs/how-to/*.md", "skill/**/*.md")
    for page in ROOT.glob(pattern)
    if page.is_file()
)


def _lines(file: str) -> int:
    """Return how many rows a JSONL file has."""
    return sum(1 for line in (ROOT / file).read_text(encoding="utf-8").splitlines() if line)


def _project() -> dict[str, Any]:
    """Return the project's own description."""
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return found


def _demo() -> dict[str, float]:
    """Return the demo's means as the README's block has them, which test_docs.py runs."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    means = re.findall(
        r"(?m)^(routing|structural|execution_score|disagreement) [^.]*?(?:\(t = ([\d.]+)\) )?…([\d.]+) ", text
    )
    return {**{name: float(mean) for name, _, mean in means}, "t": float("".join(t for _, t, _ in means))}


def _said_by_peers() -> int:
    """Return how many labelled pairs the peers were asked about."""
    return len(rows_of("peers")["pairs"])


def _analyst() -> dict[str, int]:
    """Return how many ordinary statements of each engine meet its guard."""
    found = dict.fromkeys(names(), 0)
    for group in rows_of("analyst"):
        for engine in group["engines"]:
            found[engine] += len(group["statements"])
    for engine, plain in rows_of("plain")["queries"].items():
        found[engine] += len(plain)
    return found


def _pack_of_attacks(name: str) -> dict[str, int]:
    """Return how many rows the bundled pack has for each engine."""
    return {engine: _lines(f"cases/packs/redteam/{name}.{engine}.jsonl") for engine in names()}


def _variants() -> dict[str, int]:
    """Return how many variants are made of the bundled attacks of each engine, with seed 0."""
    folder = ROOT / "cases/packs/redteam"
    return {
        engine: len(list(variants(read_attacks(folder / f"attacks.{engine}.jsonl", engine), 0))) for engine in names()
    }


def _sqlas() -> dict[str, int]:
    """Return how many metrics are SQLAS's own, without its two weighted sums, and how many of them go by what."""
    own = [metric for metric in metrics(sorted(installed())) if metric.name.startswith("sqlas.")]
    parts = [metric for metric in own if not metric.name.startswith("sqlas.overall")]
    unsure = [one for one in parts if any(need == "judge" or need.startswith("timings") for need in one.needs)]
    return {"all": len(parts), "unsure": len(unsure), "beside": len(parts) - len(unsure)}


FACTS: dict[str, Callable[[], Any]] = {
    "python": lambda: float(_project()["requires-python"].removeprefix(">=")),
    "version": lambda: _project()["version"],
    "policy": Policy,
    "conduct": Conduct,
    "tolerance": Tolerance,
    "demo": _demo,
    "cases": lambda: {name: len(load_pack(ROOT / "cases/packs" / name).cases) for name in ("demo", "changes", "shop")},
    "peers": _said_by_peers,
    "analyst": _analyst,
    "attacks": lambda: _pack_of_attacks("attacks"),
    "benign": lambda: _pack_of_attacks("benign"),
    "variants": _variants,
    "injections": lambda: len(rows_of("injections")["rows"]),
    "sqlas": _sqlas,
}
_asked = cache(lambda name: FACTS[name]())


def value(expression: str) -> Any:
    """Return what a placeholder stands for: `fact`, or `module:NAME`, each with `.attribute` and `[key]` behind."""
    head, *keys = re.split(r"\[", expression.replace("]", ""))
    if ":" in head:
        module, path = head.split(":")
        found = attrgetter(path)(import_module(module))
    else:
        name, _, path = head.partition(".")
        found = attrgetter(path)(_asked(name)) if path else _asked(name)
    for key in keys:
        found = found[int(key) if key.isdigit() else key]
    return found


def spelled(found: Any, form: str | None) -> str:
    """Return a value as a page writes it: digits by threes, or as the form says (`word`, `percent`, `MB` …)."""
    match form:
        case "word":
            return _LARGE.get(found) or _WORDS[found]
        case "Word":
            return spelled(found, "word").capitalize()
        case "million":
            return f"{found // 1_000_000} million"
        case "percent":
            return f"{found * 100:g} %"
        case "MB" | "KB":
            return f"{found // (1024 * 1024 if form == 'MB' else 1024)} {form}"
        case str():
            return format(found, form)
    if isinstance(found, float):
        return f"{int(found):,}" if found == int(found) and found < 1e9 else re.sub(r"e([-+])0*", r"e\1", f"{found:g}")
    return f"{int(found):,}" if isinstance(found, int) else str(found)


def blanked(text: str) -> str:
    """Return a page with everything that is no prose replaced by blanks of the same length."""
    for pattern in (_FENCE, *_BLANKED):
        text = pattern.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    return text


def table_at(text: str, head: str) -> tuple[int, int]:
    """Return where the table that begins with a line begins and ends."""
    start = text.index(f"\n{head}") + 1
    end = re.search(r"\n(?!\|)", text[start:])
    return start, start + end.start() if end else len(text)


def places(row: dict[str, Any], text: str) -> list[tuple[int, int]]:
    """Return which parts of a page a row is the source of; the page must say what the row says."""
    if "table" in row:
        start, end = table_at(text, row["table"])
        assert _NUMBER.findall(blanked(text)[start:end]) == str(row["numbers"]).split(), row["table"]
        return [(start, end)]
    said = _PLACEHOLDER.sub(lambda found: spelled(value(found[1]), found[2]), row["says"])
    pattern = r"\s+".join(re.escape(word) for word in said.split())
    found = [match.span() for match in re.finditer(pattern, text)]
    assert found, f"the page does not say {said!r}"
    return found


def source_faults(row: dict[str, Any]) -> str | None:
    """Return what is wrong with the source a row names, None where it is there."""
    named = _SOURCES & row.keys()
    if not named:
        rest = _PLACEHOLDER.sub("", row.get("says", "1"))
        return f"{rest!r} has numbers without a source" if _NUMBER.search(blanked(rest)) else None
    if len(named) > 1:
        return "one source is enough"
    if "by" in row:
        target = re.match(r"make ([a-z-]+)", row["by"])
        if target:
            makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
            return None if re.search(rf"(?m)^{target[1]}:", makefile) else "make has no such target"
        file, _, test = row["by"].partition("::")
        if not (ROOT / file).is_file():
            return "there is no such file"
        return None if f"def {test}" in (ROOT / file).read_text(encoding="utf-8") or not test else "no such test"
    if "measured" in row:
        return None if re.match(r"20\d\d-\d\d(-\d\d)?: .{15}", row["measured"]) else "say when and how"
    return None if len(row["given"]) > 5 else "say what fixes it"


@pytest.mark.parametrize("page", PAGES)
def test_every_number_of_a_page_has_a_source(page: str) -> None:
    """Each number is derived, made by a named command or test, measured on a named day, or fixed by something named."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if page in _TABLE["whole"]:
        return
    rows = _TABLE["pages"].get(page, [])
    assert [(row, fault) for row in rows if (fault := source_faults(row))] == []
    prose = blanked(text)
    numbers = {match.span(): match[0] for match in _NUMBER.finditer(prose)}
    covered = [places(row, text) for row in rows]
    idle = [
        row
        for row, spans in zip(rows, covered, strict=True)
        if not any(low <= start and end <= high for start, end in numbers for low, high in spans)
    ]
    assert idle == [], "these rows are the source of nothing"
    bare = [
        f"{page}:{text.count(chr(10), 0, start) + 1}: {number}: {' '.join(text[max(0, start - 40) : end + 30].split())}"
        for (start, end), number in numbers.items()
        if not any(low <= start and end <= high for spans in covered for low, high in spans)
    ]
    assert bare == [], "tests/tables/numbers.yaml names no source of these"


def test_whole_pages_and_pages_are_there() -> None:
    """The table speaks of pages that exist, and each page that is taken whole names what writes or holds it."""
    assert {*_TABLE["whole"], *_TABLE["pages"]} <= set(PAGES)
    assert [page for page, by in _TABLE["whole"].items() if source_faults({"by": by})] == []


@pytest.mark.parametrize("page", PAGES)
def test_exit_codes_and_decisions_are_those_there_are(page: str) -> None:
    """An exit code that a page names exists, and a link to a decision is written with its number."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert {int(code) for code in _EXIT.findall(_FENCE.sub("", text))} <= set(ExitCode)
    assert [pair for pair in _DECISION.findall(text) if pair[0] != pair[1]] == []


def test_a_number_without_a_source_is_found() -> None:
    """Figures, shares, powers and number words count; code, links, list items and exit codes do not."""
    text = "1. `9` took 3.5 ms, 2^53 [0091](d/0091-x.md), exit code 3, 97 %, Twelve, 1,725"
    assert _NUMBER.findall(blanked(text)) == ["3.5", "2^53", "97", "Twelve", "1,725"]
    bare = {"says": "up to {policy.max_extra_columns} of 7"}
    assert source_faults(bare) == "'up to  of 7' has numbers without a source"
    assert source_faults({"says": "7", "by": "make nothing"}) == "make has no such target"
    assert source_faults({"says": "7", "measured": "once"}) == "say when and how"
    assert spelled(value("policy.rel_tol"), None) == "1e-9"
    assert spelled(value("sqlassay.cases.verdicts:ExitCode.BREACH"), None) == "4"


def test_no_two_decisions_share_a_number() -> None:
    """Each page under docs/decisions/ has a number of its own, which its title begins with."""
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))
    numbers = [page.name[:4] for page in pages]
    assert len(set(numbers)) == len(numbers)
    assert [page.name for page in pages[1:] if not re.match(rf"# {page.name[:4]}: ", page.read_text("utf-8"))] == []
