"""POST JSON to one base URL: a deadline nothing outlives, no redirects, a bounded body, keys never in a message."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import SplitResult, urlsplit

from pydantic import SecretStr

from sqlassay.cases.errors import InputError
from sqlassay.harness.judges.contract import JudgeError
from sqlassay.harness.judges.spec import FIELD
from sqlassay.harness.reports.escape import redact

MOST = 4 * 1024 * 1024
"""Bytes of one answer."""

_AGAIN = frozenset({408, 409, 425, 429})
_FINAL = frozenset({401, 403, 404, 405})
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Response:
    """What came back: the status, when to ask again where that was said, and the body's text."""

    status: int
    after: float | None
    text: str


class Channel:
    """One base URL with the headers of its key; `secrets` are the headers whose values nobody may see."""

    def __init__(self, base: str, headers: Mapping[str, str], secrets: Mapping[str, SecretStr]) -> None:
        """Check the URL.

        Raises:
            InputError: it is no http(s) URL, or carries a login or a query.
        """
        self._url = _checked(base)
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", **headers}
        self._secrets = dict(secrets)
        # Guards that every open socket is known until it is closed, and none is opened after close.
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._closed = False

    @property
    def host(self) -> str:
        """Return host and port as written."""
        return self._url.netloc

    def post(self, path: str, body: object, seconds: float) -> Response:
        """Send one request and return the response, whatever its status.

        Raises:
            JudgeError: no response within `seconds`, none that can be read, or a connection that broke.
        """
        expired = threading.Event()
        late = JudgeError(f"no answer within {seconds:g} s", again=True)
        started = time.monotonic()
        try:
            connection, target = self._connect(seconds)
        except TimeoutError:
            raise late from None
        except (OSError, http.client.HTTPException) as error:
            raise JudgeError(f"cannot be reached: {self._plain(error)}", again=True) from None
        sock = connection.sock
        left = max(0.0, started + seconds - time.monotonic())
        watchdog = threading.Timer(left, _end, (sock, expired))
        watchdog.daemon = True
        watchdog.start()
        try:
            return self._exchange(connection, target + path, body, expired)
        except (OSError, http.client.HTTPException, ValueError) as error:
            # The socket's own timeout ends one read that is silent as long, and may be first.
            if expired.is_set() or isinstance(error, TimeoutError):
                raise late from None
            raise JudgeError(f"the connection broke: {self._plain(error)}", again=True) from None
        finally:
            watchdog.cancel()
            with self._lock:
                self._open.discard(sock)
            connection.close()

    def close(self) -> None:
        """Break every open connection; no other is opened."""
        with self._lock:
            self._closed = True
            for sock in self._open:
                _end(sock, threading.Event())

    def _connect(self, seconds: float) -> tuple[http.client.HTTPConnection, str]:
        """Return a connection, through a proxy where the environment names one, and the path's beginning."""
        url = self._url
        proxy = _proxy(url)
        host, port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
        place = (proxy.hostname or "", proxy.port or 8080) if proxy else (host, port)
        connection: http.client.HTTPConnection
        target = url.path.rstrip("/")
        if url.scheme == "https":
            connection = http.client.HTTPSConnection(*place, timeout=seconds, context=ssl.create_default_context())
            if proxy:
                connection.set_tunnel(host, port)
        else:
            connection = http.client.HTTPConnection(*place, timeout=seconds)
            target = f"http://{url.netloc}{target}" if proxy else target
        connection.connect()
        with self._lock:
            if self._closed:
                connection.close()
                raise JudgeError("the judge is closed", final=True)
            self._open.add(connection.sock)
        return connection, target

    def _exchange(
        self, connection: http.client.HTTPConnection, target: str, body: object, expired: threading.Event
    ) -> Response:
        """Send, and read the whole answer; one cut off by the deadline is none, however it looks."""
        secret = {name: value.get_secret_value() for name, value in self._secrets.items()}
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "backslashreplace")
        connection.request("POST", target, body=data, headers={**self._headers, **secret})
        with connection.getresponse() as answer:
            content = answer.read(MOST + 1)
        if expired.is_set():
            raise TimeoutError
        if len(content) > MOST:
            raise JudgeError(f"its answer is larger than {MOST // 1024 // 1024} MiB", again=False)
        return Response(answer.status, _after(answer.headers.get("retry-after")), content.decode("utf-8", "replace"))

    def _plain(self, error: Exception) -> str:
        """Return an error's text without any secret."""
        return self.hidden(str(error) or type(error).__name__)

    def hidden(self, text: str) -> str:
        """Return a text without the keys and logins it may repeat, at a length a line can hold."""
        for value in self._secrets.values():
            bare = value.get_secret_value().removeprefix("Bearer ")
            text = text.replace(bare, "***") if bare else text
        text = " ".join(redact(text).split())
        return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"

    def checked(self, response: Response) -> dict[str, Any]:
        """Return a good response's object.

        Raises:
            JudgeError: another status, or a body that is no JSON object.
        """
        if response.status != 200:
            raise self._refused(response)
        try:
            value = json.loads(response.text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise JudgeError(f"its answer is no JSON object: {self.hidden(response.text)!r}", again=True)
        return value

    def _refused(self, response: Response) -> JudgeError:
        """Return the error of a status that is not 200."""
        said = self.hidden(_message(response.text))
        status = response.status
        reason = f"HTTP {status}: {said}" if said else f"HTTP {status}"
        if 300 <= status < 400:
            return JudgeError(f"{reason} (a redirect is not followed)", final=True)
        spent = status == 429 and "insufficient_quota" in response.text
        return JudgeError(
            reason,
            again=(status in _AGAIN or status >= 500) and not spent,
            after=response.after,
            final=status in _FINAL or spent,
            raw=response.text[:_SHOWN],
        )


def _checked(base: str) -> SplitResult:
    """Return a base URL taken apart."""
    remedy = "Write http://host:port/v1 or https://host/v1; the key comes from the environment (+key=NAME)"
    try:
        url = urlsplit(base)
        bad = url.scheme not in ("http", "https") or not url.hostname or url.port == 0
    except ValueError:
        bad = True
    if bad:
        raise InputError(f"'{redact(base)}' is no http(s) URL", field=FIELD, remedy=remedy)
    if "@" in url.netloc or url.query or url.fragment:
        raise InputError("a judge's URL carries no login, query or fragment", field=FIELD, remedy=remedy)
    return url


def _proxy(url: SplitResult) -> SplitResult | None:
    """Return the proxy the environment names for this URL; this machine itself is never asked through one."""
    host = url.hostname or ""
    named = urllib.request.getproxies().get(url.scheme)
    if not named or host in ("localhost", "::1") or host.startswith("127.") or urllib.request.proxy_bypass(url.netloc):
        return None
    return urlsplit(named if "://" in named else f"http://{named}")


def _end(sock: socket.socket, expired: threading.Event) -> None:
    """Break a connection under whoever reads from it."""
    expired.set()
    with contextlib.suppress(OSError):
        # Not the TLS socket's own way, which takes the encryption off under the reader.
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _after(value: str | None) -> float | None:
    """Return the seconds a Retry-After header asks for."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if seconds < 86_400 else None


def _message(text: str) -> str:
    """Return the message of an error's body, as both protocols and most servers write it."""
    try:
        error = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if isinstance(error, dict):
        inner = error.get("error", error)
        if isinstance(inner, dict):
            inner = inner.get("message", inner)
        return inner if isinstance(inner, str) else json.dumps(inner)
    return text
