"""A fixed sample of the soak: no generated text hangs the guard, kills it or goes without a verdict."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SAMPLE = 3_000


def _soak() -> ModuleType:
    """Load the soak that `make soak` runs whole."""
    spec = importlib.util.spec_from_file_location("guard_soak", Path(__file__).with_name("soak.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["guard_soak"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_no_generated_text_hangs_or_kills_the_guard() -> None:
    """Every text of the sample gets its verdict in time; most are rejected, some are SQL that passes."""
    held = _soak().soak(SAMPLE, 20261127)
    assert held.texts == SAMPLE
    assert 0 < held.verdicts["allowed"] < SAMPLE / 2
    assert held.slowest < 8


@pytest.mark.slow
def test_the_sample_is_the_same_every_time() -> None:
    """The same seed gives the same texts."""
    module = _soak()
    assert list(module.texts(60, 7)) == list(module.texts(60, 7))
