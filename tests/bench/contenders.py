"""Who is measured: our comparator, and peers by their package or by their rule written anew, each told which."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import permutations
from types import ModuleType

from sqlassay.cases.policy import Policy
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Column, Relation, Row
from sqlassay.harness.compare import compare

Prepared = Callable[[], object]
"""What is timed: from tuples as a driver gives them, to whether they are equal; imports are done before."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A comparator, by what code it runs, and what makes a timed call of two lists of rows.

    `permutes` says whether it finds columns in another order; `most` is the largest size it is given.
    """

    name: str
    code: str
    prepare: Callable[[Sequence[Row], Sequence[Row], Sequence[str]], Prepared]
    permutes: bool = False
    most: int = 1_000_000


def _ours(gold: Sequence[Row], pred: Sequence[Row], names: Sequence[str], policy: Policy) -> Prepared:
    """Prepare our comparator under a policy."""
    columns = tuple(map(Column, names))
    return lambda: compare(Relation(columns, tuple(gold)), Relation(columns, tuple(pred)), policy).verdict == "match"


def _bird(gold: Sequence[Row], pred: Sequence[Row], _: Sequence[str]) -> Prepared:
    """BIRD's evaluation: `set(predicted) == set(gold)`."""
    return lambda: set(pred) == set(gold)


def _evalbench(gold: Sequence[Row], pred: Sequence[Row], names: Sequence[str]) -> Prepared:
    """EvalBench's set_match: results are lists of dicts; their rows become tuples of values in sets."""
    match = set_match()

    def judge() -> bool:
        """Make the dicts it takes, and compare."""
        return match(*([dict(zip(names, row, strict=True)) for row in rows] for rows in (gold, pred)))

    return judge


def set_match() -> Callable[[list[dict[str, object]], list[dict[str, object]]], bool]:
    """Return set_match of the installed package, or its rule."""
    found = find_spec("evalbench")
    if found is None or not found.submodule_search_locations:
        return _set_match_rule
    root = found.submodule_search_locations[0]
    sys.path.append(root)  # the package imports its own modules from there
    bare = ModuleType("util")  # its start imports the package's cloud clients, which a comparison does not need
    bare.__path__ = [f"{root}/util"]
    sys.modules["util"] = bare
    matcher = import_module("scorers.setmatcher").SetMatcher({})
    return lambda gold, pred: bool(matcher.compare("", "", "", gold, "", "", "", pred, "", "")[0] == 100)


def _set_match_rule(gold: list[dict[str, object]], pred: list[dict[str, object]]) -> bool:
    """Compare as set_match does, its look for nested values included."""
    if any(isinstance(value, dict | list) for rows in (gold, pred) for row in rows for value in row.values()):
        return False
    return {tuple(row.values()) for row in gold} == {tuple(row.values()) for row in pred}


def _spider(gold: Sequence[Row], pred: Sequence[Row], _: Sequence[str]) -> Prepared:
    """Spider's test suite result_eq: rows without column order as sets, then column permutations one by one."""

    def bare(row: Row) -> Row:
        """Sort a row's cells by text and type."""
        return tuple(sorted(row, key=lambda cell: str(cell) + str(type(cell))))

    def judge() -> bool:
        """Compare as result_eq does without an order."""
        if {bare(row) for row in gold} != {bare(row) for row in pred}:
            return False
        for order in permutations(range(len(gold[0]))):
            if Counter(gold) == Counter(tuple(row[index] for index in order) for row in pred):
                return True
        return False

    return judge


def _datacompy(gold: Sequence[Row], pred: Sequence[Row], names: Sequence[str]) -> Prepared:
    """Compare by datacompy's pandas comparison, joined on the first column, which is unique here."""
    import datacompy
    import pandas as pd

    made = getattr(datacompy, "PandasCompare", None) or datacompy.Compare

    def judge() -> bool:
        """Make the frames and compare them."""
        sides = [pd.DataFrame(list(rows), columns=list(names)) for rows in (gold, pred)]
        return bool(made(*sides, join_columns=[names[0]], abs_tol=1e-12, rel_tol=1e-9).matches())

    return judge


def _polars(gold: Sequence[Row], pred: Sequence[Row], names: Sequence[str]) -> Prepared:
    """Compare by polars' assert_frame_equal without row order."""
    import polars as pl
    from polars.testing import assert_frame_equal

    def judge() -> bool:
        """Make the frames, and turn the assertion into an answer."""
        sides = [pl.DataFrame(list(rows), schema=list(names), orient="row") for rows in (gold, pred)]
        try:
            assert_frame_equal(*sides, check_row_order=False)
        except AssertionError:
            return False
        return True

    return judge


CONTENDERS = (
    Contender("sqlassay strict", "this project", lambda g, p, n: _ours(g, p, n, Policy())),
    Contender("sqlassay skill", "this project", lambda g, p, n: _ours(g, p, n, preset("skill"))),
    Contender("BIRD set", "rule, one line", _bird),
    Contender(
        "EvalBench set_match", "package" if find_spec("evalbench") else "rule written anew", _evalbench, most=100_000
    ),
    Contender("Spider result_eq", "rule written anew", _spider, most=100_000),
    Contender("datacompy", "package", _datacompy, most=100_000),
    Contender("polars assert_frame_equal", "package", _polars, most=100_000),
)
ANY = Contender(
    "sqlassay, any order",
    "this project",
    lambda g, p, n: _ours(g, p, n, Policy(columns="any")),
    permutes=True,
)
