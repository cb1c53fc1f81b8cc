"""States appear whole or not at all, replace older ones only when they are there, and come back as they went."""

import errno

import pytest
import safetensors.torch
import torch

from evalkit.errors import DataError, IncompleteError
from evalkit.training.state import Progress, State, nothing_lost, read_state, write_state


def state(step: int, **more) -> State:
    return State(
        Progress(step=step, epoch=1, index=2, tokens_seen=10 * step, **more),
        {"a": torch.full((3,), float(step)), "b": torch.arange(4, dtype=torch.bfloat16)},
        {"a/exp_avg": torch.ones(3), "a/step": torch.tensor(float(step))},
    )


def assert_same(found: State | None, wanted: State):
    assert found is not None
    assert found.progress == wanted.progress
    for mine, theirs in ((found.model, wanted.model), (found.optimizer, wanted.optimizer)):
        assert mine.keys() == theirs.keys()
        for key, tensor in mine.items():
            torch.testing.assert_close(tensor, theirs[key], atol=0, rtol=0)


def test_a_state_comes_back_to_the_bit(tmp_path):
    wanted = state(7, evaluations=({"step": 4, "value": 0.1},), elapsed_s=0.1 + 0.2, is_bf16=True)
    write_state(tmp_path / "state", wanted)
    assert_same(read_state(tmp_path / "state"), wanted)


def test_where_nothing_was_kept_there_is_none(tmp_path):
    assert read_state(tmp_path / "absent") is None


def test_a_newer_state_takes_the_place_of_older_ones_and_of_halves(tmp_path):
    (tmp_path / ".new-left-by-a-kill").mkdir()
    for step in (5, 10, 200):
        write_state(tmp_path, state(step))
    assert_same(read_state(tmp_path), state(200))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("failing", [1, 2])
def test_a_disk_that_fills_up_loses_nothing_older(tmp_path, monkeypatch, failing: int):
    write_state(tmp_path, state(5))
    calls = 0

    def save_file(tensors, path):
        nonlocal calls
        calls += 1
        path.write_bytes(b"half")
        if calls == failing:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(safetensors.torch, "save_file", save_file)
    with (
        pytest.raises(IncompleteError, match=r"No space left.*the state before it is kept"),
        nothing_lost("the state", "the state before it is kept"),
    ):
        write_state(tmp_path, state(10))
    assert_same(read_state(tmp_path), state(5))
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["state.json", "model.safetensors", "optimizer.safetensors"])
def test_a_broken_state_is_named(tmp_path, name: str):
    write_state(tmp_path, state(5))
    (path,) = tmp_path.glob(f"step-*/{name}")
    path.write_bytes(b"broken")
    with pytest.raises(DataError, match="step-000000005"):
        read_state(tmp_path)


def test_a_state_of_another_version_is_refused(tmp_path):
    write_state(tmp_path, state(5, version=99))
    with pytest.raises(DataError, match="not a state of version"):
        read_state(tmp_path)
