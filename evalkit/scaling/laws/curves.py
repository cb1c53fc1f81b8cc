"""The log of a law's loss with its first and second derivatives, for many parameter vectors at once.

A curve stands over n points. Parameters come as solver coordinates, shape (S, P): logarithms of amplitudes, exponents as they
are. Newton's method needs sums over the points only, so curves give those, not the derivatives of each point:

    gradient(state, c)       sum_i c_i g_i                          g_i  gradient of ln f at point i
    hessian(state, c, k)     sum_i c_i g_i g_i' + k_i H_i           H_i  its Hessian
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evalkit.scaling.arrays import FloatArray, IntArray

LOG_ZERO = -800.0
"""Stands for ln 0: its exponential is 0 in float64, and sums with it stay finite."""


@dataclass(frozen=True, eq=False)
class State:
    """A curve at S parameter vectors."""

    log_values: FloatArray
    """Shape (S, n)."""
    parts: tuple[FloatArray, ...]
    """What the derivatives are made of; the curve's own affair."""

    def take(self, rows: IntArray) -> State:
        """Give some of the parameter vectors."""
        return State(self.log_values[rows], tuple(part[rows] for part in self.parts))


class Curve(ABC):
    """ln f over n points."""

    size: int
    """Number of coordinates P."""

    @abstractmethod
    def evaluate(self, coordinates: FloatArray) -> State:
        """Evaluate at coordinates of shape (S, P)."""

    @abstractmethod
    def gradient(self, state: State, first: FloatArray) -> FloatArray:
        """Sum gradients with coefficients of shape (S, n); returns shape (S, P)."""

    @abstractmethod
    def hessian(self, state: State, outer: FloatArray, second: FloatArray | None) -> FloatArray:
        """Sum outer products and, where coefficients are given, Hessians; coefficients (S, n), returns (S, P, P)."""

    @abstractmethod
    def slopes(self, state: State) -> FloatArray:
        """Give the gradient of ln f at each point, shape (S, n, P)."""


class TermsCurve(Curve):
    """ln of a sum of exponentials of linear forms, and of one linear form: power laws with offsets.

    An offset stays linear, since the path to an offset of 0 is straight there, and endless and bent in its logarithm.

    Args:
        size: Number of coordinates.
        terms: For each exponential the coordinates it depends on and their factors, shape (n, coordinates of the term).
        offset: The same for the linear form; None where there is none.
    """

    def __init__(
        self,
        size: int,
        terms: Sequence[tuple[Sequence[int], FloatArray]],
        offset: tuple[Sequence[int], FloatArray] | None = None,
    ) -> None:
        self.size = size
        self._powers = len(terms)
        terms = [*terms] if offset is None else [*terms, offset]
        self._places = [list(places) for places, _ in terms]
        self._factors = [np.ascontiguousarray(factors) for _, factors in terms]
        self._pairs = [(k, m) for k in range(len(terms)) for m in range(k + 1)]
        self._blocks = [
            (slice(None), np.array(self._places[k])[:, None], np.array(self._places[m])) for k, m in self._pairs
        ]
        self._products = [
            (self._factors[k][:, :, None] * self._factors[m][:, None, :]).reshape(len(self._factors[k]), -1)
            for k, m in self._pairs
        ]

    def evaluate(self, coordinates: FloatArray) -> State:
        """Evaluate at coordinates of shape (S, P)."""
        forms = [
            coordinates[:, places] @ factors.T for places, factors in zip(self._places, self._factors, strict=True)
        ]
        values = [np.exp(form) for form in forms[: self._powers]] + forms[self._powers :]
        total = values[0] if len(values) == 1 else sum(values[1:], values[0])
        inverse = 1.0 / total
        parts = [value * inverse for value in values[: self._powers]]
        return State(np.log(total), (*parts, inverse)[: len(values)])

    def gradient(self, state: State, first: FloatArray) -> FloatArray:
        """Sum gradients: each term's factors by its share of f, those of the offset by 1 / f."""
        result = np.zeros((len(first), self.size))
        for share, places, factors in zip(state.parts, self._places, self._factors, strict=True):
            result[:, places] += (first * share) @ factors
        return result

    def hessian(self, state: State, outer: FloatArray, second: FloatArray | None) -> FloatArray:
        """Sum outer products and Hessians; ln f has that of f over f, which exponentials alone have, less the outer product."""
        result = np.zeros((len(outer), self.size, self.size))
        crossed = outer if second is None else outer - second
        scaled = [crossed * share for share in state.parts]
        for (k, m), place, products in zip(self._pairs, self._blocks, self._products, strict=True):
            coefficients = scaled[k] * state.parts[m]
            if k == m and k < self._powers and second is not None:
                coefficients += second * state.parts[k]
            block = (coefficients @ products).reshape(-1, len(self._places[k]), len(self._places[m]))
            result[place] += block
            if k != m:
                result.transpose(0, 2, 1)[place] += block
        return result

    def slopes(self, state: State) -> FloatArray:
        """Give the gradient of ln f at each point."""
        result = np.zeros((*state.log_values.shape, self.size))
        for share, places, factors in zip(state.parts, self._places, self._factors, strict=True):
            result[:, :, places] += share[:, :, None] * factors
        return result


class DenseCurve(Curve):
    """A curve whose derivatives are held point by point; for laws that are no plain sum of exponentials.

    Subclasses evaluate to a state whose first part is the gradient of each point, shape (S, n, P), and say how Hessians
    are summed.
    """

    def gradient(self, state: State, first: FloatArray) -> FloatArray:
        """Sum gradients."""
        total: FloatArray = np.matmul(first[:, None, :], state.parts[0])[:, 0]
        return total

    def hessian(self, state: State, outer: FloatArray, second: FloatArray | None) -> FloatArray:
        """Sum outer products and Hessians."""
        slopes = state.parts[0]
        result: FloatArray = np.matmul((slopes * outer[:, :, None]).transpose(0, 2, 1), slopes)
        return result if second is None else result + self.curvature(state, second)

    @abstractmethod
    def curvature(self, state: State, second: FloatArray) -> FloatArray:
        """Sum Hessians with coefficients of shape (S, n); returns shape (S, P, P)."""

    def slopes(self, state: State) -> FloatArray:
        """Give the gradient of ln f at each point, shape (S, n, P)."""
        return state.parts[0]


class OuterCurve(DenseCurve):
    """ln(E + e^s) for an s that is no linear form; the first coordinate is E.

    Args:
        size: Number of coordinates.
    """

    def __init__(self, size: int) -> None:
        self.size = size

    @abstractmethod
    def inner(self, coordinates: FloatArray) -> tuple[FloatArray, FloatArray, tuple[FloatArray, ...]]:
        """Give s, shape (S, n), its gradient at each point, (S, n, P), and what its Hessian is made of."""

    @abstractmethod
    def inner_curvature(self, parts: tuple[FloatArray, ...], weights: FloatArray) -> FloatArray:
        """Sum Hessians of s with coefficients of shape (S, n); returns shape (S, P, P)."""

    def evaluate(self, coordinates: FloatArray) -> State:
        """Evaluate at coordinates of shape (S, P)."""
        s, slopes, parts = self.inner(coordinates)
        power = np.exp(s)
        inverse = 1.0 / (power + coordinates[:, :1])
        share = power * inverse
        gradient = slopes * share[:, :, None]
        gradient[:, :, 0] = inverse
        return State(-np.log(inverse), (gradient, share, slopes, *parts))

    def curvature(self, state: State, second: FloatArray) -> FloatArray:
        """Sum Hessians: that of e^s over f, less the outer product."""
        gradient, share, slopes, *parts = state.parts
        force = second * share
        total = self.inner_curvature(tuple(parts), force)
        total += np.matmul((slopes * force[:, :, None]).transpose(0, 2, 1), slopes)
        result: FloatArray = total - np.matmul((gradient * second[:, :, None]).transpose(0, 2, 1), gradient)
        return result
