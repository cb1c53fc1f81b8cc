"""From a grid to outcomes: leave out what is done, run the rest, repeat what was killed, note what is finished."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from evalkit.sweep.cells import DONE, KILLED, Cell, Outcome
from evalkit.sweep.engines import ENGINES
from evalkit.sweep.grid import EngineSettings
from evalkit.sweep.ledger import Ledger


def sweep(
    cells: Sequence[Cell],
    engine: str,
    settings: EngineSettings,
    ledger: Ledger,
    announce: Callable[[Cell, Outcome], None] = lambda cell, outcome: None,
) -> list[Outcome]:
    """Bring every cell to an outcome.

    Args:
        cells: The cells of the grid.
        engine: Name of an engine.
        settings: Its settings.
        ledger: Finished cells; those are not run again.
        announce: Told about each cell as soon as its outcome is known, killed ones once for each time.

    Returns:
        One outcome a cell, in the order of the cells.
    """
    outcomes: dict[Cell, Outcome] = {}
    for cell in cells:
        found = ledger.find(cell)
        if found is not None:
            outcomes[cell] = found
            announce(cell, found)
    for _ in range(1 + settings.retries):
        left = [cell for cell in cells if cell not in outcomes or outcomes[cell].status == KILLED]
        if not left:
            break
        for cell, outcome in ENGINES[engine](left, settings, Path(ledger.folder)):
            outcomes[cell] = outcome
            if outcome.status == DONE:
                ledger.note(cell, outcome)
            announce(cell, outcome)
    return [outcomes[cell] for cell in cells]
