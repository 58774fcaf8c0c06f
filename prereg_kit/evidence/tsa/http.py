"""One HTTP exchange under hard limits: time in all, time per read, bytes; no redirect is followed.

The standard library's client, because every limit must be ours: a watchdog shuts the socket down when the total
time is over, so that an answer that drips a byte a second ends as soon as one that never starts. Proxies come
from the environment (`http_proxy`, `https_proxy`, `no_proxy`).
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import socket
import ssl
import threading
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from prereg_kit import __version__
from prereg_kit.errors import TimestampError, Where

MAX_ANSWER = 256 * 1024


@dataclass(frozen=True)
class Limits:
    """Seconds without progress, seconds in all, and the most bytes of an answer's body."""

    idle_s: float = 20.0
    total_s: float = 60.0
    max_bytes: int = MAX_ANSWER


@dataclass(frozen=True)
class Answer:
    """What came back: status, media type without parameters in lower case, two headers, the body."""

    status: int
    media_type: str
    body: bytes
    location: str = ""
    retry_after: str = ""


Send = Callable[[str, bytes, Limits], Answer]
"""(address, request, limits) -> answer."""


class ExchangeError(TimestampError):
    """No usable answer came; `retry` says whether to ask again may help."""

    code = "tsa-connection"

    def __init__(self, problem: str, url: str, *, retry: bool = False, code: str | None = None) -> None:
        self.retry = retry
        super().__init__(problem, where=Where(file=url), code=code)


def _connection(url: str, timeout: float) -> tuple[http.client.HTTPConnection, str, dict[str, str]]:
    """The connection, the request target and extra headers for an address, through a proxy if one is set."""
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    proxy = urllib.request.getproxies().get(parts.scheme)
    extra: dict[str, str] = {}
    if proxy and not urllib.request.proxy_bypass(f"{host}:{parts.port}" if parts.port else host):
        via = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        if via.username:
            pair = f"{unquote(via.username)}:{unquote(via.password or '')}".encode()
            extra["Proxy-Authorization"] = "Basic " + base64.b64encode(pair).decode()
        at = (via.hostname or "", via.port or 80)
        if not secure:
            return http.client.HTTPConnection(*at, timeout=timeout), url, extra
        tunnel = http.client.HTTPSConnection(*at, timeout=timeout, context=ssl.create_default_context())
        tunnel.set_tunnel(host, parts.port or 443, headers=extra)
        return tunnel, target, {}
    if secure:
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, parts.port, timeout=timeout, context=context), target, extra
    return http.client.HTTPConnection(host, parts.port, timeout=timeout), target, extra


def exchange(method: str, url: str, body: bytes | None, headers: Mapping[str, str], limits: Limits) -> Answer:
    """Send one request and read one answer.

    Raises:
        ExchangeError: not http(s); no connection; over a limit; not HTTP.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not url.isascii() or any(c <= " " for c in url):
        raise ExchangeError("not an http or https address", url, code="tsa-address")
    connection, target, extra = _connection(url, min(limits.idle_s, limits.total_s))
    over = threading.Event()
    held: list[socket.socket] = []  # http.client drops its own reference before the body is read

    def stop() -> None:
        over.set()
        for sock in [*held, *([connection.sock] if connection.sock is not None else [])]:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    watchdog = threading.Timer(limits.total_s, stop)
    watchdog.daemon = True
    watchdog.start()
    try:
        sent = {"User-Agent": f"prereg_kit/{__version__}", "Connection": "close", **extra, **headers}
        connection.connect()
        held.append(connection.sock)
        connection.request(method, target, body=body, headers=sent)
        response = connection.getresponse()
        data = response.read(limits.max_bytes + 1)
        if over.is_set():
            raise TimeoutError
        if len(data) > limits.max_bytes:
            raise ExchangeError(
                f"the answer is larger than {limits.max_bytes} bytes", url, code="tsa-too-large"
            )
        return Answer(
            status=response.status,
            media_type=response.headers.get("Content-Type", "").split(";")[0].strip().lower(),
            body=data,
            location=response.headers.get("Location", ""),
            retry_after=response.headers.get("Retry-After", ""),
        )
    except (OSError, http.client.HTTPException, ValueError) as error:
        if over.is_set() or isinstance(error, TimeoutError):
            text = f"no complete answer within {limits.total_s:g} s in all, or {limits.idle_s:g} s without progress"
            raise ExchangeError(text, url, retry=True, code="tsa-timeout") from error
        text = f"no answer: {type(error).__name__}: {error}"
        raise ExchangeError(text, url, retry=not isinstance(error, ssl.SSLCertVerificationError)) from error
    finally:
        watchdog.cancel()
        connection.close()


def post_query(url: str, query: bytes, limits: Limits) -> Answer:
    """POST a timestamp request (RFC 3161 3.4)."""
    headers = {"Content-Type": "application/timestamp-query", "Accept": "application/timestamp-reply"}
    return exchange("POST", url, query, headers, limits)


def printable(data: bytes, width: int = 120) -> str:
    """The first line of a body for an error message: printable ASCII, at most `width` characters."""
    text = data[:4096].decode("ascii", "replace").replace("�", ".")
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return "".join(c if " " <= c <= "~" else "." for c in line)[:width]
