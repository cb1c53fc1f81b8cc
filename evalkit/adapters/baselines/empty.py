"""`baseline:empty`: says nothing. What a metric gives for no answer at all is the floor of every table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from evalkit.adapters.baselines.base import Baseline
from evalkit.adapters.responses import text_response, words_response
from evalkit.requests import LabelRequest, LabelResponse, Request, Response, TaskContext


class Empty(Baseline):
    """No text, no answer, no entity, and a text that is one word."""

    name: ClassVar[str] = "empty"
    summary: ClassVar[str] = "an empty text, no answer, no entities, a text left uncut"
    requests: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "mt": ("generate",),
        "summarization": ("generate",),
        "qa": ("span", "generate"),
        "ner": ("label",),
        "cws": ("label", "generate"),
    }

    def learn(self, context: TaskContext) -> None:
        """Note the kind of the task: an uncut text is the empty answer of a segmentation task only."""
        self._kind = context.kind

    def respond(self, request: Request) -> Response:
        """Answer with nothing."""
        if self._kind == "cws":
            return words_response(request, (request.inputs["text"],))
        if isinstance(request, LabelRequest):
            return LabelResponse(example_id=request.example_id, labels=("O",) * len(request.tokens))
        return text_response(request, "")
