"""Answered examples, any number of them: held in memory or on disk, summed up in one pass, and seen as metrics want them."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, TypeVar, overload

from evalkit.digests import RunningDigest
from evalkit.encoding import pack, pack_example, unpack, unpack_example
from evalkit.provenance import plain
from evalkit.requests import Example, Response
from evalkit.spool import Form

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Answered:
    """One example with what was asked, what came back, and what was read from it."""

    example: Example
    prompt_digest: str
    response: Response
    prediction: Any
    """None where the response failed or held nothing that could be scored."""


def _pack(row: Answered) -> tuple[Any, ...]:
    return pack_example(row.example), row.prompt_digest, pack(row.response), pack(row.prediction)


def _unpack(packed: tuple[Any, ...]) -> Answered:
    example, prompt_digest, response, prediction = packed
    return Answered(unpack_example(example), prompt_digest, unpack(response), unpack(prediction))


ANSWERED = Form(_pack, _unpack)
"""How answered examples are written to disk where memory does not hold them."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one pass over answered examples tells."""

    columns: Columns
    """Those that could be scored."""

    counts: Mapping[str, int]
    """How many examples there were, and how many of them went other than planned."""
    tokens: int | None
    """Tokens that the model generated or scored; None where the adapter does not count them."""
    digest: str
    """Digest of all predictions, in order."""


def said_text(response: Response) -> str | None:
    """The text or class of a response, None where there was none; a response of numbers or tags counts as said."""
    for name in ("text", "label", "labels"):
        if hasattr(response, name):
            value = getattr(response, name)
            return value if value is None or isinstance(value, str) else "tags"
    return "numbers"


@dataclass(frozen=True, slots=True)
class Columns:
    """The examples that could be scored, as metrics take them: all of these have the same length and order."""

    predictions: Sequence[Any]
    references: Sequence[tuple[Any, ...]]
    clusters: Sequence[str | None] | None
    """None where no example has one."""

    def __len__(self) -> int:
        return len(self.predictions)


def summarize(answered: Sequence[Answered]) -> Summary:
    """Count what came back, take the digest of it, and find what can be scored; of examples on disk, the columns stay there."""
    counts = dict.fromkeys(("examples", "failed", "truncated", "empty", "missing"), 0)
    tokens, is_counted, running = 0, False, RunningDigest()
    names: dict[str, str] = {}
    is_scored, clusters = bytearray(), list[str | None]()
    for row in answered:
        _count(row.response, counts)
        number = getattr(row.response, "token_count", None)
        if number is not None:
            tokens, is_counted = tokens + number, True
        running.add(plain(row.prediction))
        is_scored.append(row.prediction is not None)
        if row.prediction is not None:
            cluster = row.example.cluster
            # Examples of a cluster share the text of its name.
            clusters.append(None if cluster is None else names.setdefault(cluster, cluster))
    columns = Columns(
        View(answered, lambda row: row.prediction, is_scored),
        View(answered, lambda row: row.example.references, is_scored),
        clusters if names else None,
    )
    if isinstance(answered, tuple):
        columns = replace(columns, predictions=list(columns.predictions), references=list(columns.references))
    return Summary(columns, counts, tokens if is_counted else None, running.digest())


def _count(response: Response, counts: dict[str, int]) -> None:
    said = said_text(response)
    counts["examples"] += 1
    counts["failed"] += response.error is not None
    counts["truncated"] += response.truncated
    counts["empty"] += said is not None and not said.strip()
    counts["missing"] += said is None and response.error is None


class View(Sequence[T]):
    """A part of each item of another sequence, taken when it is asked for; items may be left out.

    Args:
        source: The sequence.
        take: Gives the part.
        chosen: Of each item, whether it is there; None for all.
    """

    def __init__(self, source: Sequence[S], take: Callable[[S], T], chosen: Sequence[int] | None = None) -> None:
        self._source, self._take = source, take
        self._chosen = None if chosen is None or all(chosen) else chosen
        self._places = None if self._chosen is None else array("Q", compress(range(len(source)), self._chosen))

    def __len__(self) -> int:
        return len(self._source) if self._places is None else len(self._places)

    def __iter__(self) -> Iterator[T]:
        items = iter(self._source) if self._chosen is None else compress(self._source, self._chosen)
        return map(self._take, items)

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        return self._take(self._source[place if self._places is None else self._places[place]])
