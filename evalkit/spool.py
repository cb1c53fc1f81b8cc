"""Sequences that are too long for memory: written once to a file, read as often as wanted.

The file has no name, so the system takes it away when the process ends, however it ends. It lies in the folder for temporary
files, which the environment variable TMPDIR names. Where that is full, what does not fit stays in memory: nothing is lost.
"""

from __future__ import annotations

import marshal
import os
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO, Any, Generic, TypeVar, overload

T = TypeVar("T")

KEPT_IN_MEMORY = 16_384
"""Sequences of at most so many items are plain tuples."""

_BLOCK = 256
"""Items that are written and read together."""


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """How items of one type are written."""

    pack: Callable[[T], Any]
    """Turns an item into what `marshal` can write: tuples, lists, mappings, texts, numbers."""
    unpack: Callable[[Any], T]
    """Makes the item from that."""


class Spool(Sequence[T]):
    """A sequence on disk that items can be appended to.

    Args:
        form: How items are written.
    """

    def __init__(self, form: Form[T]) -> None:
        self._form = form
        self._file: IO[bytes] | None = None
        self._ends = array("Q", [0])
        """Where the blocks in the file end."""
        self._unwritten: list[bytes] = []
        """Blocks after those in the file, for which there was no room."""
        self._tail: list[Any] = []
        """Packed items after the last block."""
        self._last: tuple[int, tuple[Any, ...]] = (-1, ())
        """The block that was read last, with its number."""

    def append(self, item: T) -> None:
        """Add one item."""
        self._tail.append(self._form.pack(item))
        if len(self._tail) == _BLOCK:
            self._keep(marshal.dumps(tuple(self._tail)))
            self._tail = []

    def extend(self, items: Iterable[T]) -> None:
        """Add several items."""
        for item in items:
            self.append(item)

    def __len__(self) -> int:
        return self._blocks * _BLOCK + len(self._tail)

    def __iter__(self) -> Iterator[T]:
        unpack = self._form.unpack
        for number in range(self._blocks):
            yield from map(unpack, self._read(number))
        yield from map(unpack, tuple(self._tail))

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        index = place + len(self) if place < 0 else place
        if not 0 <= index < len(self):
            raise IndexError(f"item {place} of {len(self)}")
        number, within = divmod(index, _BLOCK)
        if number == self._blocks:
            return self._form.unpack(self._tail[within])
        if self._last[0] != number:
            self._last = (number, self._read(number))
        return self._form.unpack(self._last[1][within])

    @property
    def _blocks(self) -> int:
        return len(self._ends) - 1 + len(self._unwritten)

    def _keep(self, block: bytes) -> None:
        if self._unwritten or not self._write(block):
            self._unwritten.append(block)

    def _write(self, block: bytes) -> bool:
        """Write a block behind the others; says whether there was room."""
        start = self._ends[-1]
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - open as long as the spool
            view = memoryview(block)
            while view:
                view = view[os.pwrite(self._file.fileno(), view, start + len(block) - len(view)) :]
        except OSError:
            return False
        self._ends.append(start + len(block))
        return True

    def _read(self, number: int) -> tuple[Any, ...]:
        written = len(self._ends) - 1
        if number >= written:
            block = self._unwritten[number - written]
        else:
            assert self._file is not None
            start, end = self._ends[number], self._ends[number + 1]
            block = os.pread(self._file.fileno(), end - start, start)
            assert len(block) == end - start, "a file without a name is changed by nobody else"
        items: tuple[Any, ...] = marshal.loads(block)
        return items


def spooled(items: Iterable[T], form: Form[T], keep: int | None = None) -> Sequence[T]:
    """Hold items for several readings: few of them as a tuple, more of them on disk.

    Args:
        items: The items, taken one at a time.
        form: How they are written.
        keep: Most items of a tuple; None for `KEPT_IN_MEMORY`.
    """
    keep = KEPT_IN_MEMORY if keep is None else keep
    rest = iter(items)
    head = tuple(islice(rest, keep + 1))
    if len(head) <= keep:
        return head
    spool = Spool(form)
    spool.extend(chain(head, rest))
    return spool
