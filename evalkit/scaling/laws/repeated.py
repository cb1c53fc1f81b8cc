"""The law of Muennighoff et al. for runs that see their data several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.laws.base import Coordinate, Inputs, Law, Starter, amplitude, exponent, offset
from evalkit.scaling.laws.curves import Curve, DenseCurve, State
from evalkit.scaling.laws.starts import PowerStarter, cell_grid
from evalkit.scaling.solver.grid import local_cells

_REPEATS = np.geomspace(0.5, 2000.0, 20)
"""R_D* at which fits start."""
_EXCESSES = np.geomspace(0.3, 300.0, 16)
"""R_N* at which fits start."""
_DIFFERENCE = 1e-4
_FARTHEST = 50.0
"""Sizes beyond e^50 times the useful one are all the same."""


def worth(repeats: FloatArray, decay: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Say what repetitions are worth: ln h with h = 1 + r (1 - e^(-R/r)), its slope in ln r, and e^(-R/r)."""
    gone = np.exp(-repeats / decay)
    h = 1.0 + decay * -np.expm1(-repeats / decay)
    return np.log(h), (h - 1.0 - repeats * gone) / h, gone


class RepeatedCurve(DenseCurve):
    """The curve in E, ln A, alpha, ln B, beta, ln R_D*, ln R_N*; Hessians by differences of gradients."""

    size = 7

    def __init__(self, inputs: Inputs) -> None:
        self._log_n = np.log(inputs.get("N"))
        tokens = inputs.get("D")
        unique = tokens if inputs.U is None else np.minimum(inputs.U, tokens)
        self._log_u = np.log(unique)
        self._repeats = tokens / unique - 1.0

    def _useful_size(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Give ln U_N, shape (S, n), and its gradient where it is N_opt(U) and not N, shape (S, n, P)."""
        log_a, alpha, log_b, beta = (coordinates[:, k, None] for k in (1, 2, 3, 4))
        ratio, total = beta / alpha, alpha + beta
        log_g = (np.log(alpha) + log_a - np.log(beta) - log_b) / total
        best = log_g * (1.0 + ratio) + ratio * self._log_u
        is_less = best < self._log_n
        slopes = np.zeros((*best.shape, self.size))
        slopes[:, :, 1], slopes[:, :, 3] = 1.0 / alpha, -1.0 / alpha
        reach = log_g + self._log_u
        slopes[:, :, 2] = (1.0 + ratio) * (1.0 / alpha - log_g) / total - ratio / alpha * reach
        slopes[:, :, 4] = (1.0 + ratio) * (-1.0 / beta - log_g) / total + reach / alpha
        floor = self._log_n - _FARTHEST
        return np.clip(best, floor, self._log_n), slopes * (is_less & (best > floor))[:, :, None]

    def evaluate(self, coordinates: FloatArray) -> State:
        """Evaluate at coordinates of shape (S, P)."""
        e, log_a, alpha, log_b, beta, log_rd, log_rn = (coordinates[:, k, None] for k in range(7))
        log_useful, useful_slopes = self._useful_size(coordinates)
        excess = np.exp(self._log_n - log_useful) - 1.0
        log_h, slope_n, gone = worth(excess, np.exp(log_rn))
        log_size = log_useful + log_h
        log_worth, slope_d, _ = worth(self._repeats, np.exp(log_rd))
        log_tokens = self._log_u + log_worth
        t, u = log_a - alpha * log_size, log_b - beta * log_tokens
        power_t, power_u = np.exp(t), np.exp(u)
        inverse = 1.0 / (power_t + power_u + e)
        share_t, share_u = power_t * inverse, power_u * inverse
        size_slopes = useful_slopes * (1.0 - gone * (1.0 + excess) / np.exp(log_h))[:, :, None]
        size_slopes[:, :, 6] = slope_n
        gradient = -(alpha * share_t)[:, :, None] * size_slopes
        gradient[:, :, 0] = inverse
        gradient[:, :, 1] += share_t
        gradient[:, :, 2] -= share_t * log_size
        gradient[:, :, 3] += share_u
        gradient[:, :, 4] -= share_u * log_tokens
        gradient[:, :, 5] -= share_u * beta * slope_d
        return State(-np.log(inverse), (gradient, coordinates))

    def curvature(self, state: State, second: FloatArray) -> FloatArray:
        """Sum Hessians by central differences."""
        coordinates = state.parts[1]
        total = np.empty((len(coordinates), self.size, self.size))
        for k in range(self.size):
            step = np.zeros(self.size)
            step[k] = _DIFFERENCE
            above, below = (self.gradient(self.evaluate(coordinates + side * step), second) for side in (1.0, -1.0))
            total[:, k, :] = (above - below) / (2.0 * _DIFFERENCE)
        symmetric: FloatArray = 0.5 * (total + total.transpose(0, 2, 1))
        return symmetric


@dataclass(eq=False)
class RepeatedStarter(Starter):
    """Starts on a grid of both decay constants, each with base parameters of its own unless they are held."""

    inputs: Inputs
    losses: FloatArray
    held: Mapping[str, float]
    is_tied: bool

    def spread(self, weights: FloatArray, most: int) -> FloatArray:
        """Give the lowest local cells of the grid."""
        repeats = [self.held["R_D"]] if "R_D" in self.held else _REPEATS
        excesses = [self.held["R_N"]] if "R_N" in self.held else _EXCESSES
        cells = np.array([(a, b) for a in repeats for b in excesses])
        bases = np.repeat(np.concatenate([self._base(each, weights) for each in repeats]), len(excesses), axis=0)
        rows = np.column_stack([bases, np.log(cells)])
        with np.errstate(all="ignore"):
            values = np.exp(RepeatedCurve(self.inputs).evaluate(rows).log_values)
            objective = np.square(values / self.losses - 1.0) @ weights
        return rows[local_cells(np.where(np.isfinite(objective), objective, np.inf), cells, most)]

    def _base(self, decay: float, weights: FloatArray) -> FloatArray:
        """Fit the base law to tokens at their worth, shape (1, 5)."""
        names = ("E", "A", "alpha", "B", "beta")
        if all(name in self.held for name in names):
            held = [self.held[name] for name in names]
            return np.array([[held[0], np.log(held[1]), held[2], np.log(held[3]), held[4]]])
        tokens = self.inputs.get("D")
        unique = tokens if self.inputs.U is None else np.minimum(self.inputs.U, tokens)
        log_worth, _, _ = worth(tokens / unique - 1.0, np.asarray(decay))
        alphas, betas = ([self.held[name]] if name in self.held else None for name in ("alpha", "beta"))
        starter = PowerStarter(
            log_x=np.log(self.inputs.get("N")),
            log_y=np.log(unique) + log_worth,
            losses=self.losses,
            cells=cell_grid(alphas, betas, self.is_tied),
            has_offset=True,
            place=lambda a, b, e, alpha, beta: np.column_stack([e, a, alpha, b, beta]),
        )
        return starter.spread(weights, 1)


@dataclass(frozen=True, kw_only=True)
class RepeatedData(Law):
    """Chinchilla's law in the worth of repeated tokens and of excess parameters.

    L = E + A N'^-alpha + B D'^-beta with D' = U (1 + R_D (1 - e^(-(D/U - 1)/R_D))), the same for N' from U_N = min(N, N_opt(U))
    and R_N, and N_opt(U) the size at which the base law is compute-optimal on U tokens. Without a column U no data repeat.

    The surface is flat and has several basins: hold the base parameters where they are known, and read the intervals.

    References:
        Muennighoff et al., 2023, Scaling Data-Constrained Language Models, section 3.
    """

    name: ClassVar[str] = "repeated"
    formula: ClassVar[str] = "L = E + A N'^-alpha + B D'^-beta, N' and D' the worth of excess size and repeated tokens"
    is_tied: bool = False
    """Whether alpha and beta are one exponent."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """Sizes and tokens seen."""
        return ("N", "D")

    @property
    def optional(self) -> tuple[str, ...]:
        """Unique tokens."""
        return ("U",)

    def coordinates(self, groups: Sequence[str]) -> tuple[Coordinate, ...]:
        """The base parameters and both decay constants."""
        return (
            offset(),
            amplitude("A", "alpha"),
            exponent("alpha", 1e-3),
            amplitude("B", "beta"),
            exponent("beta", 1e-3),
            Coordinate(name="R_D", is_log=True, is_rate=True, low=1e-2, high=1e9),
            Coordinate(name="R_N", is_log=True, is_rate=True, low=1e-2, high=1e9),
        )

    def ties(self, groups: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """The exponents, if they are one."""
        return (("alpha", "beta"),) if self.is_tied else ()

    def curve(self, inputs: Inputs, groups: Sequence[str]) -> Curve:
        """The curve of both worths."""
        return RepeatedCurve(inputs)

    def evaluate(self, values: Mapping[str, FloatArray], at: Mapping[str, FloatArray]) -> FloatArray:
        """Give E + A N'^-alpha + B D'^-beta; without U no data repeat."""
        alpha, beta = values["alpha"], values["beta"]
        unique = np.minimum(at.get("U", at["D"]), at["D"])
        tokens = unique * np.exp(worth(at["D"] / unique - 1.0, values["R_D"])[0])
        log_g = (np.log(alpha * values["A"]) - np.log(beta * values["B"])) / (alpha + beta)
        useful = np.minimum(at["N"], np.exp(log_g + beta / alpha * (log_g + np.log(unique))))
        size = useful * np.exp(worth(at["N"] / useful - 1.0, values["R_N"])[0])
        loss: FloatArray = values["E"] + values["A"] * size**-alpha + values["B"] * tokens**-beta
        return loss

    def starter(self, inputs: Inputs, losses: FloatArray, held: Mapping[str, float], groups: Sequence[str]) -> Starter:
        """A grid of both decay constants."""
        return RepeatedStarter(inputs, losses, held, self.is_tied)

    def derived(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The exponents of N* and D* in C while data do not repeat."""
        alpha, beta = values["alpha"], values["beta"]
        with np.errstate(all="ignore"):
            return {"a": beta / (alpha + beta), "b": alpha / (alpha + beta)}
