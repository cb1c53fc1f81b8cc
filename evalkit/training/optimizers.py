"""Optimisers, and which parameters decay."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from evalkit.errors import MissingResourceError
from evalkit.training.recipe import OptimizerSection


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Split what is trained into matrices, which decay, and the rest: biases and the weights of norms, which do not.

    Args:
        model: The model; parameters that need no gradient are left out.
        weight_decay: The decay of the first group.

    Returns:
        Groups as torch's optimisers take them, empty ones left out.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = (
        {"params": [parameter for parameter in trained if parameter.dim() >= 2], "weight_decay": weight_decay},
        {"params": [parameter for parameter in trained if parameter.dim() < 2], "weight_decay": 0.0},
    )
    return [group for group in groups if group["params"]]


def build_optimizer(model: nn.Module, section: OptimizerSection, *, is_sharded: bool = False) -> torch.optim.Optimizer:
    """Make the optimiser of a recipe.

    Args:
        model: The model, on its device.
        section: The recipe's section.
        is_sharded: Whether the parameters are shards, for which torch has no fused step.

    Raises:
        MissingResourceError: The installed torch does not have it.
    """
    groups = parameter_groups(model, section.weight_decay)
    if section.kind == "adafactor":
        if not hasattr(torch.optim, "Adafactor"):
            raise MissingResourceError(
                f"[optimizer] kind 'adafactor' needs torch 2.5 or newer, found {torch.__version__}"
            )
        return torch.optim.Adafactor(groups, lr=section.lr)
    is_fused = not is_sharded and next(model.parameters()).device.type in ("cpu", "cuda")
    betas = (section.beta1, section.beta2)
    return torch.optim.AdamW(groups, lr=section.lr, betas=betas, eps=section.eps, fused=is_fused or None)


def set_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of all groups."""
    for group in optimizer.param_groups:
        group["lr"] = rate
