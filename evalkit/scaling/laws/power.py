"""Power laws of one predictor, with and without an offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evalkit.errors import UnknownNameError
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.laws.base import Coordinate, Inputs, Law, Starter, amplitude, exponent, offset
from evalkit.scaling.laws.curves import Curve, TermsCurve
from evalkit.scaling.laws.starts import PowerStarter, cell_grid
from evalkit.scaling.points import PREDICTORS


def _check_axis(axis: str) -> None:
    if axis not in PREDICTORS:
        raise UnknownNameError("predictor", str(axis), PREDICTORS)


@dataclass(frozen=True, kw_only=True)
class PowerLaw(Law):
    """L = (x_c / x)^alpha, written A x^-alpha.

    References:
        Kaplan et al., 2020, Scaling Laws for Neural Language Models, equations 1.1 to 1.3. Their constants, to cite and not to
        expect: alpha_N 0.076, N_c 8.8e13; alpha_D 0.095, D_c 5.4e13; alpha_C(min) 0.050, C_c 3.1e8 PF-days.
    """

    name: ClassVar[str] = "power"
    formula: ClassVar[str] = "L = A x^-alpha = (x_c / x)^alpha"
    axis: str = "N"
    """What x is: N, D or C."""

    def __post_init__(self) -> None:
        _check_axis(self.axis)

    @property
    def predictors(self) -> tuple[str, ...]:
        """The axis alone."""
        return (self.axis,)

    def coordinates(self, groups: Sequence[str]) -> tuple[Coordinate, ...]:
        """A and alpha."""
        return (Coordinate(name="A", is_log=True, low=0.0), exponent("alpha"))

    def curve(self, inputs: Inputs, groups: Sequence[str]) -> Curve:
        """One term."""
        log_x = np.log(inputs.get(self.axis))
        return TermsCurve(2, [((0, 1), np.column_stack([np.ones_like(log_x), -log_x]))])

    def evaluate(self, values: Mapping[str, FloatArray], at: Mapping[str, FloatArray]) -> FloatArray:
        """Give A x^-alpha."""
        loss: FloatArray = values["A"] * at[self.axis] ** -values["alpha"]
        return loss

    def starter(self, inputs: Inputs, losses: FloatArray, held: Mapping[str, float], groups: Sequence[str]) -> Starter:
        """A grid of alpha."""
        alphas = [held["alpha"]] if "alpha" in held else None
        return PowerStarter(
            log_x=np.log(inputs.get(self.axis)),
            log_y=None,
            losses=losses,
            cells=cell_grid(alphas, [1.0]),
            has_offset=False,
            place=lambda a, b, e, alpha, beta: np.column_stack([a, alpha]),
        )

    def derived(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """x_c, where the law says a loss of 1."""
        with np.errstate(all="ignore"):
            return {"x_c": np.exp(np.log(values["A"]) / values["alpha"])}


@dataclass(frozen=True, kw_only=True)
class Offset(Law):
    """L = E + A x^-alpha.

    References:
        Henighan et al., 2020, Scaling Laws for Autoregressive Generative Modeling, section 1.
    """

    name: ClassVar[str] = "offset"
    formula: ClassVar[str] = "L = E + A x^-alpha"
    axis: str = "N"
    """What x is: N, D or C."""

    def __post_init__(self) -> None:
        _check_axis(self.axis)

    @property
    def predictors(self) -> tuple[str, ...]:
        """The axis alone."""
        return (self.axis,)

    def coordinates(self, groups: Sequence[str]) -> tuple[Coordinate, ...]:
        """E, A and alpha."""
        return (offset(), amplitude("A", "alpha"), exponent("alpha"))

    def curve(self, inputs: Inputs, groups: Sequence[str]) -> Curve:
        """Two terms."""
        log_x = np.log(inputs.get(self.axis))
        one = np.ones_like(log_x)
        return TermsCurve(3, [((1, 2), np.column_stack([one, -log_x]))], ((0,), one[:, None]))

    def evaluate(self, values: Mapping[str, FloatArray], at: Mapping[str, FloatArray]) -> FloatArray:
        """Give E + A x^-alpha."""
        loss: FloatArray = values["E"] + values["A"] * at[self.axis] ** -values["alpha"]
        return loss

    def starter(self, inputs: Inputs, losses: FloatArray, held: Mapping[str, float], groups: Sequence[str]) -> Starter:
        """A grid of alpha."""
        alphas = [held["alpha"]] if "alpha" in held else None
        return PowerStarter(
            log_x=np.log(inputs.get(self.axis)),
            log_y=None,
            losses=losses,
            cells=cell_grid(alphas, [1.0]),
            has_offset=True,
            place=lambda a, b, e, alpha, beta: np.column_stack([e, a, alpha]),
        )
