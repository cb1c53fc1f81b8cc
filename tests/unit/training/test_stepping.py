"""One step: pieces of a batch are the batch, the gradient is that of the mean over targets, and nothing unfinite is applied."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit.training.objective import Batch, Loss
from evalkit.training.parallel import Processes
from evalkit.training.stepping import Stepper


class Regression:
    """Examples of different numbers of targets, so that a mean of means would be another mean."""

    name = "regression"

    def __init__(self) -> None:
        generator = torch.Generator().manual_seed(0)
        self.rows = [torch.randn(1 + place % 5, 3, generator=generator) for place in range(12)]

    @property
    def lengths(self) -> Sequence[int]:
        return [len(rows) for rows in self.rows]

    def collate(self, places: Sequence[int], generator: torch.Generator) -> Batch:
        joined = torch.cat([self.rows[place] for place in places])
        return Batch({"x": joined}, len(joined))

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        x = batch.tensors["x"]
        return Loss((model(x)[:, 0] - x.sum(dim=1)).square().sum(), len(x))


def line() -> nn.Module:
    model = nn.Linear(3, 1)
    nn.init.constant_(model.weight, 0.5)
    nn.init.constant_(model.bias, -0.25)
    return model


def stepper(recipe, *overrides: str) -> Stepper:
    return Stepper(line(), Regression(), recipe("optimizer.clip=0", *overrides), Processes())


def weights(one: Stepper) -> Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in one.model.parameters()])


PLACES = [3, 0, 7, 4, 11, 2]


@pytest.mark.parametrize("accumulate", [2, 3, 6, 8])
def test_accumulated_pieces_are_one_big_batch(recipe, accumulate: int):
    whole, parts = stepper(recipe), stepper(recipe, f"batch.accumulate={accumulate}")
    for number in range(4):
        one, other = whole.step(PLACES, number, 0.01), parts.step(PLACES, number, 0.01)
        assert one.target_count == other.target_count
        assert one.token_count == other.token_count
        assert one.loss_nats == pytest.approx(other.loss_nats, rel=1e-6)
        assert one.gradient_norm == pytest.approx(other.gradient_norm, rel=1e-5)
    torch.testing.assert_close(weights(whole), weights(parts), atol=1e-6, rtol=1e-5)


def test_the_loss_and_its_gradient_are_means_over_all_targets(recipe):
    one, model = stepper(recipe, "batch.accumulate=2"), line()
    x = torch.cat([Regression().rows[place] for place in PLACES])
    loss = functional.mse_loss(model(x)[:, 0], x.sum(dim=1))
    loss.backward()
    norm = torch.cat([parameter.grad.flatten() for parameter in model.parameters()]).norm()
    stepped = one.step(PLACES, 0, 0.01)
    assert stepped.loss_nats == pytest.approx(float(loss.detach()), rel=1e-6)
    assert stepped.gradient_norm == pytest.approx(float(norm), rel=1e-5)


def test_a_gradient_that_is_too_long_is_cut_to_the_limit(recipe):
    # Without momentum and with a huge eps a step of AdamW is the gradient over eps.
    still = ("optimizer.beta1=0", "optimizer.beta2=0", "optimizer.eps=1e6", "optimizer.weight_decay=0")
    free = stepper(recipe, *still)
    cut = Stepper(line(), Regression(), recipe(*still, "optimizer.clip=0.5"), Processes())
    before = weights(free)
    norm = free.step(PLACES, 0, 1e6).gradient_norm
    assert cut.step(PLACES, 0, 1e6).gradient_norm == pytest.approx(norm)
    assert norm > 0.5
    torch.testing.assert_close(weights(cut) - before, (weights(free) - before) * 0.5 / norm, atol=1e-5, rtol=1e-3)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_step_whose_loss_is_not_finite_changes_nothing(recipe, bad: float):
    one = stepper(recipe)
    one.step(PLACES, 0, 0.01)
    before, state = weights(one), one.optimizer_state()
    one._objective.rows[3] = torch.full((1, 3), bad)
    assert not one.step(PLACES, 1, 0.01).is_finite
    torch.testing.assert_close(weights(one), before, atol=0, rtol=0)
    for key, value in one.optimizer_state().items():
        torch.testing.assert_close(value, state[key], atol=0, rtol=0)


def test_what_was_kept_and_restored_steps_as_if_nothing_had_happened(recipe):
    whole, first = stepper(recipe), stepper(recipe)
    for number in range(3):
        whole.step(PLACES, number, 0.01)
        first.step(PLACES, number, 0.01)
    kept = {key: value.clone() for key, value in first.model_state().items()}
    kept_optimizer = {key: value.clone() for key, value in first.optimizer_state().items()}
    again = stepper(recipe)
    again.restore(kept, kept_optimizer)
    for number in range(3, 6):
        whole.step(PLACES[: number - 1], number, 0.02)
        again.step(PLACES[: number - 1], number, 0.02)
    torch.testing.assert_close(weights(whole), weights(again), atol=0, rtol=0)
