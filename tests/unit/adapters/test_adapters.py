import importlib
import os
import pkgutil
import subprocess
import sys

import pytest

import evalkit.adapters.baselines
from evalkit.adapters import ADAPTERS, open_adapter
from evalkit.adapters.baselines import BASELINES, Baseline
from evalkit.errors import DataError, UnknownNameError
from evalkit.spec import REQUEST_KINDS


def test_unknown_scheme_names_the_nearest_and_all_known_ones():
    with pytest.raises(
        UnknownNameError,
        match=r"unknown model scheme 'prediction'; did you mean 'predictions'\? known: predictions, baseline",
    ):
        open_adapter("prediction", "out.txt")


def test_unknown_baseline_names_the_nearest_one():
    with pytest.raises(UnknownNameError, match="unknown baseline 'lead3'; did you mean 'lead-3'"):
        open_adapter("baseline", "lead3")


def test_missing_predictions_file_is_reported_when_it_is_opened(tmp_path):
    with pytest.raises(DataError, match=r"out\.jsonl: no such file"):
        open_adapter("predictions", str(tmp_path / "out.jsonl"))


def test_pipes_and_devices_are_refused_before_anything_is_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="this is a pipe, which can be read only once or never ends; save its content"):
        open_adapter("predictions", str(tmp_path / "pipe"))
    with pytest.raises(DataError, match="this is a device"):
        open_adapter("predictions", "/dev/zero")


def test_every_baseline_stands_in_the_list_under_its_own_name():
    for module in pkgutil.iter_modules(evalkit.adapters.baselines.__path__):
        importlib.import_module(f"evalkit.adapters.baselines.{module.name}")
    assert set(BASELINES.values()) == set(Baseline.__subclasses__())
    assert {name: baseline.name for name, baseline in BASELINES.items()} == {name: name for name in BASELINES}


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_supports_known_request_kinds_only(name):
    adapter = open_adapter("baseline", name)
    assert adapter.supports
    assert adapter.supports <= set(REQUEST_KINDS)


def test_baselines_have_different_digests_that_do_not_change():
    digests = {name: open_adapter("baseline", name).info.digest for name in BASELINES}
    assert len(set(digests.values())) == len(BASELINES)
    assert digests == {name: open_adapter("baseline", name).info.digest for name in BASELINES}


def test_a_baseline_says_what_it_is():
    info = open_adapter("baseline", "lead-3").info
    assert (info.ref, info.name, info.family, info.parameters) == ("baseline:lead-3", "lead-3", "baseline", None)
    assert info.details == {"version": 1, "sentences": 3}


def test_another_version_gives_another_digest():
    class Next(BASELINES["empty"]):
        version = 2

    assert Next().info.digest != open_adapter("baseline", "empty").info.digest


def test_opening_any_adapter_imports_nothing_heavy():
    script = (
        "import sys, evalkit.adapters, evalkit.adapters.predictions\n"
        "from evalkit.adapters.baselines import BASELINES, open_baseline\n"
        "opened = [open_baseline(name).info for name in BASELINES]\n"
        "print(*sorted({'numpy', 'scipy', 'sklearn', 'torch', 'nltk', 'sacrebleu', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_schemes_are_those_of_the_documentation():
    assert list(ADAPTERS) == ["predictions", "baseline", "checkpoint", "openai", "hf"]
