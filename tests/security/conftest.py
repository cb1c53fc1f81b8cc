"""A tiny checkpoint, for tests that spoil it."""

from tests.cli.conftest import gpt

__all__ = ["gpt"]
