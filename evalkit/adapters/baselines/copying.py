"""`baseline:copy`: gives back what it was asked about. Shows how much a metric pays for the input alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from evalkit.adapters.baselines.base import Baseline
from evalkit.adapters.responses import text_response, words_response
from evalkit.requests import Request, Response, TaskContext

_COPIED: Mapping[str, str] = {"mt": "source", "summarization": "document", "qa": "context", "cws": "text"}


class Copy(Baseline):
    """The source, the document, the context, or the uncut text."""

    name: ClassVar[str] = "copy"
    summary: ClassVar[str] = "the source, the whole document or the whole context; a text left uncut"
    requests: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "mt": ("generate",),
        "summarization": ("generate",),
        "qa": ("span", "generate"),
        "cws": ("label", "generate"),
    }

    def learn(self, context: TaskContext) -> None:
        """Note which input to copy."""
        self._kind = context.kind

    def respond(self, request: Request) -> Response:
        """Answer with the input."""
        text = request.inputs[_COPIED[self._kind]]
        return words_response(request, (text,)) if self._kind == "cws" else text_response(request, text)
