"""The named policies, and how a pack's, a case's and the command line's choices are laid over one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlassay.cases.errors import InputError
from sqlassay.cases.policy import Policy, PolicyOverrides

if TYPE_CHECKING:
    from sqlassay.cases.case import Case

_STRICT = Policy()

_PRESETS: dict[str, Policy] = {
    "strict": _STRICT,
    "skill": Policy(columns="any", extra_columns="allow"),
    "cross_dialect": Policy(
        nulls_order="any",
        scale_aware=True,
        text_trim="right",
        naive_tz="UTC",  # sessions are pinned to UTC: that is the zone in which MySQL and SQLite show a moment
        float32_rel_tol=5.1e-6,  # MySQL writes six digits of a FLOAT: off by half a unit of the sixth
        bits_as_int=True,
        json_string_as_text=True,  # what JSON_EXTRACT quotes on MySQL and DuckDB, SQLite gives without quotes
    ),
    "bird": Policy(row_order="ignore", multiplicity="set", peer="bird"),
    "spider": Policy(columns="any", peer="spider"),
    "spider2": Policy(columns="any", extra_columns="allow", peer="spider2"),
    "evalbench": Policy(row_order="ignore", multiplicity="set", peer="evalbench"),
    "sqlas": Policy(row_order="ignore", columns="any", peer="sqlas"),
    "oracle_spider": Policy(peer="oracle_spider"),
}


def preset_names() -> tuple[str, ...]:
    """Return the names of every preset."""
    return tuple(_PRESETS)


def preset(name: str) -> Policy:
    """Return the policy of this name.

    Raises: InputError listing the names where it is none of them.
    """
    if str(name) not in _PRESETS:
        raise InputError(
            f"unknown policy preset {name!r}", field="policy", remedy=f"Choose one of {', '.join(_PRESETS)}"
        )
    return _PRESETS[name]


def merge(policy: Policy, *overrides: PolicyOverrides | None) -> Policy:
    """Lay overrides over a policy, later ones over earlier; a preset named in one replaces all below it.

    Raises: InputError for an unknown preset.
    """
    for override in overrides:
        if override is None:
            continue
        base = policy if override.preset is None else preset(override.preset)
        policy = base.model_copy(update=override.chosen)
    return policy


def case_policy(base: Policy, case: Case) -> Policy:
    """Return the policy a case is judged under: what it says of order and extra columns, then its overrides.

    A case that does not say leaves the order to the policy (`auto` in the presets); only a refusal of extra columns
    changes anything, as `skill` allows them anyway. A policy that stands for a peer keeps that peer's rule.
    """
    if base.peer is not None:
        return base
    update: dict[str, object] = {}
    if case.order_required is not None:
        update["row_order"] = "keys" if case.order_required else "ignore"
    if case.allow_extra_predicted_columns is False:
        update["extra_columns"] = "forbid"
    return merge(base.model_copy(update=update), case.policy)
