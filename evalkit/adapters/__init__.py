"""Adapters answer requests; `ADAPTERS` lists the schemes of model references.

Nothing heavy is imported before a model is opened.
"""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from evalkit.errors import UnknownNameError
from evalkit.requests import ModelAdapter, ModelSettings

Opener: TypeAlias = Callable[[str, ModelSettings], ModelAdapter]


def _open_predictions(target: str, settings: ModelSettings) -> ModelAdapter:
    from evalkit.adapters.predictions import PredictionsAdapter

    return PredictionsAdapter(target)


def _open_baseline(target: str, settings: ModelSettings) -> ModelAdapter:
    from evalkit.adapters.baselines import open_baseline

    return open_baseline(target)


def _open_checkpoint(target: str, settings: ModelSettings) -> ModelAdapter:
    from evalkit.adapters.neural import open_checkpoint

    return open_checkpoint(target, settings)


def _open_openai(target: str, settings: ModelSettings) -> ModelAdapter:
    from evalkit.adapters.openai import open_openai

    return open_openai(target, settings)


def _open_hf(target: str, settings: ModelSettings) -> ModelAdapter:
    from evalkit.adapters.hf import open_hf

    return open_hf(target, settings)


ADAPTERS: Mapping[str, Opener] = {
    "predictions": _open_predictions,
    "baseline": _open_baseline,
    "checkpoint": _open_checkpoint,
    "openai": _open_openai,
    "hf": _open_hf,
}
"""Scheme of a model reference to the function that opens its target."""


def open_adapter(scheme: str, target: str, settings: ModelSettings | None = None) -> ModelAdapter:
    """Open the model that a reference names.

    Args:
        scheme: One of `ADAPTERS`.
        target: What stands behind the scheme: a file, the name of a baseline, a checkpoint folder, a model and its server.
        settings: How a neural model is run; other systems ignore it. None means the defaults.

    Raises:
        UnknownNameError: There is no such scheme, or the scheme knows no such target.
        DataError: The target is a file that cannot be used.
    """
    if scheme not in ADAPTERS:
        raise UnknownNameError("model scheme", scheme, ADAPTERS)
    return ADAPTERS[scheme](target, settings or ModelSettings())


__all__ = ["ADAPTERS", "Opener", "open_adapter"]
