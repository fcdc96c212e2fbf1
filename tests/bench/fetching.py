"""The floor under every comparison: what it costs to fetch both results from a real Postgres sandbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import TracebackType
from uuid import uuid4

from sqlassay.dialect_adapters.conformance_data import ALPHA
from sqlassay.dialect_adapters.contract import Limits, Mode, Pins, Role
from sqlassay.dialect_adapters.postgres.session import connect, login_name
from sqlassay.dialect_adapters.registry import adapter
from sqlassay.sandboxes.registry import provider

FETCH_ROWS = 1_000_000
QUERY = f"""SELECT i, 'name' || i % 5000, (i * 7919 % 100003) / 8.0::float8 + 0.1::float8,
    date '0001-01-01' + 699999 + i % 10000, (i % 7)::int, 'note ' || i % 977
    FROM (SELECT g::int AS i, g FROM generate_series(0::bigint, {FETCH_ROWS - 1}) AS g) AS rows"""
QUERY = QUERY.replace("i * 7919", "g * 7919")  # the product needs 64 bits


class Fetching:
    """A Postgres sandbox for the length of a `with`, and the ways to fetch from it."""

    def __enter__(self) -> Fetching:
        """Start the server."""
        spoken = adapter("postgres")
        self._provider = provider("docker")
        image = self._provider.prepare(spoken, (ALPHA,), print)
        self._sandbox = self._provider.start(spoken, image, Mode.READ, f"bench-{uuid4().hex[:8]}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the server."""
        self._provider.close()

    @property
    def ways(self) -> Mapping[str, Callable[[Fetching], Callable[[], object]]]:
        """Return how rows are fetched: by plain psycopg, and by the session a run uses."""
        return {"psycopg": Fetching.by_psycopg, "a run's session": Fetching.by_session}

    def by_psycopg(self) -> Callable[[], object]:
        """Log in; the call fetches both sides as tuples and says whether they are as many as asked."""
        database = ALPHA.database.lower()
        connection = connect(self._sandbox.endpoint, database, login_name(database, Role.READER))

        def call() -> object:
            """Fetch both sides."""
            sides = [connection.execute(QUERY).fetchall() for _ in range(2)]
            return f"{len(sides[0])} + {len(sides[1])} rows"

        return call

    def by_session(self) -> Callable[[], object]:
        """Log in as a run does; the call fetches both sides as typed relations."""
        session = self._sandbox.open(ALPHA.database, Role.READER, Pins())
        limits = Limits(timeout=120, rows=FETCH_ROWS, result_bytes=1 << 30)
        session.begin_read(limits)

        def call() -> object:
            """Fetch both sides."""
            sides = [session.fetch(QUERY, limits) for _ in range(2)]
            return f"{len(sides[0].rows)} + {len(sides[1].rows)} rows"

        return call
