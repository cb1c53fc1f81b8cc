"""Classification: a text, or a pair of texts, and one class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from evalkit.errors import InvalidInputError
from evalkit.kinds.base import Kind, cluster_field, generate_request, text_field, unexpected
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.classification import Classification
from evalkit.spec import Row, TaskSpec

if TYPE_CHECKING:
    from evalkit.requests import (
        ClassifyRequest,
        Example,
        GenerateRequest,
        Response,
        ScoreRequest,
    )


class TextClassification(Kind):
    """A text and its class."""

    name: ClassVar[str] = "classification"
    required: ClassVar[Mapping[str, str]] = {"text": "the text to classify", "label": "its class"}
    optional: ClassVar[Mapping[str, str]] = {"text_pair": "a second text, for pairs"}
    requests: ClassVar[tuple[str, ...]] = ("classify", "score", "generate")

    def example(self, row: Row, example_id: str) -> Example:
        """Turn a row with text and label into an example."""
        from evalkit.requests import Example

        inputs = {"text": text_field(row, "text")}
        if "text_pair" in row:
            inputs["text_pair"] = text_field(row, "text_pair")
        return Example(id=example_id, inputs=inputs, references=(text_field(row, "label"),), cluster=cluster_field(row))

    def check(self, task: TaskSpec, example: Example) -> None:
        """Refuse a gold class outside the task's classes: metrics would count it for none of them."""
        label = example.references[0]
        if task.labels and label not in task.labels:
            raise InvalidInputError(
                f"label {label!r} is none of the task's labels {', '.join(map(repr, task.labels))}; add it to labels, or"
                " mend the row"
            )

    def request(
        self, task: TaskSpec, example: Example, request_kind: str, prompt: str
    ) -> ClassifyRequest | ScoreRequest | GenerateRequest:
        """Ask for a class, for the probability of each class's name, or for the name."""
        from evalkit.requests import ClassifyRequest, ScoreRequest

        if request_kind == "generate":
            return generate_request(task, example, prompt)
        if request_kind == "score":
            space = "" if task.language == "zh" else " "
            return ScoreRequest(
                example_id=example.id,
                inputs=example.inputs,
                context=prompt,
                continuations=tuple(f"{space}{label}" for label in known_labels(task)),
            )
        return ClassifyRequest(
            example_id=example.id,
            inputs=example.inputs,
            text=example.inputs["text"],
            text_pair=example.inputs.get("text_pair"),
            labels=task.labels,
        )

    def prediction(self, task: TaskSpec, example: Example, response: Response) -> str | None:
        """The class chosen, the most probable one, or the one whose name the text begins with."""
        from evalkit.requests import ClassifyResponse, GenerateResponse, ScoreResponse

        if isinstance(response, ClassifyResponse):
            return response.label
        if isinstance(response, ScoreResponse):
            best = max(range(len(response.logprobs_nats)), key=response.logprobs_nats.__getitem__)
            return known_labels(task)[best]
        if isinstance(response, GenerateResponse):
            return None if response.text is None else label_from_text(known_labels(task), response.text)
        raise unexpected(response, self.name)

    def default_metrics(self, task: TaskSpec) -> tuple[AnyMetric, ...]:
        """Accuracy, with macro, micro and weighted F1 beside it."""
        return (Classification(labels=task.labels),)

    def default_prompt(self, task: TaskSpec) -> str:
        """Show the text or the pair, then ask for the class."""
        if task.language == "zh":
            return "文本：{{ text }}{% if text_pair is defined %}\n文本二：{{ text_pair }}{% endif %}\n类别："
        return "Text: {{ text }}{% if text_pair is defined %}\nSecond text: {{ text_pair }}{% endif %}\nClass:"

    def default_answer(self, task: TaskSpec) -> str:
        """The class's name."""
        return "{{ references[0] }}" if task.language == "zh" else " {{ references[0] }}"

    def default_instruction(self, task: TaskSpec) -> str:
        """Name the classes."""
        if not task.labels:
            return ""
        if task.language == "zh":
            return f"请选择文本的类别：{'、'.join(task.labels)}。"
        return f"Choose the class of the text: {', '.join(task.labels)}."


def known_labels(task: TaskSpec) -> tuple[str, ...]:
    """The task's classes.

    Raises:
        InvalidInputError: The task does not name them, though this way of asking needs their names.
    """
    if not task.labels:
        raise InvalidInputError(
            f"task {task.name!r} names no labels; add them to ask models for the probability of a label or for its name"
        )
    return task.labels


def label_from_text(labels: tuple[str, ...], text: str) -> str:
    """The longest label that a text begins with, letter case aside; the stripped text itself where there is none.

    >>> label_from_text(("world", "sports"), " Sports.")
    'sports'
    """
    stripped = text.strip()
    matches = [label for label in labels if stripped.lower().startswith(label.lower())]
    return max(matches, key=len) if matches else stripped
