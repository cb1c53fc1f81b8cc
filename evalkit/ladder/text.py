"""A text file as something to climb on: cut into a part to train on and a held-out one, which becomes a task of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from evalkit.data.text import read_text
from evalkit.errors import DataError, InvalidInputError
from evalkit.ladder.presets import Preset
from evalkit.ladder.work import Course

HELD_OUT = 0.05
"""Share of the text that is held out, its end."""
TASK = "ladder_text"
"""Name of the task that the held-out part becomes."""
_BYTES_A_TOKEN = 3
"""A token of the ladder's small vocabulary is shorter than this on average, so that no text is seen twice."""
_FEWEST_CHARACTERS = 10_000

_TASK_FILE = f"""name = "{TASK}"
kind = "lm"
language = "en"
summary = "The held-out end of a text file."

[files]
format = "plain_text"
splits = {{ test = "heldout.txt" }}
options = {{ unit = "block", lines = 40 }}
"""


def text_course(preset: Preset, source: Path, folder: Path, say: Callable[[str], None]) -> Course:
    """Cut a text, and describe the ladder on it.

    Args:
        preset: The models.
        source: A text file in UTF-8, plain or gzip.
        folder: Where everything goes.
        say: Told of each rung that is done.

    Raises:
        DataError: The file cannot be read, or is too short.
        InvalidInputError: The folder holds a ladder on another text.
    """
    text = read_text(source)
    if len(text) < _FEWEST_CHARACTERS:
        raise DataError(source, f"{len(text)} characters; expected at least {_FEWEST_CHARACTERS:,} to train on")
    lines = text.split("\n")
    border = round((1 - HELD_OUT) * len(lines))
    train, held_out = ("\n".join(part) + "\n" for part in (lines[:border], lines[border:]))
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in (("train.txt", train), ("heldout.txt", held_out), ("task.toml", _TASK_FILE)):
        _keep(folder / name, content)
    size = len(train.encode())
    shortened = preset.shortened(size / _BYTES_A_TOKEN)
    about = f"{size:,} bytes to train on and {len(held_out.encode()):,} held out."
    if shortened.tokens[-1] < preset.tokens[-1]:
        about += (
            f" So that none are seen twice, the longest training has {shortened.tokens[-1]:,} tokens,"
            f" where the preset has {preset.tokens[-1]:,}."
        )
    return Course(
        preset=shortened,
        folder=folder,
        task=str(folder / "task.toml"),
        about=about,
        train=(f'data.texts=["{folder / "train.txt"}"]', "data.documents=file", "objective.pack=joined"),
        say=say,
    )


def _keep(path: Path, content: str) -> None:
    if path.is_file():
        if path.read_text(encoding="utf-8") != content:
            raise InvalidInputError(f"{path} holds another text; choose another --folder, or remove that one")
        return
    path.write_text(content, encoding="utf-8")
