"""Splits, seeds and hold-out: what makes splits disjoint, streams stable and test words unseen.

Every candidate has a key, which is a function of its content. A hash of the key, and nothing else, decides which split the
candidate may enter: splits are disjoint for every size and every pair of seeds. Candidates are drawn from one random stream
per task, split and seed, so the first n rows do not depend on how many are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from hashlib import sha256
from random import Random
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

SPLITS = ("train", "dev", "test")
_HALVES = ("train", "train", "dev", "test")
_MAX_MISSES = 20_000


def split_of(key: str) -> str:
    """Return the one split that content with this key may enter; half of all keys are train."""
    return _HALVES[sha256(key.encode()).digest()[0] & 3]


def is_held(word: str, percent: int) -> bool:
    """Whether a word belongs to the share of the vocabulary that only dev and test use."""
    return int.from_bytes(sha256(f"held {word}".encode()).digest()[:4], "big") % 100 < percent


def pick(rng: Random, items: Sequence[T]) -> T:
    """Choose one item, each equally likely.

    Only `Random.random` is drawn from: its sequence is the one that Python promises to keep.
    """
    return items[int(rng.random() * len(items))]


def pick_two(rng: Random, items: Sequence[T]) -> tuple[T, T]:
    """Choose two items at different places, in random order."""
    first = int(rng.random() * len(items))
    second = int(rng.random() * (len(items) - 1))
    return items[first], items[second + (second >= first)]


def between(rng: Random, low: int, high: int) -> int:
    """Choose a whole number from low to high, both included."""
    return low + int(rng.random() * (high - low + 1))


def chance(rng: Random, probability: float) -> bool:
    """Return True with the given probability."""
    return rng.random() < probability


def shuffled(rng: Random, items: Sequence[T]) -> list[T]:
    """Return the items in random order."""
    left = list(items)
    return [left.pop(int(rng.random() * len(left))) for _ in range(len(left))]


class Candidate(NamedTuple, Generic[T]):
    """What may become a row."""

    key: str
    """Content that decides the split: the same for candidates whose texts are the same."""
    build: Callable[[], T]
    """Builds the row."""
    identity: str = ""
    """What may come once only, where that is more than the key."""


def stream(task: str, split: str, seed: int, draw: Callable[[Random], Candidate[T]]) -> Iterator[T]:
    """Yield the rows of a split: of each candidate whose key belongs to it and that has not come before.

    Args:
        task: Name that separates this task's random stream from those of others.
        split: train, dev or test.
        seed: Any whole number; another seed gives other rows of the same split.
        draw: Makes one candidate.

    Raises:
        InvalidInputError: The split is unknown, or the grammar has no more rows to give.
    """
    from evalkit.errors import InvalidInputError, UnknownNameError

    if split not in SPLITS:
        raise UnknownNameError("split", split, SPLITS)
    rng = Random(int.from_bytes(sha256(f"{task} {split} {seed}".encode()).digest()[:8], "big"))
    seen: set[str] = set()
    misses = 0
    while misses < _MAX_MISSES:
        candidate = draw(rng)
        identity = candidate.identity or candidate.key
        if split_of(candidate.key) != split or identity in seen:
            misses += 1
            continue
        misses = 0
        seen.add(identity)
        yield candidate.build()
    raise InvalidInputError(f"{task} has no more than {len(seen)} {split} rows to give; ask for fewer")


def take(rows: Iterator[T], size: int) -> list[T]:
    """Return the first `size` rows.

    Raises:
        InvalidInputError: The size is negative.
    """
    from itertools import islice

    from evalkit.errors import InvalidInputError

    if size < 0:
        raise InvalidInputError(f"size is {size}; expected 0 or more")
    return list(islice(rows, size))
