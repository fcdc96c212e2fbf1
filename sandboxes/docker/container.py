"""Create and start one container, wait until its server answers, and take it away again."""

from __future__ import annotations

import logging
import posixpath
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from docker.errors import APIError, DockerException, NotFound
from requests import RequestException

from sqlassay.cases.errors import InfrastructureError
from sqlassay.dialect_adapters.contract import Adapter, Endpoint, Mode, ServerRecipe
from sqlassay.sandboxes.contract import BaseImage
from sqlassay.sandboxes.docker.channel import Channel
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.docker.limits import Space, host_config
from sqlassay.sandboxes.sockets import is_socket

_log = logging.getLogger("sqlassay.docker")
_POLL_SECONDS = 0.005
_LOG_LINES = 12


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides what one container runs."""

    image: str
    recipe: ServerRecipe
    mode: Mode
    argv: tuple[str, ...]
    labels: Mapping[str, str]
    space: Space | None = None
    runtime: str = ""


def fill(argv: tuple[str, ...], recipe: ServerRecipe, base: BaseImage, data: str) -> tuple[str, ...]:
    """Return an argv with the recipe's placeholders replaced, without what a server of the base's version lacks."""
    known = {"{bin}": base.bin_dir, "{data}": data, "{socket}": recipe.socket}
    known["{password_file}"] = password_file(recipe)
    filled = []
    for part in _suited(argv, recipe, base.release):
        for name, value in known.items():
            part = part.replace(name, value)  # noqa: PLW2901 - each placeholder in turn
        filled.append(part)
    return tuple(filled)


def _suited(argv: tuple[str, ...], recipe: ServerRecipe, release: tuple[int, int] | None) -> list[str]:
    """Return the parts that a version knows; `-c` goes with the setting that it names."""
    suited: list[str] = []
    for part in argv:
        since, instead = recipe.since.get(part, ((0, 0), ""))
        if release is None or release >= since:
            suited.append(part)
        elif instead:
            suited.append(instead)
        elif suited[-1:] == ["-c"]:
            suited.pop()
    return suited


def password_file(recipe: ServerRecipe) -> str:
    """Return where the bootstrap password lies while a server is initialised."""
    return posixpath.join(posixpath.dirname(recipe.data_dir), "password")


def create(engine: Engine, plan: Plan, channel: Channel) -> str:
    """Create a container, not started, and return its id.

    Raises:
        InfrastructureError: the engine refused it.
    """
    recipe = plan.recipe
    try:
        made = engine.api.create_container(
            plan.image,
            name=f"sqlassay-{uuid.uuid4().hex[:12]}",
            entrypoint=[plan.argv[0]],
            command=list(plan.argv[1:]),
            user=f"{recipe.uid}:{recipe.uid}",
            environment=dict(recipe.env),
            labels=dict(plan.labels),
            stop_signal=recipe.stop_signal,
            use_config_proxy=False,
            host_config=host_config(engine.api, recipe, plan.mode, channel.settings(), plan.space, plan.runtime),
            ports=None if channel.folder is not None else [recipe.port],
        )
    except (DockerException, RequestException) as fault:
        raise _refused("create", fault) from fault
    return str(made["Id"])


def start(engine: Engine, container: str) -> None:
    """Start a created container.

    Raises:
        InfrastructureError: the engine could not start it.
    """
    try:
        engine.api.start(container)
    except (DockerException, RequestException) as fault:
        raise _refused("start", fault) from fault


def _refused(what: str, fault: Exception) -> InfrastructureError:
    """Return the error of a container that the engine did not create or start, with the remedy where it is plain."""
    text = reason(fault)
    return InfrastructureError(f"the engine cannot {what} a container: {text}", remedy=remedy(text))


def remedy(text: str) -> str:
    """Return what to do about an engine's own words."""
    if "no space left on device" in text.lower():
        return "Free space where the engine keeps its data: `docker system df` says what takes it"
    return "Run `sqlassay doctor`"


def wait_ready(engine: Engine, container: str, adapter: Adapter, endpoint: Endpoint, seconds: float) -> None:
    """Return once the adapter got a real answer.

    Raises:
        InfrastructureError: the server ended or did not answer in time, with its last log lines.
    """
    deadline = time.monotonic() + seconds
    look = time.monotonic() + 1.0
    while not (_listens(endpoint) and adapter.ping(endpoint)):
        now = time.monotonic()
        if now > deadline:
            raise _not_ready(engine, container, adapter.name, f"did not answer within {seconds:.0f} s")
        if now > look:
            look = now + 1.0
            if not _runs(engine, container):
                raise _not_ready(engine, container, adapter.name, "ended while it started")
        time.sleep(_POLL_SECONDS)


def _listens(endpoint: Endpoint) -> bool:
    """Return False while the socket is not even there, which is cheaper to see than a refused login."""
    return endpoint.socket is None or is_socket(endpoint.socket)


def _not_ready(engine: Engine, container: str, dialect: str, what: str) -> InfrastructureError:
    """Return the error of a server that did not come up."""
    lines = last_lines(engine, container)
    return InfrastructureError(f"the {dialect} server {what}; its last lines: {lines}", remedy="Run `sqlassay doctor`")


def _runs(engine: Engine, container: str) -> bool:
    """Return True where the container's process lives.

    Raises:
        InfrastructureError: the engine does not say.
    """
    try:
        return bool(engine.inspect(container)["State"]["Running"])
    except NotFound:
        return False
    except (DockerException, RequestException) as fault:
        raise InfrastructureError(f"the engine says nothing of a container: {reason(fault)}") from fault


def last_lines(engine: Engine, container: str) -> str:
    """Return the server's last log lines as one line."""
    try:
        text = engine.api.logs(container, tail=_LOG_LINES).decode("utf-8", "replace")
    except (DockerException, RequestException):
        return "(no log)"
    return " | ".join(line.strip() for line in text.splitlines() if line.strip()) or "(empty log)"


def kill(engine: Engine, container: str) -> bool:
    """Stop a container's processes at once and return False where the engine does not answer; a stopped one is fine."""
    try:
        engine.api.kill(container)
    except APIError as fault:
        _log.debug("kill of %s: %s", container[:12], fault)
    except (DockerException, RequestException) as fault:
        _log.warning("the engine does not kill %s: %s", container[:12], fault)
        return False
    return True


def remove(engine: Engine, container: str) -> bool:
    """Remove a container whatever its state and return True where it is gone or going; never raises."""
    try:
        engine.api.remove_container(container, force=True, v=True)
    except NotFound:
        return True
    except APIError as fault:
        if fault.status_code == 409:  # somebody else is removing it right now
            return True
        _log.warning("container %s could not be removed: %s", container[:12], fault)
        return False
    except (DockerException, RequestException) as fault:
        _log.warning("container %s could not be removed: %s", container[:12], fault)
        return False
    return True


def reason(fault: Exception) -> str:
    """Return the engine's own explanation in one line."""
    text = getattr(fault, "explanation", None) or str(fault)
    return str(text).strip().splitlines()[0][:300]
