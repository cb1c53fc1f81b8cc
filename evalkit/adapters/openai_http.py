"""Asking an HTTP server for JSON: kept connections, time-outs, and another attempt where one can help.

    what happens                                         what is done
    429, 408, 425, 5xx (not 501), a dropped connection   asked again, later and later, `RetryPolicy.attempts` times in all
    no answer in time                                    asked again, `RetryPolicy.timeouts` times in all
    an answer that is not what the interface says        asked again, `RetryPolicy.malformed` times in all
    any other status                                     `RefusedError`: to ask again would not help

Servers are connected to directly, without the proxies of the environment. Redirections are not followed, so that the key
goes to the named server only; and no message holds the key, whatever a server sends back.
"""

from __future__ import annotations

import http.client
import json
import random
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

from evalkit.errors import EvalkitError, InvalidInputError, StoppedError

T = TypeVar("T")
R = TypeVar("R")

CONNECT_TIMEOUT_S = 10.0
MAX_BODY_BYTES = 64 << 20
_CHUNK_BYTES = 1 << 16
_MAX_TEXT = 300
_EXCERPT = 60
_TRY_AGAIN = frozenset({408, 425, 429})
_NOT_IMPLEMENTED = 501


class RefusedError(InvalidInputError):
    """The server will not answer this, however often it is asked.

    Args:
        message: What was asked, and what the server says.
        status: The HTTP status.
        code: The error code of the body; '' where it has none.
    """

    def __init__(self, message: str, status: int, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class UnansweredError(EvalkitError):
    """The server gave no usable answer in all attempts.

    Args:
        message: What was asked, and what the last attempt met.
        status: The HTTP status of the last attempt; 200 for a malformed answer, None where none came.
    """

    def __init__(self, message: str, status: int | None) -> None:
        super().__init__(message)
        self.status = status


class MalformedError(InvalidInputError):
    """An answer has another form than the interface says."""


class ClosedClientError(EvalkitError):
    """The client was stopped while something was being asked."""


class _TroubleError(Exception):
    """One attempt failed, and another may not."""

    def __init__(self, reason: str, attempts: int, status: int | None = None, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.attempts = attempts
        self.status = status
        self.wait_s = wait_s


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often something is asked, and how long is waited before it is asked again."""

    attempts: int = 8
    """Attempts in all when the server is busy or the connection drops; the waits before them sum up to about a minute."""
    timeouts: int = 3
    """Attempts in all when no answer comes in time."""
    malformed: int = 2
    """Attempts in all when answers are malformed."""
    first_wait_s: float = 0.5
    """Wait before the second attempt; each further wait is twice as long."""
    longest_wait_s: float = 30.0
    """No wait is longer, unless the server asks for it."""
    longest_retry_after_s: float = 600.0
    """A server that asks for a longer wait is not asked again."""
    seed: int = 0
    """Seed of the jitter."""

    def wait_s(self, attempt: int, label: str) -> float:
        """Time to wait after an attempt, a quarter shorter or longer by chance.

        Args:
            attempt: The attempt that failed, from 1.
            label: What is asked; each has its own random numbers.
        """
        wait = min(self.longest_wait_s, self.first_wait_s * 2.0 ** (attempt - 1))
        return wait * random.Random(f"{self.seed} {attempt} {label}").uniform(0.75, 1.25)


class JsonClient:
    """Asks one server, from any number of threads.

    Args:
        base_url: Where the interface lies, ``http`` or ``https``, without name and password.
        key: Sent as bearer token; None sends none.
        timeout_s: Longest time from sending a request to the end of its answer.
        policy: When to ask again.
        pause: Waits for a number of seconds and tells whether it was interrupted; None waits until `stop` is called.
    """

    def __init__(
        self,
        base_url: str,
        *,
        key: str | None = None,
        timeout_s: float = 600.0,
        policy: RetryPolicy | None = None,
        pause: Callable[[float], bool] | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._parts = urlsplit(self.base_url)
        self._key = key
        self._timeout_s = timeout_s
        self._policy = policy or RetryPolicy()
        self._stopped = threading.Event()
        self._pause = pause or self._stopped.wait
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._busy: set[http.client.HTTPConnection] = set()

    def ask(self, path: str, payload: Mapping[str, Any] | None, read: Callable[[Any], T], label: str) -> T:
        """Ask until there is an answer.

        Args:
            path: Below the base URL, without a slash in front.
            payload: Sent by POST; None asks by GET.
            read: Takes what it needs from the parsed answer; raises `MalformedError` where that is not there.
            label: What is asked, for messages and for the jitter.

        Raises:
            RefusedError: The server answered with a status that more attempts would not change.
            UnansweredError: All attempts failed.
            ClosedClientError: The client was stopped.
        """
        attempt = 0
        while not self._stopped.is_set():
            attempt += 1
            try:
                return self._attempt(path, payload, read, label)
            except _TroubleError as trouble:
                reason = f"{label}: {self._name(path, payload)}: {trouble}"
                if attempt >= trouble.attempts:
                    times = f"{attempt} attempts" if attempt > 1 else "1 attempt"
                    raise UnansweredError(f"{reason} ({times})", trouble.status) from trouble
                wait_s = max(self._policy.wait_s(attempt, label), trouble.wait_s)
            if self._pause(wait_s):
                break
        raise ClosedClientError(f"{label}: no longer asked")

    def stop(self) -> None:
        """Let nothing more be asked, and end what is being asked."""
        self._stopped.set()
        with self._lock:
            for connection in self._busy:
                _shut(connection)
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def hide(self, text: str) -> str:
        """Make what a server says fit to be shown: one line, not too long, without the key."""
        if self._key:
            text = text.replace(self._key, "***")
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."

    def _name(self, path: str, payload: object) -> str:
        return f"{'GET' if payload is None else 'POST'} {self.base_url}/{path}"

    def _attempt(self, path: str, payload: Mapping[str, Any] | None, read: Callable[[Any], T], label: str) -> T:
        try:
            status, headers, data = self._exchange(path, payload)
        except TimeoutError as error:
            raise _TroubleError(f"no answer within {self._timeout_s:g} s", self._policy.timeouts) from error
        except ssl.SSLCertVerificationError as error:
            raise RefusedError(f"{self.base_url}: {self.hide(str(error))}; check the URL", 0) from error
        except (OSError, http.client.HTTPException) as error:
            what = self.hide(str(error)) or type(error).__name__
            raise _TroubleError(f"the connection failed: {what}", self._policy.attempts) from error
        if status // 100 != 2:
            raise self._failure(status, headers, data, f"{label}: {self._name(path, payload)}")
        try:
            return read(self._parse(data))
        except MalformedError as error:
            # Not chained: what the server sent must not be shown before the key is hidden.
            raise _TroubleError(self.hide(str(error)), self._policy.malformed, status) from None

    def _parse(self, data: bytes) -> Any:  # noqa: ANN401
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            start = self.hide(data[:_CHUNK_BYTES].decode("utf-8", "replace"))[:_EXCERPT]
            raise MalformedError(f"the answer is no JSON: {start!r}") from None

    def _failure(self, status: int, headers: http.client.HTTPMessage, data: bytes, asked: str) -> Exception:
        text, code = _error_text(data)
        said = f"status {status}: {self.hide(text) or 'no reason given'}"
        is_passing = status in _TRY_AGAIN or (status >= 500 and status != _NOT_IMPLEMENTED)
        if is_passing and code != "insufficient_quota":
            wait_s = retry_after_s(headers.get("Retry-After"), datetime.now(UTC))
            if wait_s <= self._policy.longest_retry_after_s:
                return _TroubleError(said, self._policy.attempts, status, wait_s)
            said = f"{said}; it asks to wait for {wait_s:.0f} s"
        if status // 100 == 3:
            moved = self.hide(headers.get("Location", "elsewhere").partition("?")[0])
            said = f"status {status}: moved to {moved}; name the URL that serves the model"
        if status in (401, 403):
            said = f"{said}; {'check' if self._key else 'set'} OPENAI_API_KEY"
        return RefusedError(f"{asked}: {said}", status, code)

    def _exchange(self, path: str, payload: Mapping[str, Any] | None) -> tuple[int, http.client.HTTPMessage, bytes]:
        headers = {"Accept": "application/json", "User-Agent": "evalkit"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        body = None
        if payload is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(payload, allow_nan=False).encode("ascii")
        deadline = time.monotonic() + self._timeout_s
        connection = self._take()
        is_reusable = False
        try:
            if connection.sock is None:
                _connect(connection, self._timeout_s)
            connection.request("GET" if body is None else "POST", f"{self._parts.path}/{path}", body, headers)
            response = connection.getresponse()
            data = _read_body(response, deadline)
            is_reusable = not response.will_close
            return response.status, response.headers, data
        finally:
            self._give_back(connection, is_reusable)

    def _take(self) -> http.client.HTTPConnection:
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                # A server may have closed it; then it is readable though nothing was asked.
                if connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                    break
                connection.close()
            else:
                connection = self._connection()
            self._busy.add(connection)
            return connection

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        timeout = min(CONNECT_TIMEOUT_S, self._timeout_s)
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _give_back(self, connection: http.client.HTTPConnection, is_reusable: bool) -> None:
        with self._lock:
            self._busy.discard(connection)
            if is_reusable and not self._stopped.is_set():
                self._idle.append(connection)
            else:
                connection.close()


def _connect(connection: http.client.HTTPConnection, timeout_s: float) -> None:
    connection.connect()
    connection.sock.settimeout(timeout_s)


def _read_body(response: http.client.HTTPResponse, deadline: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := response.read1(_CHUNK_BYTES):
        parts.append(part)
        size += len(part)
        if time.monotonic() > deadline:
            raise TimeoutError
        if size > MAX_BODY_BYTES:
            raise http.client.HTTPException(f"the answer is longer than {MAX_BODY_BYTES} bytes")
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    response.close()
    return b"".join(parts)


def _shut(connection: http.client.HTTPConnection) -> None:
    if connection.sock is not None:
        try:
            connection.sock.shutdown(socket.SHUT_RDWR)  # close alone would not wake a thread that reads from it
        except OSError:
            return  # the other side was faster


def _error_text(data: bytes) -> tuple[str, str]:
    """Message and code of an error's body, in the forms that servers give them."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        return data[:_CHUNK_BYTES].decode("utf-8", "replace"), ""
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    if not isinstance(body, dict):
        return str(body), ""
    text = next((body[name] for name in ("message", "error", "detail") if body.get(name)), body)
    return str(text), str(body.get("code") or body.get("type") or "")


def retry_after_s(value: str | None, now: datetime) -> float:
    """Seconds that a Retry-After header asks to wait, given as seconds or as a date; 0 where it says nothing.

    >>> retry_after_s("2.5", datetime(2026, 1, 1, tzinfo=UTC))
    2.5
    >>> retry_after_s("Thu, 01 Jan 2026 00:01:00 GMT", datetime(2026, 1, 1, tzinfo=UTC))
    60.0

    References:
        RFC 9110, section 10.2.3.
    """
    if not value:
        return 0.0
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except ValueError:
            return 0.0
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - now).total_seconds()
    return seconds if 0.0 < seconds < float("inf") else 0.0


def ask_in_order(items: Iterable[T], ask: Callable[[T], R], workers: int, stop: Callable[[], None]) -> Iterator[R]:
    """Ask for several items at once and give the answers in the order of the items.

    Args:
        items: What to ask; taken a little ahead of the answers.
        ask: Called in threads.
        workers: Items at once.
        stop: Called when answers are no longer wanted, or there are no more: ends what is being asked.

    Raises:
        StoppedError: The items did, since no more are wanted; what was being asked by then is answered before.
    """
    pool = ThreadPoolExecutor(workers, thread_name_prefix="evalkit-ask")
    waiting: deque[Future[R]] = deque()
    stopped = None
    try:
        try:
            for item in items:
                waiting.append(pool.submit(ask, item))
                if len(waiting) >= 4 * workers:  # so far others may run ahead of a slow one
                    yield waiting.popleft().result()
        except StoppedError as error:
            stopped = error
            while waiting and waiting[-1].cancel():
                waiting.pop()
        while waiting:
            yield waiting.popleft().result()
        if stopped is not None:
            raise stopped
    finally:
        stop()
        pool.shutdown(wait=True, cancel_futures=True)
