"""Several processes under `torchrun`: who they are, what they add up, how a model is spread over them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, distributed, nn

from evalkit.errors import MissingResourceError

T = TypeVar("T")

_PATIENCE = timedelta(hours=24)
"""The first process may evaluate for hours while the others wait; who dies is noticed by `torchrun`."""


@dataclass(frozen=True, slots=True)
class Processes:
    """This process among those that train together."""

    rank: int = 0
    """Its number; 0 writes files and speaks."""
    count: int = 1
    """How many there are."""

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes and speaks."""
        return self.rank == 0

    def add_up(self, values: Tensor) -> Tensor:
        """Sum a tensor over all processes, in place."""
        if self.count > 1:
            distributed.all_reduce(values)
        return values

    def first_says(self, value: T) -> T:
        """What the first process has there."""
        said = [value]
        if self.count > 1:
            distributed.broadcast_object_list(said)
        return said[0]

    def highest(self, value: int, device: torch.device) -> int:
        """The highest number that any process has there."""
        if self.count == 1:
            return value
        said = torch.tensor(value, device=device)
        distributed.all_reduce(said, distributed.ReduceOp.MAX)
        return int(said)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.count > 1:
            distributed.barrier()


@contextmanager
def joined_processes(device: torch.device) -> Iterator[tuple[Processes, torch.device]]:
    """Join the processes that `torchrun` started; without it this process is alone.

    Args:
        device: The kind of device; each process takes the one of its number on its machine.

    Yields:
        This process, and its own device.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield Processes(), device
        return
    rank = int(os.environ["RANK"])
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=_PATIENCE)
    try:
        yield Processes(rank, count), device
    finally:
        distributed.destroy_process_group()


def blocks_of(model: nn.Module) -> list[nn.Module]:
    """The blocks of a model of evalkit_models, encoder before decoder."""
    lists = [module for name, module in model.named_modules() if name.rpartition(".")[2] == "blocks"]
    return [block for blocks in lists for block in blocks.children()]


def spread(module: nn.Module, model: nn.Module, processes: Processes, kind: str) -> nn.Module:
    """Spread the training of a model over the processes.

    Args:
        module: The module whose forward pass is a loss; it holds the model.
        model: The model.
        processes: This process.
        kind: ``ddp`` or ``fsdp``.

    Returns:
        The module to call.

    Raises:
        MissingResourceError: The installed torch cannot shard.
    """
    if processes.count == 1:
        return module
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(module, gradient_as_bucket_view=True)
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError as error:
        raise MissingResourceError(f"parallel 'fsdp' needs torch 2.6 or newer, found {torch.__version__}") from error
    for block in blocks_of(model):
        fully_shard(block)
    return cast(nn.Module, fully_shard(module))


@contextmanager
def gradients_kept_apart(module: nn.Module, apart: bool) -> Iterator[None]:
    """Leave out the exchange of gradients, for all pieces of a step but the last."""
    if not apart:
        yield
    elif isinstance(module, nn.parallel.DistributedDataParallel):
        with module.no_sync():
            yield
    elif hasattr(module, "set_requires_gradient_sync"):
        sharded = cast(Any, module)
        sharded.set_requires_gradient_sync(False)
        yield
        sharded.set_requires_gradient_sync(True)
    else:
        yield


def whole(tensor: Tensor) -> Tensor:
    """The whole of a tensor that may be sharded; all processes have to ask for it."""
    gathered: Tensor = cast(Any, tensor).full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return gathered.detach()


def local(tensor: Tensor) -> Tensor:
    """What this process holds of a tensor that may be sharded."""
    held: Tensor = cast(Any, tensor).to_local() if hasattr(tensor, "to_local") else tensor
    return held.detach()


def like(values: Tensor, example: Tensor) -> Tensor:
    """Lay values out as an example is: on its device, sharded as it is."""
    if hasattr(example, "device_mesh"):
        from torch.distributed.tensor import distribute_tensor

        sharded = cast(Any, example)
        return distribute_tensor(values.to(example.device), sharded.device_mesh, sharded.placements)
    return values.to(example.device)


def gradient_norm(gradients: list[Tensor]) -> Tensor:
    """The Euclidean norm over all gradients, a scalar."""
    if not gradients:
        return torch.zeros(())
    return whole(torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))))
