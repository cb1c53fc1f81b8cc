"""What is known of a law's parameters before the fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """Values, limits and priors of parameters; names as in the law's formula."""

    fixed: Mapping[str, float] = field(default_factory=dict)
    """Values that are not fitted."""
    bounds: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    """Lowest and highest value; None leaves a side as the law has it."""
    priors: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Normal priors as centre and standard deviation; of an amplitude (A, B, E) the median and the deviation of its log."""
