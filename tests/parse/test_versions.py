"""The readings of version-gated comments: places kept, versions apart, and linear in the text whatever it is."""

from __future__ import annotations

import time

import pytest

from sqlassay.harness.parse.versions import readings


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("SELECT 1", ()),
        ("SELECT '/*! 1 */'", ()),
        ('SELECT "/*! 1 */" -- /*! 2 */', ()),
        ("SELECT 1 /* /*! 2 */", ()),
        ("SELECT 1 # /*! 2 */", ()),
        ("SELECT `/*! a */`", ()),
        ("SELECT /*!80000 a, */ b", ("SELECT                b", "SELECT          a,    b")),
        ("SELECT /*! a, */ b", ("SELECT           b", "SELECT     a,    b")),
        (
            "/*!80000 A */ /*!99999 B */ c",
            ("                            c", "         A                  c", "         A             B    c"),
        ),
        ("SELECT 1 /*!80000 'a' */", ()),
        ("/*!80001 */ /*!80002 */ /*!80003 */ /*!80004 */ /*!80005 */", ()),
    ],
)
def test_each_kind_of_version_has_its_reading(sql: str, wanted: tuple[str, ...]) -> None:
    """None of the comments is read first, then those of older versions, then all."""
    assert readings(sql) == wanted


@pytest.mark.parametrize("text", ["/*!" + "'" + "\\'" * 16_000, "/*!" + "/*" * 16_000, '/*!80000 "' + '\\"' * 16_000])
def test_no_text_is_read_over_and_over(text: str) -> None:
    """What does not end takes the rest of the text."""
    began = time.process_time()
    readings(text)
    assert time.process_time() - began < 1.0
