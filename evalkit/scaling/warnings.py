"""What a fit warns of: a code that programs can test and a line for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evalkit.errors import UnknownNameError

CODES: Mapping[str, str] = {
    "integer-cast": "a column of whole numbers was taken as floating point, so that 6ND cannot overflow",
    "rows-dropped": "rows with missing values were left out, as asked",
    "derived-column": "a column that was not given was computed from C = 6ND",
    "loss-converted": "losses were converted to another unit, as asked",
    "identical-rows": "some rows are equal in every value",
    "mixed-loss-source": "held-out and smoothed training losses stand in one table",
    "mid-schedule": "checkpoints from the middle of a learning-rate schedule are fitted as if final",
    "constant-lr": "one learning rate over all sizes",
    "constant-warmup": "one warm-up length over all training lengths",
    "depth-change": "the number of layers changes along the ladder",
    "single-seed": "no replicate tells how much one run scatters",
    "few-points": "too few points for the number of parameters",
    "few-levels": "a predictor takes fewer than 3 values",
    "short-range": "a predictor spans less than a factor of 10",
    "collinear": "ln N and ln D move together",
    "non-monotone": "loss rises where it should fall",
    "rising-loss": "loss does not fall with a predictor; its exponent is near 0",
    "at-bound": "a parameter lies on its bound",
    "offset-not-needed": "the interval of E reaches 0: a law without E fits as well",
    "offset-above-data": "E lies above the lowest loss",
    "second-basin": "another solution fits almost as well",
    "starts-disagree": "not every restart reached the reported minimum",
    "not-converged": "the solver stopped before the gradient vanished",
    "ill-conditioned": "the data hardly tell parameters apart",
    "weakly-identified": "the interval of an exponent or decay constant spans a factor of more than 2",
    "leverage": "one point moves an exponent by more than its standard error",
    "failed-resamples": "more than 1% of the resamples gave no fit",
    "intervals-disagree": "homoscedastic and robust standard errors differ by more than 1.5 times: the noise is uneven",
    "extrapolation": "a prediction lies far outside the fitted range of compute",
    "band-under-covers": "the band held fewer of the larger runs than it promises",
    "term-not-needed": "the runs find no use for a term of the law",
    "uncertain-choice": "laws or arms differ by less than their uncertainty",
    "vertex-outside": "the lowest loss of a budget lies outside its sweep",
    "non-convex": "the profile of a budget has no minimum",
    "few-budgets": "fewer than 3 budgets carry an exponent",
    "few-per-budget": "a budget has fewer than 4 points",
    "parabola-bias": "a wide sweep shifts the vertex of a parabola",
    "isoflop-disagrees": "IsoFLOP profiles and the parametric law give different exponents",
    "fallback": "a method could not be used; another was",
}
"""Every code with what it means in general; a warning's text says what it means in the case at hand."""


@dataclass(frozen=True, slots=True)
class ScalingWarning:
    """Something that makes an answer less certain than it looks."""

    code: str
    """One of `CODES`."""
    text: str
    """One line: what was found and what it means for the answer."""

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise UnknownNameError("warning code", self.code, CODES)

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"
