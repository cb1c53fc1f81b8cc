"""`baseline:majority`: what was most frequent in training, of a class, an answer, or the tag of a token or character."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from evalkit.adapters.baselines.base import Baseline, training_examples
from evalkit.adapters.responses import (
    bmes_labels,
    class_response,
    text_response,
    unanswerable,
    words_from_bmes,
    words_response,
)
from evalkit.requests import (
    ClassifyRequest,
    Example,
    LabelRequest,
    LabelResponse,
    Request,
    Response,
    TaskContext,
)


class Majority(Baseline):
    """The most frequent class or answer; for each token or character its most frequent tag, made well-formed."""

    name: ClassVar[str] = "majority"
    summary: ClassVar[str] = "the most frequent class or answer; the most frequent tag of each token or character"
    requests: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "classification": ("classify", "generate"),
        "qa": ("span", "generate"),
        "ner": ("label",),
        "cws": ("label", "generate"),
    }

    def learn(self, context: TaskContext) -> None:
        """Count the training split."""
        self._kind = context.kind
        examples = training_examples(self.name, context)
        if context.kind == "ner":
            self._tags = most_frequent_tags((example.inputs["tokens"], example.references[0]) for example in examples)
        elif context.kind == "cws":
            self._tags = most_frequent_tags(_labelled(example) for example in examples)
        else:
            counts = Counter(_first_reference(example) for example in examples)
            self._text = _most_frequent(counts, counts)
            self._shares = {name: count / counts.total() for name, count in counts.items()}

    def respond(self, request: Request) -> Response:
        """Answer with the most frequent."""
        if self._kind == "cws":
            text = request.inputs["text"]
            return words_response(
                request, words_from_bmes(text, [self._tags.get(character, "S") for character in text])
            )
        if self._kind == "ner":
            return self._label(request)
        if isinstance(request, ClassifyRequest):
            return class_response(request, self._text, self._shares)
        return text_response(request, self._text)

    def _label(self, request: Request) -> LabelResponse:
        if not isinstance(request, LabelRequest):
            raise unanswerable(request, "a list of tags")
        tags = repaired([self._tags.get(token, "O") for token in request.tokens])
        return LabelResponse(example_id=request.example_id, labels=tags)


def most_frequent_tags(sentences: Iterable[tuple[Sequence[str], Sequence[str]]]) -> dict[str, str]:
    """The most frequent tag of each token; of equally frequent ones the one that is more frequent over all tokens."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    overall: Counter[str] = Counter()
    for tokens, tags in sentences:
        overall.update(tags)
        for token, tag in zip(tokens, tags, strict=True):
            counts[token][tag] += 1
    return {token: _most_frequent(tags, overall) for token, tags in counts.items()}


def repaired(tags: Sequence[str]) -> tuple[str, ...]:
    """Tags in IOB2: an ``I-`` that continues nothing becomes a ``B-``.

    >>> repaired(["O", "I-PER", "I-PER", "I-LOC"])
    ('O', 'B-PER', 'I-PER', 'B-LOC')
    """
    previous = "O"
    result = []
    for tag in tags:
        prefix, _, label = tag.partition("-")
        if prefix == "I" and previous not in (f"B-{label}", f"I-{label}"):
            tag = f"B-{label}"
        result.append(tag)
        previous = tag
    return tuple(result)


def _most_frequent(counts: Counter[str], overall: Counter[str]) -> str:
    return min(counts, key=lambda name: (-counts[name], -overall[name], name))


def _labelled(example: Example) -> tuple[str, list[str]]:
    words = example.references[0].split()
    return "".join(words), list(bmes_labels(words))


def _first_reference(example: Example) -> str:
    return str(example.references[0]) if example.references else ""
