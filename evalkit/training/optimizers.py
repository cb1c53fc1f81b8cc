"""Optimisers, and which parameters decay.

The classes of torch are thin around functions that do the work, and making one loads torch's compiler, which takes longer than a
small training needs to start; so AdamW calls its function here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

from evalkit.errors import MissingResourceError
from evalkit.training.muon import Muon, matrices_of
from evalkit.training.parallel import like
from evalkit.training.recipe import OptimizerSection


class StepRule(Protocol):
    """What takes a step along gradients."""

    state: MutableMapping[Tensor, dict[str, Tensor]]
    """Parameter to the tensors that are kept of it, by name; empty before the first step."""

    def step(self, rate: float, scale: float) -> None:
        """Take a step along gradients that are multiplied by a scale first; parameters without one stay."""
        ...

    def restore(self, parameter: nn.Parameter, kept: Mapping[str, Tensor]) -> None:
        """Take over what was kept of a parameter, whole and on the CPU."""
        ...


@dataclass(frozen=True, slots=True)
class ParameterGroup:
    """Parameters that decay alike."""

    parameters: list[nn.Parameter]
    """Some parameters of a model."""
    weight_decay: float
    """Their decay."""


def parameter_groups(
    model: nn.Module, weight_decay: float, without: Container[nn.Parameter] = frozenset()
) -> list[ParameterGroup]:
    """Split what is trained into matrices, which decay, and the rest: biases and the weights of norms, which do not.

    Args:
        model: The model; parameters that need no gradient are left out.
        weight_decay: The decay of the first group.
        without: Other parameters to leave out.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad and parameter not in without]
    return [
        ParameterGroup([parameter for parameter in trained if parameter.dim() >= 2], weight_decay),
        ParameterGroup([parameter for parameter in trained if parameter.dim() < 2], 0.0),
    ]


def build_optimizer(model: nn.Module, section: OptimizerSection, *, is_sharded: bool = False) -> StepRule:
    """Make the optimiser of a recipe.

    Args:
        model: The model, on its device.
        section: The recipe's section.
        is_sharded: Whether the parameters are shards, for which torch has no fused step.

    Raises:
        MissingResourceError: The installed torch does not have it.
    """
    if section.kind == "adafactor":
        return Adafactor(parameter_groups(model, section.weight_decay))
    matrices = matrices_of(model) if section.kind == "muon" else []
    groups = parameter_groups(model, section.weight_decay, {matrix.parameter for matrix in matrices})
    is_fused = not is_sharded and next(model.parameters()).device.type in ("cpu", "cuda")
    adamw_rule = AdamW(groups, section, is_fused=is_fused)
    return Muon(matrices, adamw_rule, section) if section.kind == "muon" else adamw_rule


class AdamW:
    """Adam with decoupled decay (Loshchilov and Hutter, 2019, algorithm 2), in one pass over the memory where torch has that.

    Args:
        groups: The parameters.
        section: Betas and epsilon.
        is_fused: Whether that one pass is possible.
    """

    def __init__(self, groups: Iterable[ParameterGroup], section: OptimizerSection, *, is_fused: bool) -> None:
        self.state: MutableMapping[Tensor, dict[str, Tensor]] = {}
        self._groups, self._section, self._is_fused = list(groups), section, is_fused

    def step(self, rate: float, scale: float) -> None:
        """Take a step; the fused one scales on the way, and the gradients are used up."""
        for group in self._groups:
            with_gradient = [parameter for parameter in group.parameters if parameter.grad is not None]
            if with_gradient:
                self._step(with_gradient, group.weight_decay, rate, scale)

    @torch.no_grad()
    def _step(self, parameters: list[nn.Parameter], weight_decay: float, rate: float, scale: float) -> None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        states = [self._state_of(parameter) for parameter in parameters]
        divisor = None
        if self._is_fused:
            divisor = torch.tensor(1.0 / scale if scale else 1.0, device=parameters[0].device)
        else:
            torch._foreach_mul_(gradients, scale)
        adamw(
            list(parameters),
            gradients,
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            foreach=not self._is_fused,
            fused=self._is_fused,
            grad_scale=divisor,
            amsgrad=False,
            beta1=self._section.beta1,
            beta2=self._section.beta2,
            lr=rate,
            weight_decay=weight_decay,
            eps=self._section.eps,
            maximize=False,
        )

    def restore(self, parameter: nn.Parameter, kept: Mapping[str, Tensor]) -> None:
        """Lay the means out as the parameter is, sharded or not."""
        self.state[parameter] = {
            name: value.to(self._counter_device(parameter)) if name == "step" else like(value, parameter)
            for name, value in kept.items()
        }

    def _counter_device(self, parameter: nn.Parameter) -> torch.device:
        # A fused step counts beside the parameter, the other on the CPU, where reading it waits for nobody.
        return parameter.device if self._is_fused else torch.device("cpu")

    def _state_of(self, parameter: nn.Parameter) -> dict[str, Tensor]:
        if parameter not in self.state:
            self.state[parameter] = {
                "step": torch.zeros((), device=self._counter_device(parameter)),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return self.state[parameter]


class Adafactor:
    """Adafactor (Shazeer and Stern, 2018, algorithm 4) as torch has it: the rate is a ceiling of 1 / sqrt(step).

    Args:
        groups: The parameters.

    Raises:
        MissingResourceError: The installed torch does not have it.
    """

    def __init__(self, groups: Iterable[ParameterGroup]) -> None:
        if not hasattr(torch.optim, "Adafactor"):
            raise MissingResourceError(
                f"[optimizer] kind 'adafactor' needs torch 2.5 or newer, found {torch.__version__}"
            )
        self._inner = torch.optim.Adafactor(
            {"params": group.parameters, "weight_decay": group.weight_decay} for group in groups if group.parameters
        )
        self.state: MutableMapping[Tensor, dict[str, Tensor]] = self._inner.state

    def step(self, rate: float, scale: float) -> None:
        """Take a step."""
        gradients = [p.grad for group in self._inner.param_groups for p in group["params"] if p.grad is not None]
        torch._foreach_mul_(gradients, scale)
        for group in self._inner.param_groups:
            group["lr"] = rate
        self._inner.step()  # type: ignore[no-untyped-call]

    def restore(self, parameter: nn.Parameter, kept: Mapping[str, Tensor]) -> None:
        """Put the means beside the parameter; the count stays on the CPU."""
        self.state[parameter] = {
            name: value.clone() if name == "step" else value.to(parameter.device) for name, value in kept.items()
        }
