"""Sources and targets of an encoder-decoder as batches, and the loss on the targets."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from evalkit.errors import InvalidInputError
from evalkit.tokenization import Tokenizer
from evalkit.training.objective import Batch, Loss
from evalkit.training.objectives.losses import summed_loss
from evalkit.training.objectives.rows import IGNORED, padded, padding_masks, wanted_states, with_labels
from evalkit_models.t5 import T5Config, shift_right


def start_of_target(tokenizer: Tokenizer, config: T5Config) -> int:
    """The token that the decoder begins with: the model's own, or else padding.

    Raises:
        InvalidInputError: There is neither.
    """
    start = tokenizer.pad_id if config.start_id is None else config.start_id
    if start is None:
        raise InvalidInputError("the tokenizer has no pad token; targets of T5 begin with it")
    return start


def end_of_target(tokenizer: Tokenizer) -> int:
    """The token that a target ends with.

    Raises:
        InvalidInputError: The tokenizer has none.
    """
    if tokenizer.eos_id is None:
        raise InvalidInputError("the tokenizer has no eos token; without it a model never learns where an answer ends")
    return tokenizer.eos_id


def pair_batch(pairs: Sequence[tuple[Sequence[int], Sequence[int]]], start: int) -> Batch:
    """Make a batch of sources and targets.

    Args:
        pairs: Token ids of each source and target, special tokens included.
        start: The token that the decoder begins with; also what stands behind shorter rows.

    Returns:
        A batch with `ids` `(B, S)`, `attention_mask` where sources are padded, `decoder_ids` `(B, T)`, and `places` and `labels`.
    """
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    labels = padded(targets, IGNORED)
    tensors = {
        "ids": padded(sources, start),
        **padding_masks([len(source) for source in sources]),
        "decoder_ids": shift_right(labels, start),
        **with_labels(labels),
    }
    return Batch(tensors, sum(len(source) + len(target) for source, target in pairs))


def pair_loss(model: nn.Module, batch: Batch, label_smoothing: float) -> Loss:
    """Predict every token of the targets."""
    tensors = batch.tensors
    mask = tensors.get("attention_mask")
    encoded = model.encode(tensors["ids"], mask)  # type: ignore[operator]
    hidden = model.hidden(tensors["decoder_ids"], encoded, mask)  # type: ignore[operator]
    logits = model.head(wanted_states(hidden, tensors))  # type: ignore[operator]
    return summed_loss(logits, tensors["labels"], label_smoothing)
