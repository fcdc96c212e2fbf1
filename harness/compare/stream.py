"""Comparing results larger than memory: one pass over each side, one keyed sum of row hashes, nothing kept.

Soundness. Let n be the larger number of rows. Each row is hashed to 128 bits by BLAKE2b under a key drawn after the
rows are fixed; the sums of the hashes modulo 2**128 are compared, and the numbers of rows are. For two unequal bags
some row occurs a different number of times, by d with 0 < |d| <= n; if the largest power of two that divides every
such d is 2**v, the sums agree with probability 2**(v - 128) where the hash is taken for random. As 2**v <= n a false
match has a probability of at most n / 2**128: below 2**-88 for a million million rows. XOR would lose every pair of
equal rows; a known key would let a prediction be searched that sums to the gold's value, so the key is secret and new
each time unless the caller fixes it. A match is therefore certain up to that bound, and a mismatch is certain.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlassay.cases.errors import InputError
from sqlassay.cases.policy import Policy
from sqlassay.cases.relation import Column, Relation, Row
from sqlassay.harness.compare.canonical import Writer, definite, row_bytes
from sqlassay.harness.compare.cells import Rules
from sqlassay.harness.compare.columns import (
    Kept,
    by_name,
    by_position,
    compared,
    ignored_notes,
    kept_choices,
    names_agree,
)
from sqlassay.harness.compare.evidence import explained
from sqlassay.harness.compare.judge import Judgement, judge
from sqlassay.harness.results.verdicts import Comparison

Verdict: TypeAlias = Literal["match", "mismatch", "undecided"]

_WRAP = (1 << 128) - 1


@dataclass(frozen=True, slots=True)
class _Side:
    """What is left of one side after its pass: how many rows, as a bag and in order, and the classes of each column."""

    rows: int
    bag: int
    sequence: bytes
    seen: tuple[frozenset[str], ...]


def compare_streams(
    gold_rows: Iterable[Row],
    predicted_rows: Iterable[Row],
    *,
    gold_columns: tuple[Column, ...],
    predicted_columns: tuple[Column, ...],
    policy: Policy,
    key: bytes | None = None,
) -> Comparison:
    """Judge two results by one pass over each, gold first, in memory that does not grow with the rows.

    A match is wrong with a probability of at most n / 2**128 for n rows (see the module); a mismatch is certain.
    Where a tolerance or a reading of texts could still make unequal rows equal the verdict is undecided. `key` (16 to
    64 bytes) fixes the hash for a repeatable run; without it a secret one is drawn.
    Raises: InputError for a policy that one pass cannot apply: columns any, sets, order keys, a peer, a cut result.
    """
    _refuse(policy)
    heads = Relation(gold_columns, ()), Relation(predicted_columns, ())
    if gold_columns and not compared(heads[0], policy):
        return explained(*heads, policy, None, judge(*heads, policy, None))
    places = _places(*heads, policy)
    if places is None:
        empty = next(iter(gold_rows), None) is None and next(iter(predicted_rows), None) is None
        found = judge(*heads, policy, None) if empty else Judgement("mismatch", _unlike(*heads, policy))
        return explained(*heads, policy, None, found)
    rules = tuple(_rules(policy, gold_columns[i], predicted_columns[j]) for i, j in zip(*places, strict=True))
    secret = secrets.token_bytes(32) if key is None else _checked(key)
    gold, pred = (
        _passed(rows, rules, side, secret) for rows, side in zip((gold_rows, predicted_rows), places, strict=True)
    )
    if not gold.rows and not pred.rows:
        return explained(*heads, policy, None, judge(*heads, policy, None))
    faced = dict(zip(*places, strict=True))
    verdict, rule, reason = _verdict(gold, pred, rules, in_order=policy.row_order == "exact")
    mapping = tuple(faced.get(index) for index in range(len(gold_columns)))
    return Comparison(
        verdict, rule, reason, policy.digest, columns=mapping, flags=("streamed", *ignored_notes(*heads, policy))
    )


def _refuse(policy: Policy) -> None:
    """Refuse a policy that needs more than one pass and a fixed memory.

    Raises: InputError naming the field.
    """
    refused = {
        "peer": policy.peer is not None,
        "columns": policy.columns == "any",
        "multiplicity": policy.multiplicity == "set",
        "row_order": policy.row_order == "keys" or bool(policy.order_keys),
        "truncated": policy.truncated is not None,
        "required_columns": policy.required_columns is not None,
    }
    for field, holds in refused.items():
        if holds:
            raise InputError(
                f"a streaming comparison cannot apply {field}",
                field=field,
                remedy="Use columns position or name, bags, row_order ignore or exact, or compare the results whole",
            )


def _checked(key: bytes) -> bytes:
    """Return a key long enough to be secret and short enough for the hash.

    Raises: InputError for any other.
    """
    if not 16 <= len(key) <= 64:
        raise InputError(f"a key of {len(key)} bytes", field="key", remedy="Give 16 to 64 bytes")
    return key


def _places(gold: Relation, pred: Relation, policy: Policy) -> tuple[Kept, Kept] | None:
    """Return the gold columns kept and the predicted ones they face; None where the columns cannot agree."""
    kept = next(iter(kept_choices(gold, pred, policy)), None)
    if kept is None:
        return None
    mapping = by_position(kept, pred, policy) if policy.columns == "position" else by_name(kept, gold, pred)
    if mapping is None or (policy.names == "match" and not names_agree(kept, mapping, gold, pred)):
        return None
    return kept, mapping


def _unlike(gold: Relation, pred: Relation, policy: Policy) -> str:
    """Return the rule by which the columns cannot agree."""
    return "names" if kept_choices(gold, pred, policy) else "columns"


def _rules(policy: Policy, gold: Column, pred: Column) -> Rules:
    """Return the rules that hold for a pair of columns."""
    return Rules.of(policy, gold.kind, pred.kind)


def _passed(rows: Iterable[Row], rules: tuple[Rules, ...], places: Kept, secret: bytes) -> _Side:
    """Take one side in, row by row."""
    writers = tuple(map(Writer, rules))
    sequence = hashlib.blake2b(key=secret, digest_size=32)
    take: Callable[[bytes], None] = sequence.update
    count = total = 0
    for row in rows:
        digest = hashlib.blake2b(row_bytes(writers, row, places), key=secret, digest_size=16).digest()
        total = (total + int.from_bytes(digest, "little")) & _WRAP
        take(digest)
        count += 1
    return _Side(count, total, sequence.digest(), tuple(frozenset(writer.seen) for writer in writers))


def _verdict(gold: _Side, pred: _Side, rules: tuple[Rules, ...], *, in_order: bool) -> tuple[Verdict, str, str]:
    """Return verdict, rule and reason for two sides that are not both empty."""
    if gold.rows != pred.rows:
        return "mismatch", "row_count", f"the gold has {gold.rows} rows, the prediction {pred.rows}"
    if gold.bag == pred.bag and (not in_order or gold.sequence == pred.sequence):
        return "match", "rows", "the rows are equal, by a keyed sum of their hashes"
    doubts = (definite(ours | theirs, rule) for ours, theirs, rule in zip(gold.seen, pred.seen, rules, strict=True))
    doubt = next((one for one in doubts if one is not None), None)
    if doubt is not None:
        return (
            "undecided",
            "stream",
            f"the rows differ in writing, but {doubt} could make them equal; compare them whole",
        )
    if gold.bag == pred.bag:
        return "mismatch", "row_order", "the rows are the same but stand in another order"
    return "mismatch", "rows", "rows differ"
