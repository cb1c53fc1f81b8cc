"""Summarization: a document and one or more reference summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from evalkit.errors import InvalidInputError
from evalkit.kinds.base import (
    Kind,
    cluster_field,
    generate_request,
    text_field,
    texts_field,
    unexpected,
)
from evalkit.languages import UNSEGMENTED
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.rouge import Rouge
from evalkit.spec import Row, TaskSpec

if TYPE_CHECKING:
    from evalkit.requests import Example, GenerateRequest, Response


class Summarization(Kind):
    """A document and one or more reference summaries."""

    name: ClassVar[str] = "summarization"
    required: ClassVar[Mapping[str, str]] = {
        "document": "the text to summarize",
        "references": "one or more summaries",
    }
    requests: ClassVar[tuple[str, ...]] = ("generate",)

    def example(self, row: Row, example_id: str) -> Example:
        """Turn a row with document and references into an example."""
        from evalkit.requests import Example

        references = texts_field(row, "references", allow_single=True)
        if not references:
            raise InvalidInputError("field 'references' is empty; expected at least one summary")
        return Example(
            id=example_id,
            inputs={"document": text_field(row, "document")},
            references=references,
            cluster=cluster_field(row),
        )

    def request(self, task: TaskSpec, example: Example, request_kind: str, prompt: str) -> GenerateRequest:
        """Ask for a summary by a prompt."""
        return generate_request(task, example, prompt)

    def prediction(self, task: TaskSpec, example: Example, response: Response) -> str | None:
        """Take the generated text as it is."""
        from evalkit.requests import GenerateResponse

        if isinstance(response, GenerateResponse):
            return response.text
        raise unexpected(response, self.name)

    def default_metrics(self, task: TaskSpec) -> tuple[AnyMetric, ...]:
        """ROUGE, over characters where the language has no spaces between words."""
        tokenizer = "cjk_char" if task.language in UNSEGMENTED or task.language == "ko" else "default"
        return (Rouge(tokenizer=tokenizer, language=task.language),)

    def default_prompt(self, task: TaskSpec) -> str:
        """Show the document, then ask for the summary."""
        if task.language == "zh":
            return "文章：{{ document }}\n摘要："
        return "Document: {{ document }}\nSummary:"

    def default_answer(self, task: TaskSpec) -> str:
        """Chinese takes no space after the colon."""
        return "{{ references[0] }}" if task.language == "zh" else " {{ references[0] }}"

    def default_instruction(self, task: TaskSpec) -> str:
        """Say what to do."""
        return "请写出文章的摘要。" if task.language == "zh" else "Summarize the document."
