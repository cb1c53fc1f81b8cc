"""Units of loss and their conversion.

A loss per byte is a loss per token divided by the bytes of a token, so that one needs the tokenizer's compression on the very
text that the loss was measured on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.arrays import FloatArray

UNITS: Mapping[str, tuple[float, bool]] = {
    "nats/token": (1.0, False),
    "bits/token": (math.log(2), False),
    "nats/byte": (1.0, True),
    "bits/byte": (math.log(2), True),
    "bpb": (math.log(2), True),
}
"""Unit to nats in one of it, and whether it is per byte."""


def require_unit(name: str) -> str:
    """Check the name of a unit.

    Raises:
        UnknownNameError: There is no such unit.
    """
    if name not in UNITS:
        raise UnknownNameError("unit of loss", name, UNITS)
    return name


def is_per_byte(unit: str) -> bool:
    """Whether losses of a unit can be compared across tokenizers."""
    return UNITS[require_unit(unit)][1]


def convert(loss: FloatArray, source: str, target: str, bytes_per_token: FloatArray | None) -> FloatArray:
    """Convert losses, shape (n,).

    Args:
        loss: Losses in `source`.
        source: Unit they have.
        target: Unit they get.
        bytes_per_token: Mean bytes of a token on the evaluation text, shape (n,); needed between tokens and bytes.

    Raises:
        InvalidInputError: Bytes per token are needed and not given.

    >>> import numpy as np
    >>> convert(np.array([math.log(2)]), "nats/token", "bits/token", None).tolist()
    [1.0]
    """
    to_bytes = is_per_byte(target)
    scaled = loss * (UNITS[require_unit(source)][0] / UNITS[target][0])
    if is_per_byte(source) == to_bytes:
        return scaled
    if bytes_per_token is None:
        raise InvalidInputError(
            f"losses in {source!r} cannot become {target!r}; expected a column 'bytes_per_token' measured on the same text"
        )
    return scaled / bytes_per_token if to_bytes else scaled * bytes_per_token
