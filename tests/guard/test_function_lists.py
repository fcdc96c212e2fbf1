"""The function lists hold what the real engines have, nothing volatile unflagged, and every exception has a reason."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from sqlassay.dialect_adapters.contract import GrammarRules
from sqlassay.dialect_adapters.wordlist import EngineFunction, read_catalogue, read_reasons

_ROOT = Path(__file__).parents[2]
_DIALECTS = ["postgres", "mysql", "mariadb", "sqlite", "duckdb"]


def _rules(dialect: str) -> GrammarRules:
    """Return a dialect's own rules."""
    rules: GrammarRules = importlib.import_module(f"dialect_adapters.{dialect}.grammar").RULES
    return rules


def _catalogue(dialect: str) -> dict[str, EngineFunction]:
    """Return what the engine has."""
    return read_catalogue(_ROOT / "dialect_adapters" / dialect / "catalogue.txt")


def _reviewed(dialect: str) -> dict[str, str]:
    """Return the reviewed exceptions."""
    return read_reasons(_ROOT / "dialect_adapters" / dialect / "reviewed.txt")


def _tool() -> ModuleType:
    """Load the tool that writes the catalogues."""
    spec = importlib.util.spec_from_file_location("catalogues", _ROOT / "tests" / "tools" / "catalogues.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("dialect", _DIALECTS)
def test_exactly_the_reviewed_functions_are_missing_or_volatile(dialect: str) -> None:
    """An allowed function exists and is not volatile, or is flagged, or is reviewed; no review is stale."""
    rules, have = _rules(dialect), _catalogue(dialect)
    missing = rules.functions - have.keys()
    volatile = {name for name in rules.functions & have.keys() if have[name].volatility == "volatile"}
    assert missing | (volatile - rules.gaming) == _reviewed(dialect).keys()
    assert all(_reviewed(dialect).values())


@pytest.mark.parametrize("dialect", _DIALECTS)
def test_no_allowed_function_runs_with_another_users_rights(dialect: str) -> None:
    """Neither a SECURITY DEFINER function nor a procedure is on the list."""
    have = _catalogue(dialect)
    kinds = {have[name].kind for name in _rules(dialect).functions & have.keys()}
    assert kinds <= {"function", "aggregate", "window", "keyword", "grammar", "table"}


@pytest.mark.parametrize(
    ("dialect", "names"),
    [
        (
            "postgres",
            "pg_sleep pg_read_file lo_import dblink_connect set_config nextval query_to_xml pg_terminate_backend",
        ),
        ("mysql", "sleep benchmark load_file get_lock release_lock master_pos_wait last_insert_id uuid_short"),
        (
            "mariadb",
            "sleep benchmark load_file get_lock release_lock master_pos_wait master_gtid_wait nextval setval lastval "
            "last_insert_id uuid_short kdf encrypt password decode_histogram binlog_gtid_pos",
        ),
        (
            "duckdb",
            "read_csv read_text read_parquet glob query query_table sleep_ms pg_sleep nextval setseed getenv "
            "duckdb_settings duckdb_secrets current_setting json_execute_serialized_sql write_log force_checkpoint",
        ),
        ("sqlite", "load_extension fts3_tokenizer changes total_changes last_insert_rowid sqlite_log"),
    ],
)
def test_what_acts_or_waits_is_on_no_list(dialect: str, names: str) -> None:
    """The functions attacks are made of are not allowed, and those the engine has are known by name."""
    rules = _rules(dialect)
    assert rules.functions.isdisjoint(names.split())
    assert set(names.split()) <= rules.known_functions


@pytest.mark.docker
@pytest.mark.parametrize("dialect", _DIALECTS)
def test_the_catalogues_are_what_the_servers_say(dialect: str) -> None:
    """For every allowed function the committed catalogue has the kind and volatility that the server reports now."""
    rules, have = _rules(dialect), _catalogue(dialect)
    found, _ = _tool().entries(dialect, rules.functions)
    now = {name: tuple(entry[1:]) for name, entry in found.items() if name in rules.functions}
    assert now == {name: (have[name].kind, have[name].volatility) for name in rules.functions & have.keys()}
