"""Language modelling: how probable a model finds a text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from evalkit.errors import InvalidInputError
from evalkit.kinds.base import Kind, cluster_field, text_field, unexpected
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.pseudo_perplexity import PseudoPerplexity
from evalkit.spec import Row, TaskSpec

if TYPE_CHECKING:
    from evalkit.requests import Example, ModelInfo, Response, RollingRequest, RollingResponse


class LanguageModelling(Kind):
    """A text whose probability is asked for; the text is its own reference."""

    name: ClassVar[str] = "lm"
    required: ClassVar[Mapping[str, str]] = {"text": "the text to score"}
    requests: ClassVar[tuple[str, ...]] = ("rolling",)

    def example(self, row: Row, example_id: str) -> Example:
        """Turn a row with a text into an example."""
        from evalkit.requests import Example

        text = text_field(row, "text")
        if not text:
            raise InvalidInputError("field 'text' is empty; a text without characters has no perplexity")
        return Example(id=example_id, inputs={"text": text}, references=(text,), cluster=cluster_field(row))

    def request(self, task: TaskSpec, example: Example, request_kind: str, prompt: str) -> RollingRequest:
        """Ask for the log-probability of the whole text."""
        from evalkit.requests import RollingRequest

        return RollingRequest(example_id=example.id, inputs=example.inputs, text=example.inputs["text"])

    def prediction(self, task: TaskSpec, example: Example, response: Response) -> RollingResponse:
        """Keep log-probability and token count together."""
        from evalkit.requests import RollingResponse

        if isinstance(response, RollingResponse):
            return response
        raise unexpected(response, self.name)

    def fit(self, task: TaskSpec, model: ModelInfo) -> tuple[TaskSpec, tuple[str, ...]]:
        """Keep pseudo-log-likelihoods apart from log-probabilities: a masked model is measured by `PseudoPerplexity` alone.

        Raises:
            InvalidInputError: Pseudo-perplexity is asked of a model that scores each token from those before it.
        """
        if model.likelihood is None:
            return task, ()
        wrong = Perplexity if model.likelihood == "pseudo" else PseudoPerplexity
        metrics = tuple(metric for metric in task.metrics if not isinstance(metric, wrong))
        if metrics:
            return replace(task, metrics=metrics), ()
        if model.likelihood != "pseudo":
            raise InvalidInputError(
                f"pseudo_perplexity is a value of masked models; {model.ref!r} scores each token from those before it: use"
                " --metrics perplexity"
            )
        note = (
            "measured by pseudo_perplexity instead of perplexity, for a masked model guesses each token from both sides; the"
            " values are not comparable with the perplexity of a causal model"
        )
        return replace(task, metrics=(PseudoPerplexity(language=task.language),)), (note,)

    def default_metrics(self, task: TaskSpec) -> tuple[AnyMetric, ...]:
        """Perplexity in all units; bits per byte is comparable across tokenizers and leads."""
        return (Perplexity(language=task.language),)

    def default_prompt(self, task: TaskSpec) -> str:
        """The text itself."""
        return "{{ text }}"

    def default_answer(self, task: TaskSpec) -> str:
        """Nothing: the prompt is the whole text already."""
        return ""
