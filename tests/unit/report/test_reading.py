"""Which runs names mean, and which records are refused."""

import json
import shutil
from pathlib import Path

import fsspec
import pytest

from evalkit.errors import DataError, EvalkitError, InvalidInputError, MissingResourceError
from evalkit.report.build import build_report
from evalkit.report.model import Settings
from evalkit.report.reading import read_runs
from tests.unit.report.made import translation


def ids(names) -> list[str]:
    return [run.record.id for run in read_runs([str(name) for name in names])]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    for name in ("b", "a", "c"):
        translation(tmp_path / "runs", name, 0.2, n=4)
    return tmp_path / "runs"


def test_a_run_a_store_and_a_pattern_are_all_names_of_runs(store: Path):
    assert ids([store / "a"]) == ["a"]
    assert ids([store]) == ["a", "b", "c"]
    assert ids([store / "[ab]"]) == ["a", "b"]
    assert ids([f"file://{store}/c"]) == ["c"]


def test_the_order_of_names_changes_nothing_and_a_run_named_twice_counts_once(store: Path):
    assert ids([store / "c", store, store / "a"]) == ids([store])


def test_a_copied_folder_is_the_same_run_but_another_run_of_its_id_is_not(store: Path):
    shutil.copytree(store / "a", store / "a-copy")
    assert ids([store]) == ["a", "b", "c"]
    record = json.loads((store / "a-copy" / "run.json").read_text())
    record["model"]["digest"] = "another"
    (store / "a-copy" / "run.json").write_text(json.dumps(record))
    assert ids([store]) == ["a", "a", "b", "c"]


def test_addresses_are_runs_stores_and_patterns_as_well(store: Path):
    system = fsspec.filesystem("memory")
    system.put(str(store), "/bucket/runs", recursive=True)
    assert ids(["memory://bucket/runs"]) == ["a", "b", "c"]
    assert ids(["memory://bucket/runs/b"]) == ["b"]
    assert ids(["memory://bucket/runs/[bc]"]) == ["b", "c"]
    with pytest.raises(InvalidInputError, match=r"no run\.json in it"):
        ids(["memory://bucket/elsewhere"])


def test_a_report_from_an_address_is_that_of_the_same_folder(store: Path):
    fsspec.filesystem("memory").put(str(store), "/other/runs", recursive=True)
    settings = Settings(resamples=200)
    local, remote = (build_report([name], settings) for name in (str(store), "memory://other/runs"))
    assert remote.cells == local.cells
    assert [(page.slices, page.breakdowns) for page in remote.tasks] == [(p.slices, p.breakdowns) for p in local.tasks]


def test_an_address_that_no_package_opens_says_so():
    with pytest.raises((MissingResourceError, InvalidInputError), match="nosuch"):
        ids(["nosuch://bucket/runs"])


@pytest.mark.parametrize("name", ["", " ", "runs\0", "nowhere/at/all", "nowhere/*"])
def test_a_name_without_a_run_is_an_error_that_names_it(name: str):
    with pytest.raises(InvalidInputError):
        ids([name])


def test_an_empty_folder_is_an_error(tmp_path: Path):
    with pytest.raises(InvalidInputError, match=r"no run\.json in it"):
        ids([tmp_path])


EDITS = {
    "value is text": lambda record: record["metrics"][0].update(value="12"),
    "value is true": lambda record: record["metrics"][0].update(value=True),
    "no metrics": lambda record: record.update(metrics=[]),
    "name is a list": lambda record: record["model"].update(name=["x"]),
    "no digest": lambda record: record["data"].pop("digest"),
    "version is text": lambda record: record["task"].update(version="1"),
    "task is a list": lambda record: record.update(task=[1]),
    "negative count": lambda record: record["counts"].update(failed=-1),
    "endless parameters": lambda record: record["model"].update(parameters=10**30),
    "warning is a number": lambda record: record.update(warnings=[1]),
    "timing is text": lambda record: record["timing"].update(load_s="fast"),
    "created is null": lambda record: record.update(created=None),
    "scored n is text": lambda record: record["data"].update(scored_n="x"),
    "newer schema": lambda record: record.update(schema_version=99),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_an_edited_record_is_refused_by_name(store: Path, edit):
    record = json.loads((store / "a" / "run.json").read_text())
    edit(record)
    (store / "a" / "run.json").write_text(json.dumps(record))
    with pytest.raises(EvalkitError, match="runs/a") as caught:
        ids([store])
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"null", b"[]"])
def test_a_record_that_is_no_record_is_refused_by_name(store: Path, content: bytes):
    (store / "a" / "run.json").write_bytes(content)
    with pytest.raises((DataError, InvalidInputError), match="runs/a"):
        ids([store])
