"""Stored runs of language models become points: counts, losses with standard errors, seeds and clusters."""

import json
import math
from pathlib import Path

import pytest

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.metrics.perplexity import Perplexity
from evalkit.scaling.flops import count_flops, count_parameters
from evalkit.scaling.points import PointSettings, make_points
from evalkit.scaling.run_points import FLOPS, RunOptions, run_columns
from tests.stored import keep_run

TEXTS = [["one two three"], ["four five"], ["six"]]
LOGPROBS = [[-1.0, -2.0, -0.5], [-1.5, -1.0], [-2.5]]
SHAPE = {"vocab_size": 50, "max_length": 16, "width": 8, "layers": 2, "heads": 2, "ff_width": 32, "tie_head": True}


def keep(folder: Path, name: str, *, scale: float = 1.0, tokens: int | None = 1000, **model) -> str:
    """One run of a language model whose losses are scaled."""
    counts = count_parameters("gpt", SHAPE)
    place = keep_run(
        folder,
        Perplexity(),
        [[scale * value for value in row] for row in LOGPROBS],
        TEXTS,
        name=name,
        task={"kind": "lm", "name": "toy_lm"},
        changes={
            "model": {
                "ref": name,
                "name": name,
                "digest": f"weights{name}-tokens",
                "family": "gpt",
                "parameters": counts.total,
                "parameters_non_embedding": counts.non_embedding,
                "tokens_seen": tokens,
                "shape": SHAPE,
                "training": {"recipe_digest": name, "seed": 0, "lr": 0.01},
                **model,
            }
        },
    )
    with_stderr(Path(place) / "run.json", 0.25)
    return place


def with_stderr(path: Path, stderr: float) -> None:
    record = json.loads(path.read_text())
    for value in record["metrics"]:
        value["stderr"] = stderr
    path.write_text(json.dumps(record))


def test_a_point_is_what_the_record_says(tmp_path):
    keep(tmp_path, "a")
    columns = run_columns([str(tmp_path)])
    counts = count_parameters("gpt", SHAPE)
    nats = 8.5 / 6
    assert columns["N"] == [counts.non_embedding]
    assert columns["D"] == [1000.0]
    assert columns["C"] == [pytest.approx(3 * count_flops("gpt", SHAPE, 16).forward * 1000 / 16)]
    assert columns["loss"] == [pytest.approx(nats)]
    # By the delta method, that of ln(perplexity) is that of the perplexity over itself.
    assert columns["stderr"] == [pytest.approx(0.25 / math.exp(nats))]
    assert (columns["layers"], columns["lr"], columns["tokenizer"]) == ([2], [0.01], ["tokens"])
    assert (columns["loss_unit"], columns["size_counting"]) == ("nats/token", "non-embedding")
    points = make_points(columns, PointSettings(flops=FLOPS))
    assert points.flops_counting == FLOPS


@pytest.mark.parametrize(
    ("counting", "name"),
    [("total", "total"), ("non-embedding", "non_embedding"), ("with-head", "non_embedding_with_head")],
)
def test_sizes_are_counted_as_asked(tmp_path, counting, name):
    keep(tmp_path, "a")
    assert run_columns([str(tmp_path)], RunOptions(counting=counting))["N"] == [
        getattr(count_parameters("gpt", SHAPE), name)
    ]


@pytest.mark.parametrize(
    ("unit", "loss", "factor"),
    [("nats/byte", 8.5 / 25, math.log(2)), ("bits/byte", 8.5 / 25 / math.log(2), 1.0)],
)
def test_losses_come_a_byte_too(tmp_path, unit, loss, factor):
    keep(tmp_path, "a")
    columns = run_columns([str(tmp_path)], RunOptions(unit=unit))
    assert columns["loss"] == [pytest.approx(loss)]
    assert columns["stderr"] == [pytest.approx(0.25 * factor)]


def test_seeds_are_replicates_and_checkpoints_of_one_training_a_cluster(tmp_path):
    keep(tmp_path, "s0", training={"recipe_digest": "r0", "seed": 0})
    keep(tmp_path, "s1", training={"recipe_digest": "r1", "seed": 1})
    keep(tmp_path, "half", tokens=500, training={"recipe_digest": "r0", "seed": 0})
    columns = run_columns([str(tmp_path)])
    rows = {name: place for place, name in enumerate(columns["run"])}
    assert [columns["seed"][rows[name]] for name in ("s0", "s1")] == ["0", "1"]
    clusters = {name: columns["cluster"][place] for name, place in rows.items()}
    assert clusters["s0"] == clusters["half"] != clusters["s1"]
    assert {name: columns["final"][place] for name, place in rows.items()} == {"s0": True, "s1": True, "half": False}


def test_checkpoints_that_do_not_say_how_they_were_trained_are_clusters_of_their_own(tmp_path):
    keep(tmp_path, "a", training=None)
    keep(tmp_path, "b", training=None)
    columns = run_columns([str(tmp_path)])
    assert len(set(columns["cluster"])) == 2
    assert "lr" not in columns


def test_compute_is_left_out_where_a_shape_is_not_known(tmp_path):
    keep(tmp_path, "a", shape=None)
    columns = run_columns([str(tmp_path)])
    assert "C" not in columns
    assert "layers" not in columns


def test_runs_of_other_kinds_are_passed_over(tmp_path):
    keep(tmp_path, "a")
    keep_run(tmp_path, Perplexity(), LOGPROBS, TEXTS, name="mt", task={"kind": "mt"})
    assert run_columns([str(tmp_path)])["run"] == ["a"]


def edited(folder: Path, change) -> str:
    place = keep(folder, "z")
    record = json.loads((Path(place) / "run.json").read_text())
    change(record)
    (Path(place) / "run.json").write_text(json.dumps(record))
    return str(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(status="failed"), "the run is 'failed'; expected a complete one"),
        (lambda r: r["data"].update(digest="other"), "differ in data: 'other' and 'data'"),
        (lambda r: r["task"].update(version=2), "differ in task version: 2 and 1"),
        (lambda r: r["metrics"][0].update(signature="x"), "differ in metric: 'x'"),
        (lambda r: r["model"].update(tokens_seen=None), "does not say how many tokens 'z' has seen"),
        (lambda r: r["model"].update(parameters_non_embedding=None), "the non-embedding number of parameters of 'z'"),
        (lambda r: r["metrics"].clear() or r["metrics"].append(BLEU), "no loss in nats/token among its values bleu"),
        (lambda r: r["task"].update(name="other_lm"), "tasks found: other_lm, toy_lm; expected those of one task"),
    ],
)
def test_runs_that_are_no_points_or_not_alike_are_refused(tmp_path, change, message):
    keep(tmp_path, "a")
    with pytest.raises(InvalidInputError) as caught:
        run_columns([edited(tmp_path, change)])
    assert message in str(caught.value)


BLEU = {
    "metric": "bleu",
    "name": "bleu",
    "value": 1.0,
    "low": None,
    "high": None,
    "stderr": None,
    "n": 3,
    "unscored": 0,
    "signature": Perplexity().signature(),
    "higher_is_better": True,
    "scale": 100,
    "headline": True,
}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda folder: run_columns([folder]), InvalidInputError, "no run.json in it"),
        (lambda folder: RunOptions(counting="all"), UnknownNameError, "unknown way to count N 'all'"),
        (lambda folder: RunOptions(unit="bits"), UnknownNameError, "unknown unit of loss 'bits'"),
    ],
)
def test_places_and_options_that_mean_nothing_are_refused(tmp_path, call, error, message):
    with pytest.raises(error) as caught:
        call(str(tmp_path))
    assert message in str(caught.value)


def test_a_task_that_no_run_is_of_is_named_with_those_that_are(tmp_path):
    keep(tmp_path, "a")
    with pytest.raises(UnknownNameError, match="unknown task among the runs 'toy'; did you mean 'toy_lm'"):
        run_columns([str(tmp_path)], RunOptions(task="toy"))
