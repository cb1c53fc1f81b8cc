"""`baseline:ngram`: a language model over characters, so that it gives every text a probability, in every language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit.adapters.baselines.base import Baseline, training_examples
from evalkit.adapters.responses import unanswerable
from evalkit.requests import Request, Response, RollingRequest, RollingResponse, TaskContext


class Ngram(Baseline):
    """Interpolated modified Kneser-Ney over characters, down to a uniform distribution over all of Unicode."""

    name: ClassVar[str] = "ngram"
    summary: ClassVar[str] = (
        "a 6-gram character model with modified Kneser-Ney smoothing, trained on the training split"
    )
    requests: ClassVar[Mapping[str, tuple[str, ...]]] = {"lm": ("rolling",)}
    settings: ClassVar[Mapping[str, Any]] = {"order": 6, "unit": "character", "smoothing": "modified Kneser-Ney"}

    def learn(self, context: TaskContext) -> None:
        """Count the characters of the training split."""
        from evalkit.adapters.baselines.kneser_ney import KneserNey

        texts = [example.inputs["text"] for example in training_examples(self.name, context)]
        self._model = KneserNey.train(texts, self.settings["order"])

    def respond(self, request: Request) -> Response:
        """Answer with the log-probability of the text and its number of characters."""
        if not isinstance(request, RollingRequest):
            raise unanswerable(request, "a log-probability")
        return RollingResponse(
            example_id=request.example_id,
            logprob_nats=self._model.logprob_nats(request.text),
            token_count=len(request.text),
        )
