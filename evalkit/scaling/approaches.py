"""The three approaches of Hoffmann et al. on the same runs: frontier, IsoFLOP profiles, parametric law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from evalkit.errors import EvalkitError
from evalkit.scaling.fitting import Intervals, fit_leniently
from evalkit.scaling.frontier import frontier
from evalkit.scaling.isoflop import IsoFlop
from evalkit.scaling.warnings import ScalingWarning

Exponent: TypeAlias = tuple[float | None, float | None, float | None]
"""Value, and ends of the interval; None where there is none."""

_RESAMPLES = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Approaches:
    """What each approach says of the exponent of N* in C."""

    exponents: Mapping[str, Exponent]
    """Approach to its exponent."""
    warnings: tuple[ScalingWarning, ...]
    """Where they disagree, or one could not be used."""


def other_approaches(fitted: IsoFlop) -> Approaches:
    """Set the frontier and the parametric law beside IsoFLOP profiles."""
    line = fitted.size_line
    exponents: dict[str, Exponent] = {}
    warnings: list[ScalingWarning] = []
    try:
        exponents["1, frontier"] = (frontier(fitted.points).size_exponent, None, None)
    except EvalkitError as error:
        warnings.append(ScalingWarning("fallback", f"no frontier: {error}"))
    exponents[f"2, IsoFLOP ({fitted.settings.method})"] = (line.exponent, line.exponent_low, line.exponent_high)
    try:
        intervals = Intervals(level=fitted.settings.level, resamples=_RESAMPLES, seed=fitted.settings.seed)
        derived = fit_leniently(fitted.points, "chinchilla", intervals=intervals).derived["a"]
        exponents["3, parametric"] = (derived.value, derived.low, derived.high)
    except EvalkitError as error:
        warnings.append(ScalingWarning("fallback", f"no parametric law: {error}"))
    else:
        warnings += _disagreement(line.exponent, (line.exponent_low, line.exponent_high), exponents["3, parametric"])
    return Approaches(exponents=exponents, warnings=tuple(warnings))


def _disagreement(
    profile: float, interval: tuple[float | None, float | None], parametric: Exponent
) -> list[ScalingWarning]:
    """Warn where neither approach's interval holds the other's exponent."""
    value, low, high = parametric
    ends = (*interval, value, low, high)
    if any(end is None for end in ends):
        return []
    first, second = interval
    assert first is not None
    assert second is not None
    assert value is not None
    assert low is not None
    assert high is not None
    if first <= value <= second or low <= profile <= high:
        return []
    text = (
        f"IsoFLOP profiles give {profile:.3f} [{first:.3f}, {second:.3f}], the parametric law {value:.3f} [{low:.3f},"
        f" {high:.3f}]: profiles rest on the runs near each minimum, the law on all runs and on its form; report both"
    )
    return [ScalingWarning("isoflop-disagrees", text)]
