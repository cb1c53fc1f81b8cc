"""The answers of a file by id: few of them in memory, many on disk."""

from __future__ import annotations

from array import array
from collections.abc import ItemsView, Iterator, Mapping
from dataclasses import fields
from itertools import chain
from typing import TYPE_CHECKING, Any

from evalkit.adapters.prediction_files.answers import FileAnswer, LogprobAnswer, TagsAnswer, TextAnswer, WordsAnswer
from evalkit.spool import KEPT_IN_MEMORY, Form, Spool

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_CLASSES: Mapping[str, type[FileAnswer]] = {
    kind.__name__: kind for kind in (TextAnswer, TagsAnswer, WordsAnswer, LogprobAnswer)
}


def _pack(pair: tuple[str, FileAnswer]) -> tuple[Any, ...]:
    name, answer = pair
    return name, type(answer).__name__, tuple(getattr(answer, field.name) for field in fields(answer))


def _unpack(packed: tuple[Any, ...]) -> tuple[str, FileAnswer]:
    name, kind, values = packed
    return name, _CLASSES[kind](*values)


class Answers(Mapping[str, FileAnswer]):
    """Answers that were added one after the other; they are found fastest in that order. Ids must be different."""

    def __init__(self) -> None:
        self._few: dict[str, FileAnswer] = {}
        self._many = Spool(Form(_pack, _unpack))
        self._hashes = array("q")
        """Of the ids on disk, in order."""
        self._sorted: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
        self._next = 0

    def add(self, name: str, answer: FileAnswer) -> None:
        """Add the answer of an id that has none yet."""
        if len(self._few) < KEPT_IN_MEMORY:
            self._few[name] = answer
        else:
            self._many.append((name, answer))
            self._hashes.append(hash(name))

    def items(self) -> ItemsView[str, FileAnswer]:
        """Ids with their answers, in the order in which they were added."""
        return _Pairs(self)

    def pairs(self) -> Iterator[tuple[str, FileAnswer]]:
        """Ids with their answers, without looking any up."""
        return chain(self._few.items(), self._many)

    def __len__(self) -> int:
        return len(self._few) + len(self._many)

    def __iter__(self) -> Iterator[str]:
        return chain(self._few, (name for name, _ in self._many))

    def __getitem__(self, name: str) -> FileAnswer:
        if name in self._few:
            return self._few[name]
        for place in chain([self._next], self._places(hash(name))):
            if place < len(self._many):
                found, answer = self._many[place]
                if found == name:
                    self._next = place + 1
                    return answer
        raise KeyError(name)

    def _places(self, wanted: int) -> Iterator[int]:
        """Places on disk of the ids with a hash."""
        import numpy as np

        if self._sorted is None or len(self._sorted[0]) != len(self._hashes):
            hashes = np.array(self._hashes, dtype=np.int64)
            order = np.argsort(hashes, kind="stable")
            self._sorted = hashes[order], order
        hashes, order = self._sorted
        place = int(np.searchsorted(hashes, wanted))
        while place < len(hashes) and hashes[place] == wanted:
            yield int(order[place])
            place += 1


class _Pairs(ItemsView[str, FileAnswer]):
    """The pairs of `Answers`, which its base class would look up one by one."""

    _mapping: Answers

    def __iter__(self) -> Iterator[tuple[str, FileAnswer]]:
        return self._mapping.pairs()
