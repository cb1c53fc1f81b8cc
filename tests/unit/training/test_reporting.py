"""What a training says: lines of JSON that survive a kill, a line of progress, and a picture that is well-formed."""

import json
from xml.etree import ElementTree

import pytest
import torch

from evalkit.training.curve import draw_curve
from evalkit.training.reporting import MetricsFile, ProgressLine, read_metrics, shown_count, shown_time

SVG = "{http://www.w3.org/2000/svg}"


def test_lines_after_the_step_of_the_state_are_dropped_with_the_half_line_of_a_kill(tmp_path):
    path = tmp_path / "metrics.jsonl"
    lines = [json.dumps({"step": step, "loss_nats": 1.0}) for step in range(1, 8)]
    path.write_text("\n".join([*lines, '{"step": 8, "loss']), encoding="utf-8")
    metrics = MetricsFile(path, 5)
    metrics.write({"step": 6, "loss_nats": 2.0})
    metrics.close()
    assert [entry["step"] for entry in read_metrics(path)] == [1, 2, 3, 4, 5, 6]
    assert read_metrics(path)[-1]["loss_nats"] == 2.0


def test_a_line_is_there_as_soon_as_it_is_written(tmp_path):
    metrics = MetricsFile(tmp_path / "metrics.jsonl", 0)
    metrics.write({"step": 1})
    assert read_metrics(tmp_path / "metrics.jsonl") == [{"step": 1}]
    metrics.close()


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_line_shows_step_loss_speed_time_and_memory(capsys, monkeypatch, is_terminal: bool):
    monkeypatch.setattr("evalkit.training.reporting.TERMINAL_EVERY_S", 0.0)
    monkeypatch.setattr("evalkit.training.reporting.FILE_EVERY_S", 0.0)
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal, raising=False)
    line = ProgressLine("tiny", is_shown=True)
    line.update(3, 10, 2.5, 12_345.6, 75.0, torch.device("cpu"))
    shown = capsys.readouterr().err
    assert shown.endswith("\n") is not is_terminal
    assert shown.strip().startswith("tiny: step 3/10  loss 2.5000  12.3k tokens/s  1m15s left  ")
    assert shown.strip().endswith(" GB")


def test_a_quiet_training_says_nothing(capsys):
    line = ProgressLine("tiny", is_shown=False)
    line.say("something")
    line.clear()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (59.4, "59s"), (60, "1m00s"), (3600, "1h00m"), (360000, "4 days")]
)
def test_times_are_written_as_people_read_them(seconds: float, text: str):
    assert shown_time(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0"), (999, "999"), (1000, "1.0k"), (2.5e9, "2.5G"), (3e20, "300.0E")])
def test_counts_are_written_with_a_letter(count: float, text: str):
    assert shown_count(count) == text


def rows(count: int) -> list[dict]:
    training = [{"step": step + 1, "loss_nats": 4.0 / (step + 1)} for step in range(count)]
    return [*training, {"step": count, "evaluation": {"loss": 1.25}}, {"step": count, "evaluation": {"f1.f1": 0.5}}]


def test_the_curve_is_an_svg_with_both_losses_inside_its_frame():
    root = ElementTree.fromstring(draw_curve("a < b & c", rows(50)))
    assert root.find(f"{SVG}title").text == "a < b & c"
    (circle,) = root.findall(f"{SVG}circle")
    assert 0 < float(circle.get("cx")) < 720
    assert 0 < float(circle.get("cy")) < 400
    numbers = [text.text for text in root.findall(f"{SVG}text")]
    assert {"step", "nats", "training · held out", "0", "4"} <= set(numbers)


@pytest.mark.parametrize("entries", [[], [{"step": 1, "loss_nats": 2.0}], [{"step": 5, "loss_nats": 0.0}] * 3])
def test_curves_of_no_few_or_equal_points_are_drawn(entries):
    ElementTree.fromstring(draw_curve("t", entries))
