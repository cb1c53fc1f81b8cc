"""Which cells of a sweep are done: one small file a finished cell, so that a sweep can be stopped and started at will."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from evalkit.errors import InvalidInputError
from evalkit.store import RECORD
from evalkit.sweep.cells import DONE, Cell, Outcome


@dataclass(frozen=True, slots=True)
class Ledger:
    """The finished cells of all sweeps that were started in a folder."""

    folder: Path
    """Where the files lie; made when the first cell is done."""

    def check_writable(self) -> None:
        """Find out before any cell is run whether finished ones can be noted.

        Raises:
            InvalidInputError: The folder cannot be made or written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if not os.access(self.folder, os.W_OK):
                raise PermissionError(13, "Permission denied")
        except OSError as error:
            raise InvalidInputError(
                f"cannot note finished cells in {str(self.folder)!r}: {error.strerror or error};"
                " choose another folder with --state"
            ) from error

    def find(self, cell: Cell) -> Outcome | None:
        """What an earlier sweep made of a cell; None where it is to be run: never done, or its run folder is gone."""
        try:
            noted = json.loads(self._path(cell).read_text(encoding="utf-8"))
            runs = tuple(map(str, noted["runs"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not runs or not all(_is_kept(cell, run) for run in runs):
            return None
        return Outcome(status=DONE, runs=runs, is_earlier=True)

    def note(self, cell: Cell, outcome: Outcome) -> None:
        """Write down that a cell is done; the file appears whole or not at all."""
        path = self._path(cell)
        aside = path.with_suffix(f".{os.getpid()}.tmp")
        content = {"command": cell.words, "runs": list(outcome.runs)}
        aside.write_text(json.dumps(content, ensure_ascii=False) + "\n", encoding="utf-8")
        aside.replace(path)

    def _path(self, cell: Cell) -> Path:
        return self.folder / f"{cell.key}.json"


def _is_kept(cell: Cell, run: str) -> bool:
    if "://" in cell.out:
        import fsspec

        system, root = fsspec.core.url_to_fs(cell.out)
        return bool(system.exists(f"{root.rstrip('/')}/{run}/{RECORD}"))
    return (Path(cell.folder) / cell.out / run / RECORD).is_file()
