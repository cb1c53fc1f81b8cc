"""LoRA: a low-rank update of chosen linear layers is trained, and their weights stay as they are until both are merged.

References:
    Hu et al. (2021), "LoRA: Low-Rank Adaptation of Large Language Models", section 4.1.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.training.parallel import whole
from evalkit.training.recipe import LoraSection

HEAD = "head."
"""Beginning of the names of a BERT's head, which is new to a task and therefore trained as a whole."""


class LoraLinear(nn.Linear):
    """A linear layer with a low-rank update: `x W' + alpha / rank * x A' B'`.

    In evaluation mode the update is part of `weight`, so that whatever reads the weight has it too; in training mode `weight` is,
    to the bit, what it was before.

    Attributes:
        lora_down: The matrix A, `(rank, inputs)`, drawn from N(0, 1 / inputs).
        lora_up: The matrix B, `(outputs, rank)`, 0 at first.

    Args:
        linear: The layer, whose parameters are taken over and no longer trained.
        section: Rank, alpha and dropout.
        generator: Draws A.
    """

    def __init__(self, linear: nn.Linear, section: LoraSection, generator: torch.Generator) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.weight, self.bias = linear.weight, linear.bias
        for parameter in linear.parameters():
            parameter.requires_grad_(False)
        down = torch.randn(section.rank, self.in_features, generator=generator) * self.in_features**-0.5
        self.lora_down = nn.Parameter(down.to(linear.weight))
        self.lora_up = nn.Parameter(linear.weight.new_zeros(self.out_features, section.rank))
        self.dropout, self.scale = section.dropout, section.alpha / section.rank
        self._base: Tensor | None = None
        self.train(linear.training)

    def forward(self, input: Tensor) -> Tensor:
        """Transform `(..., inputs)` to `(..., outputs)`."""
        plain = functional.linear(input, self.weight, self.bias)
        if self._base is not None:
            return plain
        narrow = functional.linear(functional.dropout(input, self.dropout, self.training), self.lora_down)
        return plain + functional.linear(narrow, self.lora_up) * self.scale

    def merged_weight(self) -> Tensor:
        """The weight with its update."""
        base = whole(self.weight if self._base is None else self._base)
        update: Tensor = (whole(self.lora_up) @ whole(self.lora_down)) * self.scale
        return base + update.to(base)

    def train(self, mode: bool = True) -> LoraLinear:
        """Put the update into the weight for evaluation, and take it out again for training."""
        if mode and self._base is not None:
            self.weight.data, self._base = self._base, None
        elif not mode and self._base is None:
            merged = self.merged_weight()
            self._base, self.weight.data = self.weight.data, merged
        return super().train(mode)


def add_lora(model: nn.Module, section: LoraSection, generator: torch.Generator) -> list[str]:
    """Give linear layers low-rank updates, and freeze everything else but a BERT's head.

    Args:
        model: A model of evalkit_models; changed in place.
        section: Rank, alpha, targets and dropout.
        generator: Draws the first values.

    Returns:
        The names of the layers.

    Raises:
        UnknownNameError: A target is the name of no linear layer.
    """
    linears = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and not name.startswith(HEAD)
    }
    chosen: dict[str, nn.Linear] = {}
    for target in section.targets:
        found = {name: linear for name, linear in linears.items() if f".{name}".endswith(f".{target}")}
        if not found:
            raise UnknownNameError("[lora] target", target, sorted({name.rpartition(".")[2] for name in linears}))
        chosen |= found
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.startswith(HEAD))
    for name, linear in chosen.items():
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, LoraLinear(linear, section, generator))
    return list(chosen)


def has_lora(model: nn.Module) -> bool:
    """Whether a model has low-rank updates."""
    return any(isinstance(module, LoraLinear) for module in model.modules())


def merged_state(model: nn.Module) -> dict[str, Tensor]:
    """The weights of a model with its updates merged, under the names that it had without them; all processes have to ask.

    Raises:
        InvalidInputError: An update makes a weight infinite or undefined.
    """
    updated = {name: module for name, module in model.named_modules() if isinstance(module, LoraLinear)}
    state = {
        name: tensor for name, tensor in model.state_dict().items() if not name.endswith((".lora_down", ".lora_up"))
    }
    for name, module in updated.items():
        merged = module.merged_weight()
        if not bool(merged.isfinite().all()):
            raise InvalidInputError(f"the low-rank update of {name} is not finite; lower optimizer.lr or lora.alpha")
        state[f"{name}.weight"] = merged
    return state
