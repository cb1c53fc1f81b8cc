import json
import os
import subprocess
import sys
from hashlib import sha256
from importlib import import_module
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.kinds import KINDS
from evalkit_tasks.mini.streams import SPLITS, Candidate, between, pick, shuffled, split_of, stream, take

NAMES = (
    "mini_mt_en_zh",
    "mini_mt_zh_en",
    "mini_summarization",
    "mini_summarization_zh",
    "mini_qa",
    "mini_qa_zh",
    "mini_ner",
    "mini_ner_zh",
    "mini_cws",
    "mini_lm",
    "mini_classification",
    "mini_classification_zh",
)
TASKS = {name: import_module(f"evalkit_tasks.{name}").TASK for name in NAMES}
SHOWN = {
    "mt": ("source", "references"),
    "summarization": ("document",),
    "qa": ("context",),
    "ner": ("tokens",),
    "cws": ("words",),
    "lm": ("text",),
    "classification": ("text",),
}
DIGESTS = {
    "mini_mt_en_zh": (1, "619b07d1ea88"),
    "mini_mt_zh_en": (1, "64138ae9a7d8"),
    "mini_summarization": (1, "3b42e4cfa1ed"),
    "mini_summarization_zh": (1, "c01434bc6ef3"),
    "mini_qa": (2, "f6356f80518b"),
    "mini_qa_zh": (2, "6a0d55b531b9"),
    "mini_ner": (1, "6544f2fbd54d"),
    "mini_ner_zh": (1, "be61065a25b6"),
    "mini_cws": (1, "bb863e297ca8"),
    "mini_lm": (2, "c9cd8ab6d1c2"),
    "mini_classification": (1, "191bbc330371"),
    "mini_classification_zh": (1, "47489707e552"),
}


def rows_of(name, split, size, seed=0):
    return list(TASKS[name].generated.rows(split, size, seed))


def texts_of(name, rows):
    return {json.dumps(row[field], ensure_ascii=False) for row in rows for field in SHOWN[TASKS[name].kind]}


def digest_of(rows):
    return sha256(json.dumps(rows, ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:12]


@pytest.mark.parametrize("name", NAMES)
def test_task_is_generated_and_free_to_use(name):
    task = TASKS[name]
    assert task.name == name
    assert task.licence == "Apache-2.0"
    assert set(task.generated.sizes) == set(SPLITS)
    assert task.files is None
    assert task.hub is None


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("split", SPLITS)
def test_rows_fit_the_kind(name, split):
    kind = KINDS[TASKS[name].kind]
    for row in rows_of(name, split, 60):
        assert set(row) <= {*kind.required, *kind.optional, "id", "cluster"}
        kind.example(row, "1")


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_gives_the_same_rows(name):
    assert rows_of(name, "dev", 90, 3) == rows_of(name, "dev", 90, 3)
    assert rows_of(name, "dev", 90, 3) != rows_of(name, "dev", 90, 4)


@pytest.mark.parametrize("name", NAMES)
def test_first_rows_do_not_depend_on_the_size(name):
    assert rows_of(name, "test", 31) == rows_of(name, "test", 80)[:31]


@pytest.mark.parametrize("name", NAMES)
def test_splits_share_no_text_whatever_the_seeds(name):
    train = texts_of(name, rows_of(name, "train", 500) + rows_of(name, "train", 300, 1))
    dev = texts_of(name, rows_of(name, "dev", 200) + rows_of(name, "dev", 200, 1))
    test = texts_of(name, rows_of(name, "test", 200) + rows_of(name, "test", 200, 2))
    assert train.isdisjoint(test)
    assert train.isdisjoint(dev)
    assert dev.isdisjoint(test)


@pytest.mark.parametrize("name", NAMES)
def test_no_row_comes_twice(name):
    rows = [json.dumps({key: value for key, value in row.items() if key != "id"}) for row in rows_of(name, "test", 400)]
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("name", NAMES)
def test_rows_stay_as_they_are_until_the_version_rises(name):
    version, digest = DIGESTS[name]
    assert TASKS[name].version == version
    assert digest_of([rows_of(name, split, 40) for split in SPLITS]) == digest


def test_rows_do_not_depend_on_the_hash_seed():
    program = (
        "from evalkit_tasks.mini import translation, questions, segmentation\n"
        "print(translation.rows('en', 'test', 30, 0), questions.rows('en', True, 'test', 30, 0))\n"
        "print(segmentation.rows('test', 30, 0))\n"
    )
    outputs = set()
    for hash_seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        )
        outputs.add(done.stdout)
    assert len(outputs) == 1


@pytest.mark.parametrize("name", NAMES)
def test_unknown_split_is_named(name):
    with pytest.raises(UnknownNameError, match="unknown split 'valid'"):
        rows_of(name, "valid", 1)


def test_negative_size_is_refused():
    with pytest.raises(InvalidInputError, match="size is -1"):
        rows_of("mini_lm", "test", -1)


def test_size_zero_gives_no_rows():
    assert rows_of("mini_lm", "test", 0) == []


def test_exhausted_grammar_says_how_many_rows_there_are():
    def draw(rng):
        word = pick(rng, [str(number) for number in range(40)])
        return Candidate(word, lambda: word)

    possible = [str(number) for number in range(40) if split_of(str(number)) == "dev"]
    with pytest.raises(InvalidInputError, match=f"no more than {len(possible)} dev rows"):
        take(stream("tiny", "dev", 0, draw), 41)


@given(st.text())
def test_each_key_belongs_to_one_split(key):
    assert split_of(key) in SPLITS


def test_half_of_the_keys_are_train():
    counts = {split: 0 for split in SPLITS}
    for number in range(4000):
        counts[split_of(f"key {number}")] += 1
    assert 1900 < counts["train"] < 2100
    assert 900 < counts["dev"] < 1100
    assert 900 < counts["test"] < 1100


@given(st.randoms(use_true_random=False), st.lists(st.integers(), min_size=1), st.integers(0, 20))
def test_draws_stay_within_their_bounds(rng, items, width):
    assert pick(rng, items) in items
    assert sorted(shuffled(rng, items)) == sorted(items)
    assert 5 <= between(rng, 5, 5 + width) <= 5 + width


def test_every_number_of_a_range_is_drawn():
    from random import Random

    rng = Random(0)
    assert {between(rng, 2, 6) for _ in range(300)} == {2, 3, 4, 5, 6}
    assert all(second >= first for first, second in pairwise(sorted(between(rng, 0, 9) for _ in range(9))))
