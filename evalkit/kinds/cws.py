"""Chinese word segmentation: a text without spaces, and its words."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.errors import InvalidInputError
from evalkit.kinds.base import Kind, cluster_field, generate_request, texts_field, unexpected
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.cws import Cws
from evalkit.spec import Row, TaskSpec

if TYPE_CHECKING:
    from evalkit.requests import (
        Example,
        GenerateRequest,
        LabelRequest,
        Response,
    )

SEPARATOR = "  "
"""Between the words of a segmented line, as in the SIGHAN files."""

LABELS = ("B", "M", "E", "S")
"""Begin, middle and end of a word, and a word of one character (Xue, 2003)."""


class WordSegmentation(Kind):
    """A text, and the same text cut into words."""

    name: ClassVar[str] = "cws"
    required: ClassVar[Mapping[str, str]] = {"words": "the words of the text, in order"}
    requests: ClassVar[tuple[str, ...]] = ("label", "generate")

    def example(self, row: Row, example_id: str) -> Example:
        """Turn a row with words into an example whose text has no spaces."""
        from evalkit.requests import Example

        words = texts_field(row, "words")
        text = "".join(words)
        if not text:
            raise InvalidInputError("field 'words' holds no word; expected at least one")
        if any(character.isspace() for character in text):
            raise InvalidInputError("field 'words' holds a word with a space in it; expected words without spaces")
        return Example(
            id=example_id,
            inputs={"text": text},
            references=(SEPARATOR.join(words),),
            cluster=cluster_field(row),
        )

    def request(
        self, task: TaskSpec, example: Example, request_kind: str, prompt: str
    ) -> LabelRequest | GenerateRequest:
        """Ask for one BMES label a character, or for the segmented text."""
        from evalkit.requests import LabelRequest

        if request_kind == "generate":
            return generate_request(task, example, prompt)
        text = example.inputs["text"]
        return LabelRequest(example_id=example.id, inputs=example.inputs, tokens=tuple(text), labels=LABELS)

    def prediction(self, task: TaskSpec, example: Example, response: Response) -> str | None:
        """The segmented line; generated text is laid over the characters of the input."""
        from evalkit.requests import GenerateResponse, LabelResponse

        text = example.inputs["text"]
        if isinstance(response, LabelResponse):
            return None if response.labels is None else SEPARATOR.join(words_from_labels(text, response.labels))
        if isinstance(response, GenerateResponse):
            return None if response.text is None else SEPARATOR.join(project(response.text.split(), text))
        raise unexpected(response, self.name)

    def default_metrics(self, task: TaskSpec) -> tuple[AnyMetric, ...]:
        """Word F1 by spans, with the recall of unknown and known words."""
        return (Cws(),)

    def default_prompt(self, task: TaskSpec) -> str:
        """Show the text, then ask for its words."""
        return "文本：{{ text }}\n分词："

    def default_answer(self, task: TaskSpec) -> str:
        """Words with one space between them."""
        return "{{ words | join(' ') }}"

    def default_instruction(self, task: TaskSpec) -> str:
        """Say what to do."""
        return "请在词与词之间加上空格。"

    def template_values(self, task: TaskSpec, example: Example) -> Mapping[str, Any]:
        """The text and its words."""
        return {**example.inputs, "references": example.references, "words": example.references[0].split()}


def words_from_labels(text: str, labels: Sequence[str]) -> Iterator[str]:
    """Cut a text into words by one BMES label a character: B and S start a word, so does what follows E and S.

    >>> list(words_from_labels("我爱北京", ["S", "S", "B", "E"]))
    ['我', '爱', '北京']
    """
    if len(labels) != len(text):
        raise InvalidInputError(f"{len(labels)} labels for {len(text)} characters; expected one label each")
    start = 0
    for position in range(1, len(text)):
        if labels[position] in ("B", "S") or labels[position - 1] in ("E", "S"):
            yield text[start:position]
            start = position
    yield text[start:]


def labels_from_words(words: Sequence[str]) -> tuple[str, ...]:
    """Give the characters of words their BMES labels.

    >>> labels_from_words(["我", "爱", "北京", "天安门"])
    ('S', 'S', 'B', 'E', 'B', 'M', 'E')
    """
    return tuple(label for word in words for label in ("S" if len(word) == 1 else f"B{'M' * (len(word) - 2)}E"))


def project(words: Sequence[str], text: str) -> list[str]:
    """Lay the word boundaries of an output over the text that it should have segmented.

    A model that generates may change characters. Where it did not, the words are returned as they are; where it did, each
    boundary is carried over to the character of the text that a difference alignment pairs with the output's.

    >>> project(["北京", "真", "太好"], "北京真好")
    ['北京', '真', '好']
    """
    spelt = "".join(words)
    if spelt == text:
        return list(words)
    import difflib

    cuts, length = set(), 0
    for word in words:
        length += len(word)
        cuts.add(length)
    boundaries = set()
    matcher = difflib.SequenceMatcher(None, spelt, text, autojunk=False)
    for tag, left, left_end, right, right_end in matcher.get_opcodes():
        if tag == "equal":
            boundaries |= {right + cut - left for cut in cuts if left < cut <= left_end}
        elif left < left_end and left_end in cuts:
            boundaries.add(right_end)
    edges = [0, *sorted(edge for edge in boundaries if 0 < edge < len(text)), len(text)]
    return [text[start:end] for start, end in itertools.pairwise(edges)]
