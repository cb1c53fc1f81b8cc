"""The likeliest sequence of tags among those that a tagging scheme allows.

Letters: n words, L labels.

References:
    Viterbi (1967), "Error bounds for convolutional codes and an asymptotically optimum decoding algorithm".
    Collobert et al. (2011), "Natural Language Processing (Almost) from Scratch", section 3.3.2: tags of a sentence, with learnt
    transitions; those here are allowed or not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_FORBIDDEN = -1e12
"""What a step that a scheme forbids costs: more than any logits, yet finite, so that some sequence is always found."""

_OPENING, _INSIDE, _CLOSING, _SINGLE = frozenset("B"), frozenset("IM"), frozenset("EL"), frozenset("SU")
"""Prefixes of tags by what they say of a word: it begins a group, continues one, ends one, or is one by itself."""

_PREFIXES = _OPENING | _INSIDE | _CLOSING | _SINGLE


class TagTransitions:
    """Which tag may follow which, read from the names of a model's labels.

    Schemes are IOB2, IOBES, BILOU and BMES, with or without types behind a hyphen. A tag that continues a group may begin one
    where the labels have no tag for that (scheme IO). Labels of IOB1 have the names of IOB2 and are taken for it. Labels that
    name no scheme, parts of speech for instance, may follow one another in any order.

    Args:
        labels: The model's, in the order of its outputs.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        is_bare = {label for label in labels if "-" not in label} <= {"O", *_PREFIXES}
        tags = [_parts(label, is_bare=is_bare) for label in labels]
        opened = {kind for prefix, kind in tags if prefix in _OPENING}
        closed = {kind for prefix, kind in tags if prefix in _CLOSING}

        def begins(tag: tuple[str, str]) -> bool:
            return tag[0] == "O" or tag[0] in _OPENING | _SINGLE or tag[1] not in opened

        def ends(tag: tuple[str, str]) -> bool:
            return tag[0] == "O" or tag[0] in _CLOSING | _SINGLE or tag[1] not in closed

        def may_follow(before: tuple[str, str], after: tuple[str, str]) -> bool:
            continues = before[1] == after[1] and before[0] in _OPENING | _INSIDE and after[0] in _INSIDE | _CLOSING
            return continues or (ends(before) and begins(after))

        self._steps: Floats = _costs([[may_follow(before, after) for after in tags] for before in tags])  # (L, L)
        self._first: Floats = _costs([begins(tag) for tag in tags])
        self._last: Floats = _costs([ends(tag) for tag in tags])

    def best(self, scores: Floats) -> list[int]:
        """Find the sequence with the highest sum of scores, the first label of equals.

        Args:
            scores: `(n, L)`, logits or log-probabilities.

        Returns:
            The label of each word; with the fewest forbidden steps where all sequences have some.
        """
        if not len(scores):
            return []
        reached = scores[0] + self._first
        came_from: list[NDArray[np.int64]] = []
        for row in scores[1:]:
            ways = reached[:, None] + self._steps  # (L, L), from and to
            best = ways.argmax(axis=0)
            came_from.append(best)
            reached = ways[best, np.arange(len(best))] + row
        path = [int((reached + self._last).argmax())]
        for best in reversed(came_from):
            path.append(int(best[path[-1]]))
        return path[::-1]


def _parts(label: str, *, is_bare: bool) -> tuple[str, str]:
    """Split a label into prefix and type; one of no scheme is outside of all groups."""
    prefix, hyphen, kind = label.partition("-")
    return (prefix, kind) if prefix in _PREFIXES and (hyphen or is_bare) else ("O", "")


def _costs(allowed: object) -> Floats:
    return np.where(np.array(allowed, dtype=bool), 0.0, _FORBIDDEN)
