"""Machine translation, and any other text-to-text task scored against reference texts."""

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
from evalkit.languages import UNSEGMENTED, language_name
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.bleu import Bleu
from evalkit.metrics.chrf import Chrf, ChrfPlusPlus
from evalkit.spec import Row, TaskSpec

if TYPE_CHECKING:
    from evalkit.requests import Example, GenerateRequest, Response


class MachineTranslation(Kind):
    """A source text and one or more reference translations."""

    name: ClassVar[str] = "mt"
    required: ClassVar[Mapping[str, str]] = {
        "source": "the text to translate",
        "references": "one or more translations",
    }
    requests: ClassVar[tuple[str, ...]] = ("generate",)

    def example(self, row: Row, example_id: str) -> Example:
        """Turn a row with source and references into an example."""
        from evalkit.requests import Example

        references = texts_field(row, "references", allow_single=True)
        if not references:
            raise InvalidInputError("field 'references' is empty; expected at least one translation")
        return Example(
            id=example_id,
            inputs={"source": text_field(row, "source")},
            references=references,
            cluster=cluster_field(row),
        )

    def request(self, task: TaskSpec, example: Example, request_kind: str, prompt: str) -> GenerateRequest:
        """Ask for a translation by a prompt."""
        return generate_request(task, example, prompt)

    def prediction(self, task: TaskSpec, example: Example, response: Response) -> str | None:
        """Take the generated text as it is: scorers differ in what they strip."""
        from evalkit.requests import GenerateResponse

        if isinstance(response, GenerateResponse):
            return response.text
        raise unexpected(response, self.name)

    def default_metrics(self, task: TaskSpec) -> tuple[AnyMetric, ...]:
        """BLEU with the language's tokenizer and chrF; chrF++ where words are separated by spaces."""
        base: tuple[AnyMetric, ...] = (Bleu(language=task.language), Chrf())
        return base if task.language in UNSEGMENTED else (*base, ChrfPlusPlus())

    def default_prompt(self, task: TaskSpec) -> str:
        """Name both languages before the texts."""
        source = language_name(task.source_language or "source")
        return f"{source}: {{{{ source }}}}\n{language_name(task.language)}:"

    def default_instruction(self, task: TaskSpec) -> str:
        """Say what to do."""
        source = f" from {language_name(task.source_language)}" if task.source_language else ""
        return f"Translate{source} to {language_name(task.language)}."
