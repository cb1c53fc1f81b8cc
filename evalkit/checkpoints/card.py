"""What a checkpoint says about its making: `card.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from evalkit.errors import DataError
from evalkit.json_files import read_object

FILE = "card.json"


@dataclass(frozen=True, kw_only=True)
class Card:
    """How a checkpoint was made; what is not known is None."""

    recipe: str | None = None
    """Name of the training recipe."""
    data: str | None = None
    """What it was trained on, with revision or digest."""
    steps: int | None = None
    """Optimiser steps."""
    tokens_seen: int | None = None
    """Tokens that went through the model in training, repeated ones counted again."""
    parameters: Mapping[str, int] = field(default_factory=dict)
    """Numbers of parameters: `total`, `embedding`, `non_embedding`."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else is worth knowing, as JSON."""

    def write(self, folder: Path) -> None:
        """Write `card.json`.

        Args:
            folder: An existing folder.
        """
        (folder / FILE).write_text(
            json.dumps(asdict(self), ensure_ascii=False, indent=2, allow_nan=False) + "\n", encoding="utf-8"
        )


def _is_count(value: object) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 0)


def read_card(folder: Path) -> Card:
    """Read a folder's card; one without a card gives an empty one.

    Args:
        folder: The checkpoint folder.

    Raises:
        DataError: The card is not one.
    """
    path = folder / FILE
    if not path.is_file():
        return Card()
    content = read_object(path)
    known = {entry.name for entry in fields(Card)}
    if unknown := sorted(set(content) - known):
        raise DataError(path, f"has unknown keys {', '.join(unknown)}; put them under 'details'")
    card = Card(**content)
    if not _is_count(card.steps) or not _is_count(card.tokens_seen):
        raise DataError(path, f"steps is {card.steps!r} and tokens_seen {card.tokens_seen!r}, expected whole numbers")
    if not isinstance(card.parameters, dict) or not isinstance(card.details, dict):
        raise DataError(path, "'parameters' and 'details' must be JSON objects")
    return card
