"""Where a setting comes from: command line, environment, run file, pack header, default."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.pack import PackSettings
from sqlassay.cases.policy import PolicyOverrides
from sqlassay.harness.run.options import options_from, resolve


def test_precedence_is_command_line_environment_file_pack_default():
    """The strongest source that names a setting wins, and the origin says which."""
    layers = [
        ("command line", options_from({"timeout": "1"}, file=None)),
        ("environment", options_from({"timeout": "2", "trials": "3"}, file=None)),
        ("run file", options_from({"trials": 4, "seed": 5}, file="run.yaml")),
    ]
    config = resolve(layers, PackSettings(timeout=9, row_limit=7))
    origins = dict(config.origins)
    assert (config.timeout, config.trials, config.seed, config.row_limit, config.gold_timeout) == (1.0, 3, 5, 7, 300.0)
    assert [origins[f] for f in ("timeout", "trials", "seed", "row_limit", "gold_timeout")] == [
        "command line",
        "environment",
        "run file",
        "pack",
        "default",
    ]


def test_defaults_are_the_documented_ones():
    """30 s predicted, 300 s gold, 100,000 rows, one trial, seed 0, t 0.1, alpha 0.3, beta 0.2, policy skill."""
    config = resolve([], PackSettings())
    shown = (config.timeout, config.gold_timeout, config.row_limit, config.trials, config.seed)
    assert shown == (30.0, 300.0, 100_000, 1, 0)
    assert (config.disagreement, config.alpha, config.beta, config.policy_name) == (0.1, 0.3, 0.2, "skill")
    assert (config.policy.columns, config.policy.extra_columns) == ("any", "allow")


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"timeout": "abc"}, "--timeout"),
        ({"timeout": "-1"}, "--timeout"),
        ({"timeout": "nan"}, "--timeout"),
        ({"jobs": "0"}, "--jobs"),
        ({"row_limit": "ten"}, "--row-limit"),
        ({"engine": "maybe"}, "--engine"),
        ({"fail_under": ["execution_accuracy"]}, "--fail-under"),
        ({"fail_under": ["execution_accuracy=x"]}, "--fail-under"),
        ({"clock": "yesterday"}, "--clock"),
        ({"nonsense": 1}, "--nonsense"),
        ({"only": ""}, "--only"),
        ({"tags": " , "}, "--tags"),
        ({"fail_under": ["execution_accuracy=nan"]}, "--fail-under"),
    ],
)
def test_malformed_option_is_named(values, place):
    """A bad value names its option and is exit code 2."""
    with pytest.raises(InputError) as caught:
        options_from(values, file=None, names="--")
    assert str(caught.value).startswith(f"{place}:")
    assert caught.value.exit_code == 2


def test_unknown_field_of_a_run_file_lists_the_known_ones():
    """A typo in a run file names the file, the field and what would have been right."""
    with pytest.raises(InputError, match=r"run\.yaml:timeot: .*Known fields: .*timeout"):
        options_from({"timeot": 3}, file="run.yaml")


def test_lists_and_thresholds_accept_commas():
    """`a,b` is a list; `METRIC=X` a threshold; a mapping does in a run file."""
    options = options_from({"only": "a, b", "fail_under": ["execution_accuracy=0.5,routing=1"]}, file=None)
    assert options.only == ("a", "b")
    assert options.fail_under == (("execution_accuracy", 0.5), ("routing", 1.0))
    assert options_from({"fail_under": {"routing": 0.25}}, file=None).fail_under == (("routing", 0.25),)


def test_agent_and_predictions_of_one_source_contradict():
    """Naming both in one place is an error; in different places the stronger one decides."""
    both = options_from({"agent": "a:b", "predictions": "p.jsonl"}, file=None)
    with pytest.raises(InputError, match="both given"):
        resolve([("command line", both)], PackSettings())
    stronger = options_from({"agent": "a:b"}, file=None)
    weaker = options_from({"predictions": "p.jsonl"}, file=None)
    config = resolve([("command line", stronger), ("environment", weaker)], PackSettings())
    assert (config.agent, config.predictions) == ("a:b", None)
    config = resolve([("command line", weaker), ("environment", stronger)], PackSettings())
    assert (config.agent, config.predictions) == (None, Path("p.jsonl"))


def test_pack_policy_holds_unless_a_stronger_source_names_a_preset():
    """A pack's policy fields refine its preset; `--policy strict` replaces them whole, and the origin says so."""
    pack = PackSettings(policy_preset="strict", policy=PolicyOverrides(columns="name"))
    config = resolve([], pack)
    assert (config.policy.columns, dict(config.policy_origins)["columns"]) == ("name", "pack")
    named = resolve([("command line", options_from({"policy": "strict"}, file=None))], pack)
    assert named.policy.columns == "position"
    assert dict(named.policy_origins)["columns"] == "preset strict (command line)"


def test_a_run_takes_a_preset_with_fields():
    """The command line may name fields after the preset, as compare and rescore do."""
    spelt = "strict+ignore_columns=updated_at+rel_tol=1e-6"
    config = resolve([("command line", options_from({"policy": spelt}, file=None))], PackSettings())
    assert (config.policy.ignore_columns, config.policy.rel_tol) == (("updated_at",), 1e-6)
    assert dict(config.policy_origins)["rel_tol"] == f"preset {spelt} (command line)"


def test_unknown_policy_lists_presets():
    """A misspelt policy is an input error that lists the presets."""
    with pytest.raises(InputError, match="strict"):
        resolve([("command line", options_from({"policy": "strikt"}, file=None))], PackSettings())
