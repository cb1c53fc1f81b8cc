"""Fits that `evalkit scaling fit --save` wrote, read again."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.commands.scaling_verbs.second_step import SecondStep
from evalkit.commands.scaling_verbs.single_step import SingleStep, single_from_json
from evalkit.errors import DataError, EvalkitError

if TYPE_CHECKING:
    from evalkit.scaling import Fit

_LARGEST_BYTES = 1 << 29


def load_single(path: str) -> SingleStep | None:
    """Read a one-step fit; None where the file holds another fit.

    Raises:
        DataError: The file cannot be read, or holds a one-step fit that was edited.
    """
    from evalkit.json_files import read_object

    document = read_object(Path(path), _LARGEST_BYTES).get("one_step")
    if document is None:
        return None
    try:
        return single_from_json(document)
    except (EvalkitError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise _no_fit(path, f"{type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """A fit, and its second step where it has one."""

    fit: Fit
    second: SecondStep | None


def load_saved(path: str) -> Saved:
    """Read a fit.

    Args:
        path: JSON of `evalkit scaling fit`, or of `Fit.to_json`.

    Raises:
        DataError: It is neither.
    """
    from evalkit.json_files import read_object
    from evalkit.scaling import Fit

    document = read_object(Path(path), _LARGEST_BYTES)
    inner = document.get("fit", document)
    second = document.get("second_step")
    if not isinstance(inner, dict):
        raise _no_fit(path, "its key 'fit' is no object")
    try:
        fitted = Fit.from_json(json.dumps(inner))
        return Saved(fitted, None if second is None else SecondStep.from_json(second))
    except EvalkitError as error:
        raise _no_fit(path, str(error)) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _no_fit(path, f"{type(error).__name__}: {error}") from error


def saved_json(fitted: Fit, second: SecondStep | None) -> dict[str, Any]:
    """What makes a fit again: a part of what `evalkit scaling fit` writes."""
    return {
        "fit": json.loads(fitted.to_json()),
        "second_step": None if second is None else second.to_json(),
    }


def _no_fit(path: str, reason: str) -> DataError:
    return DataError(path, f"no saved fit ({reason:.200}); expected what evalkit scaling fit --save writes")
