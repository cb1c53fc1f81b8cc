"""Named tasks on the published files: as many examples as their descriptions say, and scores that were published for them."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from evalkit.data.load import lexicon, load
from evalkit.data.text import read_text
from evalkit.kinds import KINDS
from evalkit.prompts import render
from evalkit.spec import TaskSpec
from evalkit_tasks import TASKS

pytestmark = pytest.mark.real

COUNTS = {
    ("e2e_nlg", "test"): 630,
    ("tatoeba_zh_en", "train"): 18_741,
    ("tatoeba_zh_en", "dev"): 1_084,
    ("tatoeba_zh_en", "test"): 2_229,
    ("multi30k_en_de", "train"): 29_000,
    ("multi30k_en_de", "dev"): 1_014,
    ("multi30k_en_de", "test"): 1_000,
    ("multi30k_en_de", "test_2017"): 1_000,
    ("multi30k_de_en", "train"): 29_000,
    ("multi30k_de_en", "test"): 1_000,
    ("wmt17_en_de", "test"): 3_004,
    ("wmt22_en_zh", "test"): 2_037,
    ("csl_zh", "dev"): 1_000,
    ("csl_zh", "test"): 1_000,
    ("scitldr", "train"): 1_992,
    ("scitldr", "dev"): 619,
    ("scitldr", "test"): 618,
    ("xsum_hallucination", "test"): 1_992,
    ("cmrc2018", "dev"): 3_219,
    ("drcd", "test"): 3_493,
    ("squad", "dev"): 10_570,
    ("squad_v2", "dev"): 11_873,
    ("xquad_en", "test"): 1_190,
    ("xquad_zh", "test"): 1_190,
    ("uner_en_pud", "test"): 1_000,
    ("uner_zh_gsdsimp", "train"): 3_997,
    ("uner_zh_gsdsimp", "dev"): 500,
    ("uner_zh_gsdsimp", "test"): 500,
    ("uner_zh_pud", "test"): 1_000,
    ("wikigold", "test"): 1_696,
    ("wnut17", "train"): 3_394,
    ("wnut17", "dev"): 1_009,
    ("wnut17", "test"): 1_287,
    ("cws_gsdsimp", "train"): 3_997,
    ("cws_gsdsimp", "dev"): 500,
    ("cws_gsdsimp", "test"): 500,
    ("cws_people_daily", "train"): 5_600,
    ("cws_people_daily", "dev"): 700,
    ("cws_people_daily", "test"): 700,
    ("hongloumeng", "train"): 108,
    ("hongloumeng", "test"): 12,
    ("tinyshakespeare", "train"): 235,
    ("tinyshakespeare", "test"): 30,
    ("wikitext2", "dev"): 60,
    ("wikitext2", "test"): 60,
}
FOLDERS_WITHOUT_A_TASK = {"scaling", "realsumm"}


def complete(name: str) -> TaskSpec:
    return KINDS[TASKS[name].kind].complete(TASKS[name])


@pytest.mark.parametrize(("name", "split"), COUNTS)
def test_a_split_has_as_many_examples_as_its_description_says(data_dir, name, split):
    task = complete(name)
    examples = load(task, split, data_dir).examples
    assert len(examples) == COUNTS[name, split]
    assert len({example.id for example in examples}) == len(examples)
    chosen = random.Random(0).choice(examples)
    prompt = render(task, chosen)
    if task.kind == "mt":
        assert chosen.inputs["source"] in prompt
    for metric in task.metrics:
        assert metric.signature([example.references for example in examples])


def test_every_published_data_set_has_a_task(data_dir):
    used = {"/".join(path.split("/")[:2]) for task in TASKS.values() if task.files for path in _paths(task)}
    there = {
        f"{folder.parent.name}/{folder.name}"
        for folder in data_dir.glob("*/*")
        if folder.is_dir() and not FOLDERS_WITHOUT_A_TASK & {folder.name, folder.parent.name}
    }
    assert there <= used


def _paths(task: TaskSpec) -> list[str]:
    return [path for split in task.files.splits.values() for path in split] if task.files else []


def test_splits_of_tatoeba_share_no_source_and_hold_all_pairs(data_dir):
    task = TASKS["tatoeba_zh_en"]
    parts = [load(task, split, data_dir).examples for split in task.files.splits]
    sources = [example.inputs["source"] for part in parts for example in part]
    assert len(sources) == len(set(sources)) == 22_054
    references = [reference for part in parts for example in part for reference in example.references]
    assert len(references) == 24_026
    assert len(set(references)) == 23_147


@pytest.mark.parametrize("name", ["tinyshakespeare", "hongloumeng"])
def test_joined_splits_of_running_text_are_the_file(data_dir, name):
    task = TASKS[name]
    parts = [load(task, split, data_dir).examples for split in ("train", "test")]
    joined = "".join(example.inputs["text"] for part in parts for example in part)
    assert joined == read_text(data_dir / task.files.splits["test"][0])


def test_the_test_part_of_tinyshakespeare_is_that_of_nanogpt_from_its_first_speech(data_dir):
    task = TASKS["tinyshakespeare"]
    text = read_text(data_dir / task.files.splits["test"][0])
    test = "".join(example.inputs["text"] for example in load(task, "test", data_dir).examples)
    validation = text[int(len(text) * 0.9) :]
    assert len(validation) == 111_540
    assert test == validation[3:]


def test_references_of_each_question_and_input_are_all_there(data_dir):
    e2e = load(TASKS["e2e_nlg"], "test", data_dir).examples
    assert sum(len(example.references) for example in e2e) == 4_693
    assert max(len(example.references) for example in e2e) == 45
    wmt22 = load(TASKS["wmt22_en_zh"], "test", data_dir).examples
    assert {len(example.references) for example in wmt22} == {2}
    cmrc = load(TASKS["cmrc2018"], "dev", data_dir).examples
    assert {len(example.references) for example in cmrc} == {3}
    squad = load(TASKS["squad_v2"], "dev", data_dir).examples
    assert sum(not example.references for example in squad) == 5_945


def test_word_lists_of_segmentation_are_those_of_the_training_part(data_dir):
    assert len(lexicon(TASKS["cws_gsdsimp"], data_dir)) == 17_532
    words = lexicon(TASKS["cws_people_daily"], data_dir)
    train = load(TASKS["cws_people_daily"], "train", data_dir).examples
    assert words == {word for example in train for word in example.references[0].split()}


@pytest.mark.parametrize(("system", "bleu"), [("tgen", 65.92719327817852), ("tuda", 56.57254795407036)])
def test_bleu_of_published_e2e_outputs_is_that_of_sacrebleu(data_dir, system, bleu):
    examples = load(TASKS["e2e_nlg"], "test", data_dir).examples
    with (data_dir / f"nlg/e2e/system_outputs/{system}.tsv").open(encoding="utf-8", newline="") as file:
        outputs = {row["MR"]: row["output"] for row in csv.DictReader(file, delimiter="\t")}
    report = (
        TASKS["e2e_nlg"]
        .metrics[0]
        .report(
            [outputs[example.inputs["source"]] for example in examples], [example.references for example in examples]
        )
    )
    assert report["score"] == pytest.approx(bleu, abs=1e-9)


@pytest.mark.parametrize(
    ("rouge_type", "published", "lines"), [("rouge1", "R1", 1806), ("rouge2", "R2", 1976), ("rougeL", "RL", 1881)]
)
def test_rouge_of_published_xsum_summaries_is_the_published_one_where_perl_stems_alike(
    data_dir, rouge_type, published, lines
):
    examples = load(TASKS["xsum_hallucination"], "test", data_dir).examples
    rows = _json_lines(data_dir / "summarization/xsum_hallucination/scored_summaries.jsonl")
    statistics = (
        TASKS["xsum_hallucination"]
        .metrics[0]
        .statistics([row["summary"] for row in rows], [example.references for example in examples])
    )
    ours = statistics.rows[:, statistics.columns.index(rouge_type)].tolist()
    # published to 4 decimals, rounded from the 5 that Perl prints
    assert sum(abs(value - row[published]) < 1e-4 for value, row in zip(ours, rows, strict=True)) == lines


def _json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
