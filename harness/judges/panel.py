"""Several judges as one: the majority decides, the middle number counts, and how far they differ is said."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from sqlassay.harness.judges.contract import Figures, Seated
from sqlassay.harness.results.judging import Answer, Judgement

Answers = Sequence[tuple[str, BaseModel]]
"""Who said what."""


class Panel:
    """The `Ask` of metrics over several judges; more than half of them must answer."""

    def __init__(self, members: Sequence[Seated]) -> None:
        """Seat the members."""
        self._members = tuple(members)
        # Guards the counts.
        self._lock = threading.Lock()
        self._asked = self._unavailable = self._split = 0

    @property
    def label(self) -> str:
        """Return the members' names."""
        return f"panel({', '.join(member.label for member in self._members)})"

    def __call__(self, prompt: str, schema: type[Answer]) -> Judgement[Answer]:
        """Return what the panel as a whole says, with each member's words as `raw`."""
        heard = [(member.label, member(prompt, schema)) for member in self._members]
        answers = [(label, said.value) for label, said in heard if said.value is not None]
        raw = json.dumps([{"judge": label, "raw": said.raw, "reason": said.reason} for label, said in heard])
        value, reason, split = self._decide(answers, heard, schema)
        with self._lock:
            self._asked += 1
            self._unavailable += value is None
            self._split += split
        tokens = [said.tokens for _, said in heard if said.tokens is not None]
        costs = [said.cost for _, said in heard if said.cost is not None]
        return Judgement(
            value=value,
            reason=reason,
            raw=raw,
            model=self.label,
            tokens=sum(tokens) if tokens else None,
            cost=sum(costs) if costs else None,
            cached=all(said.cached for _, said in heard),
        )

    def figures(self) -> Figures:
        """Return the sums over the members, and their own figures."""
        members = tuple(member.figures() for member in self._members)
        costs = [member.cost for member in members if member.cost is not None]
        with self._lock:
            return Figures(
                self.label,
                asked=self._asked,
                kept=sum(member.kept for member in members),
                retries=sum(member.retries for member in members),
                unavailable=self._unavailable,
                input_tokens=sum(member.input_tokens for member in members),
                output_tokens=sum(member.output_tokens for member in members),
                cost=sum(costs) if costs else None,
                split=self._split,
                members=members,
            )

    def close(self) -> None:
        """Close every member."""
        for member in self._members:
            member.close()

    def _decide(
        self, answers: Answers, heard: Sequence[tuple[str, Judgement[Answer]]], schema: type[Answer]
    ) -> tuple[Answer | None, str, bool]:
        """Return the panel's answer or None, the reason, and whether its members differ."""
        size = len(self._members)
        if 2 * len(answers) <= size:
            silent = "; ".join(f"{label}: {said.reason}" for label, said in heard if said.value is None)
            return None, f"{len(answers)} of {size} judges answered ({silent})", False
        values, disputed = combine([answer for _, answer in answers], schema)
        split = bool(disputed)
        said = f"{len(answers)} of {size} judges answered, " + ("; ".join(disputed) if split else "all alike")
        if values is None:
            return None, f"the panel has no majority: {said}", True
        try:
            return schema.model_validate(values), f"panel: {said}", split
        except ValidationError:
            return None, f"the panel's answer contradicts itself: {said}", True


def combine(answers: Sequence[BaseModel], schema: type[BaseModel]) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the fields of the answer a panel gives together, None without a majority, and what was disputed.

    Of numbers the middle one counts (of two middle ones the lower), of everything else what more than half said.
    Free words are taken from the first member that said the rest as decided.
    """
    decided: dict[str, Any] = {}
    disputed = []
    words = [name for name, field in schema.model_fields.items() if field.annotation is str]
    for name in schema.model_fields:
        if name in words:
            continue
        said = [getattr(answer, name) for answer in answers]
        if all(_number(value) for value in said):
            decided[name] = sorted(said)[(len(said) - 1) // 2]
            differ = min(said) != max(said)
        else:
            value, times = _majority(said)
            if 2 * times <= len(said):
                return None, [f"{name} {_shown(said)}"]
            decided[name], differ = value, times < len(said)
        if differ:
            disputed.append(f"{name} {_shown(said)}")
    nearest = next((a for a in answers if all(getattr(a, n) == v for n, v in decided.items())), answers[0])
    return decided | {name: getattr(nearest, name) for name in words}, disputed


def _majority(said: Sequence[Any]) -> tuple[Any, int]:
    """Return what most members said, the first such, and how many did."""
    keys = [repr(value) for value in said]
    key, times = Counter(keys).most_common(1)[0]
    return said[keys.index(key)], times


def _number(value: object) -> bool:
    """Return whether a value is a number; a yes or no is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(said: Sequence[object]) -> str:
    """Return the members' values in their order."""
    return " / ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in said)
