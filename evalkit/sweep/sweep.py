"""From a grid to outcomes: leave out what is done, run the rest, repeat what was killed, note what is finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from evalkit.stopping import Stop
from evalkit.sweep.cells import DONE, KILLED, STOPPED, Cell, Outcome
from evalkit.sweep.engines import ENGINES
from evalkit.sweep.grid import EngineSettings
from evalkit.sweep.ledger import Ledger


def sweep(
    cells: Sequence[Cell],
    engine: str,
    settings: EngineSettings,
    ledger: Ledger,
    announce: Callable[[Cell, Outcome], None] = lambda cell, outcome: None,
    stop: Stop | None = None,
) -> list[Outcome]:
    """Bring every cell to an outcome.

    Args:
        cells: The cells of the grid.
        engine: Name of an engine.
        settings: Its settings.
        ledger: Finished cells; those are not run again.
        announce: Told about each cell as soon as its outcome is known, killed ones once for each time.
        stop: Whether someone wants it to end; None for nobody.

    Returns:
        One outcome a cell, in the order of the cells.
    """
    stop = stop or Stop()
    # Before anything is run: what changes meanwhile was not what a cell read.
    keys = {cell: cell.key for cell in cells}
    outcomes: dict[Cell, Outcome] = {}
    for cell in cells:
        found = ledger.find(cell, keys[cell])
        if found is not None:
            outcomes[cell] = found
            announce(cell, found)
    for _ in range(1 + settings.retries):
        left = [cell for cell in cells if cell not in outcomes or outcomes[cell].status == KILLED]
        if not left or stop.is_asked:
            break
        for cell, outcome in ENGINES[engine](left, settings, Path(ledger.folder), stop):
            outcomes[cell] = ledger.note(cell, keys[cell], outcome) if outcome.status == DONE else outcome
            announce(cell, outcomes[cell])
    return [outcomes.get(cell, Outcome(status=STOPPED, message="not run")) for cell in cells]
