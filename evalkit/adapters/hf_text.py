"""Transformers models that tell text: decoder-only ones and encoder-decoders."""

from __future__ import annotations

import importlib
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice
from typing import Any, ClassVar

import torch
from torch import Tensor

from evalkit.adapters.causal import encode_pairs
from evalkit.adapters.decoding import check_decoding
from evalkit.adapters.encoder.fitting import check_fits
from evalkit.adapters.encoder.passages import read_each
from evalkit.adapters.engine.choosing import example_seed
from evalkit.adapters.engine.overflow import fit_left
from evalkit.adapters.hf_model import HfAdapter, LoadedModel
from evalkit.errors import InvalidInputError
from evalkit.requests import (
    GenerateRequest,
    GenerateResponse,
    ModelSettings,
    Request,
    Response,
    RollingRequest,
    RollingResponse,
    ScoreRequest,
    ScoreResponse,
)
from evalkit.windows import rolling_windows


@dataclass(frozen=True, slots=True)
class _Prompt:
    """What is to be continued."""

    ids: tuple[int, ...]
    limit: int
    stop: tuple[str, ...]
    seed: int | None
    """Seed of this prompt's own random numbers; None where nothing is sampled."""

    @property
    def length(self) -> int:
        """Tokens to read and to write."""
        return len(self.ids) + self.limit


@dataclass(frozen=True, slots=True)
class _Target:
    """Tokens to score after others."""

    context: tuple[int, ...]
    ids: tuple[int, ...]

    @property
    def length(self) -> int:
        """Tokens to read."""
        return len(self.context) + len(self.ids)


@dataclass(frozen=True, slots=True)
class _Text:
    text: str
    token_count: int
    is_complete: bool


@dataclass(frozen=True, slots=True)
class _Scored:
    logprob_nats: float
    is_greedy: bool


@dataclass(frozen=True, slots=True)
class _Fitted:
    """Tokens that fit; or why the example is skipped."""

    ids: tuple[int, ...] = ()
    is_cut: bool = False
    error: str | None = None


class HfTextAdapter(HfAdapter):
    """Generates text and scores it.

    Args:
        loaded: The model.
        settings: Batch size, overflow policy and decoding. The length penalty is that of transformers: the sum of a beam's
            log-probabilities is divided by its length to that power.

    Raises:
        InvalidInputError: A setting has a value that it cannot have.
    """

    _is_left: ClassVar[bool]
    """Whether prompts are filled up on the left."""

    def __init__(self, loaded: LoadedModel, settings: ModelSettings) -> None:
        check_decoding(settings.decoding)
        super().__init__(loaded, settings)
        own = loaded.model.generation_config.eos_token_id
        ends = own if isinstance(own, list) else [own if own is not None else loaded.tokenizer.eos_id]
        self._ends = frozenset(end for end in ends if end is not None)

    def _answer(self, requests: Sequence[Any]) -> Iterator[Response]:
        jobs: list[Iterator[Response]] = []
        for kind, group in groupby(requests, key=lambda request: request.kind):
            if kind == GenerateRequest.kind:
                jobs.append(self._generate(list(group)))
            elif kind == ScoreRequest.kind:
                jobs.append(self._score(list(group)))
            else:
                jobs.append(self._roll(list(group)))
        return chain.from_iterable(jobs)

    @abstractmethod
    def _fit_prompt(self, request: GenerateRequest, ids: Sequence[int]) -> tuple[_Fitted, int]:
        """Make a prompt fit, and say how many new tokens do."""

    @abstractmethod
    def _fit_pairs(self, request: ScoreRequest) -> list[tuple[_Fitted, tuple[int, ...]]]:
        """Split a request into contexts that fit, and targets."""

    @abstractmethod
    def _logits(self, targets: Sequence[_Target]) -> Iterator[Tensor]:
        """Compute the logits of each target's tokens, `(length of the target, V)`."""

    def _roll(self, requests: Sequence[RollingRequest]) -> Iterator[Response]:
        raise AssertionError(f"{type(self).__name__} supports no rolling requests")

    def _generate(self, requests: Sequence[GenerateRequest]) -> Iterator[Response]:
        decoding = self._settings.decoding
        texts = self._tokenizer.ids_of_each([request.prompt for request in requests])
        fitted: list[tuple[_Fitted, _Prompt | None]] = []
        for request, ids in zip(requests, texts, strict=True):
            if request.max_new_tokens < 1:
                raise InvalidInputError(
                    f"example {request.example_id!r}: max_new_tokens is {request.max_new_tokens}; expected at least 1"
                )
            fit, limit = self._fit_prompt(request, ids)
            seed = example_seed(decoding.seed, request.example_id) if decoding.temperature > 0.0 else None
            stop = tuple(text for text in request.stop if text)
            fitted.append((fit, None if fit.error else _Prompt(fit.ids, limit, stop, seed)))

        def respond() -> Iterator[Response]:
            prompts = [prompt for _, prompt in fitted if prompt is not None]
            stream = read_each(prompts, self._budget, self._continue_all)
            for request, (fit, prompt) in zip(requests, fitted, strict=True):
                if prompt is None:
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

    def _continue_all(self, prompts: Sequence[_Prompt]) -> list[_Text]:
        """Continue a batch; prompts of different limits, stop strings or seeds go apart."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for place, prompt in enumerate(prompts):
            groups.setdefault((prompt.limit, prompt.stop, prompt.seed), []).append(place)
        texts: dict[int, _Text] = {}
        for places in groups.values():
            texts.update(zip(places, self._continue([prompts[place] for place in places]), strict=True))
        return [texts[place] for place in range(len(prompts))]

    @torch.inference_mode()
    def _continue(self, prompts: Sequence[_Prompt]) -> list[_Text]:
        first, decoding = prompts[0], self._settings.decoding
        ids, mask = self._loaded.pad([prompt.ids for prompt in prompts], is_left=self._is_left)
        settings: dict[str, Any] = {
            "max_new_tokens": first.limit,
            "num_beams": decoding.beams,
            "repetition_penalty": decoding.repetition_penalty,
            "do_sample": first.seed is not None,
            "pad_token_id": self._tokenizer.pad_id,
        }
        if first.seed is not None:
            settings |= {"temperature": decoding.temperature, "top_k": decoding.top_k, "top_p": decoding.top_p}
        if decoding.beams > 1:
            settings["length_penalty"] = decoding.length_penalty
        start = ids.shape[1] if self._is_left else 1
        if first.stop and decoding.beams == 1:
            settings["stopping_criteria"] = self._stopping(first.stop, start)
        devices = [self._loaded.device] if self._loaded.device.type == "cuda" else []
        with torch.random.fork_rng(devices=devices, enabled=first.seed is not None):
            if first.seed is not None:
                torch.manual_seed(first.seed)
            rows = self._loaded.model.generate(input_ids=ids, attention_mask=mask, **settings)
        return [self._text(row, first) for row in rows[:, start:].tolist()]

    def _stopping(self, stop: tuple[str, ...], start: int) -> Any:  # noqa: ANN401
        """End the rows that hold a stop string."""
        generation = importlib.import_module("transformers.generation.stopping_criteria")
        decode = self._tokenizer.decode

        class HoldsStop(generation.StoppingCriteria):  # type: ignore[misc,name-defined]
            def __call__(self, ids: Tensor, scores: object, **_: object) -> Tensor:
                texts = [decode(row[start:]) for row in ids.tolist()]
                found = [any(end in text for end in stop) for text in texts]
                return torch.tensor(found, dtype=torch.bool, device=ids.device)

        return generation.StoppingCriteriaList([HoldsStop()])

    def _text(self, tokens: Sequence[int], prompt: _Prompt) -> _Text:
        end = next((place for place, token in enumerate(tokens) if token in self._ends), None)
        is_complete = end is not None
        kept = list(tokens[:end])
        if end is None:
            while kept and kept[-1] == self._tokenizer.pad_id:
                kept.pop()
        text = self._tokenizer.decode(kept)
        found = [place for stop in prompt.stop if (place := text.find(stop)) >= 0]
        return _Text(text[: min(found)] if found else text, len(kept), is_complete or bool(found))

    def _score(self, requests: Sequence[ScoreRequest]) -> Iterator[Response]:
        fitted = [self._fit_pairs(request) for request in requests]
        errors = [next((fit.error for fit, _ in pairs if fit.error), None) for pairs in fitted]

        def respond() -> Iterator[Response]:
            asked = [
                _Target(fit.ids, target)
                for pairs, error in zip(fitted, errors, strict=True)
                for fit, target in pairs
                if target and error is None
            ]
            stream = read_each(asked, self._budget, self._score_all)
            for request, pairs, error in zip(requests, fitted, errors, strict=True):
                if error is not None:
                    yield ScoreResponse(example_id=request.example_id, logprobs_nats=(), error=error)
                    continue
                scores = [next(stream) if target else _Scored(0.0, True) for _, target in pairs]
                yield ScoreResponse(
                    example_id=request.example_id,
                    logprobs_nats=tuple(scored.logprob_nats for scored in scores),
                    token_counts=tuple(len(target) for _, target in pairs),
                    is_greedy=tuple(scored.is_greedy for scored in scores),
                    truncated=any(fit.is_cut for fit, _ in pairs),
                )

        return respond()

    @torch.inference_mode()
    def _score_all(self, targets: Sequence[_Target]) -> list[_Scored]:
        scored = []
        for target, logits in zip(targets, self._logits(targets), strict=True):
            ids = torch.tensor(target.ids, device=logits.device)
            logprobs = logits.float().log_softmax(-1).gather(-1, ids[:, None])[:, 0]
            is_greedy = bool((logits.argmax(-1) == ids).all())
            scored.append(_Scored(math.fsum(logprobs.tolist()), is_greedy))
        return scored


class HfCausalAdapter(HfTextAdapter):
    """Answers generate, score and rolling requests with a decoder-only model."""

    supports: ClassVar[frozenset[str]] = frozenset({"generate", "score", "rolling"})
    _is_left: ClassVar[bool] = True

    def _fit_prompt(self, request: GenerateRequest, ids: Sequence[int]) -> tuple[_Fitted, int]:
        limit, longest = request.max_new_tokens, self._loaded.max_length
        before = self._before(ids)
        if longest is None:
            return _Fitted((*before, *ids)), limit
        room = longest + 1 - limit  # the last new token is never read
        if self._settings.on_overflow == "truncate":
            # An answer that may be as long as the model leaves half of it to the prompt.
            room = max(room, longest // 2, 1 + len(before))
        needs = f"a prompt of {len(ids) + len(before)} tokens and {limit} new ones in its {longest} tokens"
        fit = self._cut(ids, before, room, request, needs)
        return fit, min(limit, longest + 1 - len(fit.ids))

    def _fit_pairs(self, request: ScoreRequest) -> list[tuple[_Fitted, tuple[int, ...]]]:
        pairs = encode_pairs(self._tokenizer, [(request.context, text) for text in request.continuations])
        longest, fitted = self._loaded.max_length, []
        for context, target in pairs:
            before = self._before(context)
            if longest is None:
                fitted.append((_Fitted((*before, *context)), target))
                continue
            needs = (
                f"a context of {len(context) + len(before)} tokens and {len(target)} to score in its {longest} tokens"
            )
            fitted.append((self._cut(context, before, longest + 1 - len(target), request, needs), target))
        return fitted

    def _cut(self, ids: Sequence[int], before: tuple[int, ...], room: int, request: Request, needs: str) -> _Fitted:
        fit = fit_left(tuple(ids), room - len(before), self._settings.on_overflow, request.example_id, needs)
        return _Fitted(before + fit.ids, fit.is_cut, fit.error)

    def _roll(self, requests: Sequence[RollingRequest]) -> Iterator[Response]:
        texts = self._tokenizer.ids_of_each([request.text for request in requests])
        windows = [
            [
                _Target(window.context, window.targets)
                for window in rolling_windows(ids, self._opening(), self._loaded.max_length or max(1, len(ids)))
            ]
            for ids in texts
        ]

        def respond() -> Iterator[Response]:
            stream = read_each([target for text in windows for target in text], self._budget, self._score_all)
            for request, ids, text in zip(requests, texts, windows, strict=True):
                logprobs = [scored.logprob_nats for scored in islice(stream, len(text))]
                yield RollingResponse(
                    example_id=request.example_id, logprob_nats=math.fsum(logprobs), token_count=len(ids)
                )

        return respond()

    def _logits(self, targets: Sequence[_Target]) -> Iterator[Tensor]:
        ids, mask = self._loaded.pad([target.context + target.ids[:-1] for target in targets])
        logits = self._loaded.model(input_ids=ids, attention_mask=mask).logits  # (B, T, V)
        for row, target in zip(logits, targets, strict=True):
            start = len(target.context) - 1
            yield row[start : start + len(target.ids)]

    def _before(self, ids: Sequence[int]) -> tuple[int, ...]:
        before = self._tokenizer.frame.before
        return before if before or ids else (self._opening(),)

    def _opening(self) -> int:
        for token in (self._tokenizer.bos_id, self._tokenizer.eos_id):
            if token is not None:
                return token
        raise InvalidInputError(
            f"the tokenizer of {self.info.ref!r} has neither bos nor eos token; one must stand before a text"
        )


class HfSeq2SeqAdapter(HfTextAdapter):
    """Answers generate and score requests with an encoder-decoder."""

    supports: ClassVar[frozenset[str]] = frozenset({"generate", "score"})
    _is_left: ClassVar[bool] = False

    def __init__(self, loaded: LoadedModel, settings: ModelSettings) -> None:
        super().__init__(loaded, settings)
        start = loaded.model.generation_config.decoder_start_token_id
        start = loaded.model.config.decoder_start_token_id if start is None else start
        if not isinstance(start, int):
            raise InvalidInputError(f"the configuration of {loaded.info.ref!r} names no decoder_start_token_id")
        self._start = start

    def _fit_prompt(self, request: GenerateRequest, ids: Sequence[int]) -> tuple[_Fitted, int]:
        longest = self._loaded.max_length
        limit = request.max_new_tokens
        return self._source(request.example_id, ids), limit if longest is None else min(limit, longest)

    def _fit_pairs(self, request: ScoreRequest) -> list[tuple[_Fitted, tuple[int, ...]]]:
        # White space at the end of a context goes to the continuation, which has no end token: it may go on.
        context = request.context.rstrip()
        space = request.context[len(context) :]
        (ids,) = self._tokenizer.ids_of_each([context])
        source = self._source(request.example_id, ids)
        targets = self._tokenizer.ids_of_each([space + text for text in request.continuations])
        longest = self._loaded.max_length
        for target in targets:
            if longest is not None and source.error is None:
                error = check_fits(len(target), longest, self._settings.on_overflow, request.example_id, ())
                source = _Fitted(error=error) if error is not None else source
        return [(source, tuple(target)) for target in targets]

    def _source(self, example_id: str, ids: Sequence[int]) -> _Fitted:
        """Put a text into its frame, where needed without its end."""
        frame, longest = self._tokenizer.frame, self._loaded.max_length
        whole = frame.single(ids) or [self._tokenizer.pad_id]
        if longest is None or len(whole) <= longest:
            return _Fitted(tuple(whole))
        error = check_fits(len(whole), longest, self._settings.on_overflow, example_id, ("truncate",))
        if error is not None:
            return _Fitted(error=error)
        return _Fitted(tuple(frame.single(ids[: longest - len(frame.single(()))])), is_cut=True)

    def _logits(self, targets: Sequence[_Target]) -> Iterator[Tensor]:
        ids, mask = self._loaded.pad([target.context for target in targets])
        shifted, _ = self._loaded.pad([(self._start, *target.ids[:-1]) for target in targets])
        output = self._loaded.model(input_ids=ids, attention_mask=mask, decoder_input_ids=shifted)
        for row, target in zip(output.logits, targets, strict=True):
            yield row[: len(target.ids)]
