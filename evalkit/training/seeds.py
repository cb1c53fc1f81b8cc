"""Seeds of everything that is drawn: a function of the recipe's seed and of where it is drawn, with no state to keep."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def derive_seed(seed: int, *place: int | str) -> int:
    """Make the seed of one place, e.g. ``derive_seed(0, "batch", step, piece)``: independent of all others, 63 bits.

    >>> derive_seed(0, "order", 1) == derive_seed(0, "order", 1), derive_seed(0, "order", 1) == derive_seed(1, "order", 0)
    (True, False)
    """
    digest = hashlib.blake2b(repr((seed, *place)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def seed_device(device: torch.device, seed: int) -> None:
    """Seed what a device draws from.

    `torch.manual_seed` seeds every kind of device; without a GPU it remembers each call, and where it came from, for the day
    that one appears.
    """
    import torch

    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.manual_seed(seed)
    elif device.type == "mps":
        torch.mps.manual_seed(seed)
