"""Read a policy as a command line spells it: a preset's name, or the name and fields after it."""

from __future__ import annotations

import json
import re

from sqlassay.cases.errors import InputError
from sqlassay.cases.faults import Faults
from sqlassay.cases.policy import Policy, PolicyOverrides
from sqlassay.cases.presets import merge, preset

_FIELD_START = re.compile(r"\+(?=[a-z_0-9]+=)")
_NAMES = ("ignore_columns",)


def policy_named(text: str) -> Policy:
    """Return the policy a command line names: a preset, or a preset plus fields (`strict+rel_tol=1e-6+text_case=fold`).

    Raises: InputError for an unknown preset or field, or a value its field cannot hold.
    """
    name, *fields = _FIELD_START.split(text.strip())
    values = dict(field.split("=", 1) for field in fields)
    if len(values) != len(fields):
        raise InputError(f"{text!r} sets a field twice", field="policy", remedy="Name each field once")
    faults = Faults()
    found = faults.validate(
        PolicyOverrides,
        {field: _value(field, value) for field, value in values.items()},
        file="--policy",
        line=lambda _: None,
    )
    faults.check()
    return merge(preset(name), found)


def _value(field: str, text: str) -> object:
    """Return a field's value: JSON where it is JSON, else the text itself, or a list of names (`a,b`, `[a, b]`)."""
    try:
        value = json.loads(text)
    except ValueError:
        value = text
    if field not in _NAMES or isinstance(value, list):
        return value
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    return [name.strip() for name in inner.split(",")]
