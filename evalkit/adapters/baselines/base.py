"""What all baselines share: they say which tasks they answer, learn from the training split, and answer one by one."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from evalkit.digests import digest_stream
from evalkit.errors import InvalidInputError
from evalkit.requests import Example, ModelInfo, Request, Response, TaskContext


class Baseline(ABC):
    """A trivial system; one object answers one task at a time."""

    name: ClassVar[str]
    """Name behind ``baseline:``."""
    version: ClassVar[int] = 1
    """Rises when the answers change."""
    summary: ClassVar[str]
    """What it answers, one line."""
    requests: ClassVar[Mapping[str, tuple[str, ...]]]
    """Request kinds that it answers, by task kind."""
    settings: ClassVar[Mapping[str, Any]] = {}
    """Numbers and names that determine the answers."""

    def __init__(self) -> None:
        self._learned_from: list[str] = []

    @property
    def info(self) -> ModelInfo:
        """Name, version and settings; the digest covers all three, and what was learned from once it is prepared."""
        identity = json.dumps([self.name, self.version, dict(self.settings), *self._learned_from], sort_keys=True)
        return ModelInfo(
            ref=f"baseline:{self.name}",
            name=self.name,
            digest=hashlib.sha256(identity.encode()).hexdigest()[:16],
            family="baseline",
            likelihood="causal" if "rolling" in self.supports else None,
            details={"version": self.version, **self.settings},
        )

    @property
    def supports(self) -> frozenset[str]:
        """The request kinds that it answers for some task kind; `prepare` checks the pair."""
        return frozenset(kind for kinds in self.requests.values() for kind in kinds)

    def prepare(self, context: TaskContext) -> tuple[str, ...]:
        """Check that the baseline answers such tasks, and learn from the training split if it learns.

        Raises:
            InvalidInputError: It does not answer tasks of this kind, or not by requests of this kind.
            MissingResourceError: It learns, and the task has no training split or no word list.
        """
        if context.kind not in self.requests:
            able = ", ".join(baselines_for(context.kind)) or "none"
            raise InvalidInputError(
                f"baseline {self.name!r} does not answer {context.kind} tasks; baselines that do: {able}"
            )
        if context.request_kind not in self.requests[context.kind]:
            raise InvalidInputError(
                f"baseline {self.name!r} answers {context.kind} tasks by {' or '.join(self.requests[context.kind])}"
                f" requests, not by {context.request_kind}"
            )
        self._learned_from = []
        self.learn(replace(context, training=self._noted(context.training), lexicon=self._noted(context.lexicon)))
        return ()

    def _noted(self, source: Callable[[], Any]) -> Callable[[], Any]:
        """Let a source of knowledge be read, and take its digest: what was learned belongs to the baseline's identity."""

        def read() -> Any:  # noqa: ANN401
            known = source()
            if not isinstance(known, frozenset):
                known = list(known)
            self._learned_from.append(digest_of_knowledge(known))
            return known

        return read

    def learn(self, context: TaskContext) -> None:  # noqa: B027 - many baselines have nothing to learn
        """Learn what the answers need from the training split or the word list."""

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer every request, in order."""
        for request in requests:
            yield self.respond(request)

    @abstractmethod
    def respond(self, request: Request) -> Response:
        """Answer one request."""


def digest_of_knowledge(known: Collection[Any]) -> str:
    """Digest of a word list, or of training examples as a data set's digest has them."""
    if isinstance(known, frozenset):
        return digest_stream(sorted(known))
    return digest_stream([row.id, dict(row.inputs), row.references, row.cluster] for row in known)


def baselines_for(kind: str) -> tuple[str, ...]:
    """Names of the baselines that answer tasks of a kind."""
    from evalkit.adapters.baselines import BASELINES

    return tuple(name for name, baseline in BASELINES.items() if kind in baseline.requests)


def training_examples(name: str, context: TaskContext) -> list[Example]:
    """The training split of a task.

    Raises:
        InvalidInputError: It is empty.
        MissingResourceError: The task has none.
    """
    examples = list(context.training())
    if not examples:
        raise InvalidInputError(f"baseline {name!r}: the training split of {context.task} is empty; expected examples")
    return examples
