"""Networks for engines that cannot share a socket: a bridge without a way out, removed with its run."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping

from docker.errors import DockerException, NotFound
from requests import RequestException

from sqlassay.cases.errors import InfrastructureError
from sqlassay.sandboxes import labels
from sqlassay.sandboxes.docker.client import Engine
from sqlassay.sandboxes.docker.container import reason
from sqlassay.sandboxes.reaper import is_left_over


def create(engine: Engine, owner: Mapping[str, str]) -> str:
    """Create a bridge whose containers cannot reach beyond this machine and return its name.

    Without masquerading, packets leave with an address nobody answers; an `--internal` network would publish nothing.

    Raises:
        InfrastructureError: the engine refused it.
    """
    name = f"sqlassay-{uuid.uuid4().hex[:12]}"
    options = {
        "com.docker.network.bridge.enable_ip_masquerade": "false",
        "com.docker.network.bridge.enable_icc": "false",
    }
    try:
        engine.api.create_network(name, driver="bridge", options=options, labels=dict(owner))
    except (DockerException, RequestException) as fault:
        raise InfrastructureError(
            f"the engine cannot create a network: {reason(fault)}", remedy="Check that iptables is installed"
        ) from fault
    return name


def remove(engine: Engine, name: str) -> bool:
    """Remove a network and return False where containers are still on it; never raises."""
    try:
        engine.api.remove_network(name)
    except NotFound:
        return True
    except (DockerException, RequestException):
        return False
    return True


def sweep(engine: Engine) -> set[str]:
    """Remove the networks of dead runs and return their run ids."""
    removed = set()
    for found in engine.api.networks(filters={"label": labels.RUN}):
        owner = labels.read(found.get("Labels") or {})
        if owner and is_left_over(owner, time.time()) and remove(engine, found["Id"]):
            removed.add(owner.run_id)
    return removed
