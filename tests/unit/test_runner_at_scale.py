"""Runs that do not fit into memory, that are cached, stopped and resumed: the same samples and numbers as plain ones."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from evalkit.adapters import open_adapter
from evalkit.asking import Asking
from evalkit.cache.opening import open_database
from evalkit.cache.responses import ResponseCache
from evalkit.data.load import load
from evalkit.errors import DataError, StoppedError
from evalkit.kinds import KINDS
from evalkit.record import RunRecord
from evalkit.requests import ClassifyResponse, ModelInfo, Request, Response, TaskContext
from evalkit.runner import run
from evalkit.spec import Files, ModelRef, RunSpec, TaskSpec
from evalkit.spool import Spool
from evalkit.stopping import Stop
from evalkit.store import RunStore, read_samples

SIZE = 23
LABELS = ("a", "b")


def make_task(kind: str = "classification", **changes) -> TaskSpec:
    task = TaskSpec(
        name="toy", kind=kind, version=1, summary="", language="en", paper="", licence="",
        files=Files(format="jsonl", splits={"test": ("test.jsonl",)}), **changes,
    )  # fmt: skip
    return KINDS[kind].complete(task)


CLASSES = make_task(labels=LABELS)


class Guess:
    """Guesses a class from the length of a text; notes whom it was asked about, and may ask to stop."""

    supports = frozenset({"classify"})

    def __init__(self, fails: Sequence[str] = (), stop: Stop | None = None, stop_after: int = 10**9) -> None:
        self.info = ModelInfo(ref="toy:guess", name="guess", digest="0" * 16, family="toy")
        self.fails, self.stop, self.stop_after = fails, stop, stop_after
        self.asked: list[str] = []

    def prepare(self, context: TaskContext) -> tuple[str, ...]:
        self.context = context
        return ()

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        for request in requests:
            self.asked.append(request.example_id)
            if self.stop is not None and len(self.asked) == self.stop_after:
                self.stop.ask()
            error = "lost" if request.example_id in self.fails else None
            label = None if error else LABELS[len(request.text) % 2]
            yield ClassifyResponse(example_id=request.example_id, label=label, error=error)


@pytest.fixture
def folder(tmp_path) -> Path:
    rows = [
        {"id": f"e{n}", "text": "x" * (n + 1), "label": LABELS[n % 3 % 2], "cluster": f"c{n // 4}" if n < 16 else None}
        for n in range(SIZE)
    ]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def go(
    folder: Path, adapter=None, out: str = "runs", asking: Asking | None = None, task=CLASSES, **changes
) -> RunRecord:
    spec = RunSpec(task="toy", model=ModelRef(scheme="toy", target="guess"), split="test", data_dir=str(folder))
    data = load(task, "test", folder)
    store = RunStore(str(folder / out))
    return run(replace(spec, **changes), task, data, adapter or Guess(), store, asking=asking)


def lines(folder: Path, record: RunRecord, out: str = "runs") -> bytes:
    return (folder / out / record.id / "samples.jsonl").read_bytes()


def told(record: RunRecord) -> dict:
    """All of a record that is the same every time."""
    document = json.loads(record.to_json())
    for name in ("id", "created", "timing", "environment"):
        del document[name]
    return document


CASES = {
    "all": {},
    "limit": {"limit": 9},
    "ids": {"sample_ids": ("e20", "e1", "e7", "e8", "e9")},
    "failures": {"adapter": ("e0", "e5", "e6", "e22")},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_does_not_fit_into_memory_is_scored_as_what_does(folder, request, case):
    changes = {name: value for name, value in case.items() if name != "adapter"}
    fails = case.get("adapter", ())
    plain = go(folder, Guess(fails), "plain", **changes)
    request.getfixturevalue("tiny_memory")
    assert isinstance(load(CLASSES, "test", folder).examples, Spool)
    spooled = go(folder, Guess(fails), "spooled", **changes)
    assert told(spooled) == told(plain)
    assert spooled.id[-6:] == plain.id[-6:]
    assert lines(folder, spooled, "spooled") == lines(folder, plain, "plain")


@pytest.mark.usefixtures("tiny_memory")
def test_the_adapter_sees_all_ids_and_examples_of_data_on_disk(folder):
    adapter = Guess()
    go(folder, adapter, limit=2)
    assert list(adapter.context.example_ids) == [f"e{n}" for n in range(SIZE)]
    assert [example.id for example in adapter.context.examples()] == list(adapter.context.example_ids)


class TestPredictions:
    """Files of predictions that do not fit into memory, in the forms that may have millions of lines."""

    def score(self, folder: Path, task: TaskSpec, content: str) -> RunRecord:
        path = folder / "out.txt"
        path.write_text(content)
        spec = RunSpec(task="toy", model=ModelRef(scheme="predictions", target=str(path)), split="test")
        data = load(task, "test", folder)
        return run(spec, task, data, open_adapter("predictions", str(path)), RunStore(str(folder / "runs")))

    def answers(self, order: Sequence[int]) -> str:
        return "".join(json.dumps({"id": f"e{n}", "prediction": LABELS[n % 2]}) + "\n" for n in order)

    @pytest.mark.parametrize(
        "order", [range(SIZE), range(SIZE - 1, -1, -1), sorted(range(SIZE), key=lambda n: n * 7 % SIZE)]
    )
    def test_json_lines_in_any_order(self, folder, request, order):
        plain = self.score(folder, CLASSES, self.answers(order))
        request.getfixturevalue("tiny_memory")
        spooled = self.score(folder, CLASSES, self.answers(order))
        assert lines(folder, spooled) == lines(folder, plain)
        assert [row["prediction"] for row in read_samples(folder / "runs" / spooled.id)] == [
            LABELS[n % 2] for n in range(SIZE)
        ]

    @pytest.mark.usefixtures("tiny_memory")
    def test_aligned_lines(self, folder):
        record = self.score(folder, CLASSES, "".join(f"{LABELS[n % 2]}\n" for n in range(SIZE)))
        assert [row["prediction"] for row in read_samples(folder / "runs" / record.id)] == [
            LABELS[n % 2] for n in range(SIZE)
        ]

    @pytest.mark.usefixtures("tiny_memory")
    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (lambda text: text + text.splitlines()[20] + "\n", ":24: id 'e20' is there twice, first on line 21"),
            (lambda text: text + text.splitlines()[1] + "\n", ":24: id 'e1' is there twice, first on line 2"),
            (
                lambda text: text.replace('"e20"', '"f20"'),
                ":21: id 'f20' is not in the split (1 such ids); nearest 'e20'",
            ),
            (
                lambda text: "".join(text.splitlines(keepends=True)[:-2]),
                ": 2 of 23 ids of the split have no prediction",
            ),
            (lambda text: text.replace('"e', '"x'), ": none of its 23 ids is in the split, first 'x0', 'x1', 'x2'"),
        ],
    )
    def test_ids_that_do_not_fit_are_named_with_their_lines(self, folder, change, problem):
        with pytest.raises(DataError) as caught:
            self.score(folder, CLASSES, change(self.answers(range(SIZE))))
        assert problem in str(caught.value)

    @pytest.mark.usefixtures("tiny_memory")
    def test_ids_with_the_same_hash_are_told_apart(self, folder, monkeypatch):
        for module in ("evalkit.data.seen", "evalkit.data.load", "evalkit.adapters.prediction_files.collected",
                       "evalkit.adapters.prediction_files.json_lines"):  # fmt: skip
            monkeypatch.setattr(f"{module}.hash", lambda name: len(name), raising=False)
        record = self.score(folder, CLASSES, self.answers(range(SIZE - 1, -1, -1)))
        assert [row["prediction"] for row in read_samples(folder / "runs" / record.id)] == [
            LABELS[n % 2] for n in range(SIZE)
        ]

    def test_tags_in_columns(self, folder, request):
        task = make_task("ner", options={"scheme": "IOB2"})
        rows = [{"id": f"s{n}", "tokens": ["Ann", "saw", "Bob"][: n % 3 + 1], "tags": ["B-PER", "O", "B-PER"][: n % 3 + 1]}
                for n in range(SIZE)]  # fmt: skip
        (folder / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        content = "\n".join("".join(f"{token}\tO\n" for token in row["tokens"]) for row in rows)
        plain = self.score(folder, task, content)
        request.getfixturevalue("tiny_memory")
        spooled = self.score(folder, task, content)
        assert told(spooled) == told(plain)
        assert lines(folder, spooled) == lines(folder, plain)


@pytest.mark.usefixtures("tiny_memory")
def test_an_id_that_is_there_twice_far_apart_is_found_with_both_lines(folder):
    text = (folder / "test.jsonl").read_text()
    (folder / "test.jsonl").write_text(text.replace('"e21"', '"e9"'))
    with pytest.raises(DataError, match=r"test\.jsonl:22: id 'e9' is that of .*test\.jsonl:10 already"):
        load(CLASSES, "test", folder)


@pytest.fixture
def open_cache(folder):
    def make() -> ResponseCache:
        path = folder / "cache.sqlite"
        return ResponseCache(path, open_database(path, pytest.fail), 2**40, pytest.fail)

    return make


def test_with_a_cache_samples_have_the_same_bytes_and_the_record_says_what_came_from_there(folder, open_cache):
    cache = open_cache()
    plain = go(folder, out="plain")
    first, model = go(folder, asking=Asking(cache=cache)), Guess()
    second = go(folder, model, asking=Asking(cache=cache))
    assert (first.counts["cached"], second.counts["cached"], model.asked) == (0, SIZE, [])
    assert lines(folder, second) == lines(folder, first) == lines(folder, plain, "plain")
    assert second.metrics == first.metrics == plain.metrics
    cache.close()


def test_a_run_that_is_stopped_keeps_what_was_answered_and_the_next_goes_on_from_there(folder, open_cache):
    expected = go(folder, out="plain")
    cache, stop = open_cache(), Stop()
    stopped = go(folder, Guess(stop=stop, stop_after=8), asking=Asking(cache=cache, stop=stop))
    assert stopped.status == "stopped: 8 of 23 examples were answered"
    assert (stopped.counts["examples"], stopped.data["scored_n"], stopped.main().n) == (8, SIZE, 8)
    kept = lines(folder, stopped).splitlines()
    assert kept == lines(folder, expected, "plain").splitlines()[:8]
    model = Guess()
    finished = go(folder, model, asking=Asking(cache=cache))
    assert model.asked == [f"e{n}" for n in range(8, SIZE)]
    assert finished.status == "complete"
    assert lines(folder, finished) == lines(folder, expected, "plain")
    cache.close()


def test_a_run_that_is_stopped_before_anything_was_answered_keeps_nothing(folder):
    stop = Stop()
    stop.ask()
    with pytest.raises(StoppedError, match="stopped before any example was answered"):
        go(folder, asking=Asking(stop=stop))
    assert not (folder / "runs").exists()


def test_a_stop_after_the_last_answer_leaves_the_run_complete(folder):
    stop = Stop()
    record = go(folder, Guess(stop=stop, stop_after=SIZE), asking=Asking(stop=stop))
    assert record.status == "complete"


def test_the_speed_of_a_model_is_not_told_where_the_cache_answered(folder, open_cache):
    cache = open_cache()
    go(folder, asking=Asking(cache=cache))
    assert "tokens_per_s" not in go(folder, asking=Asking(cache=cache)).timing
    cache.close()


@pytest.mark.parametrize(
    ("info", "promise"),
    [
        ({"determined_by": "request"}, "the same numbers and samples"),
        ({"determined_by": "batch", "details": {"device": "cpu"}}, "the same numbers and samples"),
        ({"determined_by": "batch", "details": {"device": "cuda:1"}}, "up to rounding: cuda promises no order"),
        ({"determined_by": "service"}, "as far as the service answers the same again"),
    ],
)
def test_the_record_says_what_can_be_repeated(folder, info, promise):
    adapter = Guess()
    adapter.info = replace(adapter.info, **info)
    assert go(folder, adapter).environment["repeatability"].startswith(promise)
