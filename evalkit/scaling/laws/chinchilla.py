"""The parametric law of Hoffmann et al. and the over-training form of Gadre et al.: sums of two powers and an offset."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.laws.base import Coordinate, Inputs, Law, Starter, amplitude, exponent, offset
from evalkit.scaling.laws.curves import Curve, TermsCurve
from evalkit.scaling.laws.starts import PowerStarter, cell_grid
from evalkit.scaling.points import Points


@dataclass(frozen=True, kw_only=True)
class Chinchilla(Law):
    """L = E + A N^-alpha + B D^-beta.

    References:
        Hoffmann et al., 2022, Training Compute-Optimal Large Language Models, section 3.3.
        Besiroglu et al., 2024, Chinchilla Scaling: A Replication Attempt.
    """

    name: ClassVar[str] = "chinchilla"
    formula: ClassVar[str] = "L = E + A N^-alpha + B D^-beta"
    is_tied: bool = False
    """Whether alpha and beta are one exponent."""
    by_group: bool = False
    """Whether each group, such as a corpus, has an E of its own."""

    @property
    def predictors(self) -> tuple[str, ...]:
        """Sizes and tokens."""
        return ("N", "D")

    def groups(self, points: Points) -> tuple[str, ...]:
        """The groups of the points in order of appearance."""
        if not self.by_group:
            return ()
        if points.group is None:
            raise InvalidInputError(
                "the points have no column 'group'; expected one for a law with an E for each group"
            )
        return tuple(dict.fromkeys(points.group))

    def coordinates(self, groups: Sequence[str]) -> tuple[Coordinate, ...]:
        """E, or the E of each group; then the two powers."""
        offsets = [offset(f"E[{group}]") for group in groups] if groups else [offset()]
        return (*offsets, amplitude("A", "alpha"), exponent("alpha"), amplitude("B", "beta"), exponent("beta"))

    def ties(self, groups: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """The exponents, if they are one."""
        return (("alpha", "beta"),) if self.is_tied else ()

    def curve(self, inputs: Inputs, groups: Sequence[str]) -> Curve:
        """Three terms; the offset's factors say which group's it is."""
        log_n, log_d = np.log(inputs.get("N")), np.log(inputs.get("D"))
        one = np.ones_like(log_n)
        count = max(1, len(groups))
        which = inputs.group if groups and inputs.group is not None else np.zeros(len(one), dtype=np.int64)
        offsets = (which[:, None] == np.arange(count)).astype(float)
        terms = [
            ((count, count + 1), np.column_stack([one, -log_n])),
            ((count + 2, count + 3), np.column_stack([one, -log_d])),
        ]
        return TermsCurve(4 + count, terms, (tuple(range(count)), offsets))

    def evaluate(self, values: Mapping[str, FloatArray], at: Mapping[str, FloatArray]) -> FloatArray:
        """Give E + A N^-alpha + B D^-beta."""
        size = values["A"] * at["N"] ** -values["alpha"]
        loss: FloatArray = values["E"] + size + values["B"] * at["D"] ** -values["beta"]
        return loss

    def starter(self, inputs: Inputs, losses: FloatArray, held: Mapping[str, float], groups: Sequence[str]) -> Starter:
        """A grid of both exponents."""
        count = max(1, len(groups))
        alphas, betas = ([held[name]] if name in held else None for name in ("alpha", "beta"))

        def place(a: FloatArray, b: FloatArray, e: FloatArray, alpha: FloatArray, beta: FloatArray) -> FloatArray:
            return np.column_stack([*[e] * count, a, alpha, b, beta])

        return PowerStarter(
            log_x=np.log(inputs.get("N")),
            log_y=np.log(inputs.get("D")),
            losses=losses,
            cells=cell_grid(alphas, betas, self.is_tied),
            has_offset=True,
            place=place,
        )

    def derived(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """The exponents of N* and D* in C, and G: N* = G (C/6)^a, D* = (C/6)^b / G."""
        alpha, beta = values["alpha"], values["beta"]
        with np.errstate(all="ignore"):
            log_g = (np.log(alpha * values["A"]) - np.log(beta * values["B"])) / (alpha + beta)
            return {"a": beta / (alpha + beta), "b": alpha / (alpha + beta), "G": np.exp(log_g)}


@dataclass(frozen=True, kw_only=True)
class OverTraining(Law):
    """L = E + a N^-eta + c 6^(-eta/2) D^-eta, from a form in N and M = D / N with one exponent.

    The source writes b = -eta and (M N)^b for D^b.

    References:
        Gadre et al., 2024, Language Models Scale Reliably with Over-Training and on Downstream Tasks, equation 4.
    """

    name: ClassVar[str] = "overtraining"
    formula: ClassVar[str] = "L = E + a N^-eta + c 6^(-eta/2) (M N)^-eta, M = D / N"

    @property
    def predictors(self) -> tuple[str, ...]:
        """Sizes and tokens."""
        return ("N", "D")

    def coordinates(self, groups: Sequence[str]) -> tuple[Coordinate, ...]:
        """E, two factors and the exponent."""
        return (offset(), amplitude("a"), amplitude("c"), exponent("eta"))

    def curve(self, inputs: Inputs, groups: Sequence[str]) -> Curve:
        """Three terms with one exponent."""
        log_n, log_d = np.log(inputs.get("N")), np.log(inputs.get("D"))
        one = np.ones_like(log_n)
        tokens = np.column_stack([one, -(log_d + 0.5 * math.log(6.0))])
        return TermsCurve(4, [((1, 3), np.column_stack([one, -log_n])), ((2, 3), tokens)], ((0,), one[:, None]))

    def evaluate(self, values: Mapping[str, FloatArray], at: Mapping[str, FloatArray]) -> FloatArray:
        """Give E + a N^-eta + c 6^(-eta/2) D^-eta."""
        tokens = values["c"] * (math.sqrt(6.0) * at["D"]) ** -values["eta"]
        loss: FloatArray = values["E"] + values["a"] * at["N"] ** -values["eta"] + tokens
        return loss

    def starter(self, inputs: Inputs, losses: FloatArray, held: Mapping[str, float], groups: Sequence[str]) -> Starter:
        """A grid of the exponent."""
        return PowerStarter(
            log_x=np.log(inputs.get("N")),
            log_y=np.log(inputs.get("D")) + 0.5 * math.log(6.0),
            losses=losses,
            cells=cell_grid([held["eta"]] if "eta" in held else None, None, is_tied=True),
            has_offset=True,
            place=lambda a, b, e, alpha, beta: np.column_stack([e, a, b, alpha]),
        )
