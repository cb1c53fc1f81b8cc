"""Cross-entropy as a sum over targets."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from evalkit.training.objective import Loss


def summed_loss(logits: Tensor, labels: Tensor, label_smoothing: float) -> Loss:
    """Sum the cross-entropy of each row of logits against its label, in nats.

    Args:
        logits: `(M, V)`; M may be 0, which a loss of 0 with a graph comes of.
        labels: `(M,)`, each below V.
        label_smoothing: Share of each target that is spread evenly over all V (Szegedy et al., 2016, section 7).
    """
    total = functional.cross_entropy(logits.float(), labels, reduction="sum", label_smoothing=label_smoothing)
    return Loss(total, labels.numel())
