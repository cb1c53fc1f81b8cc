"""What a task kind is: how rows become examples, examples become requests, responses become predictions.

A kind knows its fields, its default prompt and metrics, and nothing of files, models or statistics. `KINDS` in the package's
`__init__` lists all of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.errors import InvalidInputError
from evalkit.metrics.base import AnyMetric
from evalkit.spec import Row, TaskSpec

if TYPE_CHECKING:
    from evalkit.requests import Example, GenerateRequest, ModelInfo, Request, Response


class Kind(ABC):
    """One of the seven task kinds."""

    name: ClassVar[str]
    """mt, summarization, qa, ner, cws, lm or classification."""
    required: ClassVar[Mapping[str, str]]
    """Fields that each row must have, with what they hold."""
    optional: ClassVar[Mapping[str, str]] = {}
    """Further fields that a row may have; every kind also takes ``id`` and ``cluster``."""
    requests: ClassVar[tuple[str, ...]]
    """Request kinds in order of preference; the first is the kind's own form."""

    @abstractmethod
    def example(self, row: Row, example_id: str) -> Example:
        """Turn a row into an example.

        Raises:
            InvalidInputError: A field has the wrong form; says which, and what was expected.
        """

    def check(self, task: TaskSpec, example: Example) -> None:
        """Refuse an example that does not go with the task; most kinds take whatever `example` made.

        Raises:
            InvalidInputError: Says what does not go together, and what to do.
        """
        return None

    @abstractmethod
    def request(self, task: TaskSpec, example: Example, request_kind: str, prompt: str) -> Request:
        """Ask for the example's answer by a request of the given kind.

        Args:
            task: The task, for labels and limits.
            example: The example to ask for.
            request_kind: One of the task's request kinds.
            prompt: The rendered prompt, shots included; '' where the request kind shows none.
        """

    @abstractmethod
    def prediction(self, task: TaskSpec, example: Example, response: Response) -> object:
        """Turn a response into what the kind's metrics take."""

    @abstractmethod
    def default_metrics(self, task: TaskSpec) -> tuple[AnyMetric, ...]:
        """The metrics of a task that names none, main one first."""

    @abstractmethod
    def default_prompt(self, task: TaskSpec) -> str:
        """The template of a task that has none."""

    def default_answer(self, task: TaskSpec) -> str:
        """The template of a solved example's answer, for a task that has none."""
        return " {{ references[0] }}"

    def default_instruction(self, task: TaskSpec) -> str:
        """The text before all examples, for a task that has none."""
        return ""

    def fit(self, task: TaskSpec, model: ModelInfo) -> tuple[TaskSpec, tuple[str, ...]]:
        """Give a task the metrics that a model's answers can have; most kinds have the same for all models.

        Returns:
            The task, and warnings about what was changed, one line each.

        Raises:
            InvalidInputError: The task has metrics that the model's answers cannot have.
        """
        return task, ()

    def template_values(self, task: TaskSpec, example: Example) -> Mapping[str, Any]:
        """What templates may use: the inputs, and for solved examples the references."""
        return {**example.inputs, "references": example.references}

    def complete(self, task: TaskSpec) -> TaskSpec:
        """Fill what the task leaves to its kind: metrics, request kinds, prompt and answer templates."""
        return replace(
            task,
            metrics=task.metrics or self.default_metrics(task),
            requests=task.requests or self.requests,
            instruction=task.instruction or self.default_instruction(task),
            prompt=task.prompt or self.default_prompt(task),
            answer=task.answer or self.default_answer(task),
        )


def text_field(row: Row, name: str) -> str:
    """The text in a field of a row.

    Raises:
        InvalidInputError: The field is missing or holds no text.
    """
    if name not in row:
        raise InvalidInputError(f"no field {name!r}; found {', '.join(map(repr, row)) or 'none'}")
    value = row[name]
    if not isinstance(value, str):
        raise InvalidInputError(f"field {name!r} is {type(value).__name__} {value!r:.40}; expected text")
    return value


def texts_field(row: Row, name: str, *, allow_single: bool = False) -> tuple[str, ...]:
    """The texts in a field of a row.

    Args:
        row: The row.
        name: The field.
        allow_single: Whether one bare text counts as a list of one, as for references; a sentence is no list of tokens.

    Raises:
        InvalidInputError: The field is missing, or holds something else than texts.
    """
    if name not in row:
        raise InvalidInputError(f"no field {name!r}; found {', '.join(map(repr, row)) or 'none'}")
    value = row[name]
    expected = "a text or a list of texts" if allow_single else "a list of texts"
    if isinstance(value, Mapping):
        raise InvalidInputError(_object_in(name, value, expected))
    if isinstance(value, str):
        if allow_single:
            return (value,)
        raise InvalidInputError(f"field {name!r} is the text {value!r:.40}; expected {expected}")
    if not isinstance(value, Iterable):
        raise InvalidInputError(f"field {name!r} is {type(value).__name__}; expected {expected}")
    items = tuple(value)
    for item in items:
        if not isinstance(item, str):
            raise InvalidInputError(f"field {name!r} holds {item!r:.40}; expected texts")
    return items


def _object_in(name: str, value: Mapping[str, object], expected: str) -> str:
    """Say which part of an object could be the list that was meant."""
    keys = ", ".join(map(repr, value)) or "none"
    part = next((str(key) for key, inner in value.items() if isinstance(inner, list | tuple)), next(iter(value), "KEY"))
    return f'field {name!r} is an object with the keys {keys}; expected {expected}: fields = {{ {name} = "{name}.{part}" }}'


def cluster_field(row: Row) -> str | None:
    """The cluster of a row, as text; None where it has none."""
    value = row.get("cluster")
    return None if value is None else str(value)


def generate_request(task: TaskSpec, example: Example, prompt: str) -> GenerateRequest:
    """A request for generated text with the task's stop texts and limit."""
    from evalkit.requests import GenerateRequest

    return GenerateRequest(
        example_id=example.id,
        inputs=example.inputs,
        prompt=prompt,
        stop=task.stop,
        max_new_tokens=task.max_new_tokens,
    )


def unexpected(response: Response, kind: str) -> InvalidInputError:
    """The error for a response of a kind that the task kind cannot read."""
    return InvalidInputError(f"example {response.example_id!r}: a {kind} task cannot read a {type(response).__name__}")
