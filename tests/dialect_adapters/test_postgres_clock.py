"""The Postgres clock file: written in UTC, removed where the clock runs, refused where it cannot be shared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from sqlassay.cases.errors import InputError
from sqlassay.dialect_adapters.contract import Endpoint
from sqlassay.dialect_adapters.postgres.clock import as_utc, check_clock, set_clock
from sqlassay.dialect_adapters.postgres.recipe import CLOCK_FILE, RECIPE


def test_clock_file_holds_the_instant_in_utc(tmp_path):
    """A zoned clock is written in UTC, a naive one as it is; None removes the file."""
    endpoint = Endpoint(tmp_path / ".s.PGSQL.5432")
    set_clock(endpoint, datetime(2026, 1, 5, 12, 34, 56, tzinfo=timezone(timedelta(hours=2))))
    assert (tmp_path / CLOCK_FILE).read_text(encoding="ascii") == "2026-01-05 10:34:56\n"
    set_clock(endpoint, datetime(2026, 1, 5, 1, 2, 3))
    assert (tmp_path / CLOCK_FILE).read_text(encoding="ascii") == "2026-01-05 01:02:03\n"
    set_clock(endpoint, None)
    set_clock(endpoint, None)
    assert list(tmp_path.iterdir()) == []


def test_nothing_a_server_laid_there_is_followed(tmp_path):
    """The server may write beside its socket: a link under either name is replaced, and what it points at stays."""
    precious = tmp_path / "precious"
    precious.write_text("host", encoding="ascii")
    shared = tmp_path / "s"
    shared.mkdir()
    for name in (CLOCK_FILE, f".{CLOCK_FILE}"):
        (shared / name).symlink_to(precious)
    set_clock(Endpoint(shared / ".s.PGSQL.5432"), datetime(2026, 1, 5))
    assert precious.read_text(encoding="ascii") == "host"
    assert not (shared / CLOCK_FILE).is_symlink()
    assert (shared / CLOCK_FILE).read_text(encoding="ascii") == "2026-01-05 00:00:00\n"
    assert (shared / CLOCK_FILE).stat().st_mode & 0o777 == 0o644


def test_recipe_names_the_same_file():
    """The server reads the file that is written beside its socket."""
    inside = Path(RECIPE.env["FAKETIME_TIMESTAMP_FILE"])
    assert (inside.parent, inside.name) == (Path(RECIPE.socket).parent, CLOCK_FILE)


def test_a_port_has_no_clock():
    """Without a shared folder a clock is refused as input, and a free clock is fine."""
    endpoint = Endpoint(None, "127.0.0.1", 5432)
    set_clock(endpoint, None)
    with pytest.raises(InputError, match="clock"):
        set_clock(endpoint, datetime(2026, 1, 5))


class Connection:
    """Answers with one row."""

    def __init__(self, epoch):
        self.epoch = epoch

    def execute(self, sql):
        return self

    def fetchone(self):
        return (self.epoch,)


def test_a_server_that_ignores_its_clock_is_refused():
    """An image without libfaketime is found out at the first login."""
    clock = datetime(2026, 1, 5, tzinfo=UTC)
    check_clock(Connection(int(clock.timestamp())), clock)
    with pytest.raises(InputError, match="libfaketime"):
        check_clock(Connection(int(clock.timestamp()) + 60), clock)
    assert as_utc(datetime(2026, 1, 5)) == clock
