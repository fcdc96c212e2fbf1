"""The picture in the README is what the program shows today."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


@pytest.mark.jail
def test_the_picture_is_not_stale():
    """docs/demo.svg equals a drawing of a fresh demo run; `make docs` writes it anew."""
    spec = importlib.util.spec_from_file_location("picture", Path(__file__).parent / "picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.TARGET.read_text(encoding="utf-8") == module.picture()
