"""Adapters answer requests; `ADAPTERS` lists the schemes of model references.

Nothing heavy is imported before a model is opened.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from evalkit.errors import UnknownNameError
from evalkit.requests import ModelAdapter

Opener: TypeAlias = Callable[[str], ModelAdapter]


def _open_predictions(target: str) -> ModelAdapter:
    from evalkit.adapters.predictions import PredictionsAdapter

    return PredictionsAdapter(target)


def _open_baseline(target: str) -> ModelAdapter:
    from evalkit.adapters.baselines import open_baseline

    return open_baseline(target)


ADAPTERS: Mapping[str, Opener] = {
    "predictions": _open_predictions,
    "baseline": _open_baseline,
}
"""Scheme of a model reference to the function that opens its target."""


def open_adapter(scheme: str, target: str) -> ModelAdapter:
    """Open the model that a reference names.

    Args:
        scheme: One of `ADAPTERS`.
        target: What stands behind the scheme: a file or the name of a baseline.

    Raises:
        UnknownNameError: There is no such scheme, or the scheme knows no such target.
        DataError: The target is a file that cannot be used.
    """
    if scheme not in ADAPTERS:
        raise UnknownNameError("model scheme", scheme, ADAPTERS)
    return ADAPTERS[scheme](target)


__all__ = ["ADAPTERS", "Opener", "open_adapter"]
