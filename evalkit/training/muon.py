"""Muon: the weight matrices inside of a model's blocks step along their momentum made orthogonal, everything else as by AdamW."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from evalkit.training.parallel import blocks_of, like

if TYPE_CHECKING:
    from evalkit.training.optimizers import StepRule
    from evalkit.training.recipe import OptimizerSection

_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_ITERATIONS = 5
_SMALLEST_NORM = 1e-7
_UPDATE_RMS = 0.2
_MOMENTUM = 0.95
_LARGEST_STACK = 1 << 24
"""Numbers that are made orthogonal at once, 64 MB in float32."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """A parameter that is one matrix, or several that are applied together and stand above one another."""

    parameter: nn.Parameter
    """`(rows, columns)`."""
    heights: tuple[int, ...]
    """The rows of each; they add up to the parameter's."""


def matrices_of(model: nn.Module) -> list[Matrix]:
    """List the trained matrices of the linear layers of a model's blocks.

    Queries, keys and values are projected by one matrix in evalkit_models and by three in the papers; those are made orthogonal
    each for itself. Embeddings, heads, poolers, norms and biases are not among them.

    Args:
        model: A model of evalkit_models, with or without low-rank updates.
    """
    return [
        Matrix(parameter, _heights(owner, name, parameter) if key == "weight" else (parameter.shape[0],))
        for block in blocks_of(model)
        for owner in block.modules()
        for name, linear in owner.named_children()
        if isinstance(linear, nn.Linear)
        for key, parameter in linear.named_parameters(recurse=False)
        if parameter.requires_grad and parameter.dim() == 2
    ]


def _heights(owner: nn.Module, name: str, weight: Tensor) -> tuple[int, ...]:
    rows = weight.shape[0]
    if name == "qkv":
        widths = getattr(owner, "widths", None)  # where keys and values have fewer heads than queries
        return (rows // 3,) * 3 if widths is None else tuple(widths)
    return (rows // 2,) * 2 if name == "kv" else (rows,)


def orthogonalised(matrices: Tensor) -> Tensor:
    """Bring the singular values of matrices near 1, and leave their singular vectors.

    With these coefficients the values end between 0.68 and 1.21, not at 1, which takes fewer iterations and trains as well;
    values below 0.002 of the matrix's norm end lower.

    Args:
        matrices: `(N, rows, columns)`, rows not above columns.

    Returns:
        `(N, rows, columns)`, in the numbers of the argument.

    References:
        Jordan et al. (2024), "Muon: An optimizer for hidden layers in neural networks": five Newton-Schulz iterations.
    """
    a, b, c = _COEFFICIENTS
    x: Tensor = matrices / matrices.norm(dim=(-2, -1), keepdim=True).clamp(min=_SMALLEST_NORM)
    for _ in range(_ITERATIONS):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x


class Muon:
    """Muon with Nesterov momentum, and another rule for the parameters that are no matrices of blocks.

    An update whose singular values were all 1 would have a root mean square of 0.2, about that of AdamW's, so that rates and
    decay for AdamW are a good beginning. Making matrices orthogonal costs 20 to 30 operations a weight and unit of width, the
    arithmetic of training on about 4 tokens for each unit; each process does all of it.

    Args:
        matrices: What is stepped here.
        rest: Steps every other parameter; what both keep is in its `state`.
        section: Momentum, decay, and the rate of the rest.

    References:
        Liu et al. (2025), "Muon is Scalable for LLM Training", section 2.2: decay, and updates of one size for all shapes.
    """

    def __init__(self, matrices: list[Matrix], rest: StepRule, section: OptimizerSection) -> None:
        self.state = rest.state
        self._matrices = {matrix.parameter: matrix for matrix in matrices}
        self._rest = rest
        self._section = section
        self._momentum = _MOMENTUM if section.momentum is None else section.momentum
        self._rest_share = 1.0 if section.adamw_lr is None else section.adamw_lr / section.lr

    @torch.no_grad()
    def step(self, rate: float, scale: float) -> None:
        """Take a step; matrices of one shape take it together, as many as fit into little memory."""
        self._rest.step(rate * self._rest_share, scale)
        by_shape: dict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        for weight, update in self._parts(scale):
            by_shape[update.shape].append((weight, update))
        for shape, parts in by_shape.items():
            length = rate * _UPDATE_RMS * max(shape) ** 0.5
            count = max(1, _LARGEST_STACK // max(1, shape.numel()))
            for first in range(0, len(parts), count):
                some = parts[first : first + count]
                updates = orthogonalised(torch.stack([update for _, update in some]))
                for (weight, _), update in zip(some, updates, strict=True):
                    weight.mul_(1.0 - rate * self._section.weight_decay).add_(update, alpha=-length)

    def _parts(self, scale: float) -> Iterator[tuple[Tensor, Tensor]]:
        """Each single matrix and its momentum, both turned so that they are not higher than wide; the gradients are used up."""
        share = self._momentum
        for parameter, matrix in self._matrices.items():
            if parameter.grad is None:
                continue
            gradient = parameter.grad.mul_(scale)
            momentum = self._momentum_of(parameter).lerp_(gradient, 1.0 - share)
            ahead = gradient.lerp_(momentum, share)
            if parameter.device.type == "cuda":
                ahead = ahead.bfloat16()
            for weight, update in zip(
                *(torch.split(whole, list(matrix.heights)) for whole in (parameter, ahead)), strict=True
            ):
                is_high = update.shape[0] > update.shape[1]
                yield (weight.mT, update.mT) if is_high else (weight, update)

    def restore(self, parameter: nn.Parameter, kept: Mapping[str, Tensor]) -> None:
        """Take over the momentum of a matrix, or what the rest keeps of another parameter."""
        if parameter in self._matrices:
            self.state[parameter] = {name: like(value, parameter) for name, value in kept.items()}
        else:
            self._rest.restore(parameter, kept)

    def _momentum_of(self, parameter: nn.Parameter) -> Tensor:
        if parameter not in self.state:
            self.state[parameter] = {"momentum": torch.zeros_like(parameter)}
        return self.state[parameter]["momentum"]
