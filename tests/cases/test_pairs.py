"""Pairs are read line by line: what is wrong in one is named with its place and costs that line alone."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.pairs import Pair, read_pairs
from sqlassay.cases.policy import Policy
from sqlassay.cases.policy_spelling import policy_named
from sqlassay.cases.presets import preset
from sqlassay.cases.relation import Kind
from sqlassay.cases.schemas.generate import schemas

SIDE: dict[str, Any] = {"columns": [{"name": "a", "kind": "numeric"}], "rows": [[{"$decimal": "1.50"}]]}
GOOD: dict[str, Any] = {"id": "p", "gold": SIDE, "pred": SIDE}


def read(*lines: Any, base: Policy | None = None, limit: int = 100_000) -> list[Pair | InputError]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return list(read_pairs(io.BytesIO(text.encode()), Path("x.jsonl"), base or preset("strict"), limit=limit))


def test_a_line_is_a_pair_of_typed_relations() -> None:
    """Typed JSON becomes typed cells, a kind's alias its kind, and a missing policy the one below."""
    (pair,) = read(GOOD)
    assert isinstance(pair, Pair)
    assert pair.gold.columns[0].kind is Kind.DECIMAL
    assert pair.predicted.rows == ((Decimal("1.50"),),)
    assert (pair.id, pair.policy, pair.line) == ("p", preset("strict"), 1)


def test_predicted_and_a_number_as_id_are_accepted() -> None:
    """`predicted` stands for `pred`, 7 for "7"; both keys at once are refused."""
    (pair,) = read({"id": 7, "gold": SIDE, "predicted": SIDE})
    assert isinstance(pair, Pair)
    assert pair.id == "7"
    (error,) = read({**GOOD, "predicted": SIDE})
    assert "x.jsonl:1:predicted: unknown field" in str(error)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("bird", preset("bird")),
        ({"text_case": "fold"}, Policy(text_case="fold", rel_tol=0.5)),
        ({"preset": "strict", "text_case": "fold"}, Policy(text_case="fold")),
        ({"order_keys": [[0, "desc"]], "row_order": "keys", "truncated": "pred"}, None),
        (None, Policy(rel_tol=0.5)),
    ],
)
def test_a_lines_policy_is_laid_over_the_one_below(policy: Any, expected: Policy | None) -> None:
    """A preset's name replaces it, fields change it."""
    (pair,) = read({**GOOD, "policy": policy}, base=Policy(rel_tol=0.5))
    assert isinstance(pair, Pair)
    wanted = expected or Policy(rel_tol=0.5, row_order="keys", order_keys=((0, "desc"),), truncated="pred")
    assert pair.policy == wanted


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "x.jsonl:2: not JSON"),
        ("[1]", "x.jsonl:2: a pair is an object"),
        ({"id": "p", "gold": SIDE}, "x.jsonl:2:pred: field is missing"),
        ({**GOOD, "id": ""}, "x.jsonl:2:id: "),
        ({**GOOD, "extra": 1}, "x.jsonl:2:extra: unknown field"),
        ({**GOOD, "policy": "nope"}, "x.jsonl:2:policy: unknown policy preset 'nope'"),
        ({**GOOD, "policy": {"rle_tol": 1}}, "x.jsonl:2:policy.rle_tol: unknown field"),
        ({**GOOD, "policy": {"order_keys": [[1, "asc"]]}}, "x.jsonl:2:policy.order_keys: the gold has 1 columns"),
        ({**GOOD, "policy": {"required_columns": [-1]}}, "x.jsonl:2:policy.required_columns: the gold has 1 columns"),
        ({**GOOD, "gold": {"columns": [{"name": "a"}]}}, "x.jsonl:2:gold: a relation is"),
        ({**GOOD, "gold": {**SIDE, "rows": [[1, 2]]}}, "x.jsonl:2:gold.rows[0]: row has 2 cells for 1 columns"),
        ({**GOOD, "pred": {**SIDE, "rows": [[{"$x": 2}]]}}, "x.jsonl:2:pred.rows[0][0]: unknown tag '$x'"),
        ({"id": "p", "gold": SIDE, "predicted": 5}, "x.jsonl:2:predicted: a relation is"),
        ({**GOOD, "pred": {**SIDE, "rows": [[[1]]]}}, "x.jsonl:2:pred.rows[0][0]: "),
        ('{"id": "p", "id": "q"}', "x.jsonl:2: not accepted: key 'id' stands twice"),
        ("x" * 200_000, "x.jsonl:2: line is longer than 100,000 bytes"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(line: Any, message: str) -> None:
    """Line 2 is wrong: lines 1 and 3 are pairs, and the error names file, line and field."""
    first, error, third = read(GOOD, line, GOOD)
    assert isinstance(first, Pair)
    assert isinstance(third, Pair)
    assert third.line == 3
    assert isinstance(error, InputError)
    assert str(error).startswith(message)


def test_lines_are_read_one_at_a_time() -> None:
    """The second line is not touched before the first pair is taken."""
    stream = io.BytesIO((json.dumps(GOOD) + "\n").encode() * 1000)
    next(read_pairs(stream, Path("x"), preset("strict")))
    assert stream.tell() == len(json.dumps(GOOD)) + 1


def test_the_schema_accepts_what_the_reader_accepts() -> None:
    """The JSON Schema of a pair takes both spellings and refuses a missing side."""
    check = jsonschema.Draft202012Validator(schemas()["pair.json"]).is_valid
    assert check(GOOD) is True
    assert check({"id": 7, "gold": SIDE, "predicted": SIDE, "policy": "bird"}) is True
    assert check({"id": "p", "gold": SIDE}) is False
    assert check({**GOOD, "policy": {"rle_tol": 1}}) is False


def test_a_policy_is_spelled_on_a_command_line() -> None:
    """A preset, or a preset and fields; a plus inside a value is kept."""
    assert policy_named("bird") == preset("bird")
    assert policy_named("strict+rel_tol=1e-6+text_case=fold") == Policy(rel_tol=1e-6, text_case="fold")
    assert policy_named("strict+ignore_columns=updated_at").ignore_columns == ("updated_at",)
    assert policy_named("strict+ignore_columns=2024").ignore_columns == ("2024",)
    assert policy_named('strict+ignore_columns=["a","b c"]').ignore_columns == ("a", "b c")
    assert policy_named("strict+ignore_columns=[a, b c]").ignore_columns == ("a", "b c")
    assert policy_named("strict+ignore_columns=a,b").ignore_columns == ("a", "b")
    assert policy_named('strict+ignore_columns=["a,b"]').ignore_columns == ("a,b",)
    assert policy_named("cross_dialect+naive_tz=null").naive_tz is None
    assert policy_named("strict+naive_tz=Etc/GMT+1").naive_tz == "Etc/GMT+1"
    assert policy_named('strict+order_keys=[[0,"asc"]]').order_keys == ((0, "asc"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nope", "policy: unknown policy preset 'nope'"),
        ("strict+rle_tol=1", "--policy:rle_tol: unknown field. Did you mean 'rel_tol'?"),
        ("strict+rel_tol=-1", "--policy:rel_tol: Input should be greater than or equal to 0"),
        ("strict+rel_tol=1+rel_tol=2", "policy: 'strict+rel_tol=1+rel_tol=2' sets a field twice"),
    ],
)
def test_a_wrong_policy_on_a_command_line_is_named(text: str, message: str) -> None:
    """Every slip is an input error that says what may stand there."""
    with pytest.raises(InputError) as caught:
        policy_named(text)
    assert str(caught.value).startswith(message)
