"""Who logs in, and which pins an engine cannot honour."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.dialect_adapters.contract import Endpoint, Pins, Role, SessionLostError
from sqlassay.dialect_adapters.mysql import session as mysql
from sqlassay.dialect_adapters.postgres import session as postgres
from sqlassay.dialect_adapters.registry import adapter

NOWHERE = Endpoint(Path("/nonexistent/.s.PGSQL.5432"), password="s3cret")


@pytest.mark.parametrize(
    ("database", "login"),
    [
        ("shop", "r_shop"),
        ("d" * 30, "r_" + "d" * 30),
        ("d" * 31, "r_" + "d" * 21 + "_00000000"),
    ],
)
def test_mysql_logins_fit_32_characters(database: str, login: str) -> None:
    """A long database name is cut and told apart by its hash."""
    found = mysql.login_name(database, Role.READER)
    assert len(found) <= 32
    assert found[:-8] == login[:-8]


def test_long_names_with_one_beginning_have_logins_of_their_own() -> None:
    """Two databases never share a login."""
    assert mysql.login_name("d" * 40 + "a", Role.READER) != mysql.login_name("d" * 40 + "b", Role.READER)


@pytest.mark.parametrize("name_of", [mysql.login_name, postgres.login_name])
def test_every_role_has_a_login_of_its_own(name_of: Callable[[str, Role], str]) -> None:
    """No two roles share a login, so none has another's rights."""
    assert len({name_of("shop", role) for role in Role}) == len(Role)


def test_postgres_refuses_a_clock_it_cannot_pin() -> None:
    """A server reached by a port shares no clock file, and nobody is told that its clock was pinned."""
    with pytest.raises(InputError, match="clock"):
        adapter("postgres").connect(Endpoint(None), "shop", Role.READER, Pins(clock=datetime(2024, 1, 1, tzinfo=UTC)))


@pytest.mark.parametrize("name", ["postgres", "mysql"])
def test_a_server_that_does_not_answer_is_a_lost_session_without_secrets(name: str) -> None:
    """The message names login and database, never the password or a path."""
    with pytest.raises(SessionLostError) as caught:
        adapter(name).connect(NOWHERE, "shop", Role.READER, Pins())
    assert "shop" in str(caught.value)
    assert "s3cret" not in str(caught.value)
    assert "nonexistent" not in str(caught.value)
    assert adapter(name).ping(NOWHERE) is False


def test_postgres_reader_is_named_after_its_database() -> None:
    """One login a database."""
    assert postgres.login_name("shop", Role.READER) == "reader_shop"
    assert postgres.login_name("shop", Role.HARNESS) == "sqlassay_admin"
