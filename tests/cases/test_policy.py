"""Policies are values: presets by name, overrides in layers, a digest over every field."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from sqlassay.cases.case import Case
from sqlassay.cases.errors import InputError
from sqlassay.cases.policy import Policy, PolicyOverrides
from sqlassay.cases.presets import case_policy, merge, preset, preset_names


def case(**fields: Any) -> Case:
    return Case(id="c", question="q", snapshot="s", **fields)


def test_strict_is_the_defaults() -> None:
    """The preset `strict` changes nothing."""
    assert preset("strict") == Policy()


def test_skill_frees_columns_and_allows_extra_ones() -> None:
    """The default of a run differs from strict in two fields."""
    assert preset("skill") == Policy(columns="any", extra_columns="allow")


def test_every_preset_has_a_digest_of_its_own() -> None:
    """A verdict's policy hash tells presets apart."""
    names = ("strict", "skill", "cross_dialect", "bird", "spider", "spider2", "evalbench", "sqlas", "oracle_spider")
    assert preset_names() == names
    assert len({preset(name).digest for name in names}) == len(names)


def test_an_unknown_preset_lists_the_known_ones() -> None:
    """The remedy names every preset."""
    with pytest.raises(InputError, match="Choose one of strict, skill, cross_dialect"):
        preset("lenient")


def test_the_digest_covers_every_field() -> None:
    """Changing any field changes the hash; building the same policy again does not."""
    assert Policy().digest == Policy().digest
    assert Policy(abs_tol=1e-11).digest != Policy().digest
    assert Policy(order_keys=((0, "asc"),)).digest != Policy(order_keys=((0, "desc"),)).digest


def test_a_policy_refuses_unknown_fields_and_negative_tolerances() -> None:
    """Typing errors in a policy do not pass silently."""
    with pytest.raises(ValidationError):
        Policy.model_validate({"row_orders": "exact"})
    with pytest.raises(ValidationError):
        Policy(rel_tol=-1)


def test_later_overrides_win_and_a_preset_replaces_what_lies_below() -> None:
    """Layers are laid in the order given; None is no layer."""
    merged = merge(Policy(), PolicyOverrides(abs_tol=0.5), None, PolicyOverrides(abs_tol=0.1, columns="name"))
    assert merged == Policy(abs_tol=0.1, columns="name")
    assert merge(Policy(abs_tol=9), PolicyOverrides(preset="skill", rel_tol=0)) == preset("skill").model_copy(
        update={"rel_tol": 0.0}
    )


def test_a_written_null_sets_a_field_that_may_be_null() -> None:
    """A case takes the zone back that its preset names; where null is no value it says nothing."""
    assert merge(preset("cross_dialect"), PolicyOverrides(naive_tz=None)).naive_tz is None
    assert merge(preset("cross_dialect"), PolicyOverrides(columns="name")).naive_tz == "UTC"
    assert merge(Policy(rel_tol=0.5), PolicyOverrides(rel_tol=None)).rel_tol == 0.5


def test_names_to_ignore_replace_those_below_and_are_never_empty() -> None:
    """A case's list takes the pack's place, and an empty name is refused."""
    pack, own = PolicyOverrides(ignore_columns=("a",)), PolicyOverrides(ignore_columns=("b",))
    assert merge(Policy(), pack, own).ignore_columns == ("b",)
    assert merge(Policy(), pack, PolicyOverrides(ignore_columns=())).ignore_columns == ()
    assert Policy(ignore_columns=("a",)).digest != Policy().digest
    with pytest.raises(ValidationError):
        Policy(ignore_columns=("",))


@pytest.mark.parametrize(("required", "row_order"), [(True, "keys"), (False, "ignore"), (None, "auto")])
def test_a_case_says_whether_order_counts(required: bool | None, row_order: str) -> None:
    """order_required true demands the gold's keys, false ignores order, silence leaves it to the gold."""
    assert case_policy(preset("skill"), case(order_required=required)).row_order == row_order


@pytest.mark.parametrize(("allowed", "extra"), [(True, "allow"), (False, "forbid"), (None, "allow")])
def test_a_case_may_refuse_extra_columns(allowed: bool | None, extra: str) -> None:
    """Only a refusal changes the Skill preset."""
    assert case_policy(preset("skill"), case(allow_extra_predicted_columns=allowed)).extra_columns == extra


def test_strict_does_not_loosen_for_a_case_that_allows_extra_columns() -> None:
    """The strict verdict forbids extra columns whatever the Skill's dataset fills in."""
    assert case_policy(preset("strict"), case(allow_extra_predicted_columns=True)).extra_columns == "forbid"


def test_a_cases_own_policy_wins_over_its_wishes() -> None:
    """Policy fields written in the case are laid on top."""
    policy = case_policy(preset("skill"), case(order_required=True, policy=PolicyOverrides(row_order="exact")))
    assert policy.row_order == "exact"


def test_a_peer_keeps_its_rule_whatever_the_case_says() -> None:
    """A preset that reproduces a published verdict is not bent by a case."""
    assert case_policy(preset("bird"), case(order_required=True)) == preset("bird")


@pytest.mark.parametrize("kind", [Policy, PolicyOverrides])
def test_an_unknown_time_zone_is_refused_where_it_is_written(kind: type[Policy | PolicyOverrides]) -> None:
    """No comparison has to need it first."""
    with pytest.raises(ValidationError, match="unknown time zone 'Mars/Base'"):
        kind(naive_tz="Mars/Base")
    assert kind(naive_tz="Europe/Berlin").naive_tz == "Europe/Berlin"
