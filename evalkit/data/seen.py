"""Ids that must be different: each with the place where it was first seen, of many only hashes."""

from __future__ import annotations

from array import array
from typing import Generic, TypeVar

from evalkit.spool import KEPT_IN_MEMORY

P = TypeVar("P")


class FirstSeen(Generic[P]):
    """Where ids were first seen.

    Of the first ones the places are held; of all further ones only a hash, so that equal hashes have to be looked at again.
    Hashes are those of this process.
    """

    def __init__(self) -> None:
        self.places: dict[str, P] = {}
        """The first ids, with their places."""
        self._hashes = array("q")

    def __len__(self) -> int:
        return len(self.places) + len(self._hashes)

    def add(self, name: str, place: P) -> P | None:
        """Note an id; returns its first place if it is known to have been there before."""
        if name in self.places:
            return self.places[name]
        if len(self.places) < KEPT_IN_MEMORY:
            self.places[name] = place
        else:
            self._hashes.append(hash(name))
        return None

    def suspects(self) -> set[int]:
        """Hashes of ids that may have been there twice."""
        if not self._hashes:
            return set()
        import numpy as np

        found, counts = np.unique(np.frombuffer(self._hashes, dtype=np.int64), return_counts=True)
        return set(found[counts > 1].tolist())
