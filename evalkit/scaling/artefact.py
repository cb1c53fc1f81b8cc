"""A fit as one JSON document, and back: the reloaded fit predicts the same to the last digit.

The document holds the law with its settings, the points, the solution and the resamples. Floats are written as Python writes
them, which is exact. JSON has no NaN and no infinity, and neither does a fit.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from evalkit.errors import EvalkitError, InvalidInputError
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.laws import FAMILIES
from evalkit.scaling.laws.base import Law
from evalkit.scaling.losses import Loss
from evalkit.scaling.points import Points
from evalkit.scaling.result import Certificate, Draws, Fit, Local, Parameter, Quality
from evalkit.scaling.warnings import ScalingWarning

SCHEMA_VERSION = 1
_KIND = "evalkit-scaling-fit"


def to_json(fit: Fit) -> str:
    """Write a fit as one JSON document."""
    document = {
        "kind": _KIND,
        "schema_version": SCHEMA_VERSION,
        "law": {"name": fit.law.name, **fit.law.settings()},
        "loss": _plain(fit.loss),
        "constraints": _plain(fit.constraints),
        "parameters": [_plain(parameter) for parameter in fit.parameters.values()],
        "derived": [_plain(parameter) for parameter in fit.derived.values()],
        "quality": _plain(fit.quality),
        "certificate": _plain(fit.certificate),
        "method": fit.method,
        "level": fit.level,
        "standard_errors": {kind: dict(errors) for kind, errors in fit.standard_errors.items()},
        "warnings": [_plain(warning) for warning in fit.warnings],
        "timing_s": dict(fit.timing_s),
        "points": _plain(fit.points),
        "local": _plain(fit.local),
        "draws": None if fit.draws is None else _plain(fit.draws),
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def _plain(record: Any) -> dict[str, Any]:  # noqa: ANN401
    """Give the fields of a dataclass as JSON can hold them; what is not finite becomes null."""
    return {field.name: _value(getattr(record, field.name)) for field in dataclasses.fields(record)}


def _value(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, np.ndarray):
        return _value(value.tolist())
    if isinstance(value, Mapping):
        return {name: _value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _plain(value)
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value


def from_json(text: str) -> Fit:
    """Read a fit that `to_json` wrote.

    Raises:
        InvalidInputError: It is no such document, or one of a newer version.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"not JSON ({error}); expected a fit written by `evalkit scaling fit`") from error
    if not isinstance(document, dict) or document.get("kind") != _KIND:
        raise InvalidInputError(f'expected a fit with "kind": {_KIND!r}; this is another document')
    if document.get("schema_version") != SCHEMA_VERSION:
        raise InvalidInputError(
            f"the fit has schema version {document.get('schema_version')!r}, this evalkit reads {SCHEMA_VERSION};"
            " use the evalkit that wrote it, or fit again"
        )
    try:
        return _fit(document)
    except EvalkitError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInputError(f"the fit lacks or garbles {str(error)[:80]!r}; it was edited, so fit again") from error


def _fit(document: Mapping[str, Any]) -> Fit:
    return Fit(
        law=_law(document["law"]),
        loss=Loss(**document["loss"]),
        points=_points(document["points"]),
        parameters={each["name"]: Parameter(**each) for each in document["parameters"]},
        derived={each["name"]: Parameter(**each) for each in document["derived"]},
        quality=Quality(**document["quality"]),
        certificate=Certificate(**document["certificate"]),
        constraints=_constraints(document["constraints"]),
        local=Local(**_arrays(document["local"], ("coordinates", "homoscedastic", "robust"))),
        draws=None if document["draws"] is None else _draws(document["draws"]),
        method=document["method"],
        level=document["level"],
        standard_errors=document["standard_errors"],
        warnings=_warnings(document["warnings"]),
        timing_s=document["timing_s"],
    )


def _law(settings: Mapping[str, Any]) -> Law:
    rest = {name: value for name, value in settings.items() if name != "name"}
    return FAMILIES[settings["name"]](**rest)


def _constraints(record: Mapping[str, Any]) -> Constraints:
    read = {kind: dict(each) for kind, each in record.items()}
    for kind in ("bounds", "priors"):
        read[kind] = {name: tuple(pair) for name, pair in read[kind].items()}
    return Constraints(**read)


def _arrays(record: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    read = dict(record)
    for name in names:
        if read[name] is not None:
            read[name] = np.array(read[name], dtype=np.float64)
    return read


def _draws(record: Mapping[str, Any]) -> Draws:
    read = _arrays(record, ("values", "coordinates"))
    read["names"] = tuple(read["names"])
    return Draws(**read)


def _points(record: Mapping[str, Any]) -> Points:
    numbers = ("loss", "N", "D", "C", "U", "stderr", "weights", "lr", "warmup", "layers")
    read = _arrays(record, numbers)
    for name in ("run", "cluster", "seed", "group"):
        read[name] = None if read[name] is None else tuple(read[name])
    read["final"] = None if read["final"] is None else np.array(read["final"], dtype=bool)
    read["warnings"] = _warnings(read["warnings"])
    return Points(**read)


def _warnings(records: list[Mapping[str, str]]) -> tuple[ScalingWarning, ...]:
    return tuple(ScalingWarning(**record) for record in records)
