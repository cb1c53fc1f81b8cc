"""Digests that records carry: short, stable across machines, equal exactly when the content is."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

LENGTH = 16
"""Hex digits of a digest, 64 bits."""


def digest_text(text: str) -> str:
    """Digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:LENGTH]


def digest_json(value: Any) -> str:  # noqa: ANN401
    """Digest of anything that JSON can hold, whatever the order of keys."""
    return digest_text(canonical(value))


class RunningDigest:
    """Digest of a sequence of JSON values, of which one after the other becomes known."""

    def __init__(self) -> None:
        self._running = hashlib.sha256()

    def add(self, value: Any) -> None:  # noqa: ANN401
        """Take the next value in."""
        self._running.update(canonical(value).encode("utf-8", "surrogatepass"))
        self._running.update(b"\n")

    def digest(self) -> str:
        """The digest of all values so far."""
        return self._running.hexdigest()[:LENGTH]


def digest_stream(values: Iterable[Any]) -> str:
    """Digest of a sequence of JSON values, read one at a time."""
    running = RunningDigest()
    for value in values:
        running.add(value)
    return running.digest()


def digest_list(values: Iterable[Any]) -> str:
    """Digest of a list of JSON values that are read one at a time; the same as `digest_json` of the list."""
    running = hashlib.sha256()
    opening = b"["
    for value in values:
        running.update(opening + canonical(value).encode("utf-8", "surrogatepass"))
        opening = b","
    running.update(b"]" if opening == b"," else b"[]")
    return running.hexdigest()[:LENGTH]


def canonical(value: Any) -> str:  # noqa: ANN401
    """JSON with sorted keys and no spaces."""
    return _ENCODER.encode(value)


def _plain(value: object) -> object:
    if isinstance(value, set | frozenset):
        return sorted(value)
    return repr(value)


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=_plain)
"""Made once: `json.dumps` makes one a call."""
