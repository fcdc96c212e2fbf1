"""Text of unknown origin is harmless in Markdown, XML, CSV, JSON and on a terminal."""

from __future__ import annotations

import json
import unicodedata
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from sqlassay.harness.reports import escape

_MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgres://bob:hunter2@db/x", "postgres://***@db/x"),
        ("see mysql+pymysql://u:p@[::1]:3306/x now", "see mysql+pymysql://***@[::1]:3306/x now"),
        ("postgres://bob:p@ss@db/x", "postgres://***@db/x"),
        ("host=db user=bob password=hunter2 dbname=x", "host=db user=bob password=*** dbname=x"),
        ("SELECT * FROM u WHERE password = 'x'", "SELECT * FROM u WHERE password = 'x'"),
        ("SELECT a FROM t WHERE url = 'http://e.example/a'", "SELECT a FROM t WHERE url = 'http://e.example/a'"),
    ],
)
def test_logins_in_connection_strings_are_hidden(text: str, shown: str) -> None:
    """A connection string loses its login; SQL that merely speaks of passwords stays as it is."""
    assert escape.redact(text) == shown


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "＝1", "\n=1"])
def test_formula_cells_become_text(text: str) -> None:
    """A cell that a spreadsheet would run starts with an apostrophe."""
    assert escape.csv_cell(text).startswith("'")


def test_plain_cells_stay_as_they_are() -> None:
    """A cell that is no formula is not touched."""
    assert escape.csv_cell("SELECT a-1") == "SELECT a-1"


@given(st.text())
def test_markdown_cells_hold_any_text(text: str) -> None:
    """A table row keeps its two cells and gains no markup, whatever text is put in it."""
    page = f"| a | b |\n| --- | --- |\n| x{escape.markdown(text)} | {escape.markdown_code(text)} |"
    html = _MARKDOWN.render(page)
    assert html.count("<td>") == 2
    body = html.partition("<tbody>")[2]
    for tag in ("<a", "<em", "<strong", "<script", "<img", "<th"):
        assert tag not in body
    assert body.count("<code>") == 1


@given(st.text())
def test_markdown_blocks_close_where_they_should(text: str) -> None:
    """A fenced block is one block, whatever backticks its text has."""
    tokens = _MARKDOWN.parse(f"{escape.markdown_block(text)}\n\nafter")
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


@given(st.text())
def test_xml_text_can_be_read_back(text: str) -> None:
    """XML with any text in it is well formed."""
    element = ET.Element("a", b=escape.xml(text))
    element.text = escape.xml(text)
    assert ET.fromstring(ET.tostring(element, encoding="unicode")).tag == "a"


@given(st.text())
def test_terminal_lines_hold_no_control_character(text: str) -> None:
    """A terminal line is one line and moves no cursor."""
    shown = escape.one_line(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") for character in shown)
    assert len(shown.splitlines()) <= 1


@given(st.text(st.characters(codec=None)))
def test_json_keeps_its_text(text: str) -> None:
    """JSON with any text in it, lone surrogates too, is UTF-8 and reads back as the same text."""
    encoded = escape.json_text(json.dumps(text, ensure_ascii=False))
    assert json.loads(encoded.encode("utf-8")) == text
