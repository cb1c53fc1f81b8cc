"""`baseline:max-match`: the longest match of a list, from left to right.

For segmentation the list is the training words: the baseline of the SIGHAN bakeoffs. For entities it is the mentions of the
training split that had one type only: the baseline of CoNLL-2003.

References:
    Sproat and Emerson (2003), The First International Chinese Word Segmentation Bakeoff.
    Tjong Kim Sang and De Meulder (2003), Introduction to the CoNLL-2003 Shared Task.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, TypeVar

from evalkit.adapters.baselines.base import Baseline, training_examples
from evalkit.adapters.responses import unanswerable, words_response
from evalkit.requests import LabelRequest, LabelResponse, Request, Response, TaskContext

_Piece = TypeVar("_Piece", str, tuple[str, ...])


class MaxMatch(Baseline):
    """Forward maximum matching with the training words, or with the entities of the training split."""

    name: ClassVar[str] = "max-match"
    summary: ClassVar[str] = "the longest training word, or training entity, at each place from left to right"
    requests: ClassVar[Mapping[str, tuple[str, ...]]] = {"cws": ("label", "generate"), "ner": ("label",)}

    def learn(self, context: TaskContext) -> None:
        """Take the word list, or collect the entities of the training split."""
        self._kind = context.kind
        if context.kind == "cws":
            self._words = context.lexicon()
            self._longest = longest_by_start(self._words)
            return
        examples = training_examples(self.name, context)
        self._types = gazetteer((example.inputs["tokens"], example.references[0]) for example in examples)
        self._longest = longest_by_start(self._types)

    def respond(self, request: Request) -> Response:
        """Answer with the longest matches."""
        if self._kind == "cws":
            return words_response(request, list(longest_matches(request.inputs["text"], self._words, self._longest)))
        if not isinstance(request, LabelRequest):
            raise unanswerable(request, "a list of tags")
        tags: list[str] = []
        for piece in longest_matches(request.tokens, self._types, self._longest):
            label = self._types.get(piece)
            tags += ("O",) if label is None else (f"B-{label}", *[f"I-{label}"] * (len(piece) - 1))
        return LabelResponse(example_id=request.example_id, labels=tuple(tags))


def longest_by_start(pieces: Collection[Sequence[str]]) -> dict[str, int]:
    """The length of the longest piece that begins with each character or token."""
    longest: dict[str, int] = {}
    for piece in pieces:
        if piece:
            longest[piece[0]] = max(longest.get(piece[0], 0), len(piece))
    return longest


def longest_matches(text: _Piece, known: Collection[_Piece], longest: Mapping[str, int]) -> Iterator[_Piece]:
    """Cut a sequence into the longest known pieces from left to right; what is unknown comes out one by one.

    >>> list(longest_matches("北京大学生", {"北京", "北京大学", "大学生"}, {"北": 4, "大": 3}))
    ['北京大学', '生']
    """
    start = 0
    while start < len(text):
        end = min(start + longest.get(text[start], 1), len(text))
        while end > start + 1 and text[start:end] not in known:
            end -= 1
        yield text[start:end]
        start = end


def gazetteer(sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> dict[tuple[str, ...], str]:
    """The mentions of tagged sentences that have one type only, with that type."""
    types: dict[tuple[str, ...], set[str]] = {}
    for tokens, tags in sentences:
        for start, end, label in _entities(tags):
            types.setdefault(tuple(tokens[start:end]), set()).add(label)
    return {mention: next(iter(labels)) for mention, labels in types.items() if len(labels) == 1}


def _entities(tags: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Start, end and type of the entities of IOB2 tags."""
    start, label = 0, ""
    for place, tag in enumerate((*tags, "O")):
        if label and tag != f"I-{label}":
            yield start, place, label
            label = ""
        if tag[:1] in ("B", "I") and not label:
            start, label = place, tag[2:]
