"""The container runtimes an engine has been told of (runc, crun, runsc), by the names it knows them under."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from sqlassay.cases.errors import InputError


def names(facts: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of an engine's runtimes, sorted; none where the engine does not say."""
    known = facts.get("Runtimes")
    return tuple(sorted(known)) if isinstance(known, dict) else ()


def default(facts: Mapping[str, object]) -> str:
    """Return the name of the runtime an engine takes by itself, empty where it does not say."""
    return str(facts.get("DefaultRuntime") or "")


def is_rootless(facts: Mapping[str, object]) -> bool:
    """Return whether the engine itself has no rights of root's on the machine."""
    options = facts.get("SecurityOptions")
    return any("rootless" in str(one) for one in options) if isinstance(options, list) else False


def described(facts: Mapping[str, object]) -> str:
    """Return an engine's runtimes and its default as one line."""
    return f"{', '.join(names(facts)) or 'the engine names none'}; default {default(facts) or 'unnamed'}"


def added(facts: Mapping[str, object]) -> tuple[str, ...]:
    """Return the runtimes that somebody added: neither the default nor the engine's own names for it."""
    return tuple(
        name for name in names(facts) if name != default(facts) and name != "runc" and not name.startswith("io.")
    )


def stronger(facts: Mapping[str, object], *, sockets: bool) -> str:
    """Return the engine's gVisor, which puts a kernel of its own between a server and the machine; empty without one.

    With `sockets` it must let out the socket that a server is met at.
    """
    found = (name for name in added(facts) if _is_gvisor(name, facts))
    return next((name for name in found if not (sockets and socket_remedy(name, facts))), "")


def _is_gvisor(runtime: str, facts: Mapping[str, object]) -> bool:
    """Return whether a runtime's entry is of gVisor's program."""
    return "runsc" in posixpath.basename(str(_entry(runtime, facts).get("path") or runtime))


def _entry(runtime: str, facts: Mapping[str, object]) -> Mapping[str, object]:
    """Return what the engine says of one runtime, empty where that is nothing."""
    known = facts.get("Runtimes")
    entry = known.get(runtime) if isinstance(known, dict) else None
    return entry if isinstance(entry, dict) else {}


def socket_remedy(runtime: str, facts: Mapping[str, object]) -> str:
    """Return what a runtime's entry lacks before a server in it can make the socket we meet it at, else nothing.

    gVisor keeps sockets to itself unless told otherwise; every other runtime makes them where they are seen.
    """
    if not _is_gvisor(runtime, facts):
        return ""
    arguments = _entry(runtime, facts).get("runtimeArgs")
    given = arguments if isinstance(arguments, list) else ()
    if any(str(one) in {"--host-uds=create", "--host-uds=all"} for one in given):
        return ""
    return f'Add "--host-uds=create" to the runtimeArgs of {runtime} in the engine\'s configuration, and reload it'


def refuse_unknown(runtime: str, facts: Mapping[str, object]) -> None:
    """Refuse a runtime that the engine does not list; one that lists none is left to refuse it at the first start.

    Raises:
        InputError: the engine has no such runtime.
    """
    known = names(facts)
    if runtime and known and runtime not in known:
        raise InputError(
            f"the container engine has no runtime '{runtime}'; it knows {', '.join(known)}",
            field="--runtime",
            remedy='Name one of these, or install it and enter it under "runtimes" in the engine\'s configuration',
        )


def refuse_without_sockets(runtime: str, facts: Mapping[str, object]) -> None:
    """Refuse a runtime under which no server could be met at its socket, before one is waited for in vain.

    Raises:
        InputError: its entry keeps sockets inside.
    """
    if runtime and (remedy := socket_remedy(runtime, facts)):
        message = f"a server under '{runtime}' could not make the socket it is met at"
        raise InputError(message, field="--runtime", remedy=remedy)
