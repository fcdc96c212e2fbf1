"""Start a container once under a runtime, since being entered in the engine's configuration does not make one work."""

from __future__ import annotations

import uuid

from docker.errors import DockerException
from requests import RequestException

from sqlassay.sandboxes.docker import container
from sqlassay.sandboxes.docker.client import Engine

_MEMORY = "128m"
_PIDS = 50


def refusal(engine: Engine, runtime: str, image: str) -> str:
    """Return why the runtime starts no container of this image, limited as sandboxes are; empty where it does."""
    api = engine.api
    made = ""
    try:
        settings = api.create_host_config(
            runtime=runtime,
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges:true"],
            mem_limit=_MEMORY,
            memswap_limit=_MEMORY,
            pids_limit=_PIDS,
            auto_remove=True,
        )
        name = f"sqlassay-{uuid.uuid4().hex[:12]}"
        command = ["-c", "exit 0"]
        made = str(api.create_container(image, command, name=name, entrypoint=["/bin/sh"], host_config=settings)["Id"])
        api.start(made)
    except (DockerException, RequestException) as fault:
        return container.reason(fault)
    finally:
        if made:
            container.remove(engine, made)
    return ""
