"""`baseline:lead-3`: the first three sentences of a document, which are hard to beat on news.

References:
    See, Liu and Manning (2017), Get To The Point: Summarization with Pointer-Generator Networks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from evalkit.adapters.baselines.base import Baseline
from evalkit.adapters.baselines.sentences import sentences
from evalkit.adapters.responses import text_response
from evalkit.requests import Request, Response


class Lead(Baseline):
    """The first three sentences, one a line, as ROUGE-Lsum wants them."""

    name: ClassVar[str] = "lead-3"
    summary: ClassVar[str] = "the first three sentences of the document"
    requests: ClassVar[Mapping[str, tuple[str, ...]]] = {"summarization": ("generate",)}
    settings: ClassVar[Mapping[str, Any]] = {"sentences": 3}

    def respond(self, request: Request) -> Response:
        """Answer with the beginning of the document."""
        return text_response(request, "\n".join(sentences(request.inputs["document"])[: self.settings["sentences"]]))
