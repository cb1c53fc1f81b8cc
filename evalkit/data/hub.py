"""Data sets of the Hugging Face hub, pinned to a commit; loaded as data, never as code."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
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
_PATIENCE_S = 5.0
"""How long the hub may take to answer before it counts as out of reach."""
_LOGGERS = ("datasets", "huggingface_hub", "httpx", "httpx2", "urllib3", "fsspec")
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
        with _quiet():
            commit = HfApi().dataset_info(hub.name, revision=hub.revision or None, timeout=_PATIENCE_S).sha
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
    with _quiet():
        unreached = None if os.path.isdir(hub.name) else _out_of_reach(hub)
        try:
            with _offline() if unreached else nullcontext():
                data = datasets.load_dataset(hub.name, hub.config, revision=hub.revision or None, split=wanted)
        except Exception as error:  # whatever client, server and file system may raise
            if unreached:
                raise _unavailable(hub, unreached, otherwise, "check the network") from error
            raise _unavailable(hub, error, otherwise) from error
    if unreached and not _is_of(hub.revision, data):
        advice = "check the network: the copy on this machine is of another revision"
        raise _unavailable(hub, unreached, otherwise, advice)
    return data


def _out_of_reach(hub: Hub) -> Exception | None:
    """Ask the hub once, since its clients would ask again and again for half a minute; gives why there is no answer."""
    from huggingface_hub import HfApi

    try:
        HfApi().dataset_info(hub.name, revision=hub.revision or None, timeout=_PATIENCE_S)
    except Exception as error:  # whatever the client may raise
        # An answer that refuses is an answer; loading will say what it means.
        return error if getattr(error, "response", None) is None else None
    return None


def _is_of(revision: str, data: Any) -> bool:  # noqa: ANN401
    """Whether data from the cache is of a commit: without the hub, `datasets` takes any copy that it finds."""
    files = [str(file["filename"]) for file in data.cache_files]
    return not _COMMIT.fullmatch(revision) or all(revision in file for file in files)


@contextmanager
def _offline() -> Iterator[None]:
    """Let the clients look only at this machine."""
    import datasets
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = datasets.config.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE = before


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the clients' notes from standard error; what goes wrong is told in one line."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _unavailable(hub: Hub, error: Exception, otherwise: str, advice: str | None = None) -> MissingResourceError:
    reason = " ".join(str(error).split()) or type(error).__name__
    advice = advice or _advice(error, f"{type(error).__name__} {reason}".lower())
    return MissingResourceError(f"data set {hub.name!r} cannot be loaded: {reason:.200}; {advice}{otherwise}")


def _advice(error: Exception, lowered: str) -> str:
    """What to do about an error, by its type and name and text in lower case."""
    if "gated dataset" in lowered or "gatedrepo" in lowered:
        return "accept its terms on the hub and log in with: hf auth login"
    if "scripts are no longer supported" in lowered or "trust_remote_code" in lowered:
        return "it can only be loaded by running its code, which evalkit does not do"
    if isinstance(error, ConnectionError) or any(word in lowered for word in ("offline", "connect", "timeout")):
        return "check the network"
    return "check name, configuration, split and revision"


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
