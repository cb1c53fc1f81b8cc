"""One optimiser step: pieces of a batch, their gradients added up, normed by all targets, clipped, applied."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from evalkit.errors import IncompleteError, InvalidInputError
from evalkit.training.batches import piece_count, pieces
from evalkit.training.objective import Batch, Objective
from evalkit.training.optimizers import build_optimizer
from evalkit.training.parallel import Processes, blocks_of, gradient_norm, gradients_kept_apart, like, spread, whole
from evalkit.training.recipe import Recipe
from evalkit.training.seeds import derive_seed, seed_device


@dataclass(frozen=True, slots=True)
class Stepped:
    """What one step came to, over all pieces and processes."""

    loss_nats: float
    """Mean loss of a target, before the step."""
    gradient_norm: float
    """Euclidean norm of the mean loss's gradient, before clipping."""
    target_count: int
    """Targets of the batch."""
    token_count: int
    """Tokens that went through the model."""

    @property
    def is_finite(self) -> bool:
        """Whether the step was taken: loss and gradient were finite."""
        return math.isfinite(self.loss_nats) and math.isfinite(self.gradient_norm)


class LossModule(nn.Module):
    """A model whose forward pass is an objective's loss, so that what wraps modules wraps the whole pass.

    Args:
        model: The model.
        objective: What it loses on a batch.
    """

    def __init__(self, model: nn.Module, objective: Objective) -> None:
        super().__init__()
        self.model = model
        self._objective = objective

    def forward(self, batch: Batch) -> tuple[Tensor, int]:
        """Compute the summed loss and the number of its targets."""
        loss = self._objective.loss(self.model, batch)
        return loss.total, loss.target_count


def prepare_blocks(model: nn.Module, recipe: Recipe) -> None:
    """Make the blocks recompute themselves or compile them, as the recipe asks; their parameters keep their names.

    All blocks of a model share their code, so that it is compiled once, however the model is called.
    """
    for block in blocks_of(model):
        if recipe.activation_checkpointing:
            block.forward = partial(checkpoint, block.forward, use_reentrant=False)
        if recipe.compile:
            block.compile()


@contextmanager
def _memory_named(examples: int) -> Iterator[None]:
    """Say in one line that the device has no memory left, and what takes less."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise IncompleteError(
            f"out of memory at {examples} examples at once: {str(error).splitlines()[0]}; raise batch.accumulate, which changes"
            " no result, set activation_checkpointing = true, or lower the batch"
        ) from error


class Stepper:
    """A model in training: takes steps on batches, and gives and takes the state that its steps depend on.

    Args:
        model: The model, on its device.
        objective: What it learns.
        recipe: How.
        processes: This process among those that train together.
        is_bf16: Whether the forward pass runs under bf16 autocast.
    """

    def __init__(
        self, model: nn.Module, objective: Objective, recipe: Recipe, processes: Processes, *, is_bf16: bool = False
    ) -> None:
        self.model = model
        self.device = next(model.parameters()).device
        self.is_bf16 = is_bf16
        self._objective = objective
        self._recipe = recipe
        self._processes = processes
        prepare_blocks(model, recipe)
        self._module = spread(LossModule(model, objective), model, processes, recipe.parallel)
        self.is_sharded = processes.count > 1 and recipe.parallel == "fsdp"
        self.optimizer = build_optimizer(model, recipe.optimizer, is_sharded=self.is_sharded)
        self._piece_count = piece_count(recipe.batch.accumulate, processes.count)
        self._trained = [parameter for parameter in model.parameters() if parameter.requires_grad]

    def step(self, places: Sequence[int], number: int, rate: float) -> Stepped:
        """Take one step, unless loss or gradient are not finite.

        Args:
            places: The examples of the batch, of all processes.
            number: Number of the step, which together with the recipe's seed decides masks and dropout.
            rate: The learning rate.
        """
        sums = self.add_gradients(places, number)
        loss, targets, tokens = sums.tolist()
        gradients = [parameter.grad for parameter in self._trained if parameter.grad is not None]
        # A process has the mean over processes of what was summed over targets.
        scale = self._processes.count / max(targets, 1.0)
        norm = float(gradient_norm(gradients)) * scale
        stepped = Stepped(loss / max(targets, 1.0), norm, int(targets), int(tokens))
        if stepped.is_finite:
            longest = self._recipe.optimizer.clip
            if longest and norm > longest:
                scale *= longest / norm
            self.optimizer.step(rate, scale)
        self.drop_gradients()
        return stepped

    def add_gradients(self, places: Sequence[int], number: int) -> Tensor:
        """Add up the gradients of the summed loss over a batch.

        Returns:
            Loss, targets and tokens of the batch, `(3,)`, over all processes.
        """
        shares = pieces(places, self._piece_count)
        mine = range(self._processes.rank, self._piece_count, self._processes.count)
        precise = torch.float32 if self.device.type == "mps" else torch.float64
        sums = torch.zeros(3, dtype=precise, device=self.device)
        for piece in mine:
            # Every process has to take part in the exchange, so one without examples computes others' for nothing.
            weight = 1.0 if shares[piece] else 0.0
            batch = self._batch(shares[piece] or shares[0], number, piece)
            with gradients_kept_apart(self._module, piece != mine[-1]), _memory_named(len(shares[piece])):
                total, targets = self._forward(batch, number, piece)
                torch.autograd.backward(total if weight else total * 0.0)
            sums[0] += weight * total.detach()
            sums[1:] += weight * sums.new_tensor((targets, batch.token_count))
        return self._processes.add_up(sums)

    def drop_gradients(self) -> None:
        """Forget the gradients, and give their memory back."""
        for parameter in self._trained:
            parameter.grad = None

    def _batch(self, places: Sequence[int], number: int, piece: int) -> Batch:
        generator = torch.Generator().manual_seed(derive_seed(self._recipe.seed, "batch", number, piece))
        return self._objective.collate(places, generator).to(self.device)

    def _forward(self, batch: Batch, number: int, piece: int) -> tuple[Tensor, int]:
        seed_device(self.device, derive_seed(self._recipe.seed, "dropout", number, piece))
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.is_bf16):
            try:
                total, targets = self._module(batch)
            except RuntimeError as error:
                if self._recipe.compile and "torch._" in type(error).__module__:
                    raise InvalidInputError(
                        f"torch.compile does not work here: {error}; set compile = false"
                    ) from error
                raise
        return total, targets

    def model_state(self) -> dict[str, Tensor]:
        """The weights, whole, under the model's own names; all processes have to ask for them."""
        return {name: whole(tensor) for name, tensor in self.model.state_dict().items()}

    def optimizer_state(self) -> dict[str, Tensor]:
        """The optimiser's tensors, whole, under ``<parameter>/<name>``; all processes have to ask for them."""
        return {
            f"{name}/{key}": whole(value)
            for name, parameter in self._named()
            for key, value in self.optimizer.state.get(parameter, {}).items()
        }

    def restore(self, weights: Mapping[str, Tensor], optimizer: Mapping[str, Tensor]) -> None:
        """Take over what `model_state` and `optimizer_state` gave."""
        with torch.no_grad():
            for name, tensor in self.model.state_dict().items():
                tensor.copy_(like(weights[name], tensor))
        for name, parameter in self._named():
            kept = {key.rpartition("/")[2]: value for key, value in optimizer.items() if key.rpartition("/")[0] == name}
            if kept:
                self.optimizer.restore(parameter, kept)

    def _named(self) -> list[tuple[str, nn.Parameter]]:
        return [(name, parameter) for name, parameter in self.model.named_parameters() if parameter.requires_grad]
