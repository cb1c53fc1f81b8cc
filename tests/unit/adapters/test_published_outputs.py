"""Published outputs of real systems, read as their users have them."""

import csv
import gzip
import json

import pytest

from evalkit.adapters import open_adapter
from evalkit.requests import GenerateRequest, LabelRequest, SpanRequest

pytestmark = pytest.mark.real


def text_of(path):
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def lines_of(path):
    return text_of(path).removesuffix("\n").split("\n")


def prepared(path, context):
    adapter = open_adapter("predictions", str(path))
    return adapter, [warning.removeprefix(f"{path}: ") for warning in adapter.prepare(context)]


@pytest.fixture
def segmentation(data_dir):
    folder = data_dir / "cws" / "gsdsimp_seg"
    return folder, [(str(place), {"text": line}) for place, line in enumerate(lines_of(folder / "test.utf8"))]


def test_max_match_reproduces_the_published_baseline(segmentation, make_context):
    folder, rows = segmentation
    adapter = open_adapter("baseline", "max-match")
    adapter.prepare(make_context("cws", "generate", rows, words=lines_of(folder / "train_words.utf8")))
    responses = adapter.answer([GenerateRequest(example_id=name, inputs=inputs) for name, inputs in rows])
    assert [response.text for response in responses] == lines_of(folder / "outputs" / "test_fmm.utf8")


@pytest.mark.parametrize("name", ["test_fmm", "test_chars"])
def test_outputs_of_segmenters_fit_the_test_set(segmentation, make_context, name):
    folder, rows = segmentation
    adapter, warnings = prepared(folder / "outputs" / f"{name}.utf8", make_context("cws", "label", rows))
    assert warnings == []
    labels = [response.labels for response in adapter.answer([LabelRequest(example_id=row[0]) for row in rows])]
    assert [len(each) for each in labels] == [len(inputs["text"]) for _, inputs in rows]


@pytest.mark.parametrize("system", ["arcada", "drexel_cci", "spinningbytes"])
def test_submissions_of_a_shared_task_fit_its_tokens(data_dir, make_context, system):
    folder = data_dir / "ner" / "wnut17"
    blocks = text_of(folder / "emerging.test.annotated").strip("\n").replace("\n\t\n", "\n\n").split("\n\n")
    rows = [
        (str(place), {"tokens": tuple(line.split("\t")[0] for line in block.strip("\n").split("\n"))})
        for place, block in enumerate(blocks)
    ]
    path = folder / "submissions" / f"{system}.txt"
    adapter, warnings = prepared(path, make_context("ner", "label", rows))
    assert warnings == []
    tags = [
        tag for response in adapter.answer([LabelRequest(example_id=row[0]) for row in rows]) for tag in response.labels
    ]
    assert tags == [line.rstrip("\r").replace("\t", " ").split(" ")[-1] for line in lines_of(path) if line.strip()]


@pytest.mark.parametrize(
    ("version", "predictions", "expected"),
    [("v1.1", "v1.1_logistic_regression", ["28 of", "13 of 10570"]), ("v2.0", "v2.0_bidaf_sa_elmo", [])],
)
def test_squad_predictions_miss_as_many_ids_as_the_official_script_says(
    data_dir, make_context, version, predictions, expected
):
    data = json.loads(text_of(data_dir / "qa" / "squad" / f"dev-{version}.json.gz"))["data"]
    names = [qa["id"] for article in data for paragraph in article["paragraphs"] for qa in paragraph["qas"]]
    path = data_dir / "qa" / "squad" / "predictions" / f"{predictions}.json.gz"
    adapter, warnings = prepared(path, make_context("qa", "span", [(name, {}) for name in names]))
    assert [warning[: len(start)] for warning, start in zip(warnings, expected, strict=True)] == expected
    texts = [response.text for response in adapter.answer([SpanRequest(example_id=name) for name in names])]
    given = json.loads(text_of(path))
    assert texts == [given.get(name) for name in names]


@pytest.mark.parametrize("system", ["tgen", "tuda"])
def test_outputs_of_a_generation_challenge_fit_its_inputs(data_dir, make_context, system):
    folder = data_dir / "nlg" / "e2e"
    inputs = dict.fromkeys(row[0] for row in csv.reader(lines_of(folder / "testset_w_refs.csv.gz")[1:]))
    rows = [(str(place), {"source": source}) for place, source in enumerate(inputs)]
    path = folder / "system_outputs" / f"{system}.tsv"
    adapter, warnings = prepared(path, make_context("mt", "generate", rows))
    assert warnings == []
    texts = [response.text for response in adapter.answer([GenerateRequest(example_id=row[0]) for row in rows])]
    assert texts == [line.rstrip("\r").split("\t")[1].strip('"') for line in lines_of(path)[1:]]


@pytest.mark.parametrize(
    ("folder", "pattern", "count"),
    [("wmt22/en-zh", "generaltest2022.en-zh.hyp.*.gz", 2037), ("wmt17_en_de", "newstest2017.*.txt.gz", 3004)],
)
def test_translations_of_shared_tasks_have_one_line_a_segment(data_dir, make_context, folder, pattern, count):
    rows = [(str(place), {"source": ""}) for place in range(count)]
    names = set()
    for path in sorted((data_dir / "mt" / folder).glob(pattern)):
        adapter, _ = prepared(path, make_context("mt", "generate", rows))
        texts = [response.text for response in adapter.answer([GenerateRequest(example_id=row[0]) for row in rows])]
        assert texts == lines_of(path)
        names.add(adapter.info.name)
    assert len(names) == len(list((data_dir / "mt" / folder).glob(pattern)))
