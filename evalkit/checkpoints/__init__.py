"""Checkpoint folders: what is in them, how they are read and written.

Importing this package imports torch.
"""

from evalkit.checkpoints.architectures import Architecture, build, describe
from evalkit.checkpoints.card import Card
from evalkit.checkpoints.loading import Checkpoint, load_checkpoint
from evalkit.checkpoints.saving import save_checkpoint

__all__ = ["Architecture", "Card", "Checkpoint", "build", "describe", "load_checkpoint", "save_checkpoint"]
