"""Keys and a model for tests of the response cache."""

MODEL = ("digest", "model")
"""Digest and name."""


def key(number: int) -> bytes:
    """A key as long as real ones."""
    return number.to_bytes(16, "big")
