"""One conformance case: inputs, settings and the values that the reference scorer gave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line of a conformance file; the fields are those of the format, described in docs/conformance.md."""

    id: str
    metric: str
    params: Mapping[str, Any]
    predictions: list[Any]
    references: list[Any]
    expected: Mapping[str, Any]
    tolerance: float
    source: str
    tags: tuple[str, ...]
    note: str


Evaluator: TypeAlias = Callable[[Case], Mapping[str, Any]]
"""Computes, from a case's inputs and params, at least the values that `expected` names.

Raises ValueError or TypeError for bad inputs, as an error case expects; `MissingResourceError` where a resource is absent,
which skips the case with that reason.
"""
