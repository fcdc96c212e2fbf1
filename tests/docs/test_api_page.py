"""docs/api.md is what the docstrings say, and no public name is without one."""

from __future__ import annotations

import inspect

from api_page import PAGE, page

import sqlassay


def test_the_page_is_fresh() -> None:
    """`make docs` was run after the last change."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_public_name_is_told() -> None:
    """Each name has a section, and each function or class a docstring of its own."""
    text = page()
    for name in sqlassay.__all__:
        assert f"# `{name}`" in text
        found = getattr(sqlassay, name)
        if inspect.isclass(found) or inspect.isfunction(found):
            assert inspect.getdoc(found)
