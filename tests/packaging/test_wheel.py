"""The wheel, installed into a clean environment and run from an empty folder."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.packaging


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """An environment with the wheel's own files; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    site = next((folder / "lib").glob("python*")) / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    return folder


def run(installed: Path, where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "EVALKIT"))}
    command = [str(installed / "bin" / "python"), "-m", "evalkit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=where, env=environment)


def test_the_wheel_holds_the_three_packages_with_types_and_data(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for package in ("evalkit", "evalkit_tasks", "evalkit_models"):
        assert f"{package}/py.typed" in names
    assert any(name.startswith("evalkit/conformance/cases/") and name.endswith(".jsonl") for name in names)
    assert not [name for name in names if name.split("/")[0] in ("tests", "tasks", "models", "reports", "benchmarks")]


def test_an_installed_evalkit_runs_from_an_empty_folder_and_keeps_its_runs_there(installed, tmp_path):
    done = run(installed, tmp_path, "run", "--task", "mini_cws", "--model", "baseline:max-match", "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)["runs"]
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name == record["id"]


def test_an_installed_evalkit_passes_its_own_conformance_cases(installed, tmp_path):
    done = run(installed, tmp_path, "doctor", "--metrics", "--json")
    assert done.returncode == 0, done.stdout
    counts = json.loads(done.stdout)
    assert counts["failed"] == 0
    assert counts["passed"] > 200


def test_the_code_that_runs_is_that_of_the_wheel(installed, tmp_path):
    command = [str(installed / "bin" / "python"), "-c", "import evalkit, evalkit_tasks; print(evalkit.__file__)"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env={"PATH": os.environ["PATH"]})
    assert str(installed) in done.stdout
