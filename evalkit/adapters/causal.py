"""The adapter of decoder-only models: they continue prompts, score continuations, and score whole texts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

from evalkit.adapters.decoding import check_decoding
from evalkit.adapters.engine.batching import Budget, answer_each
from evalkit.adapters.engine.beams import BeamChooser
from evalkit.adapters.engine.blocks import open_stack
from evalkit.adapters.engine.choosing import Chooser, Prompt, TokenChooser, example_seed
from evalkit.adapters.engine.generation import Generator
from evalkit.adapters.engine.overflow import Fitted, check_policy, fit_left
from evalkit.adapters.engine.prompts import PromptFitter
from evalkit.adapters.engine.scoring import Question, Scored, Scorer
from evalkit.adapters.engine.stops import TextTokenizer
from evalkit.adapters.responses import unanswerable
from evalkit.errors import InvalidInputError
from evalkit.requests import (
    GenerateRequest,
    GenerateResponse,
    ModelInfo,
    ModelSettings,
    Request,
    Response,
    RollingRequest,
    RollingResponse,
    ScoreRequest,
    ScoreResponse,
    TaskContext,
)
from evalkit.windows import rolling_windows

if TYPE_CHECKING:
    from torch import nn


class CausalAdapter:
    """Answers generate, score and rolling requests with a causal language model.

    A text begins with the special tokens that its tokenizer puts there. Where something has to stand before the first token
    that is scored, and these are none, it is the tokenizer's bos token, or else its eos token.

    Args:
        model: A model that `open_stack` can run, on its device and with its type.
        tokenizer: The model's tokenizer.
        info: What the record says about the model.
        settings: Batch size, overflow policy and decoding.

    Raises:
        InvalidInputError: A setting has a value that it cannot have.
        InvalidTypeError: The model is no causal one.
    """

    supports: frozenset[str] = frozenset({"generate", "score", "rolling"})

    def __init__(self, model: nn.Module, tokenizer: TextTokenizer, info: ModelInfo, settings: ModelSettings) -> None:
        check_policy(settings.on_overflow)
        check_decoding(settings.decoding)
        if settings.batch_size is not None and settings.batch_size < 1:
            raise InvalidInputError(f"batch size is {settings.batch_size}; expected at least 1, or auto")
        self.info = info
        self._settings, self._tokenizer = settings, tokenizer
        self._stack = open_stack(model, is_compiled=settings.compile)
        budget = Budget(self._stack.device, settings.batch_size)
        self._generator = Generator(self._stack, self._chooser(), budget)
        self._scorer = Scorer(self._stack, budget)
        self._fitter = PromptFitter(tokenizer, self._stack.max_length, settings.on_overflow, info.ref)

    def _chooser(self) -> Chooser:
        decoding = self._settings.decoding
        if decoding.beams > 1:
            return BeamChooser(decoding, self._tokenizer)
        return TokenChooser(decoding, self._tokenizer)

    def prepare(self, context: TaskContext) -> tuple[str, ...]:
        """Check that the requests of a task can be answered.

        Raises:
            InvalidInputError: Whole texts are to be scored, and the tokenizer has nothing that can stand before them.
        """
        if context.request_kind == "rolling":
            self._fitter.prefix()
        return ()

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer every request, in order, as soon as it and all before it are known.

        All texts are split into tokens and made to fit first, so that what cannot be answered is known before any work.

        Raises:
            InvalidInputError: A request is of another kind, asks for less than one token, or is too long under the policy
                ``error``; or nothing can stand before a text.
        """
        jobs: list[Iterator[Response]] = []
        for kind, group in groupby(requests, key=type):
            if kind is GenerateRequest:
                jobs.append(self._generate([one for one in group if isinstance(one, GenerateRequest)]))
            elif kind is ScoreRequest:
                jobs.append(self._score([one for one in group if isinstance(one, ScoreRequest)]))
            elif kind is RollingRequest:
                jobs.append(self._roll([one for one in group if isinstance(one, RollingRequest)]))
            else:
                raise unanswerable(next(group), "a causal model")
        return chain.from_iterable(jobs)

    def _generate(self, requests: Sequence[GenerateRequest]) -> Iterator[Response]:
        texts = self._tokenizer.ids_of_each([request.prompt for request in requests])
        fitted = [
            self._fitter.fit(tuple(ids), request.max_new_tokens, request.example_id)
            for request, ids in zip(requests, texts, strict=True)
        ]
        prompts = [self._prompt(request, fit) for request, fit in zip(requests, fitted, strict=True)]

        def respond() -> Iterator[Response]:
            stream = answer_each([prompt for prompt in prompts if prompt is not None], self._generator.generate)
            for request, fit in zip(requests, fitted, strict=True):
                if fit.error is not None:
                    yield GenerateResponse(example_id=request.example_id, text=None, error=fit.error)
                    continue
                answer = next(stream)
                yield GenerateResponse(
                    example_id=request.example_id,
                    text=answer.text,
                    token_count=answer.token_count,
                    truncated=fit.is_cut or not answer.is_complete,
                )

        return respond()

    def _prompt(self, request: GenerateRequest, fit: Fitted) -> Prompt | None:
        if fit.error is not None:
            return None
        seed = self._settings.decoding.seed
        return Prompt(
            ids=fit.ids,
            limit=min(request.max_new_tokens, self._stack.max_length + 1 - len(fit.ids)),
            stop=request.stop,
            seed=example_seed(seed, request.example_id) if self._settings.decoding.temperature > 0.0 else 0,
        )

    def _score(self, requests: Sequence[ScoreRequest]) -> Iterator[Response]:
        pairs = encode_pairs(
            self._tokenizer, [(request.context, text) for request in requests for text in request.continuations]
        )
        rest = iter(pairs)
        fitted = [self._fit_pairs(request, list(islice(rest, len(request.continuations)))) for request in requests]

        def respond() -> Iterator[Response]:
            stream = answer_each([one for fit in fitted for one in fit.questions], self._scorer.score)
            for request, fit in zip(requests, fitted, strict=True):
                known = {
                    (question.context, target): scored
                    for question in fit.questions
                    for target, scored in zip(question.targets, next(stream), strict=True)
                }
                scores = [known.get(pair, Scored(0.0, True)) for pair in fit.pairs]
                yield ScoreResponse(
                    example_id=request.example_id,
                    logprobs_nats=tuple(scored.logprob_nats for scored in scores),
                    token_counts=tuple(len(target) for _, target in fit.pairs),
                    is_greedy=tuple(scored.is_greedy for scored in scores),
                    truncated=fit.is_cut,
                    error=fit.error,
                )

        return respond()

    def _fit_pairs(
        self, request: ScoreRequest, pairs: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]
    ) -> _FittedPairs:
        longest, shown, is_cut = self._stack.max_length, [], False
        for context, target in pairs:
            before = self._fitter.before(context)
            fit = fit_left(
                context,
                longest + 1 - len(target) - len(before),
                self._settings.on_overflow,
                request.example_id,
                f"a context of {len(context) + len(before)} tokens and {len(target)} to score in its {longest} tokens",
            )
            if fit.error is not None:
                return _FittedPairs(error=fit.error)
            is_cut |= fit.is_cut
            shown.append((before + fit.ids, target))
        return _FittedPairs(pairs=tuple(shown), is_cut=is_cut)

    def _roll(self, requests: Sequence[RollingRequest]) -> Iterator[Response]:
        prefix = self._fitter.prefix()
        texts = self._tokenizer.ids_of_each([request.text for request in requests])
        windows = [
            [
                Question(window.context, (window.targets,))
                for window in rolling_windows(ids, prefix, self._stack.max_length)
            ]
            for ids in texts
        ]

        def respond() -> Iterator[Response]:
            score = partial(self._scorer.score, is_ranked=False)
            stream = answer_each([question for text in windows for question in text], score)
            for request, ids, text in zip(requests, texts, windows, strict=True):
                yield RollingResponse(
                    example_id=request.example_id,
                    logprob_nats=math.fsum(next(stream)[0].logprob_nats for _ in text),
                    token_count=len(ids),
                )

        return respond()


@dataclass(frozen=True, slots=True, kw_only=True)
class _FittedPairs:
    """The contexts and targets of a score request, as the model is shown them."""

    pairs: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()
    is_cut: bool = False
    error: str | None = None

    @property
    def questions(self) -> list[Question]:
        """One for each different context: all the same, unless some had to be cut further than others."""
        targets: dict[tuple[int, ...], dict[tuple[int, ...], None]] = {}
        for context, target in self.pairs:
            if target:
                targets.setdefault(context, {})[target] = None
        return [Question(context, tuple(different)) for context, different in targets.items()]


def encode_pairs(
    tokenizer: TextTokenizer, pairs: Sequence[tuple[str, str]]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Split contexts and continuations into tokens, as lm-evaluation-harness does.

    White space at the end of a context goes to the continuation, for tokens begin with it. The continuation's tokens are
    those of the joined text after as many as the context has alone.

    Args:
        tokenizer: Splits texts.
        pairs: Context and continuation.

    Returns:
        Tokens of each context and continuation; those of the continuation are none only if its text is empty.
    """
    contexts = [context.rstrip() for context, _ in pairs]
    rests = [context[len(short) :] + text for (context, text), short in zip(pairs, contexts, strict=True)]
    different = list(dict.fromkeys(contexts))
    known = dict(zip(different, map(tuple, tokenizer.ids_of_each(different)), strict=True))
    joined = tokenizer.ids_of_each([context + rest for context, rest in zip(contexts, rests, strict=True)])
    encoded = []
    for context, rest, whole in zip(contexts, rests, joined, strict=True):
        ids = known[context]
        target = tuple(whole[len(ids) :])
        if rest and not target:
            # Joined, they have no more tokens than the context alone: the border is inside of a token.
            target = tuple(tokenizer.ids_of_each([rest])[0])
        encoded.append((ids, target))
    return encoded
