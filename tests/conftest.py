"""Fixtures that every test may use: where the published data and the reference cases lie."""

import os
from pathlib import Path

import pytest

_BESIDE = Path(__file__).resolve().parents[1].parent / "shared"


def _folder(variable: str, beside: Path, what: str) -> Path:
    named = os.environ.get(variable)
    folder = Path(named) if named else beside
    if not folder.is_dir():
        reason = f"{what} are not here: set {variable} to their folder"
        if os.environ.get("EVALKIT_REQUIRE_DATA"):
            pytest.fail(reason)
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of published data sets and system outputs, `<kind>/<dataset>/...`."""
    return _folder("EVALKIT_DATA_DIR", _BESIDE / "data", "the published data sets")


@pytest.fixture(scope="session")
def golden_dir() -> Path:
    """The folder of cases computed by the reference scorers."""
    return _folder("EVALKIT_GOLDEN_DIR", _BESIDE / "golden", "the reference cases")
