"""Laws in which the limits of size and data act together: the coupled form and Kaplan's joint law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalkit.scaling.arrays import FloatArray, IntArray
from evalkit.scaling.laws.base import Coordinate, Inputs, Law, Starter, amplitude, exponent, offset
from evalkit.scaling.laws.curves import Curve, OuterCurve
from evalkit.scaling.laws.starts import cell_grid
from evalkit.scaling.solver.grid import ExponentGrid, log_amplitudes

_OFFSETS = (0.0, 0.3, 0.6, 0.8, 0.9, 0.97)
"""Values of E in starts, as shares of the lowest loss."""


_POWERS = (0.3, 0.5, 0.75, 1.0, 1.4, 2.0)
"""Values of k in starts."""
_PURE_POWERS = tuple(np.geomspace(0.02, 1.0, 12))
"""Values of alpha_D in starts without an E: the whole fall of the loss is then the power's."""
_RATIOS = tuple(np.geomspace(0.1, 4.0, 24))
"""Values of gamma in starts."""
_WORST_START = 16.0
"""Largest squared error of a start, in multiples of the best one's; from far off these surfaces lead nowhere."""


def _plausible(objective: FloatArray, most: int) -> IntArray:
    """Give the numbers of the starts that are worth a search, the best first."""
    order = np.argsort(objective, kind="stable")[:most]
    kept: IntArray = order[objective[order] <= _WORST_START * objective[order[0]]]
    return kept


def _crossed(first: FloatArray, weights: FloatArray, second: FloatArray) -> FloatArray:
    """Sum w_i a_i b_i' over points; a and b of shape (S, n, P) or (n, P), weights (S, n)."""
    result: FloatArray = np.matmul((first * weights[:, :, None]).transpose(0, 2, 1), second)
    return result


class CoupledCurve(OuterCurve):
    """ln(E + (A N^-alpha + B D^-beta)^k) in E, ln A, alpha, ln B, beta, ln k."""

    def __init__(self, log_n: FloatArray, log_d: FloatArray) -> None:
        super().__init__(6)
        zero, one = np.zeros_like(log_n), np.ones_like(log_n)
        self._first = np.column_stack([zero, one, -log_n, zero, zero, zero])
        self._second = np.column_stack([zero, zero, zero, one, -log_d, zero])

    def inner(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray, tuple[FloatArray, ...]]:
        """Give s = k ln(A N^-alpha + B D^-beta) with its gradient."""
        t, u = coordinates @ self._first.T, coordinates @ self._second.T
        m = np.logaddexp(t, u)
        share = np.exp(t - m)
        k = np.exp(coordinates[:, 5:6])
        mean = share[:, :, None] * self._first + (1.0 - share)[:, :, None] * self._second
        slopes = k[:, :, None] * mean
        slopes[:, :, 5] += k * m
        return k * m, slopes, (share, k * m, mean, np.broadcast_to(k, m.shape))

    def inner_curvature(self, parts: tuple[FloatArray, ...], weights: FloatArray) -> FloatArray:
        """Sum Hessians of s."""
        share, s, mean, k = parts
        apart = np.broadcast_to(self._first - self._second, mean.shape)
        total = _crossed(apart, weights * k * share * (1.0 - share), apart)
        pull = np.einsum("sn,snp->sp", weights * k, mean)
        total[:, 5, :] += pull
        total[:, :, 5] += pull
        total[:, 5, 5] += (weights * s).sum(axis=1)
        return total


@dataclass(eq=False)
class CoupledStarter(Starter):
    """Starts on a grid of E, k and both exponents: (L - E)^(1/k) is then a sum of two powers with free amplitudes."""

    log_n: FloatArray
    log_d: FloatArray
    losses: FloatArray
    cells: FloatArray
    offsets: Sequence[float]
    powers: Sequence[float]

    def rows(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Give E, ln A, alpha, ln B, beta, ln k of the best cell for each E and k, shape (m, 6), and their objectives."""
        center_n, center_d = self.log_n.mean(), self.log_d.mean()
        grid = ExponentGrid(self.log_n - center_n, self.log_d - center_d, self.cells, has_offset=False)
        lowest = self.losses.min()
        pairs = np.array([(offset * lowest, k) for offset in self.offsets for k in self.powers])
        offset, k = pairs[:, :1], pairs[:, 1:]
        rest = self.losses - offset
        # A change of the inner sum by a share changes the loss by this share: the delta method.
        effect = k * rest / self.losses
        scale = np.exp(np.log(rest).mean(axis=1, keepdims=True) / k)
        with np.errstate(all="ignore"):
            solved = grid.solve(weights * effect**2, np.exp(np.log(rest) / k) / scale)
        best = solved.objective.argmin(axis=1)
        chosen = solved.amplitudes[np.arange(len(best)), best]
        logs = log_amplitudes(chosen, np.asarray(1.0)) + np.log(scale)
        alpha, beta = self.cells[best].T
        rows = np.column_stack(
            [
                offset[:, 0],
                logs[:, 0] + alpha * center_n,
                alpha,
                logs[:, 1] + beta * center_d,
                beta,
                np.log(k[:, 0]),
            ]
        )
        return rows, solved.objective[np.arange(len(best)), best]

    def spread(self, weights: FloatArray, most: int) -> FloatArray:
        """Give the best of the grid."""
        rows, objective = self.rows(weights)
        return rows[_plausible(objective, most)]


@dataclass(frozen=True, kw_only=True)
class Coupled(Law):
    """L = E + (A N^-alpha + B D^-beta)^k; k = 1 is Chinchilla's law."""

    name: ClassVar[str] = "coupled"
    formula: ClassVar[str] = "L = E + (A N^-alpha + B D^-beta)^k"

    @property
    def predictors(self) -> tuple[str, ...]:
        """Sizes and tokens."""
        return ("N", "D")

    def coordinates(self, groups: Sequence[str]) -> tuple[Coordinate, ...]:
        """E, the two powers and k."""
        return (
            offset(),
            amplitude("A", "alpha"),
            exponent("alpha"),
            amplitude("B", "beta"),
            exponent("beta"),
            Coordinate(name="k", is_log=True, is_rate=True, low=0.05, high=20.0),
        )

    def curve(self, inputs: Inputs, groups: Sequence[str]) -> Curve:
        """The coupled curve."""
        return CoupledCurve(np.log(inputs.get("N")), np.log(inputs.get("D")))

    def evaluate(self, values: Mapping[str, FloatArray], at: Mapping[str, FloatArray]) -> FloatArray:
        """Give E + (A N^-alpha + B D^-beta)^k."""
        inner = values["A"] * at["N"] ** -values["alpha"] + values["B"] * at["D"] ** -values["beta"]
        loss: FloatArray = values["E"] + inner ** values["k"]
        return loss

    def starter(self, inputs: Inputs, losses: FloatArray, held: Mapping[str, float], groups: Sequence[str]) -> Starter:
        """A grid of E, k and the exponents."""
        alphas, betas = ([held[name]] if name in held else None for name in ("alpha", "beta"))
        return CoupledStarter(
            log_n=np.log(inputs.get("N")),
            log_d=np.log(inputs.get("D")),
            losses=losses,
            cells=cell_grid(alphas, betas),
            offsets=_OFFSETS,
            powers=[held["k"]] if "k" in held else _POWERS,
        )

    def derived(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The exponents of N* and D* in C, and the exponents of the loss far out in N and in D."""
        alpha, beta, k = values["alpha"], values["beta"], values["k"]
        with np.errstate(all="ignore"):
            return {
                "a": beta / (alpha + beta),
                "b": alpha / (alpha + beta),
                "k_alpha": k * alpha,
                "k_beta": k * beta,
            }


@dataclass(frozen=True, kw_only=True)
class KaplanJoint(Law):
    """L = [(N_c/N)^(alpha_N/alpha_D) + D_c/D]^alpha_D, with E before it if asked.

    It is fitted as the coupled form with beta = 1: gamma = alpha_N / alpha_D and A = N_c^gamma, on which the surface is
    benign; N_c and alpha_N follow from them.

    References:
        Kaplan et al., 2020, Scaling Laws for Neural Language Models, equation 1.5.
    """

    name: ClassVar[str] = "kaplan"
    formula: ClassVar[str] = "L = [A N^-gamma + D_c/D]^alpha_D, A = N_c^gamma, gamma = alpha_N/alpha_D"
    has_offset: bool = False
    """Whether the law has an E."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """Sizes and tokens."""
        return ("N", "D")

    def coordinates(self, groups: Sequence[str]) -> tuple[Coordinate, ...]:
        """Those of the coupled form under Kaplan's names."""
        return (
            offset(),
            amplitude("A", "gamma"),
            exponent("gamma"),
            Coordinate(name="D_c", is_log=True, low=0.0),
            Coordinate(name="one"),
            Coordinate(name="alpha_D", is_log=True, is_exponent=True, low=1e-3, high=20.0),
        )

    def constants(self) -> dict[str, float]:
        """The exponent of D within the bracket, and E where there is none."""
        return {"one": 1.0} if self.has_offset else {"one": 1.0, "E": 0.0}

    def curve(self, inputs: Inputs, groups: Sequence[str]) -> Curve:
        """The coupled curve."""
        return CoupledCurve(np.log(inputs.get("N")), np.log(inputs.get("D")))

    def evaluate(self, values: Mapping[str, FloatArray], at: Mapping[str, FloatArray]) -> FloatArray:
        """Give [A N^-gamma + D_c/D]^alpha_D, and E."""
        inner = values["A"] * at["N"] ** -values["gamma"] + values["D_c"] / at["D"]
        loss: FloatArray = values.get("E", np.float64(0.0)) + inner ** values["alpha_D"]
        return loss

    def starter(self, inputs: Inputs, losses: FloatArray, held: Mapping[str, float], groups: Sequence[str]) -> Starter:
        """A grid of both exponents and, with an offset, of E."""
        return CoupledStarter(
            log_n=np.log(inputs.get("N")),
            log_d=np.log(inputs.get("D")),
            losses=losses,
            cells=cell_grid([held["gamma"]] if "gamma" in held else _RATIOS, [1.0]),
            offsets=_OFFSETS if self.has_offset else (0.0,),
            powers=[held["alpha_D"]] if "alpha_D" in held else _POWERS if self.has_offset else _PURE_POWERS,
        )

    def derived(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """N_c and alpha_N."""
        with np.errstate(all="ignore"):
            return {
                "N_c": np.exp(np.log(values["A"]) / values["gamma"]),
                "alpha_N": values["gamma"] * values["alpha_D"],
            }
