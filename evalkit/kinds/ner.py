"""Named-entity recognition: tokens and one IOB2 tag for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.errors import InvalidInputError
from evalkit.kinds.base import Kind, cluster_field, generate_request, texts_field, unexpected
from evalkit.languages import UNSEGMENTED
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.seqeval import Seqeval
from evalkit.spec import Row, TaskSpec

if TYPE_CHECKING:
    from evalkit.requests import (
        Example,
        GenerateRequest,
        LabelRequest,
        Response,
    )

_NO_ENTITIES = "none"
_NO_ENTITIES_ZH = "无"
_SEPARATORS = re.compile("[;；\n]")
_COLON = re.compile("[:：]")
_FULL_STOPS = ".。"


class NamedEntityRecognition(Kind):
    """A sentence as tokens, and one IOB2 tag for each token."""

    name: ClassVar[str] = "ner"
    required: ClassVar[Mapping[str, str]] = {
        "tokens": "the sentence's tokens",
        "tags": "one IOB2 tag a token, such as B-PER, I-PER and O",
    }
    requests: ClassVar[tuple[str, ...]] = ("label", "generate")

    def example(self, row: Row, example_id: str) -> Example:
        """Turn a row with tokens and tags into an example."""
        from evalkit.requests import Example

        tokens, tags = texts_field(row, "tokens"), texts_field(row, "tags")
        if len(tokens) != len(tags):
            raise InvalidInputError(f"{len(tokens)} tokens but {len(tags)} tags; expected one tag for each token")
        for tag in tags:
            _check_tag(tag)
        return Example(id=example_id, inputs={"tokens": tokens}, references=(tags,), cluster=cluster_field(row))

    def request(
        self, task: TaskSpec, example: Example, request_kind: str, prompt: str
    ) -> LabelRequest | GenerateRequest:
        """Ask for tags, or for the entities as text."""
        from evalkit.requests import LabelRequest

        if request_kind == "generate":
            return generate_request(task, example, prompt)
        tags = tuple(tag for label in task.labels for tag in (f"B-{label}", f"I-{label}"))
        return LabelRequest(
            example_id=example.id,
            inputs=example.inputs,
            tokens=example.inputs["tokens"],
            labels=("O", *tags) if tags else (),
        )

    def prediction(self, task: TaskSpec, example: Example, response: Response) -> tuple[str, ...] | None:
        """Take the tags, or find the entities that were written in the sentence."""
        from evalkit.requests import GenerateResponse, LabelResponse

        if isinstance(response, LabelResponse):
            return response.labels
        if isinstance(response, GenerateResponse):
            return None if response.text is None else tags_from_text(example.inputs["tokens"], response.text)
        raise unexpected(response, self.name)

    def default_metrics(self, task: TaskSpec) -> tuple[AnyMetric, ...]:
        """Span F1 as seqeval counts it by default."""
        return (Seqeval(),)

    def default_prompt(self, task: TaskSpec) -> str:
        """Show the sentence, then ask for its entities."""
        return "句子：{{ text }}\n实体：" if task.language == "zh" else "Sentence: {{ text }}\nEntities:"

    def default_answer(self, task: TaskSpec) -> str:
        """Entities as ``TYPE: words``, separated by semicolons."""
        return "{{ entities }}" if task.language == "zh" else " {{ entities }}"

    def default_instruction(self, task: TaskSpec) -> str:
        """Say which entities to look for, and how to write them."""
        if task.language == "zh":
            types = f"（类型：{'、'.join(task.labels)}）" if task.labels else ""
            return (
                f"请按出现顺序列出句子中的命名实体{types}，写成“类型：实体”的形式，用分号“；”隔开；"
                f"如果没有命名实体，请写“{_NO_ENTITIES_ZH}”。"
            )
        types = f" of the types {', '.join(task.labels)}" if task.labels else ""
        return (
            f"List the named entities{types} in order, as TYPE: words, separated by semicolons;"
            f" write {_NO_ENTITIES} if there are none."
        )

    def template_values(self, task: TaskSpec, example: Example) -> Mapping[str, Any]:
        """The sentence as text, and its entities as they are written in a shot."""
        tokens = example.inputs["tokens"]
        joiner = "" if task.language in UNSEGMENTED else " "
        colon, semicolon, none = ("：", "；", _NO_ENTITIES_ZH) if task.language == "zh" else (": ", "; ", _NO_ENTITIES)
        found = (
            f"{label}{colon}{joiner.join(tokens[start:end])}" for start, end, label in spans(example.references[0])
        )
        return {
            **example.inputs,
            "references": example.references,
            "text": joiner.join(tokens),
            "entities": semicolon.join(found) or none,
        }


def spans(tags: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Entities of IOB2 tags as (start, end exclusive, type); a stray I- starts an entity."""
    start, label = 0, ""
    for position, tag in enumerate((*tags, "O")):
        prefix, _, kind = tag.partition("-")
        if label and (prefix != "I" or kind != label):
            yield start, position, label
            label = ""
        if prefix in ("B", "I") and not label:
            start, label = position, kind


def tags_from_text(tokens: Sequence[str], text: str) -> tuple[str, ...]:
    """Find entities written as ``TYPE: words; TYPE: words`` in a sentence.

    Each mention takes the first place, from left to right, where its characters (spaces aside) are those of whole free
    tokens; mentions that the sentence does not have are dropped, as an entity that is not there cannot be located. Chinese
    colons and semicolons do as well. A full stop right behind a mention is part of it only where the sentence has no
    mention without it.

    >>> tags_from_text(["Ann", "met", "Bo", "Li"], "PER: Ann; PER: Bo Li; LOC: Rome")
    ('B-PER', 'O', 'B-PER', 'I-PER')
    """
    tags = ["O"] * len(tokens)
    for part in _SEPARATORS.split(text.strip()):
        label, *rest = _COLON.split(part, maxsplit=1)
        places = (_find(tokens, tags, "".join(mention.split())) for mention in _spellings("".join(rest)))
        place = next(filter(None, places), None)
        if place is not None and label.strip():
            start, end = place
            tags[start:end] = [f"B-{label.strip()}", *[f"I-{label.strip()}"] * (end - start - 1)]
    return tuple(tags)


def _spellings(mention: str) -> tuple[str, str]:
    """What a mention may be in the sentence, the likelier first: a full stop after a space is a token of its own."""
    whole = mention.strip()
    bare = whole.rstrip(_FULL_STOPS)
    return (whole, bare) if bare.endswith(" ") else (bare, whole)


def _check_tag(tag: str) -> None:
    prefix, dash, label = tag.partition("-")
    if tag != "O" and not (prefix in ("B", "I") and dash and label):
        raise InvalidInputError(
            f"tag {tag!r} is not of scheme IOB2; expected O, B-TYPE or I-TYPE, or the scheme of the data, such as"
            ' options = { scheme = "IOBES" }'
        )


def _find(tokens: Sequence[str], tags: Sequence[str], wanted: str) -> tuple[int, int] | None:
    if not wanted:
        return None
    for start in range(len(tokens)):
        spelt = ""
        for end in range(start, len(tokens)):
            spelt += tokens[end]
            if tags[end] != "O" or not wanted.startswith(spelt):
                break
            if spelt == wanted:
                return start, end + 1
    return None
