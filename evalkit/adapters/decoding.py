"""Which settings of generation can be, alone and together; asked before any model is opened, so without torch."""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.errors import InvalidInputError
from evalkit.requests import Decoding

_NEUTRAL = Decoding()


def check_decoding(decoding: Decoding) -> None:
    """Check that every setting has a value that it can have, and that each changes something.

    Raises:
        InvalidInputError: One has not, or would be without effect.
    """
    checks = (
        ("beams", decoding.beams >= 1, "at least 1"),
        ("temperature", 0.0 <= decoding.temperature < float("inf"), "at least 0"),
        ("top_k", decoding.top_k >= 0, "at least 0"),
        ("top_p", 0.0 < decoding.top_p <= 1.0, "above 0 and at most 1"),
        ("repetition_penalty", 0.0 < decoding.repetition_penalty < float("inf"), "above 0"),
        ("length_penalty", abs(decoding.length_penalty) < float("inf"), "a finite number"),
    )
    for name, is_right, expected in checks:
        if not is_right:
            raise InvalidInputError(f"{name} is {getattr(decoding, name)!r}; expected {expected}")
    if decoding.beams > 1 and decoding.temperature > 0.0:
        raise InvalidInputError("beam search does not sample; leave out beams or temperature")
    for name, condition in _idle(decoding):
        value = getattr(decoding, name)
        raise InvalidInputError(f"{name} is {value!r}, which changes nothing {condition}, or leave out {name}")


def _idle(decoding: Decoding) -> Iterator[tuple[str, str]]:
    """Settings without effect, with what they would need."""
    if decoding.temperature == 0.0:
        for name in ("top_k", "top_p"):
            if getattr(decoding, name) != getattr(_NEUTRAL, name):
                yield name, "at temperature 0, where nothing is sampled; set a temperature above 0"
    if decoding.beams == 1 and decoding.length_penalty != _NEUTRAL.length_penalty:
        yield "length_penalty", "without beam search; set beams to 2 or more"
