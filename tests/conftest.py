"""Fixtures that every test may use: published data, reference cases, and the command line in this process."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalkit.cli import run_cli

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


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch):
    """Responses of one test are none of another's business; tests of the cache name a file of their own."""
    monkeypatch.setenv("EVALKIT_CACHE", "off")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of published data sets and system outputs, `<kind>/<dataset>/...`."""
    return _folder("EVALKIT_DATA_DIR", _BESIDE / "data", "the published data sets")


@pytest.fixture(scope="session")
def golden_dir() -> Path:
    """The folder of cases computed by the reference scorers."""
    return _folder("EVALKIT_GOLDEN_DIR", _BESIDE / "golden", "the reference cases")


@dataclass
class Outcome:
    """What a command printed and returned."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def evalkit(capsys, tmp_path: Path, monkeypatch):
    """Call `evalkit ARGUMENTS`; runs are kept in a temporary folder unless --out says otherwise."""
    monkeypatch.delenv("EVALKIT_DATA_DIR", raising=False)

    def call(*arguments: str) -> Outcome:
        given = list(map(str, arguments))
        if given[:1] == ["run"] and "--out" not in given:
            given += ["--out", str(tmp_path / "runs")]
        capsys.readouterr()
        code = run_cli(given)
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return call
