"""Run the command line in this process, as a user would."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evalkit.cli import run_cli


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
