"""Data sets of the Hugging Face hub, pinned to a commit; loaded as data, never as code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from evalkit.data.fields import mapped
from evalkit.data.labels import class_name
from evalkit.data.located import Located
from evalkit.data.options import check_names
from evalkit.data.steps import STEPS, apply_steps
from evalkit.errors import MissingResourceError
from evalkit.spec import Hub

_BATCH = 1000
_COMMIT = re.compile("[0-9a-f]{40}")
_FIRST_WITHOUT_CODE = (2, 20)
"""Older versions of `datasets` run a data set's own code without being asked to."""


def pinned(hub: Hub, otherwise: str = "") -> Hub:
    """The data set at the commit that its revision stands for now, so that what is loaded is what a run records.

    A commit stays as it is, and so does a local folder. No revision means the newest one.

    Args:
        hub: The data set.
        otherwise: As for `read_hub`.

    Raises:
        MissingResourceError: The hub cannot be asked, or does not know the data set or its revision.
    """
    if _COMMIT.fullmatch(hub.revision) or os.path.isdir(hub.name):
        return hub
    _client(hub, otherwise)
    from huggingface_hub import HfApi

    try:
        commit = HfApi().dataset_info(hub.name, revision=hub.revision or None).sha
    except Exception as error:  # whatever client and server may raise
        raise _unavailable(hub, error, otherwise) from error
    return replace(hub, revision=commit or hub.revision)


def read_hub(hub: Hub, split: str, otherwise: str = "") -> Iterator[Located]:
    """Read the rows of one split.

    Args:
        hub: The data set; its name may also be a local folder in the hub's layout.
        split: Split of the task, a key of `hub.splits`.
        otherwise: What a user can do instead where the hub cannot be reached; ends the message of the error.

    Raises:
        MissingResourceError: `datasets` is not installed, or the data set cannot be loaded; says why and what to do.
        UnknownNameError: An option is not known.
        InvalidInputError: An option has a wrong value.
        DataError: While rows are read: a column is missing, or an integer has no name.
    """
    check_names(hub.options, STEPS, f"data set {hub.name!r}")
    rows = _records(_load(hub, split, otherwise), hub.name)
    return apply_steps((mapped(located, hub.fields) for located in rows), hub.options, split)


def _client(hub: Hub, otherwise: str) -> Any:  # noqa: ANN401
    """The package that loads from the hub, in a version that runs no code of data sets."""
    try:
        import datasets
    except ImportError as error:
        raise MissingResourceError(
            f"data set {hub.name!r} is on the Hugging Face hub; install its client: pip install 'evalkit[hub]'{otherwise}"
        ) from error
    version = tuple(map(int, datasets.__version__.split(".")[:2]))
    if version < _FIRST_WITHOUT_CODE:
        raise MissingResourceError(
            f"datasets {datasets.__version__} runs code of data sets; update it: pip install -U 'evalkit[hub]'{otherwise}"
        )
    return datasets


def _load(hub: Hub, split: str, otherwise: str) -> Any:  # noqa: ANN401
    datasets = _client(hub, otherwise)
    wanted = hub.splits[split]
    try:
        return datasets.load_dataset(hub.name, hub.config, revision=hub.revision or None, split=wanted)
    except Exception as error:  # whatever client, server and file system may raise
        raise _unavailable(hub, error, otherwise) from error


def _unavailable(hub: Hub, error: Exception, otherwise: str) -> MissingResourceError:
    reason = " ".join(str(error).split()) or type(error).__name__
    lowered = f"{type(error).__name__} {reason}".lower()
    if "gated dataset" in lowered or "gatedrepo" in lowered:
        advice = "accept its terms on the hub and log in with: hf auth login"
    elif "scripts are no longer supported" in lowered or "trust_remote_code" in lowered:
        advice = "it can only be loaded by running its code, which evalkit does not do"
    elif isinstance(error, ConnectionError) or "offline" in lowered or "connect" in lowered:
        advice = "check the network"
    else:
        advice = "check name, configuration, split and revision"
    return MissingResourceError(f"data set {hub.name!r} cannot be loaded: {reason:.200}; {advice}{otherwise}")


def _records(data: Any, name: str) -> Iterator[Located]:  # noqa: ANN401
    """Rows with class numbers as names, batch by batch."""
    named = {column: feature for column, feature in (data.features or {}).items() if _has_names(feature)}
    for batch in data.iter(batch_size=_BATCH):
        for column, feature in named.items():
            batch[column] = _name(feature, batch[column], name, column)
        columns = tuple(batch)
        for cells in zip(*batch.values(), strict=True):
            yield Located(dict(zip(columns, cells, strict=True)), name, None)


def _has_names(feature: Any) -> bool:  # noqa: ANN401
    if isinstance(feature, Mapping):
        return any(map(_has_names, feature.values()))
    if isinstance(feature, list):
        return _has_names(feature[0])
    return hasattr(feature, "int2str") or (hasattr(feature, "feature") and _has_names(feature.feature))


def _name(feature: Any, value: Any, source: str, column: str) -> Any:  # noqa: ANN401
    """Replace class numbers by names, through lists and objects."""
    if value is None:
        return None
    if isinstance(value, list):
        return [_name(feature, item, source, column) for item in value]
    if isinstance(feature, list):
        return _name(feature[0], value, source, column)
    if isinstance(feature, Mapping):
        return {key: _name(feature[key], item, source, f"{column}.{key}") for key, item in value.items()}
    if hasattr(feature, "int2str"):
        return class_name(value, feature.names, Located({}, source, None), column)
    return _name(feature.feature, value, source, column) if hasattr(feature, "feature") else value
