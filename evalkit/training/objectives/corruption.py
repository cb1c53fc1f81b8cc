"""Span corruption: which spans of a text are taken out, and how sentinels stand for them.

References:
    Raffel et al. (2020), "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", sections 3.1.4
    and 3.3.4, and the released code (`random_spans_noise_mask`, `random_spans_helper`) for the arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from evalkit.errors import InvalidInputError
from evalkit.tokenization import Tokenizer


def span_counts(length: int, noise_rate: float, mean_span: float) -> tuple[int, int]:
    """Count the tokens that are taken out of a text, and the spans that they form.

    >>> span_counts(568, 0.15, 3.0)
    (85, 28)

    Args:
        length: Tokens of the text, at least 2.
        noise_rate: Share of the tokens that are taken out; at least one is, and one is left.
        mean_span: Mean number of tokens of a span.
    """
    noise = min(max(round(length * noise_rate), 1), length - 1)
    # Each span stands between tokens that are left.
    return noise, min(max(round(noise / mean_span), 1), length - noise)


def corrupted_lengths(length: int, noise_rate: float, mean_span: float, target: str = "spans") -> tuple[int, int]:
    """Count the tokens of source and target that a text becomes, each with its end token.

    >>> corrupted_lengths(568, 0.15, 3.0)
    (512, 114)
    >>> corrupted_lengths(568, 0.15, 3.0, "text")
    (512, 569)
    """
    noise, spans = span_counts(length, noise_rate, mean_span)
    return length - noise + spans + 1, (noise + spans if target == "spans" else length) + 1


def text_length(source_length: int, noise_rate: float, mean_span: float) -> int:
    """Find the longest text whose corrupted source is no longer than wanted.

    >>> text_length(512, 0.15, 3.0)
    568

    Args:
        source_length: Tokens of the source, its end token included; at least 3.
        noise_rate: As in `span_counts`.
        mean_span: As in `span_counts`.
    """
    if source_length < 3:
        raise InvalidInputError(
            f"max_length is {source_length}; expected at least 3: a token that is left, a sentinel and the end token"
        )
    length = 2
    while corrupted_lengths(length + 1, noise_rate, mean_span)[0] <= source_length:
        length += 1
    return length


def window_length(
    source_length: int, target_length: int, noise_rate: float, mean_span: float, target: str = "spans"
) -> int:
    """Find the longest text whose corrupted source and whose target are no longer than wanted; see `text_length`.

    >>> window_length(512, 512, 0.15, 3.0), window_length(256, 256, 0.15, 3.0, "text")
    (568, 255)
    """
    length = text_length(source_length, noise_rate, mean_span)
    while corrupted_lengths(length, noise_rate, mean_span, target)[1] > target_length:
        length -= 1
    return length


def noise_mask(length: int, noise_rate: float, mean_span: float, generator: torch.Generator) -> Tensor:
    """Draw which tokens are taken out, `(length,)`: spans of random lengths, the first token left and the last one taken.

    All ways to cut the tokens that are taken out into that many spans are equally likely, and so are those to cut the others.
    """
    if length < 2:
        return torch.zeros(length, dtype=torch.bool)
    noise, spans = span_counts(length, noise_rate, mean_span)
    kept_parts = _random_parts(length - noise, spans, generator)
    taken_parts = _random_parts(noise, spans, generator)
    lengths = torch.stack((kept_parts, taken_parts), dim=1).flatten()
    return torch.arange(2 * spans).remainder(2).bool().repeat_interleave(lengths)


def _random_parts(total: int, parts: int, generator: torch.Generator) -> Tensor:
    """Cut a number into positive parts, `(parts,)`, every way equally likely."""
    cuts = torch.randperm(total - 1, generator=generator)[: parts - 1].sort().values + 1
    ends = torch.cat((cuts, torch.tensor([total])))
    return torch.diff(ends, prepend=torch.tensor([0]))


def corrupt(tokens: Sequence[int], is_taken: Sequence[bool], sentinels: Sequence[int]) -> tuple[list[int], list[int]]:
    """Put a sentinel in the place of each span, and write after each sentinel what it stands for.

    >>> corrupt([1, 2, 3, 4, 5, 6], [False, True, True, False, True, False], sentinels=[90, 91, 92])
    ([1, 90, 4, 91, 6], [90, 2, 3, 91, 5, 92])

    Args:
        tokens: The text.
        is_taken: Of each token, whether it is taken out.
        sentinels: Enough of them, in order.

    Returns:
        Source and target, without end tokens. A text that ends with what is left has one more sentinel at the target's end, which
        says that no more spans follow (Raffel et al., 2020, figure 2); `noise_mask` draws none of these.
    """
    source: list[int] = []
    target: list[int] = []
    used = 0
    was_taken = False
    for token, taken in zip(tokens, is_taken, strict=True):
        if taken and not was_taken:
            source.append(sentinels[used])
            target.append(sentinels[used])
            used += 1
        (target if taken else source).append(token)
        was_taken = taken
    if used and not was_taken:
        target.append(sentinels[used])
    return source, target


def sentinel_ids(tokenizer: Tokenizer, count: int) -> list[int]:
    """Find the ids of the first sentinels.

    Raises:
        InvalidInputError: The tokenizer has not so many.
    """
    ids = [tokenizer.id_of(f"<extra_id_{number}>") for number in range(count)]
    known = [index for index in ids if index is not None]
    if len(known) < count:
        raise InvalidInputError(
            f"texts of this length have up to {count} spans, but the tokenizer has sentinels for {len(known)}"
            " (<extra_id_0> and so on); shorten max_length of the objective"
        )
    return known
