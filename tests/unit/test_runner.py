"""The harness end to end with a toy task and a toy model."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.data.load import load
from evalkit.errors import EvalkitError, InvalidInputError, UnknownNameError
from evalkit.kinds import KINDS
from evalkit.metrics.classification import Classification
from evalkit.metrics.configure import configure
from evalkit.record import RunRecord
from evalkit.requests import ClassifyResponse, Example, ModelInfo, Request, Response, TaskContext
from evalkit.runner import readable_inputs, run
from evalkit.spec import Generated, ModelRef, RunSpec, TaskSpec
from evalkit.store import RunStore, read_record, read_samples

LABELS = ("even", "odd")


def rows(split: str, size: int, seed: int) -> Iterator[dict]:
    for number in range(size):
        yield {"text": f"{split} {number}", "label": LABELS[number % 2], "cluster": str(number // 2)}


TASK = KINDS["classification"].complete(
    TaskSpec(
        name="parity",
        kind="classification",
        version=3,
        summary="",
        language="en",
        paper="",
        licence="",
        generated=Generated(rows=rows, sizes={"train": 6, "test": 10}),
        metrics=(Classification(labels=LABELS),),
        labels=LABELS,
    )
)


class Toy:
    """Says "even" to everything, but for what it is told to get wrong."""

    supports = frozenset({"classify"})

    def __init__(self, fails: frozenset[str] = frozenset(), swap: bool = False, drop: int = 0) -> None:
        self.info = ModelInfo(ref="toy:even", name="even/one", digest="0" * 16, family="toy", parameters=7)
        self.fails, self.swap, self.drop = fails, swap, drop

    def prepare(self, context: TaskContext) -> tuple[str, ...]:
        self.context = context
        return ("a warning of the model",)

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        ordered = list(reversed(requests)) if self.swap else list(requests)
        for request in ordered[: len(ordered) - self.drop]:
            failed = request.example_id in self.fails
            yield ClassifyResponse(
                example_id=request.example_id, label=None if failed else "even", error="lost" if failed else None
            )


def spec(**changes) -> RunSpec:
    return replace(RunSpec(task="parity", model=ModelRef(scheme="toy", target="even"), split="test"), **changes)


def run_toy(folder: Path, adapter: Toy | None = None, **changes) -> RunRecord:
    return run(spec(**changes), TASK, load(TASK, "test"), adapter or Toy(), RunStore(str(folder)))


def test_a_run_is_scored_recorded_and_kept_whole(tmp_path):
    record = run_toy(tmp_path)
    main = record.main()
    assert (main.metric, main.name, main.value, main.n, main.unscored) == ("classification", "accuracy", 0.5, 10, 0)
    assert record.status == "complete"
    assert record.task["version"] == 3
    assert record.data["n"] == record.data["scored_n"] == record.counts["examples"] == 10
    assert record.model["parameters"] == 7
    assert "a warning of the model" in record.warnings
    (folder,) = tmp_path.iterdir()
    assert folder.name == record.id
    assert "parity-one" in folder.name
    assert "/" not in record.id
    assert read_record(folder) == RunRecord.from_json(record.to_json())


def test_scores_can_be_made_again_from_the_samples_alone(tmp_path):
    record = run_toy(tmp_path)
    stored = record.statistics["classification"]
    numbers = [row["statistics"]["classification"] for row in read_samples(tmp_path / record.id)]
    sums = [float(sum(column)) for column in zip(*numbers, strict=True)]
    import numpy as np

    metric = configure(stored.metric, stored.settings)
    assert metric == Classification(labels=LABELS)
    again = metric.score(np.array(sums), stored.columns)
    for value in record.metrics:
        if value.value is not None:
            assert float(again[value.name]) == value.value


def test_samples_hold_what_was_asked_answered_and_expected(tmp_path):
    record = run_toy(tmp_path)
    first, second, *_ = read_samples(tmp_path / record.id)
    assert first["prediction"] == "even"
    assert first["references"] == ["even"]
    assert second["references"] == ["odd"]
    assert first["cluster"] == second["cluster"] == "0"
    assert first["prompt_digest"] != second["prompt_digest"]
    assert first["truncated"] is False


def test_failed_responses_are_counted_and_left_unscored_not_scored_as_wrong(tmp_path):
    record = run_toy(tmp_path, Toy(fails=frozenset({"1", "3"})))
    assert record.counts["failed"] == 2
    main = record.main()
    assert (main.n, main.unscored) == (8, 2)
    assert main.value == pytest.approx(3 / 8)
    failed = [row for row in read_samples(tmp_path / record.id) if row["statistics"] is None]
    assert [row["response"]["error"] for row in failed] == ["lost", "lost"]


def test_a_run_in_which_everything_failed_is_an_error_and_keeps_nothing(tmp_path):
    everything = frozenset(str(number) for number in range(1, 11))
    with pytest.raises(InvalidInputError, match="no example could be scored"):
        run_toy(tmp_path, Toy(fails=everything))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("adapter", [Toy(swap=True), Toy(drop=1)])
def test_an_adapter_that_answers_out_of_order_or_too_little_is_stopped(tmp_path, adapter):
    with pytest.raises(EvalkitError, match=r"out of turn|gave 9 answers to 10 requests"):
        run_toy(tmp_path, adapter)


def test_limit_and_sample_ids_choose_examples_and_keep_the_data_digest(tmp_path):
    whole, some = run_toy(tmp_path), run_toy(tmp_path, limit=4)
    chosen = run_toy(tmp_path, sample_ids=("3", "1"))
    assert [record.counts["examples"] for record in (whole, some, chosen)] == [10, 4, 2]
    assert whole.data["digest"] == some.data["digest"] == chosen.data["digest"]
    assert len({record.data["ids_digest"] for record in (whole, some, chosen)}) == 3
    assert [row["id"] for row in read_samples(tmp_path / chosen.id)] == ["1", "3"]
    with pytest.raises(UnknownNameError, match="unknown sample id '99'"):
        run_toy(tmp_path, sample_ids=("99",))


def test_the_adapter_sees_all_ids_also_where_the_run_is_limited(tmp_path):
    adapter = Toy()
    run_toy(tmp_path, adapter, limit=2)
    assert len(adapter.context.example_ids) == 10
    assert adapter.context.request_kind == "classify"
    assert len(list(adapter.context.training())) == 6


def test_the_same_run_gives_the_same_samples_and_numbers(tmp_path):
    first, second = run_toy(tmp_path / "a"), run_toy(tmp_path / "b")
    assert first.metrics == second.metrics
    assert (tmp_path / "a" / first.id / "samples.jsonl").read_bytes() == (
        tmp_path / "b" / second.id / "samples.jsonl"
    ).read_bytes()
    assert first.id[-6:] == second.id[-6:]


def test_intervals_resample_clusters_where_the_task_has_them(tmp_path):
    """Each cluster holds one even and one odd number, so that every resample of clusters scores one half."""
    main = run_toy(tmp_path).main()
    assert (main.low, main.high, main.stderr) == (0.5, 0.5, 0.0)


def test_a_model_that_cannot_answer_the_task_is_refused_before_anything_is_asked(tmp_path):
    class Mute(Toy):
        supports = frozenset({"rolling"})

    with pytest.raises(InvalidInputError, match=r"answers rolling requests, but task 'parity' asks by classify"):
        run_toy(tmp_path, Mute())


def test_a_record_with_broken_or_newer_json_is_refused_with_what_to_do():
    with pytest.raises(InvalidInputError, match="not a run record"):
        RunRecord.from_json("{}")
    with pytest.raises(InvalidInputError, match="or a newer one"):
        RunRecord.from_json(json.dumps({"schema_version": 99}))


def test_a_run_kept_on_another_file_system_has_its_record_written_last(tmp_path):
    record = run_toy(tmp_path)
    store = RunStore("memory://bucket/runs")
    address = store.keep(record, [{"id": "1", "text": "\ud800"}])
    import fsspec

    system = fsspec.filesystem("memory")
    assert address == f"memory://bucket/runs/{record.id}"
    assert RunRecord.from_json(system.cat(f"/bucket/runs/{record.id}/run.json").decode()) == record
    assert json.loads(system.cat(f"/bucket/runs/{record.id}/samples.jsonl")) == {"id": "1", "text": "\ud800"}


def test_samples_hold_what_was_asked_but_no_long_text_whole(tmp_path):
    record = run_toy(tmp_path)
    assert [sample["inputs"] for sample in read_samples(tmp_path / record.id)][:2] == [
        {"text": "test 0"},
        {"text": "test 1"},
    ]
    long = Example(id="1", inputs={"document": "x" * 2001, "tokens": ("a", "b"), "text": "y"}, references=("y",))
    assert readable_inputs(long) == {"document": "x" * 2000 + "…", "tokens": ["a", "b"]}
