"""Which cells of a sweep are done: one small file a finished cell, so that a sweep can be stopped and started at will."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path

from evalkit.errors import InvalidInputError, reason_of
from evalkit.result_files import replace_whole
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

    def find(self, cell: Cell, key: str) -> Outcome | None:
        """What an earlier sweep made of a cell; None where it is to be run: never done, or its run folder is gone.

        Args:
            cell: The cell.
            key: Its key.

        Raises:
            InvalidInputError: The store of its runs cannot be looked at.
        """
        try:
            noted = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            runs = tuple(map(str, noted["runs"]))
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        if not runs or not all(_is_kept(cell, run) for run in runs):
            return None
        return Outcome(status=DONE, runs=runs, is_earlier=True)

    def note(self, cell: Cell, key: str, outcome: Outcome) -> Outcome:
        """Write down that a cell is done, whole or not at all.

        Args:
            cell: The cell.
            key: Its key when it was begun.
            outcome: What became of it.

        Returns:
            The outcome, which says so where it could not be noted.
        """
        content = {"command": cell.words, "runs": list(outcome.runs)}
        try:
            replace_whole(self.folder / f"{key}.json", f"{json.dumps(content)}\n".encode())
        except OSError as error:
            problem = (
                f"could not be noted in {str(self.folder)!r} ({error.strerror or error}): another sweep runs it again"
            )
            return replace(outcome, message=problem)
        return outcome


def _is_kept(cell: Cell, run: str) -> bool:
    if "://" not in cell.out:
        return (Path(cell.folder) / cell.out / run / RECORD).is_file()
    try:
        import fsspec

        system, root = fsspec.core.url_to_fs(cell.out)
        return bool(system.exists(f"{root.rstrip('/')}/{run}/{RECORD}"))
    except Exception as error:  # whatever a file system of fsspec may raise
        raise InvalidInputError(f"store {cell.out!r} cannot be read: {reason_of(error)}; check the address") from error
