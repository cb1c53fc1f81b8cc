"""A law bound to points: what every fit, refit and interval of one analysis shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.arrays import FloatArray, IntArray
from evalkit.scaling.columns import refuse
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.laws.base import Coordinate, Inputs, Law, Starter, inputs_at
from evalkit.scaling.losses import Loss
from evalkit.scaling.points import Points
from evalkit.scaling.solver.newton import Minima
from evalkit.scaling.solver.problem import Penalty
from evalkit.scaling.solver.search import Frame, Search


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """A law over points under a loss and constraints, ready to be solved under any weights."""

    law: Law
    points: Points
    loss: Loss
    constraints: Constraints
    groups: tuple[str, ...]
    coordinates: tuple[Coordinate, ...]
    inputs: Inputs
    weights: FloatArray
    """Weights of mean 1, shape (n,)."""
    weight_scale: float
    """What an objective under `weights` is multiplied by to be one under the weights that were given."""
    search: Search
    starter: Starter

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all coordinates."""
        return tuple(coordinate.name for coordinate in self.coordinates)

    @property
    def shown(self) -> list[int]:
        """Coordinates that are parameters of the law."""
        constants = self.law.constants()
        return [index for index, name in enumerate(self.names) if name not in constants]

    @property
    def free_count(self) -> int:
        """Number of parameters that are fitted."""
        return int(self.search.frame.reduction().matrix.shape[1])

    def values(self, coordinates: FloatArray) -> FloatArray:
        """Map coordinates, shape (S, P), to values of parameters, shape (S, shown)."""
        columns = [self.coordinates[index].to_values(coordinates[:, index]) for index in self.shown]
        return np.column_stack(columns)

    def log_predictions(self, coordinates: FloatArray) -> FloatArray:
        """Give ln f at the points, for coordinates of shape (S, P); returns shape (S, n)."""
        with np.errstate(all="ignore"):
            return self.search.curve.evaluate(coordinates).log_values

    def residuals(self, coordinates: FloatArray) -> FloatArray:
        """Give residuals as the loss takes them, for coordinates of shape (P,); returns shape (n,)."""
        predicted = self.log_predictions(coordinates[None])[0]
        if self.loss.is_linear:
            linear: FloatArray = self.points.loss - np.exp(predicted)
            return linear
        logs: FloatArray = np.log(self.points.loss) - predicted
        return logs

    def refit(
        self, weights: FloatArray, bases: FloatArray, losses: FloatArray | None = None, has_grid: bool = True
    ) -> Minima:
        """Fit again under many weightings or sets of losses.

        Args:
            weights: Shape (S, n).
            bases: Solutions to start from, shape (b, P), the best first.
            losses: Losses in place of the points' own, shape (S, n).
            has_grid: Whether each problem gets a start of its own where the law knows a cheap one.

        Returns:
            The lowest minimum of each problem.
        """
        search = self.search if losses is None else replace(self.search, losses=losses)
        own = self.starter.resampled(weights, search.losses) if has_grid else None
        first = np.repeat(bases[:1], len(weights), axis=0)
        result = search.run(weights, first if own is None else self._held(own), bases[0])
        if own is not None:
            # Where the grid led higher than the full fit's own solution, that is the better start.
            high = self._objective(search, weights, first) < result.objective * (1.0 - 1e-9)
            _retry(search, weights, first, np.flatnonzero(high | ~result.converged), (result, bases[0]))
        for other in bases[1:]:
            starts = np.repeat(other[None], len(weights), axis=0)
            _retry(search, weights, starts, np.arange(len(weights)), (result, bases[0]))
        return result

    def _held(self, starts: FloatArray) -> FloatArray:
        reduction = self.search.frame.reduction()
        return reduction.expand(reduction.restrict(starts))

    def _objective(self, search: Search, weights: FloatArray, starts: FloatArray) -> FloatArray:
        predicted = self.log_predictions(starts[:1])
        target = search.losses if self.loss.is_linear else np.log(search.losses)
        values = self.loss.rho(target - (np.exp(predicted) if self.loss.is_linear else predicted))
        total: FloatArray = np.einsum("sn,sn->s", np.broadcast_to(values, weights.shape), weights)
        return total

    def with_loss(self, loss: Loss) -> Model:
        """Give the same model under another loss."""
        return replace(self, loss=loss, search=replace(self.search, loss=loss))

    def with_frame(self, frame: Frame) -> Model:
        """Give the same model with other coordinates held."""
        return replace(self, search=replace(self.search, frame=frame))


def _retry(
    search: Search, weights: FloatArray, starts: FloatArray, rows: IntArray, kept: tuple[Minima, FloatArray]
) -> None:
    """Search again for some problems from other starts, and keep what is lower."""
    if not len(rows):
        return
    result, reference = kept
    found = search.take(rows).run(weights[rows], starts[rows], reference)
    better = np.flatnonzero(found.objective < result.objective[rows])
    result.put(rows[better], found.take(better))


def build_model(points: Points, law: Law, loss: Loss, constraints: Constraints) -> Model:
    """Bind a law to points.

    Raises:
        InvalidInputError: The points lack a predictor or a group, or a constraint cannot be met.
        UnknownNameError: A constraint names no parameter of the law.
    """
    groups = law.groups(points)
    coordinates = law.coordinates(groups)
    for name in law.predictors:
        points.axis(name)
    inputs = inputs_at(points, groups, (*law.predictors, *law.optional))
    _check_names(constraints, coordinates, law)
    held = {**law.constants(), **constraints.fixed}
    frame = _frame(law, coordinates, constraints, held, groups)
    weights = points.weight()
    scale = float(weights.mean())
    search = Search(law.curve(inputs, groups), points.loss, loss, frame)
    return Model(
        law=law,
        points=points,
        loss=loss,
        constraints=constraints,
        groups=groups,
        coordinates=coordinates,
        inputs=inputs,
        weights=weights / scale,
        weight_scale=scale,
        search=search,
        starter=law.starter(inputs, points.loss, held, groups),
    )


def _check_names(constraints: Constraints, coordinates: Sequence[Coordinate], law: Law) -> None:
    known = [coordinate.name for coordinate in coordinates if coordinate.name not in law.constants()]
    for name in (*constraints.fixed, *constraints.bounds, *constraints.priors):
        if name not in known:
            raise UnknownNameError(f"parameter of {law.name}", str(name), known)
    for name, value in constraints.fixed.items():
        coordinate = next(each for each in coordinates if each.name == name)
        if not np.isfinite(value) or (coordinate.is_log and value < 0):
            raise InvalidInputError(f"fixed {name} is {value!r}; expected a finite number of 0 or more")


def _frame(
    law: Law, coordinates: Sequence[Coordinate], constraints: Constraints, held: dict[str, float], groups: Sequence[str]
) -> Frame:
    names = [coordinate.name for coordinate in coordinates]
    low, high = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for index, coordinate in enumerate(coordinates):
        lowest, highest = constraints.bounds.get(coordinate.name, (None, None))
        lowest = coordinate.low if lowest is None else lowest
        highest = coordinate.high if highest is None else highest
        if lowest is not None:
            low[index] = coordinate.to_solver(lowest)
        if highest is not None:
            high[index] = coordinate.to_solver(highest)
        if low[index] > high[index]:
            raise InvalidInputError(
                f"bounds of {coordinate.name} are {lowest!r} and {highest!r}; expected the lower one first"
            )
    ties = tuple((names.index(first), names.index(second)) for first, second in law.ties(groups))
    fixed = {names.index(name): coordinates[names.index(name)].to_solver(value) for name, value in held.items()}
    return Frame(low, high, ties, fixed)


def penalty_of(model: Model, noise: float) -> Penalty | None:
    """Turn priors into a penalty on the scale of the objective.

    Args:
        model: The model.
        noise: Variance of the noise under the quasi-likelihood, which says how much an objective of 1 weighs.
    """
    if not model.constraints.priors:
        return None
    strength, center = np.zeros(len(model.names)), np.zeros(len(model.names))
    for name, (middle, deviation) in model.constraints.priors.items():
        index = model.names.index(name)
        coordinate = model.coordinates[index]
        refuse(f"prior of {name}", np.array([deviation]), np.array([not deviation > 0]), "a deviation above 0")
        if coordinate.is_log and not middle > 0:
            raise InvalidInputError(f"prior of {name} has the median {middle!r}; expected a number above 0")
        strength[index], center[index] = noise / deviation**2, coordinate.to_solver(middle)
    return Penalty(strength, center)
