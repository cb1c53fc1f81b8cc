"""What every family needs and none owns: checks, positions, masks, heads, initialisation and counts.

Letters in shapes: B batch, T query length, S key length, H heads, W width of one head, D model width.

An attention mask, here and in every family, is `(B, T)`: 1 or True for a token, 0 or False for padding, on either side.
"""

from typing import Any

import torch
from torch import Tensor, nn


def check_sizes(config: Any, *names: str) -> None:  # noqa: ANN401 (any family's config)
    """Check that the named fields are positive, and that the dropout is a probability.

    Raises:
        ValueError: If a size is below 1 or the dropout is outside of [0, 1).
    """
    for name in names:
        if getattr(config, name) < 1:
            raise ValueError(f"{name} is {getattr(config, name)!r}, expected at least 1")
    if not 0.0 <= config.dropout < 1.0:
        raise ValueError(f"dropout is {config.dropout!r}, expected a probability in [0, 1)")


def check_divisible(name: str, value: int, by: str, divisor: int) -> None:
    """Check that one size is a multiple of another.

    Raises:
        ValueError: If it is not.
    """
    if value % divisor:
        raise ValueError(f"{name} {value} is not divisible by {by} {divisor}; choose a multiple of {divisor}")


def check_inputs(ids: Tensor, attention_mask: Tensor | None, max_length: int, documents: Tensor | None = None) -> None:
    """Check that a batch of token ids fits the model and its mask.

    Raises:
        ValueError: If ids is not `(B, T)` with T from 1 to max_length, the mask or the documents have another shape, or there
            are both.
    """
    if ids.dim() != 2:
        raise ValueError(f"ids have shape {tuple(ids.shape)}, expected (batch, length)")
    if not 1 <= ids.shape[1] <= max_length:
        raise ValueError(f"found {ids.shape[1]} tokens, expected 1 to {max_length}; shorten the text or window it")
    if attention_mask is not None and attention_mask.shape != ids.shape:
        raise ValueError(f"attention_mask has shape {tuple(attention_mask.shape)}, ids have {tuple(ids.shape)}")
    if documents is not None and attention_mask is not None:
        raise ValueError("found attention_mask and documents, expected one of them; give padding a document of its own")
    if documents is not None and documents.shape != ids.shape:
        raise ValueError(f"documents have shape {tuple(documents.shape)}, ids have {tuple(ids.shape)}")


def token_positions(ids: Tensor, attention_mask: Tensor | None) -> Tensor:
    """Count the tokens of each row from 0, not the padding, so that padding moves no token.

    Returns:
        `(T,)` without a mask, `(B, T)` with one; padding has the position of the token before it, or 0.
    """
    if attention_mask is None:
        return torch.arange(ids.shape[1], device=ids.device)
    return (attention_mask.long().cumsum(dim=-1) - 1).clamp(min=0)


def padding_mask(attention_mask: Tensor | None) -> Tensor | None:
    """Say which keys every query of a row may see: the row's tokens.

    Returns:
        Booleans `(B, 1, 1, S)`, or None if there is no mask. A row without any token sees its padding, for a softmax
        over nothing is NaN.
    """
    if attention_mask is None:
        return None
    real = attention_mask.bool()
    return (real | ~real.any(dim=-1, keepdim=True))[:, None, None, :]


def causal_mask(attention_mask: Tensor) -> Tensor:
    """Say which keys each query may see: the row's tokens up to itself.

    Returns:
        Booleans `(B, 1, T, T)`. Every query sees itself, or padding on the left would be a softmax over nothing, NaN.
    """
    length = attention_mask.shape[1]
    square = torch.ones(length, length, dtype=torch.bool, device=attention_mask.device)
    itself = torch.eye(length, dtype=torch.bool, device=attention_mask.device)
    return (square.tril() & attention_mask.bool()[:, None, None, :]) | itself


def document_mask(documents: Tensor, *, is_causal: bool) -> Tensor:
    """Say which keys each query may see where several texts share a row: those of its own text.

    Args:
        documents: `(B, T)`, a number for each text of a row; padding has a number of its own.
        is_causal: Whether a query sees keys up to itself only.

    Returns:
        Booleans `(B, 1, T, T)`.
    """
    is_same = documents[:, None, :, None] == documents[:, None, None, :]  # (B, 1, T, T)
    return is_same.tril() if is_causal else is_same


def document_positions(documents: Tensor) -> Tensor:
    """Count the tokens of each text of a row from 0, `(B, T)`; a text's tokens stand side by side."""
    place = torch.arange(documents.shape[1], device=documents.device).expand_as(documents)
    is_first = torch.ones_like(documents, dtype=torch.bool)
    is_first[:, 1:] = documents[:, 1:] != documents[:, :-1]
    return place - torch.where(is_first, place, 0).cummax(dim=-1).values


def split_heads(x: Tensor, heads: int) -> Tensor:
    """Lay heads apart: `(B, T, H * W)` to `(B, H, T, W)`."""
    return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Lay heads side by side: `(B, H, T, W)` to `(B, T, H * W)`."""
    return x.transpose(1, 2).flatten(2)


def initialise_normal(model: nn.Module, std: float, generator: torch.Generator | None) -> None:
    """Draw linear weights and embeddings from N(0, std), set biases to 0 and norms to 1."""
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            nn.init.normal_(module.weight, std=std, generator=generator)
        elif isinstance(module, nn.LayerNorm | nn.RMSNorm):
            nn.init.ones_(module.weight)
        if isinstance(module, nn.Linear | nn.LayerNorm) and module.bias is not None:
            nn.init.zeros_(module.bias)


def parameter_counts(model: nn.Module) -> dict[str, int]:
    """Count parameters, each tensor once, as `total`, `embedding` and `non_embedding`.

    `embedding` are the tables with a row a token or position: token, position and segment embeddings, relative
    positions, and an untied head.

    References:
        Kaplan et al. (2020), section 2.1: `non_embedding` is their N.
    """
    tables = [module.weight for module in model.modules() if isinstance(module, nn.Embedding)]
    output = getattr(model, "output", None)
    if isinstance(output, nn.Linear):
        tables.append(output.weight)
    total = sum(parameter.numel() for parameter in model.parameters())
    embedding = sum(table.numel() for table in tables)
    return {"total": total, "embedding": embedding, "non_embedding": total - embedding}
