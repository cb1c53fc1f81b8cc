"""The next token of each running sequence: the most probable one, or one that is sampled.

Letters in shapes: n running sequences, V vocabulary.

References:
    Fan et al. (2018), "Hierarchical Neural Story Generation", section 5: top-k.
    Holtzman et al. (2020), "The Curious Case of Neural Text Degeneration", section 3.1: top-p.
    Keskar et al. (2019), "CTRL", section 4.1: the repetition penalty.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from evalkit.adapters.engine.stops import Generated, TextEnd, TextTokenizer
from evalkit.requests import Decoding

_CHUNK = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What is to be continued."""

    ids: tuple[int, ...]
    """At least one token."""
    limit: int
    """Most new tokens, at least 1."""
    stop: tuple[str, ...] = ()
    """Texts that end the answer."""
    seed: int = 0
    """Seed of this prompt's own generator."""


class Running(Protocol):
    """A prompt that is being continued, in one row of the batch or in several."""

    index: int
    """Which prompt it is."""
    prompt: Prompt
    """What is continued."""
    answer: Generated | None
    """The text, once it is complete."""


class Chooser(Protocol):
    """Decides how prompts are continued."""

    rows: int
    """Rows of the batch that each prompt takes."""

    def begin(self, index: int, prompt: Prompt) -> Running:
        """Take a prompt."""
        ...

    def choose(self, running: Sequence[Running], logits: Tensor) -> tuple[list[int], list[int] | None]:
        """Continue every prompt by one token a row, and mark those that are complete.

        Args:
            running: n prompts.
            logits: `(n * rows, V)`, float32; may be overwritten.

        Returns:
            The new token of each row, and, unless each row goes on from itself, the rows that they go on from.
        """
        ...


def example_seed(seed: int, example_id: str) -> int:
    """Derive an example's own seed, the same whatever else is asked."""
    digest = hashlib.sha256(f"{seed}\n{example_id}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@dataclass(slots=True)
class Single:
    """A prompt that is continued in one row."""

    index: int
    prompt: Prompt
    tokens: list[int]
    answer: Generated | None
    seen: Tensor | None
    """Booleans `(V,)`: the tokens of prompt and answer, where the repetition penalty needs them."""
    draws: list[float]
    """Uniform random numbers, one for each new token, where tokens are sampled."""


class TokenChooser:
    """Takes the most probable token, or samples, each prompt with its own random numbers.

    Args:
        decoding: How.
        tokenizer: Turns tokens into text, and knows the end token.
    """

    rows = 1

    def __init__(self, decoding: Decoding, tokenizer: TextTokenizer) -> None:
        self._decoding, self._tokenizer = decoding, tokenizer
        self._ends: dict[tuple[str, ...], TextEnd] = {}

    def begin(self, index: int, prompt: Prompt) -> Single:
        """Take a prompt."""
        draws: list[float] = []
        if self._decoding.temperature > 0.0:
            source = torch.Generator().manual_seed(prompt.seed)
            draws = torch.rand(prompt.limit, generator=source, dtype=torch.float64).tolist()
        return Single(index, prompt, [], None, None, draws)

    def choose(self, running: Sequence[Running], logits: Tensor) -> tuple[list[int], None]:
        """Continue every prompt by one token; see `Chooser.choose`."""
        singles = [one for one in running if isinstance(one, Single)]
        penalty = self._decoding.repetition_penalty
        if penalty != 1.0:
            logits = penalised(logits, _seen(singles, logits), penalty)
        if self._decoding.temperature > 0.0:
            draws = torch.tensor([one.draws[len(one.tokens)] for one in singles], dtype=torch.float64)
            chosen = sampled(filtered(logits, self._decoding), draws.to(logits.device))
        else:
            chosen = most_probable(logits)
        tokens: list[int] = chosen.tolist()
        for one, token in zip(singles, tokens, strict=True):
            self._take(one, token)
        return tokens, None

    def _take(self, one: Single, token: int) -> None:
        if token == self._tokenizer.eos_id:
            one.answer = Generated(self._tokenizer.decode(one.tokens), len(one.tokens), is_complete=True)
            return
        one.tokens.append(token)
        if one.seen is not None:
            one.seen[token] = True
        if one.prompt.stop:
            text = text_end(self._ends, self._tokenizer, one.prompt.stop).cut(one.tokens)
            if text is not None:
                one.answer = Generated(text, len(one.tokens), is_complete=True)
                return
        if len(one.tokens) == one.prompt.limit:
            one.answer = Generated(self._tokenizer.decode(one.tokens), len(one.tokens), is_complete=False)


def text_end(known: dict[tuple[str, ...], TextEnd], tokenizer: TextTokenizer, stop: tuple[str, ...]) -> TextEnd:
    """Find or make what looks for the stop strings."""
    end = known.get(stop)
    if end is None:
        end = known[stop] = TextEnd(tokenizer, stop)
    return end


def _seen(singles: Sequence[Single], logits: Tensor) -> Tensor:
    for one in singles:
        if one.seen is None:
            one.seen = seen_tokens(one.prompt.ids, logits)
    return torch.stack([one.seen for one in singles if one.seen is not None])


def seen_tokens(ids: Sequence[int], logits: Tensor) -> Tensor:
    """Mark tokens among all, as booleans `(V,)` beside the logits `(n, V)`."""
    seen = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
    seen[torch.tensor(ids, device=logits.device)] = True
    return seen


def penalised(scores: Tensor, seen: Tensor, penalty: float) -> Tensor:
    """Make tokens that are there already less probable: divide positive scores, multiply negative ones.

    Args:
        scores: `(n, V)`.
        seen: Booleans of the same shape.
        penalty: Above 1 to discourage repetition.
    """
    return torch.where(seen, torch.where(scores > 0, scores / penalty, scores * penalty), scores)


def filtered(logits: Tensor, decoding: Decoding) -> Tensor:
    """Divide logits `(n, V)` by the temperature and set those outside of top-k and top-p to -inf."""
    logits = logits / decoding.temperature
    if 0 < decoding.top_k < logits.shape[-1]:
        least = logits.topk(decoding.top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    if decoding.top_p < 1.0:
        ordered, order = logits.sort(dim=-1, descending=True, stable=True)
        probabilities = ordered.softmax(-1)
        # What stands before a token decides, so that the one that crosses the border stays.
        is_out = probabilities.cumsum(-1) - probabilities >= decoding.top_p
        logits = logits.masked_fill(torch.zeros_like(is_out).scatter(-1, order, is_out), float("-inf"))
    return logits


def sampled(logits: Tensor, draws: Tensor) -> Tensor:
    """Choose by uniform random numbers: the first token at which the summed probability exceeds the number.

    Args:
        logits: `(n, V)`.
        draws: `(n,)`, float64 in [0, 1).

    Returns:
        Token ids `(n,)`.
    """
    sums = logits.double().softmax(-1).cumsum(-1)
    chosen = torch.searchsorted(sums, (draws * sums[:, -1])[:, None], right=True)[:, 0]
    last = (logits > float("-inf")).long().cumsum(-1).argmax(-1)  # rounding must not lead beyond the possible tokens
    return torch.minimum(chosen, last)


def most_probable(logits: Tensor) -> Tensor:
    """Find the first of the largest logits in each row, `(n, V)` to `(n,)`.

    torch's own argmax takes nine times as long as its maximum on a CPU; so the maximum of each chunk is taken first.
    """
    width = logits.shape[1]
    whole = width // _CHUNK * _CHUNK
    if logits.device.type != "cpu" or whole == 0:
        return logits.argmax(-1)
    chunks = logits[:, :whole].view(len(logits), -1, _CHUNK)
    best, chunk = chunks.amax(-1).max(-1)
    inside = chunks[torch.arange(len(chunks)), chunk].argmax(-1)
    chosen: Tensor = chunk * _CHUNK + inside
    if whole < width:
        rest, place = logits[:, whole:].max(-1)
        chosen = torch.where(rest > best, place + whole, chosen)
    return chosen
