"""Rungs are trained and measured once; a failed one is named and the others are kept."""

from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.errors import DataError, IncompleteError, InvalidInputError
from evalkit.ladder import work
from evalkit.ladder.presets import Rung, preset_named
from evalkit.ladder.text import text_course
from evalkit.ladder.work import Course, climb, run_commands
from evalkit.metrics.perplexity import Perplexity
from tests.stored import keep_run


def course(folder: Path) -> Course:
    return Course(
        preset=preset_named("smoke"), folder=folder, task="mini_lm", train=("data.size=300",), score=("--size", "20")
    )


def test_a_rung_is_one_training_and_one_run_of_its_checkpoint(tmp_path):
    train, run = course(tmp_path).commands(Rung(width=16, tokens=10_000, seed=3))
    assert train[:3] == ["train", "--recipe", "gpt-ladder"]
    assert {"model.width=16", "seed=3", "data.size=300"} <= set(train)
    place = str(tmp_path / "checkpoints" / "w16-d10000-s3")
    assert train[train.index("--out") + 1] == place == run[run.index("--model") + 1]
    assert run[run.index("--size") + 1] == "20"


def test_commands_stop_at_the_first_that_fails_and_give_its_line():
    assert run_commands([["list", "tasks"]]) is None
    assert "unknown command 'lst'" in run_commands([["lst"], ["list", "tasks"]])


class Inline:
    """A pool that works in this process."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def submit(self, function, *arguments):
        from concurrent.futures import Future

        future = Future()
        future.set_result(function(*arguments))
        return future


def test_failed_rungs_are_named_and_end_with_exit_code_5(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "_pool", lambda processes: Inline())
    monkeypatch.setattr(work, "run_commands", lambda commands: "the disk is full")
    with pytest.raises(IncompleteError, match=r"9 of 9 rungs failed.*the disk is full") as caught:
        climb(course(tmp_path))
    assert caught.value.exit_code == 5


def test_rungs_that_are_measured_are_not_done_again(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(work, "_pool", lambda processes: Inline())
    monkeypatch.setattr(work, "run_commands", asked.append)
    names = {rung.name: f"runs/{rung.name}" for rung in preset_named("smoke").rungs()}
    monkeypatch.setattr(work, "_measured", lambda course: names)
    assert climb(course(tmp_path)) == list(names.values())
    assert asked == []


TEXT = "".join(f"Line {number} of a book that is long enough to learn from.\n" for number in range(1000))


def test_a_text_is_cut_into_a_part_to_train_on_and_its_held_out_end(tmp_path):
    source = tmp_path / "book.txt"
    source.write_text(TEXT)
    made = text_course(preset_named("smoke"), source, tmp_path / "ladder", lambda line: None)
    train, held_out = (tmp_path / "ladder" / name for name in ("train.txt", "heldout.txt"))
    assert train.read_text() + held_out.read_text() == TEXT + "\n"
    assert len(held_out.read_text()) == pytest.approx(0.05 * len(TEXT), rel=0.1)
    assert made.task == str(tmp_path / "ladder" / "task.toml")
    assert text_course(preset_named("smoke"), source, tmp_path / "ladder", lambda line: None).task == made.task


def test_texts_that_are_too_short_or_others_are_refused(tmp_path):
    source = tmp_path / "book.txt"
    source.write_text("short")
    with pytest.raises(DataError, match="5 characters; expected at least 10,000 to train on"):
        text_course(preset_named("smoke"), source, tmp_path / "ladder", lambda line: None)
    source.write_text(TEXT)
    text_course(preset_named("smoke"), source, tmp_path / "ladder", lambda line: None)
    source.write_text(TEXT.upper())
    with pytest.raises(InvalidInputError, match="holds another text; choose another --folder"):
        text_course(preset_named("smoke"), source, tmp_path / "ladder", lambda line: None)
    with pytest.raises(DataError, match="no such file"):
        text_course(preset_named("smoke"), tmp_path / "none.txt", tmp_path / "ladder", lambda line: None)


@pytest.mark.parametrize("version", [1, 2])
def test_rungs_on_another_version_of_the_task_are_not_mixed_with_new_ones(tmp_path, version):
    keep_run(
        tmp_path / "runs",
        Perplexity(),
        [[-1.0, -2.0]],
        [["a b"]],
        task={"name": "mini_lm", "kind": "lm", "version": version},
    )
    now = replace(course(tmp_path), version=2)
    if version == 2:
        assert len(work._measured(now)) == 1
    else:
        with pytest.raises(InvalidInputError, match="holds rungs on version 1 of mini_lm, which is at 2 now"):
            climb(now)


def test_a_text_that_shortens_a_ladder_says_so(tmp_path):
    source = tmp_path / "book.txt"
    source.write_text(TEXT)
    made = text_course(preset_named("cpu"), source, tmp_path / "ladder", lambda line: None)
    longest = made.preset.tokens[-1]
    assert longest * 3 <= len(TEXT)
    assert f"the longest training has {longest:,} tokens, where the preset has 2,097,152" in made.about
    source.write_text(TEXT * 3)
    whole = text_course(preset_named("smoke"), source, tmp_path / "whole", lambda line: None)
    assert whole.preset.tokens == preset_named("smoke").tokens
    assert "longest" not in whole.about
