"""The folder that a training writes: one training, one process at a time, and the checkpoint in the end.

<out>/
  config.json  model.safetensors  tokenizer.json  card.json    the checkpoint, once training has ended
  metrics.jsonl  loss.svg                                       what was measured on the way
  training/
    identity.json    what is trained here: recipe, data, start; another training is refused
    state/           what a stopped training goes on from
    checkpoint/      the best checkpoint so far
    result.json      how it ended
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evalkit.errors import InvalidInputError
from evalkit.json_files import read_object

_CONFIG = "config.json"


class TrainingFolder:
    """The files of one training.

    Args:
        root: The folder that the user named.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.metrics = root / "metrics.jsonl"
        """One line of JSON for some of the steps, and for each evaluation."""
        self.curve = root / "loss.svg"
        """The losses as a picture."""
        self.states = root / "training" / "state"
        """States to go on from."""
        self.checkpoint = root / "training" / "checkpoint"
        """The checkpoint that is to be kept, as far as training has come."""
        self.tokenizer = root / "training" / "tokenizer"
        """The tokenizer that was trained here."""
        self._identity = root / "training" / "identity.json"
        self._result = root / "training" / "result.json"

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out for as long as this one trains here; the system lets go when it dies.

        Raises:
            InvalidInputError: Another process trains here.
        """
        import fcntl

        self.states.mkdir(parents=True, exist_ok=True)
        with (self.root / "training" / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InvalidInputError(
                    f"{self.root}: another process trains here now; wait for it, or choose another --out"
                ) from error
            yield

    def check_free(self) -> None:
        """Check that nothing but a training is in the folder.

        Raises:
            InvalidInputError: Something else is.
        """
        if not self.root.exists() or self._identity.is_file():
            return
        if not self.root.is_dir():
            raise InvalidInputError(f"--out {self.root} is a file; expected a folder, or nothing yet")
        if strangers := sorted(path.name for path in self.root.iterdir() if path.name != "training"):
            raise InvalidInputError(
                f"--out {self.root} holds {strangers[0]!r} and no training; choose an empty or a new folder"
            )

    def claim(self, identity: Mapping[str, Any]) -> None:
        """Say what is trained here, or check that it is the same as before where a step of that was kept.

        Args:
            identity: Name to a JSON value; nested tables are compared key by key.

        Raises:
            InvalidInputError: It is another training; names the first difference.
        """
        if not self._identity.is_file() or not self._has_progress():
            # What a start without a single saved step left behind, e.g. a tokenizer, binds nobody.
            shutil.rmtree(self.tokenizer, ignore_errors=True)
            _write_json(self._identity, identity)
            return
        before = _flat(read_object(self._identity))
        now = _flat(json.loads(json.dumps(identity)))
        for key in dict.fromkeys((*before, *now)):
            if before.get(key) != now.get(key):
                raise InvalidInputError(
                    f"{self.root} holds a training with {key} {before.get(key)!r}, now it is {now.get(key)!r};"
                    " choose another --out, or remove that folder"
                )

    def _has_progress(self) -> bool:
        return self._result.is_file() or self.checkpoint.is_dir() or any(self.states.glob("step-*"))

    @contextmanager
    def written_aside(self, folder: Path) -> Iterator[Path]:
        """Give a folder to write into, which gets its name when all of it is there."""
        aside = folder.with_name(f".{folder.name}.new")
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir()
        yield aside
        os.rename(aside, folder)

    def result(self) -> dict[str, Any] | None:
        """How the training here ended; None if it has not."""
        if self._result.is_file() and (self.root / _CONFIG).is_file():
            return read_object(self._result)
        return None

    def finish(self, result: Mapping[str, Any]) -> None:
        """Put the checkpoint into its place, and remove what only a stopped training needs.

        The checkpoint's own folder goes last, so that this can be stopped at any moment and done again.
        """
        names = sorted(path.name for path in self.checkpoint.iterdir())
        for name in [*(name for name in names if name != _CONFIG), _CONFIG]:
            # A folder is a checkpoint by its config.json, which therefore comes last.
            aside = self.root / f".{name}.new"
            aside.unlink(missing_ok=True)
            _link(self.checkpoint / name, aside)
            os.replace(aside, self.root / name)
        _write_json(self._result, result)
        shutil.rmtree(self.states, ignore_errors=True)
        shutil.rmtree(self.checkpoint, ignore_errors=True)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _write_json(path: Path, content: Mapping[str, Any]) -> None:
    aside = path.with_suffix(".new")
    aside.write_text(json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(aside, path)


def _flat(content: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in content.items():
        name = f"{above}.{key}" if above else key
        flat |= _flat(value, name) if isinstance(value, dict) else {name: value}
    return flat
