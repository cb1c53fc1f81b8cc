"""Scaling laws: points -> checked fits with intervals, predictions, allocations and backtests.

Names are loaded when they are first asked for, so that importing this package costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit.scaling.constraints import Constraints
    from evalkit.scaling.fitting import Intervals, fit
    from evalkit.scaling.losses import Loss
    from evalkit.scaling.points import Points, PointSettings, make_points
    from evalkit.scaling.result import Draws, Fit, Parameter
    from evalkit.scaling.warnings import ScalingWarning

__all__ = [
    "Constraints",
    "Draws",
    "Fit",
    "Intervals",
    "Loss",
    "Parameter",
    "PointSettings",
    "Points",
    "ScalingWarning",
    "fit",
    "make_points",
]

_HOMES = {
    "Constraints": "evalkit.scaling.constraints",
    "Intervals": "evalkit.scaling.fitting",
    "fit": "evalkit.scaling.fitting",
    "Loss": "evalkit.scaling.losses",
    "PointSettings": "evalkit.scaling.points",
    "Points": "evalkit.scaling.points",
    "make_points": "evalkit.scaling.points",
    "Draws": "evalkit.scaling.result",
    "Fit": "evalkit.scaling.result",
    "Parameter": "evalkit.scaling.result",
    "ScalingWarning": "evalkit.scaling.warnings",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
