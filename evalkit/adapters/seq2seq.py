"""The adapter of encoder-decoders: the encoder reads the prompt or the context, the decoder tells or scores the answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Protocol

from evalkit.adapters.decoding import check_decoding
from evalkit.adapters.engine.batching import Budget, answer_each
from evalkit.adapters.engine.choosing import Chooser, Prompt, example_seed
from evalkit.adapters.engine.generation import Generator
from evalkit.adapters.engine.overflow import check_policy
from evalkit.adapters.engine.scoring import Question, Scored, Scorer
from evalkit.adapters.engine.stops import Generated, TextTokenizer
from evalkit.adapters.responses import unanswerable
from evalkit.adapters.seq2seq_steps.choosing import choose_targets
from evalkit.adapters.seq2seq_steps.steps import T5Steps
from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.requests import (
    GenerateRequest,
    GenerateResponse,
    ModelInfo,
    ModelSettings,
    Request,
    Response,
    ScoreRequest,
    ScoreResponse,
    TaskContext,
)
from evalkit_models.t5 import T5


class SourceFrame(Protocol):
    """The special tokens around a source."""

    @property
    def before(self) -> tuple[int, ...]:
        """Ids before a text."""
        ...

    @property
    def after(self) -> tuple[int, ...]:
        """Ids after it."""
        ...


class PairTokenizer(TextTokenizer, Protocol):
    """What the adapter needs of a tokenizer."""

    @property
    def frame(self) -> SourceFrame:
        """The special tokens that the encoder wants around a text."""
        ...

    @property
    def pad_id(self) -> int | None:
        """The id that fills up a batch; targets begin with it, unless the model names another token for that."""
        ...


class Seq2SeqAdapter:
    """Answers generate and score requests with an encoder-decoder.

    The encoder reads prompts and contexts in the tokenizer's frame, at most as many tokens as the model's longest source; a
    longer text is cut on the right under the policy ``truncate``. An answer is at most as long as the model's longest
    target, whatever its request allows; one that runs into that limit is marked.

    Args:
        model: The model, on its device and with its type.
        tokenizer: The model's tokenizer.
        info: What the record says about the model.
        settings: Batch size, overflow policy and decoding.

    Raises:
        InvalidInputError: A setting has a value that it cannot have, or the tokenizer has no pad token.
        InvalidTypeError: The model is no encoder-decoder.
    """

    supports: frozenset[str] = frozenset({"generate", "score"})

    def __init__(self, model: T5, tokenizer: PairTokenizer, info: ModelInfo, settings: ModelSettings) -> None:
        check_policy(settings.on_overflow)
        check_decoding(settings.decoding)
        if settings.batch_size is not None and settings.batch_size < 1:
            raise InvalidInputError(f"batch size is {settings.batch_size}; expected at least 1, or auto")
        if not isinstance(model, T5):
            raise InvalidTypeError(f"{type(model).__name__} is no encoder-decoder; expected T5")
        if tokenizer.pad_id is None:
            raise InvalidInputError(f"the tokenizer of {info.ref!r} has no pad token; targets of T5 begin with it")
        self.info = info
        self._settings, self._tokenizer = settings, tokenizer
        start = tokenizer.pad_id if model.config.start_id is None else model.config.start_id
        chooser: Chooser = choose_targets(settings.decoding, tokenizer, start)
        self._steps = T5Steps(model.eval(), start, chooser.rows, is_compiled=settings.compile)
        budget = Budget(self._steps.device, settings.batch_size)
        self._generator = Generator(self._steps, chooser, budget)
        self._scorer = Scorer(self._steps, budget)
        self._fitter = SourceFitter(tokenizer, self._steps.max_length, settings.on_overflow)

    def prepare(self, context: TaskContext) -> tuple[str, ...]:
        """Check that the requests of a task can be answered; there is nothing to warn of."""
        return ()

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer every request, in order, as soon as it and all before it are known.

        All texts are split into tokens and made to fit first, so that what cannot be answered is known before any work.

        Raises:
            InvalidInputError: A request is of another kind, asks for less than one token, or is too long under the policy
                ``error``.
        """
        jobs: list[Iterator[Response]] = []
        for kind, group in groupby(requests, key=type):
            if kind is GenerateRequest:
                jobs.append(self._generate([one for one in group if isinstance(one, GenerateRequest)]))
            elif kind is ScoreRequest:
                jobs.append(self._score([one for one in group if isinstance(one, ScoreRequest)]))
            else:
                raise unanswerable(next(group), "an encoder-decoder")
        return chain.from_iterable(jobs)

    def _generate(self, requests: Sequence[GenerateRequest]) -> Iterator[Response]:
        texts = self._tokenizer.ids_of_each([request.prompt for request in requests])
        sources = [
            self._fitter.fit("prompt", ids, request.example_id) for request, ids in zip(requests, texts, strict=True)
        ]
        prompts = [
            self._prompt(request, source) for request, source in zip(requests, sources, strict=True) if not source.error
        ]

        def respond() -> Iterator[Response]:
            stream = answer_each(prompts, self._continue)
            for request, source in zip(requests, sources, strict=True):
                if source.error is not None:
                    yield GenerateResponse(example_id=request.example_id, text=None, error=source.error)
                    continue
                answer = next(stream)
                yield GenerateResponse(
                    example_id=request.example_id,
                    text=answer.text,
                    token_count=answer.token_count,
                    truncated=source.is_cut or not answer.is_complete,
                )

        return respond()

    def _continue(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Generated]]:
        self._steps.expect(prompts)
        return self._generator.generate(prompts)

    def _prompt(self, request: GenerateRequest, source: Source) -> Prompt:
        if request.max_new_tokens < 1:
            raise InvalidInputError(
                f"example {request.example_id!r}: max_new_tokens is {request.max_new_tokens}; expected at least 1"
            )
        decoding = self._settings.decoding
        return Prompt(
            ids=source.ids,
            limit=min(request.max_new_tokens, self._steps.max_length),
            stop=request.stop,
            seed=example_seed(decoding.seed, request.example_id) if decoding.temperature > 0.0 else 0,
        )

    def _score(self, requests: Sequence[ScoreRequest]) -> Iterator[Response]:
        split = [_split_pair(request.context, text) for request in requests for text in request.continuations]
        contexts = iter(self._tokenizer.ids_of_each([context for context, _ in split]))
        targets = iter(self._tokenizer.ids_of_each([target for _, target in split]))
        fitted = [
            self._fit_pairs(
                request,
                list(islice(contexts, len(request.continuations))),
                [tuple(ids) for ids in islice(targets, len(request.continuations))],
            )
            for request in requests
        ]
        # A context that several requests share is read once for the targets of all.
        asked: dict[tuple[int, ...], dict[tuple[int, ...], None]] = {}
        for fit in fitted:
            for source, target in fit.asked:
                asked.setdefault(source.ids, {})[target] = None
        questions = [Question(source, tuple(different)) for source, different in asked.items()]

        def respond() -> Iterator[Response]:
            stream = zip(questions, answer_each(questions, self._scorer.score), strict=True)
            known: dict[tuple[int, ...], Mapping[tuple[int, ...], Scored]] = {}
            for request, fit in zip(requests, fitted, strict=True):
                for source, _ in fit.asked:
                    while source.ids not in known:
                        question, scores = next(stream)
                        known[question.context] = dict(zip(question.targets, scores, strict=True))
                yield _score_response(request, fit, known)

        return respond()

    def _fit_pairs(
        self, request: ScoreRequest, contexts: Sequence[Sequence[int]], targets: Sequence[tuple[int, ...]]
    ) -> _Pairs:
        longest = max(map(len, targets), default=0)
        if longest > self._steps.max_length:
            problem = f"the model cannot score {longest} tokens, its longest target has {self._steps.max_length}"
            if self._settings.on_overflow != "skip":
                raise InvalidInputError(f"example {request.example_id!r}: {problem}; use --on-overflow skip")
            return _Pairs(error=problem)
        pairs = []
        for ids, target in zip(contexts, targets, strict=True):
            source = self._fitter.fit("context", ids, request.example_id)
            if source.error is not None:
                return _Pairs(error=source.error)
            pairs.append((source, target))
        return _Pairs(pairs=tuple(pairs))


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What the encoder reads of a text, or why it reads nothing."""

    ids: tuple[int, ...] = ()
    is_cut: bool = False
    error: str | None = None


class SourceFitter:
    """Turns texts into sources that fit a model: how they are read, in training and after it.

    Args:
        tokenizer: The model's; with a pad token.
        longest: Tokens of the longest source, special ones included.
        policy: What happens to texts longer than that.
    """

    def __init__(self, tokenizer: PairTokenizer, longest: int, policy: str) -> None:
        self._tokenizer, self._longest, self._policy = tokenizer, longest, policy

    def fit(self, name: str, ids: Sequence[int], example_id: str) -> Source:
        """Put a text into its frame, where needed without its end.

        Args:
            name: What the text is, for messages.
            ids: Its tokens.
            example_id: For messages.

        Raises:
            InvalidInputError: It is too long, and the policy is neither ``skip`` nor ``truncate``, or nothing would be left.
        """
        frame = self._tokenizer.frame
        before, after = tuple(frame.before), tuple(frame.after)
        room = self._longest - len(before) - len(after)
        if len(ids) <= room:
            return Source(ids=before + tuple(ids) + after or self._nothing())
        length = len(ids) + len(before) + len(after)
        problem = f"the model cannot take a {name} of {length} tokens, its longest source has {self._longest}"
        if self._policy == "skip":
            return Source(error=problem)
        if self._policy == "truncate" and room > 0:
            return Source(ids=before + tuple(ids[:room]) + after, is_cut=True)
        ways = "truncate or skip" if room > 0 else "skip"
        raise InvalidInputError(f"example {example_id!r}: {problem}; use --on-overflow {ways}")

    def _nothing(self) -> tuple[int, ...]:
        """Give what the encoder reads instead of no token at all."""
        token = self._tokenizer.eos_id if self._tokenizer.eos_id is not None else self._tokenizer.pad_id
        assert token is not None
        return (token,)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """The contexts and targets of a score request, as the model is shown them, or why there are none."""

    pairs: tuple[tuple[Source, tuple[int, ...]], ...] = ()
    error: str | None = None

    @property
    def asked(self) -> list[tuple[Source, tuple[int, ...]]]:
        """Those with something to score."""
        return [pair for pair in self.pairs if pair[1]]


def _score_response(
    request: ScoreRequest, fit: _Pairs, known: Mapping[tuple[int, ...], Mapping[tuple[int, ...], Scored]]
) -> ScoreResponse:
    scores = [known[source.ids][target] if target else Scored(0.0, True) for source, target in fit.pairs]
    return ScoreResponse(
        example_id=request.example_id,
        logprobs_nats=tuple(scored.logprob_nats for scored in scores),
        token_counts=tuple(len(target) for _, target in fit.pairs),
        is_greedy=tuple(scored.is_greedy for scored in scores),
        truncated=any(source.is_cut for source, _ in fit.pairs),
        error=fit.error,
    )


def _split_pair(context: str, continuation: str) -> tuple[str, str]:
    """Say what encoder and decoder each read, as lm-evaluation-harness does.

    White space at the end of a context goes to the continuation. No end token follows the continuation: it may go on.
    """
    short = context.rstrip()
    return short, context[len(short) :] + continuation
