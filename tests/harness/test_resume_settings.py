"""Whatever a run was told comes back from its manifest as it was, so that a resumed run is told the same."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.cases.pack import PackSettings
from sqlassay.harness.results.run_result import Manifest
from sqlassay.harness.run.manifest import _settings
from sqlassay.harness.run.options import RunConfig, RunOptions, options_from, resolve
from sqlassay.harness.run.resume import Moved, _config
from sqlassay.harness.store.places import Places

_PLACES = Places(folder=Path("/"), pack=Path("pack"), pack_format="own", agent="agents:answer")
_ELSEWHERE = {"dialect", "out", "agent", "predictions"}
_TOLD: dict[str, Any] = {
    "format": None,
    "jobs": 3,
    "trials": 4,
    "timeout": 1.5,
    "gold_timeout": 7,
    "row_limit": 5,
    "policy": "strict+rel_tol=1e-6",
    "metrics": ("execution_accuracy", "structural"),
    "metric_option": (("evalbench.regexp_matcher.regexp_string_list", ["a", "b"]),),
    "fail_under": (("execution_accuracy", 0.5),),
    "only": ("a", "b"),
    "tags": ("t",),
    "limit": 2,
    "sample": 3,
    "seed": 9,
    "store_rows": "diff",
    "gold_cache": False,
    "alpha": 0.4,
    "beta": 0.1,
    "disagreement": 0.3,
    "clock": "2026-01-31T12:00:00+02:00",
    "agent_timeout": 3,
    "allow_unknown": True,
    "engine": "none",
    "sandbox": "process",
    "judge_cache": False,
}


def written(config: RunConfig) -> Manifest:
    """Return the part of a manifest that settings are read from, by way of its file."""
    settings = json.loads(json.dumps(_settings(config)))
    policy = json.loads(config.policy.model_dump_json())
    return Manifest.model_construct(
        dialect=config.dialect, settings=settings, policy=policy, policy_origin=dict(config.policy_origins)
    )


def told(values: dict[str, Any]) -> RunConfig:
    """Return what a command line makes of these options."""
    options = RunOptions.model_validate({"dialect": "sqlite", "agent": "agents:answer", **values})
    return resolve([("command line", options)], PackSettings())


@pytest.mark.parametrize("values", [{}, *({name: value} for name, value in _TOLD.items()), _TOLD])
def test_settings_come_back(values):
    """Each option alone, none, and all together: the same configuration but for the folder it is written in."""
    config = told(values)
    again = _config(written(config), _PLACES, Path("/run"), Moved())
    for setting in fields(RunConfig):
        if setting.name not in _ELSEWHERE:
            assert getattr(again, setting.name) == getattr(config, setting.name), setting.name
    assert (again.dialect, again.agent, again.out) == ("sqlite", "agents:answer", Path("/run"))


def test_where_images_come_from_is_kept_out_of_the_manifest():
    """Mirrors and the lock of images name this machine's surroundings: they stand in places.json alone."""
    config = told({"mirror": ("registry.invalid:5000",), "images_lock": "images.lock"})
    assert "registry.invalid" not in json.dumps(_settings(config))
    where = _PLACES.model_copy(update={"mirror": config.mirror, "images_lock": config.images_lock})
    again = _config(written(config), where, Path("/run"), Moved())
    assert (again.mirror, again.images_lock) == (config.mirror, config.images_lock)


def test_a_judge_is_named_in_places_alone():
    """A judge's address or file is of this machine: the manifest holds its label, places.json how it was named."""
    config = told({"judge": ("replay:judge.jsonl",), "judge_record": "again.jsonl"})
    assert "judge.jsonl" not in json.dumps(_settings(config))
    where = _PLACES.model_copy(update={"judge": config.judge, "judge_record": config.judge_record})
    again = _config(written(config), where, Path("/run"), Moved())
    assert (again.judge, again.judge_record) == (("replay:judge.jsonl",), Path("again.jsonl"))


def test_workers_and_engine_may_be_told_anew():
    """What changes no result may differ: how many workers, and whether an engine may be started."""
    again = _config(written(told({"jobs": 3})), _PLACES, Path("/run"), Moved(jobs=1, engine="ask"))
    assert (again.jobs, again.engine) == (1, "ask")


@pytest.mark.parametrize(("name", "value"), [("row_limit", 0), ("nonsense", 1), ("store_rows", "some")])
def test_a_setting_nobody_knows_is_named(name, value):
    """A manifest with an unknown or impossible setting is refused by file and field."""
    manifest = written(told({}))
    manifest.settings[name] = value
    with pytest.raises(InputError, match=rf"manifest\.json.*{name}"):
        _config(manifest, _PLACES, Path("/run"), Moved())


def test_options_are_all_in_the_manifest():
    """Every option of a run is a setting of its manifest, or stands elsewhere in it."""
    settings = set(_settings(told({})))
    assert set(RunOptions.model_fields) - settings == {
        "format",
        "profile",
        "dry_run",
        "mirror",
        "images_lock",
        "judge",
        "judge_record",
        *_ELSEWHERE,
    }
    assert options_from({}, file=None) == RunOptions()
