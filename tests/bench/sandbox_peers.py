"""The same images in testcontainers' own database containers, beside ours: started, asked once, stopped."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sandbox_starts import WARM_UPS, Middle, Place, middle

from sqlassay.cases.errors import InfrastructureError
from sqlassay.dialect_adapters.contract import Endpoint, Mode
from sqlassay.sandboxes.cache import cache_dir
from sqlassay.sandboxes.docker.container import fill
from sqlassay.sandboxes.store import Store

_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Peer:
    """A class of testcontainers' and how long its containers take to be ready and to be gone."""

    name: str
    up: Middle
    down: Middle


def peer(place: Place, runs: int) -> Peer:
    """Start the place's image as testcontainers does: with its network, a published port and its own wait.

    PostgresContainer asks psql inside, which the image does not have; it waits for the server's line in the log
    instead, by testcontainers' own strategy, as MySqlContainer does.
    """
    from testcontainers.core.config import testcontainers_config

    testcontainers_config.ryuk_disabled = True
    up, down = [], []
    name = ""
    for turn in range(runs + WARM_UPS):
        container = _container(place)
        name = type(container).__mro__[1].__name__ if place.dialect == "postgres" else type(container).__name__
        began = time.monotonic()
        container.start()  # type: ignore[attr-defined]
        try:
            _ask(place, container)
            ready = time.monotonic()
        finally:
            stopping = time.monotonic()
            container.stop()  # type: ignore[attr-defined]
        if turn >= WARM_UPS:
            up.append(ready - began)
            down.append(time.monotonic() - stopping)
    return Peer(name, middle(up), middle(down))


def _container(place: Place) -> object:
    """Return the peer's container of this image, not started."""
    recipe = place.adapter.recipe
    argv = (*fill(recipe.serve[Mode.READ], recipe, place.image.base.bin_dir, recipe.data_dir), *recipe.tcp_options)
    if place.dialect == "postgres":
        from testcontainers.core.wait_strategies import LogMessageWaitStrategy
        from testcontainers.postgres import PostgresContainer

        class WithoutPsql(PostgresContainer):  # type: ignore[misc]
            """Waits for the log's line."""

            def _connect(self) -> None:
                """Wait."""
                LogMessageWaitStrategy("database system is ready to accept connections").wait_until_ready(self)

        made = WithoutPsql(place.image.ref, port=recipe.port, username="sqlassay_admin", driver=None)
    else:
        from testcontainers.mysql import MySqlContainer

        made = MySqlContainer(
            place.image.ref, port=recipe.port, username="root", wait_strategy_check_string=r".*ready for connections.*"
        )
    return made.with_command(list(argv[1:]))


def _ask(place: Place, container: object) -> None:
    """Ask the first question over the published port, as often as it takes."""
    password = Store(cache_dir()).password(place.image.key)
    host = container.get_container_host_ip()  # type: ignore[attr-defined]
    port = int(container.get_exposed_port(place.adapter.recipe.port))  # type: ignore[attr-defined]
    endpoint = Endpoint(None, "127.0.0.1" if host == "localhost" else host, port, password)
    until = time.monotonic() + _SECONDS
    while not place.adapter.ping(endpoint):
        if time.monotonic() > until:
            raise InfrastructureError(f"testcontainers' {place.dialect} did not answer")
        time.sleep(0.005)
