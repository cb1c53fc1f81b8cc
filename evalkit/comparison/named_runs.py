"""Runs as a user names them: a run folder, a folder of run folders, or a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evalkit.baseline import SCHEME, BaselineStore, is_name
from evalkit.comparison.loaded import LoadedRun, load_run, run_folders
from evalkit.errors import InvalidInputError


def find_runs(names: Sequence[str], baselines: str) -> list[LoadedRun]:
    """Read every run that the names mean, in their order.

    Args:
        names: Run folders, folders of run folders, or names of baselines, with or without ``baseline:`` before them.
        baselines: Folder of baselines.

    Raises:
        InvalidInputError: A name means no run.
    """
    store = BaselineStore(baselines)
    found: list[LoadedRun] = []
    for name in names:
        baseline = name.removeprefix(SCHEME)
        if name.startswith(SCHEME) or (is_name(name) and not Path(name).exists()):
            if not store.holds(baseline):
                raise InvalidInputError(_unknown(name, store))
            found += store.load(baseline)
            continue
        found += map(load_run, run_folders(name))
    return found


def _unknown(name: str, store: BaselineStore) -> str:
    known = ", ".join(store.names()) or "none yet"
    return (
        f"{name!r} is neither a run folder nor a baseline of {store.root!r} (known: {known});"
        " expected runs/<id>, or a name that evalkit baseline set has kept"
    )
