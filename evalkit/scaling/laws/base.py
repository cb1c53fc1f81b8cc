"""What a law is: a formula with named parameters, a curve for the solver, and starts for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray, IntArray
from evalkit.scaling.columns import read_numbers, refuse
from evalkit.scaling.laws.curves import LOG_ZERO, Curve
from evalkit.scaling.points import Points

MAX_EXPONENT = 4.0
"""No exponent of a training run is near it; a fit that goes there follows a step in the data, not a power law."""


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """One parameter of a law as the solver moves it."""

    name: str
    """As in the formula."""
    is_log: bool = False
    """Whether the solver moves its logarithm."""
    is_amplitude: bool = False
    """Whether it multiplies a power, so that 0 takes the power away."""
    low: float | None = None
    """Lowest value that makes sense."""
    high: float | None = None
    """Highest value that makes sense."""
    is_offset: bool = False
    """Whether it is the loss that no size and no data take away."""
    is_exponent: bool = False
    """Whether it says how fast a term falls."""
    is_rate: bool = False
    """Whether it is a shape that a wide interval leaves open, as an exponent is."""
    exponent: str | None = None
    """For an amplitude, the parameter that means nothing once the term is away."""

    def to_solver(self, value: float) -> float:
        """Map a value to the solver's coordinate."""
        if not self.is_log:
            return value
        return float(np.log(value)) if value > 0 else LOG_ZERO

    def to_values(self, coordinates: FloatArray) -> FloatArray:
        """Map coordinates, any shape, to values."""
        return np.exp(coordinates) if self.is_log else coordinates


def amplitude(name: str, exponent: str | None = None) -> Coordinate:
    """Make the coordinate of a factor of a term."""
    return Coordinate(name=name, is_log=True, is_amplitude=True, low=0.0, exponent=exponent)


def offset(name: str = "E") -> Coordinate:
    """Make the coordinate of an irreducible loss."""
    return Coordinate(name=name, is_offset=True, low=0.0)


def exponent(name: str, low: float = 0.0) -> Coordinate:
    """Make the coordinate of an exponent."""
    return Coordinate(name=name, is_exponent=True, low=low, high=MAX_EXPONENT)


@dataclass(frozen=True, kw_only=True, eq=False)
class Inputs:
    """Where a law is evaluated; arrays of shape (n,)."""

    N: FloatArray | None = None
    D: FloatArray | None = None
    C: FloatArray | None = None
    U: FloatArray | None = None
    group: IntArray | None = None
    """Number of each row's group in the law's list of groups."""

    def get(self, name: str) -> FloatArray:
        """Give a predictor.

        Raises:
            InvalidInputError: It is not given.
        """
        values: FloatArray | None = getattr(self, name)
        if values is None:
            raise InvalidInputError(
                f"no {name!r} is given; expected it for this law, so add it to where it is evaluated"
            )
        return values

    def __len__(self) -> int:
        return next(len(values) for values in (self.N, self.D, self.C, self.U) if values is not None)


def inputs_at(at: Mapping[str, Any] | Points, groups: Sequence[str], names: Sequence[str]) -> Inputs:
    """Read where a law is to be evaluated.

    Args:
        at: Predictors by name, each one value or shape (m,), or points.
        groups: The law's groups, for a column ``group``.
        names: Predictors that the law has; others are passed over.

    Raises:
        InvalidInputError: A predictor is missing, not above 0, or of another length.
    """
    if isinstance(at, Points):
        given: dict[str, Any] = {name: getattr(at, name) for name in (*names, "group")}
    else:
        given = {name: at[name] for name in (*names, "group") if name in at}
        _complete(given, at, names)
    numbers = {name: _column(name, given[name]) for name in names if given.get(name) is not None}
    if not numbers:
        raise InvalidInputError(f"found none of {', '.join(map(repr, names))}; expected where to evaluate the law")
    count = max(len(values) for values in numbers.values())
    for name, values in numbers.items():
        if len(values) not in (1, count):
            raise InvalidInputError(f"{name!r} has {len(values)} values and others {count}; expected as many, or one")
        numbers[name] = np.broadcast_to(values, (count,))
    return Inputs(**numbers, group=_group_numbers(given.get("group"), groups, count))


def _complete(given: dict[str, Any], at: Mapping[str, Any], names: Sequence[str]) -> None:
    """Compute C from N and D where a law of C is asked at N and D."""
    if "C" in names and "C" not in given and "N" in at and "D" in at:
        given["C"] = 6.0 * _column("N", at["N"]) * _column("D", at["D"])


def _column(name: str, values: Any) -> FloatArray:  # noqa: ANN401
    column = read_numbers(name, np.atleast_1d(values) if np.ndim(values) == 0 else values)
    refuse(name, column, ~(np.isfinite(column) & (column > 0)), "finite numbers above 0")
    return column


def _group_numbers(labels: Any, groups: Sequence[str], count: int) -> IntArray | None:  # noqa: ANN401
    if not groups:
        return None
    if labels is None:
        raise InvalidInputError(f"no 'group' is given; expected one of {', '.join(map(repr, groups))} a row")
    names = [labels] * count if isinstance(labels, str) else [str(label) for label in labels]
    for name in names:
        if name not in groups:
            raise InvalidInputError(f"unknown group {name!r}; expected one of {', '.join(map(repr, groups))}")
    return np.array([groups.index(name) for name in names], dtype=np.int64)


class Starter(ABC):
    """Where the solver starts on given points."""

    @abstractmethod
    def spread(self, weights: FloatArray, most: int) -> FloatArray:
        """Give starts from everywhere that could hold the minimum, the likeliest first, shape (up to `most`, P)."""

    def resampled(self, weights: FloatArray, losses: FloatArray) -> FloatArray | None:
        """Give one start for each of S weightings or sets of losses, shape (S, P); None where no cheap one is known.

        Args:
            weights: Shape (S, n).
            losses: Shape (n,) or (S, n).
        """
        return None


@dataclass(frozen=True, kw_only=True)
class Law(ABC):
    """A formula for the loss; a frozen dataclass of its settings."""

    name: ClassVar[str]
    """What it is called, on the command line too."""
    formula: ClassVar[str]
    """The formula as text."""

    @property
    @abstractmethod
    def predictors(self) -> tuple[str, ...]:
        """The columns that it is a function of."""

    @property
    def optional(self) -> tuple[str, ...]:
        """Columns that it uses where they are given."""
        return ()

    @abstractmethod
    def coordinates(self, groups: Sequence[str]) -> tuple[Coordinate, ...]:
        """Give the parameters in the order of the solver's coordinates."""

    def groups(self, points: Points) -> tuple[str, ...]:
        """Give the groups that have parameters of their own; none unless a law says so."""
        return ()

    def ties(self, groups: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Give pairs of parameters of which the second equals the first."""
        return ()

    def constants(self) -> dict[str, float]:
        """Give coordinates that are no parameters of this law, with their values."""
        return {}

    @abstractmethod
    def curve(self, inputs: Inputs, groups: Sequence[str]) -> Curve:
        """Make the curve over inputs."""

    @abstractmethod
    def evaluate(self, values: Mapping[str, FloatArray], at: Mapping[str, FloatArray]) -> FloatArray:
        """Give losses by the formula, elementwise.

        Args:
            values: Parameters by name, of shapes that broadcast; the E of a group as ``E``.
            at: Predictors by name.
        """

    @abstractmethod
    def starter(self, inputs: Inputs, losses: FloatArray, held: Mapping[str, float], groups: Sequence[str]) -> Starter:
        """Make the starter.

        Args:
            inputs: Where the points lie.
            losses: Their losses, shape (n,).
            held: Values of parameters that do not move.
            groups: Groups with parameters of their own.
        """

    def derived(self, values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
        """Compute quantities that follow from the parameters, elementwise over draws."""
        return {}

    def settings(self) -> dict[str, Any]:
        """Give the settings by name, as JSON can hold them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def number_free(self, groups: Sequence[str]) -> int:
        """Count the parameters that are fitted when none is held."""
        return len(self.coordinates(groups)) - len(self.ties(groups)) - len(self.constants())
