"""Seeds of everything that is drawn: a function of the recipe's seed and of where it is drawn, with no state to keep."""

from __future__ import annotations

import hashlib


def derive_seed(seed: int, *place: int | str) -> int:
    """Make the seed of one place, e.g. ``derive_seed(0, "batch", step, piece)``: independent of all others, 63 bits.

    >>> derive_seed(0, "order", 1) == derive_seed(0, "order", 1), derive_seed(0, "order", 1) == derive_seed(1, "order", 0)
    (True, False)
    """
    digest = hashlib.blake2b(repr((seed, *place)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
