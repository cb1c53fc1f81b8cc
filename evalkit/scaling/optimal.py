"""The best size and tokens for a budget, the least budget for a loss, and the questions the other way round.

Chinchilla's law has closed forms: with x = C / 6, a = beta / (alpha + beta) and G = (alpha A / (beta B))^(1 / (alpha + beta)),
N* = G x^a and D* = x^(1-a) / G. Other laws, repeated data and the cost of serving are minimised over ln N, exactly enough that
rounding decides.

References:
    Hoffmann et al., 2022, Training Compute-Optimal Large Language Models, equation 4.
    Muennighoff et al., 2023, Scaling Data-Constrained Language Models, section 5 (allocation under a cap of unique data).
    Sardana et al., 2024, Beyond Chinchilla-Optimal: Accounting for Inference in Language Model Scaling Laws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evalkit.errors import InvalidInputError
from evalkit.scaling.arrays import FloatArray
from evalkit.scaling.bands import extrapolation_warnings
from evalkit.scaling.columns import require_number
from evalkit.scaling.estimates import Estimate, Quantities, Values, estimate
from evalkit.scaling.laws.chinchilla import Chinchilla
from evalkit.scaling.minimum import crossing, lowest
from evalkit.scaling.result import Fit
from evalkit.scaling.warnings import ScalingWarning

FLOPS_PER_TOKEN = 6.0
"""Training FLOPs for each parameter and token."""
SERVING_FLOPS_PER_TOKEN = 2.0
"""FLOPs of a forward pass for each parameter and token."""
_LEAST = np.log(100.0)
"""No fewer parameters and no fewer tokens are considered."""
_MOST_COMPUTE = np.log(1e45)


@dataclass(frozen=True, kw_only=True)
class Optimum:
    """The best allocation of a budget."""

    C: Estimate
    """Budget in FLOPs; given, or the least that reaches the loss asked for."""
    N: Estimate
    """Parameters."""
    D: Estimate
    """Tokens seen in training."""
    loss: Estimate
    """Predicted loss there; given, if it was asked for."""
    tokens_per_parameter: Estimate
    """D / N."""
    epochs: Estimate | None
    """D over unique tokens; None without a cap."""
    exponent: Estimate | None
    """Exponent of N* in C; None where N* is no power of C."""
    inference_tokens: float
    """Tokens that the budget serves besides training."""
    warnings: tuple[ScalingWarning, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked, checked."""

    budget: float | None = None
    target: float | FloatArray | None = None
    """One loss, or one for each fit, shape (S,)."""
    unique: float | None = None
    serving: float = 0.0


def optimal(
    fit: Fit,
    *,
    C: float | None = None,
    loss: float | None = None,
    unique_tokens: float | None = None,
    inference_tokens: float = 0.0,
    group: str | None = None,
) -> Optimum:
    """Find the best allocation; see `Fit.optimal`.

    Args:
        fit: A fit of a law of N and D.
        C: Budget in FLOPs.
        loss: Target loss, in place of C.
        unique_tokens: Cap of unique tokens.
        inference_tokens: Tokens to serve.
        group: Whose E is meant where each group has its own.

    Raises:
        InvalidInputError: Both or neither of C and loss are given, one is not above 0, no budget reaches the loss, or the law
            cannot answer.
    """
    question = _checked(fit, C, loss, unique_tokens, inference_tokens)
    found = estimate(fit, lambda values: _solve(fit, values, question), group)
    if question.target is not None and not np.isfinite(found["C"].value):
        floor = fit.values.get("E", fit.values.get(f"E[{group}]", 0.0))
        raise InvalidInputError(f"loss is {loss!r}; expected one above E = {floor:.6g}, below which no budget leads")
    _require_finite(fit, found)
    exponent = None
    if "a" in fit.derived and question.unique is None and question.serving == 0:
        derived = fit.derived["a"]
        exponent = Estimate(value=derived.value, low=derived.low, high=derived.high)
    return Optimum(
        C=found["C"],
        N=found["N"],
        D=found["D"],
        loss=found["loss"],
        tokens_per_parameter=found["ratio"],
        epochs=found.get("epochs"),
        exponent=exponent,
        inference_tokens=question.serving,
        warnings=_warnings(fit, found["C"].value),
    )


def _require_finite(fit: Fit, found: Mapping[str, Estimate]) -> None:
    for name in ("C", "N", "D", "loss"):
        value = found[name].value
        if not 0 < value < np.inf:
            raise InvalidInputError(
                f"{name} comes out as {value!r} under the law {fit.law.name!r}; expected a finite number above 0, so ask for a"
                " budget or loss nearer to the runs, or fewer tokens to serve"
            )


def _checked(fit: Fit, budget: float | None, loss: float | None, unique: float | None, serving: float) -> Question:
    if not {"N", "D"} <= set(fit.law.predictors):
        raise InvalidInputError(
            f"the law {fit.law.name!r} is no function of N and D; fit 'chinchilla' to allocate a budget"
        )
    if (budget is None) == (loss is None):
        raise InvalidInputError("expected one of C (a budget in FLOPs) and loss (a target), found both or neither")
    if unique is not None and "U" not in fit.law.optional:
        raise InvalidInputError(
            f"the law {fit.law.name!r} does not say what repeated tokens are worth; fit 'repeated' for a cap of unique tokens"
        )
    if serving != 0:
        serving = require_number("inference_tokens", serving)
    return Question(
        budget=None if budget is None else require_number("C", budget),
        target=None if loss is None else require_number("loss", loss),
        unique=None if unique is None else require_number("unique_tokens", unique),
        serving=serving,
    )


def _solve(fit: Fit, values: Values, question: Question) -> Quantities:
    shape = next(iter(values.values())).shape
    with np.errstate(all="ignore"):
        given = question.budget
        budget = _least_budget(fit, values, question) if given is None else np.full(shape, given)
        size = best_size(fit, values, budget, question)
        tokens = _tokens(size, budget, question)
        found = {
            "C": budget,
            "N": size,
            "D": tokens,
            "loss": _loss(fit, values, size, tokens, question.unique),
            "ratio": tokens / size,
        }
        if question.unique is not None:
            found["epochs"] = np.maximum(tokens / question.unique, 1.0)
    return found


def _tokens(size: FloatArray, budget: FloatArray, question: Question) -> FloatArray:
    rest = budget - SERVING_FLOPS_PER_TOKEN * size * question.serving
    tokens: FloatArray = rest / (FLOPS_PER_TOKEN * size)
    return tokens


def _loss(fit: Fit, values: Values, size: FloatArray, tokens: FloatArray, unique: float | None) -> FloatArray:
    at = {"N": size, "D": tokens}
    if unique is not None:
        at["U"] = np.minimum(tokens, unique)
    return fit.law.evaluate(values, at)


def _is_closed(fit: Fit, question: Question) -> bool:
    return isinstance(fit.law, Chinchilla) and question.serving == 0 and question.unique is None


def best_size(fit: Fit, values: Values, budget: FloatArray, question: Question | None = None) -> FloatArray:
    """Give the best sizes of budgets, both of shape (S,); the question says what else the budget pays for."""
    question = question or Question()
    if _is_closed(fit, question):
        derived = fit.law.derived(values)
        closed: FloatArray = derived["G"] * (budget / FLOPS_PER_TOKEN) ** derived["a"]
        return closed
    high = np.log(budget / FLOPS_PER_TOKEN) - _LEAST
    if question.serving > 0:
        # Where serving alone eats the budget no token is left to train on.
        high = np.minimum(high, np.log(budget / (SERVING_FLOPS_PER_TOKEN * question.serving)) - 1e-9)

    def curves(log_size: FloatArray) -> FloatArray:
        size = np.exp(log_size)
        return _loss(fit, values, size, _tokens(size, budget, question), question.unique)

    return np.exp(lowest(curves, np.full_like(budget, _LEAST), high))


def _least_budget(fit: Fit, values: Values, question: Question) -> FloatArray:
    """Give the least budget that reaches the target, shape (S,); NaN where none does."""
    target = question.target
    assert target is not None
    if _is_closed(fit, question):
        derived = fit.law.derived(values)
        alpha, beta = values["alpha"], values["beta"]
        gamma = alpha * beta / (alpha + beta)
        scale = values["A"] * derived["G"] ** -alpha + values["B"] * derived["G"] ** beta
        rest = target - values["E"]
        closed: FloatArray = np.where(rest > 0, FLOPS_PER_TOKEN * (scale / rest) ** (1.0 / gamma), np.nan)
        return closed
    shape = next(iter(values.values())).shape

    def above(log_budget: FloatArray) -> FloatArray:
        budget = np.exp(log_budget)
        size = best_size(fit, values, budget, question)
        return _loss(fit, values, size, _tokens(size, budget, question), question.unique) - target

    low = np.full(shape, np.log(FLOPS_PER_TOKEN) + 2.0 * _LEAST + 1.0)
    if question.serving > 0:
        low = np.maximum(low, np.log(SERVING_FLOPS_PER_TOKEN * question.serving) + _LEAST + 1.0)
    return np.exp(crossing(above, low, np.full(shape, _MOST_COMPUTE)))


def _warnings(fit: Fit, budget: float) -> tuple[ScalingWarning, ...]:
    if fit.points.C is None or not np.isfinite(budget):
        return ()
    return extrapolation_warnings(np.array([budget / float(fit.points.C.max())]))


def tokens_for(fit: Fit, loss: float, N: float, group: str | None = None) -> Estimate:
    """Give the tokens that a model of N parameters needs to reach a loss.

    Raises:
        InvalidInputError: No number of tokens reaches it at that size.
    """
    return _inverse(fit, require_number("loss", loss), {"N": require_number("N", N)}, "D", group)


def size_for(fit: Fit, loss: float, D: float, group: str | None = None) -> Estimate:
    """Give the size that reaches a loss on D tokens.

    Raises:
        InvalidInputError: No size reaches it on that many tokens.
    """
    return _inverse(fit, require_number("loss", loss), {"D": require_number("D", D)}, "N", group)


def _inverse(fit: Fit, target: float, fixed: Mapping[str, float], name: str, group: str | None) -> Estimate:
    if not {name, *fixed} <= set(fit.law.predictors):
        raise InvalidInputError(
            f"the law {fit.law.name!r} is no function of N and D; fit 'chinchilla' to ask for {name}"
        )

    def compute(values: Values) -> Quantities:
        shape = next(iter(values.values())).shape

        def above(log_place: FloatArray) -> FloatArray:
            at = {key: np.full(shape, value) for key, value in fixed.items()} | {name: np.exp(log_place)}
            return fit.law.evaluate(values, at) - target

        return {name: np.exp(crossing(above, np.zeros(shape), np.full(shape, np.log(1e30))))}

    found = estimate(fit, compute, group)[name]
    if not np.isfinite(found.value):
        shown = ", ".join(f"{key} = {value:.6g}" for key, value in fixed.items())
        raise InvalidInputError(f"loss is {target!r}; no {name} reaches it at {shown}, so ask for a higher loss")
    return found


def best_loss(fit: Fit, values: Values, budget: float) -> FloatArray:
    """Give the loss of the best allocation of a budget for S parameter vectors, shape (S,)."""
    return _solve(fit, values, _checked(fit, budget, None, None, 0.0))["loss"]


def least_budget(fit: Fit, values: Values, targets: FloatArray) -> FloatArray:
    """Give the least budgets for losses, both of shape (S,); NaN where no budget reaches a loss."""
    with np.errstate(all="ignore"):
        return _least_budget(fit, values, Question(target=targets))
