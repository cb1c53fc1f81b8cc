"""Engines leave the process that they run in as it is."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

ASK = """
import io, logging
from pathlib import Path
from evalkit.stopping import Stop
from evalkit.sweep.engines import run_on_slurm
from evalkit.sweep.grid import EngineSettings


class Closing(logging.StreamHandler):
    def close(self):
        super().close()
        self.stream.close()


handler = Closing(io.StringIO())
assert list(run_on_slurm([], EngineSettings(cluster="local"), Path("."), Stop())) == []
print(handler.stream.closed)
"""


def test_slurm_leaves_the_handlers_of_other_loggers_open(tmp_path):
    if find_spec("submitit") is None:
        pytest.skip("an optional extra that is not installed")
    done = subprocess.run([sys.executable, "-c", ASK], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")
