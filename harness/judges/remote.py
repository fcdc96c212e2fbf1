"""What both HTTP protocols share: the spec's model, URL, key and temperature, and the counts in an answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from sqlassay.cases.errors import InputError
from sqlassay.harness.judges.contract import JudgeSpec
from sqlassay.harness.judges.spec import FIELD, check_options

_TARGET = re.compile(r"(?P<model>[^\s]+?)(?:@(?P<url>https?://\S+))?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Remote:
    """A model on a server; `key` is None where a server of one's own wants none."""

    model: str
    base: str
    key: SecretStr | None
    temperature: float | None
    own_server: bool


def remote(
    spec: JudgeSpec,
    environment: Mapping[str, str],
    *,
    provider: str,
    base: str,
    more: Mapping[str, str] | None = None,
) -> Remote:
    """Return what a spec names; `provider` is the environment's prefix, `base` the official URL.

    Raises:
        InputError: an option it does not have, or a key that is not set.
    """
    check_options(spec, {"key": "", "temperature": "", **(more or {})})
    found = _TARGET.fullmatch(spec.target)
    if found is None or "://" in found["model"]:
        raise InputError(f"'{spec.target}' names no model", field=FIELD, remedy=f"Write {spec.kind}:MODEL@URL")
    url = found["url"] or environment.get(f"{provider}_BASE_URL") or base
    name = spec.options.get("key", f"{provider}_API_KEY")
    value = environment.get(name, "").strip()
    own = url.rstrip("/") != base
    if not value and ("key" in spec.options or not own):
        raise InputError(
            f"judge {spec.kind}:{found['model']} has no key", field=FIELD, remedy=f"Set {name} in the environment"
        )
    if not value.isascii() or any(character.isspace() for character in value):
        raise InputError(f"{name} is no key: it holds characters no header can", field=FIELD, remedy=f"Set {name} anew")
    return Remote(found["model"], url, SecretStr(value) if value else None, _temperature(spec), own)


def _temperature(spec: JudgeSpec) -> float | None:
    """Return 0, or None for a model that takes no temperature (`+temperature=omit`)."""
    text = spec.options.get("temperature", "0")
    if text not in ("0", "omit"):
        raise InputError(
            f"temperature={text}: a judge is asked at 0",
            field=FIELD,
            remedy="Write +temperature=omit where a model refuses 0",
        )
    return 0.0 if text == "0" else None


def count(usage: object, name: str) -> int | None:
    """Return a token count of an answer's usage, None where it is not one."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def money(usage: object) -> float | None:
    """Return the cost that some servers tell beside the tokens."""
    value = usage.get("cost") if isinstance(usage, dict) else None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if 0 <= value < 1e9 else None


def text_of(value: object, fallback: str) -> str:
    """Return a text field of an answer, or what stands for it."""
    return value if isinstance(value, str) and value else fallback
