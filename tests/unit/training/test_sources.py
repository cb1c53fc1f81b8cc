"""What is trained on: parts, texts of files and tasks, words, and what must not be among it."""

import gzip

import pytest

from evalkit.catalog import find_task
from evalkit.data.load import load
from evalkit.errors import DataError, InvalidInputError, MissingResourceError
from evalkit.resolve import resize, resolve_task
from evalkit.training.recipe import DataSection, EvaluateSection
from evalkit.training.recipe_file import find_recipe, recipe_names
from evalkit.training.sources import TrainingData, open_heldout, open_training, shared_texts
from evalkit.training.texts import Document, document_of

MINI = [name for name in recipe_names() if "-mini-" in name]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\nfour\n", encoding="utf-8")
    with gzip.open(tmp_path / "b.txt.gz", "wt", encoding="utf-8") as file:
        file.write("fünf\r\nsechs\r\n")
    (tmp_path / "words.txt").write_text("老人  在  桥上\n\n等着　渡船\n", encoding="utf-8")
    return tmp_path


def texts(folder, **more) -> list[str]:
    return [document.text for document in open_training(DataSection(**more), None, folder).documents]


def test_a_document_is_a_line_a_paragraph_or_a_file(folder):
    assert texts(folder, texts=("a.txt", "b.txt")) == ["one", "two", "three", "four", "fünf", "sechs"]
    assert texts(folder, texts=("a.txt",), documents="paragraph") == ["one\ntwo", "three\nfour"]
    assert texts(folder, texts=("a.txt",), documents="file") == ["one\ntwo\n\nthree\nfour\n"]


def test_parts_of_lines_are_counted_in_lines_and_parts_of_files_in_characters_of_whole_lines(folder):
    assert texts(folder, texts=("a.txt",), part=(0.5, 1.0)) == ["three", "four"]
    assert texts(folder, texts=("a.txt",), part=(0.0, 1.0), limit=3) == ["one", "two", "three"]
    first, second = (
        texts(folder, texts=("a.txt", "b.txt"), documents="file", part=part) for part in ((0.0, 0.4), (0.4, 1.0))
    )
    assert "".join([*first, *second]) == "one\ntwo\n\nthree\nfour\nfünf\r\nsechs\r\n"
    assert all(text.endswith("\n") for text in (*first, *second))
    assert 0.25 < len("".join(first)) / 33 < 0.55


def test_blanks_between_chinese_words_are_left_out_and_the_words_are_known(folder):
    data = open_training(DataSection(texts=("words.txt",), unspaced=True), None, folder)
    assert data.documents == (
        Document("老人在桥上", ("老人", "在", "桥上")),
        Document("等着渡船", ("等着", "渡船")),
    )


def test_the_examples_of_a_task_can_be_texts_each_once(folder):
    spec = find_task("mini_qa")
    contexts = list(dict.fromkeys(row.inputs["context"] for row in load(spec, "dev").examples))
    assert texts(folder, texts=("task:mini_qa/dev", "a.txt"))[:-4] == contexts
    with pytest.raises(InvalidInputError, match="'task:mini_qa' name no split"):
        texts(folder, texts=("task:mini_qa",))


def test_the_prompts_of_a_task_can_be_texts_each_with_its_answer(folder):
    spec = resolve_task("mini_qa")
    rows = load(resize(spec, "train", 30), "train").examples
    assert texts(folder, texts=("prompt:mini_qa/train",), size=30) == [
        f"{spec.instruction}\n\n"
        f"Context: {row.inputs['context']}\nQuestion: {row.inputs['question']}\nAnswer:"
        f" {row.references[0] if row.references else 'unanswerable'}"
        for row in rows
    ]
    assert len(texts(folder, texts=("prompt:mini_qa/train", "prompt:mini_lm/train", "a.txt"), size=30)) == 30 + 30 + 4
    with pytest.raises(InvalidInputError, match=r"size is for embedded tasks.*limit"):
        texts(folder, texts=("a.txt",), size=30)
    with pytest.raises(InvalidInputError, match=r"size is for embedded tasks, and 'squad' has a fixed data set"):
        texts(folder, texts=("prompt:squad/train",), size=30)
    with pytest.raises(InvalidInputError, match=r"'prompt:mini_qa' name no split; expected prompt:NAME/SPLIT"):
        texts(folder, texts=("prompt:mini_qa",))
    with pytest.raises(InvalidInputError, match=r"exclude 'mini_qa' name no split; expected NAME/SPLIT"):
        texts(folder, texts=("a.txt",), exclude=("mini_qa",))
    with pytest.raises(InvalidInputError, match="unknown task 'prompt:mini_qa'"):
        texts(folder, texts=("task:prompt:mini_qa/train",))
    with pytest.raises(InvalidInputError, match="size is 100000000; expected"):
        DataSection(texts=("prompt:mini_qa/train",), size=100_000_000)


def test_a_part_that_is_held_out_is_one_of_the_same_number_of_examples(folder):
    section = DataSection(texts=("task:mini_lm/train",), size=3000, part=(0.0, 0.9))
    trained = open_training(section, None, folder)
    held_out = open_heldout(EvaluateSection(part=(0.9, 1.0)), section, None, folder)
    assert (len(trained), len(held_out)) == (2700, 300)
    assert shared_texts(trained, held_out) == 0


def test_texts_that_hold_one_that_is_measured_are_left_out_blanks_aside(folder):
    measured = [row.inputs["text"] for row in load(find_task("mini_cws"), "test").examples]
    long, short = max(measured, key=len), min(measured, key=len)
    lines = ["  ".join(long), f"前面{long}后面", long[:-1], "别的文字没有关系", short]
    (folder / "c.txt").write_text("\n".join(lines), encoding="utf-8")
    kept = texts(folder, texts=("c.txt",), exclude=("mini_cws/test",))
    assert kept == [long[:-1], "别的文字没有关系", *([short] if len(short) < 8 else [])]


def test_clusters_are_never_cut():
    spec = find_task("mini_qa")
    halves = [
        open_training(DataSection(task="mini_qa", part=part, size=100), spec, None) for part in ((0.0, 0.5), (0.5, 1.0))
    ]
    clusters = [{row.cluster for row in half.examples} for half in halves]
    assert clusters[0].isdisjoint(clusters[1])
    assert sum(len(half.examples) for half in halves) == 100
    assert halves[0].digest != halves[1].digest


def test_the_digest_is_that_of_the_content(folder):
    sections = [
        DataSection(texts=("a.txt",)),
        DataSection(texts=("a.txt",), part=(0.0, 1.0)),
        DataSection(texts=("b.txt",)),
    ]
    first, same, other = (open_training(section, None, folder).digest for section in sections)
    assert first == same != other


def test_places_of_answers_are_those_of_the_data():
    data = open_training(DataSection(task="mini_qa"), find_task("mini_qa"), None)
    checked = 0
    for example in data.examples:
        for start, answer in zip(data.answer_starts[example.id], example.references, strict=True):
            assert example.inputs["context"][start : start + len(answer)] == answer
            checked += 1
    assert checked > 1000


def test_held_out_texts_must_not_be_those_that_are_trained_on(folder):
    section = DataSection(texts=("a.txt",), part=(0.0, 0.6))
    with pytest.raises(InvalidInputError, match="overlap"):
        open_heldout(EvaluateSection(part=(0.5, 1.0)), section, None, folder)
    data = open_heldout(EvaluateSection(part=(0.6, 1.0)), section, None, folder)
    assert shared_texts(open_training(section, None, folder), data) == 0
    other = open_heldout(EvaluateSection(texts=("b.txt",)), section, None, folder)
    assert [text.text for text in other.documents] == ["fünf", "sechs"]


def test_what_is_missing_or_empty_is_one_line(folder):
    with pytest.raises(DataError, match=r"zz\.txt"):
        texts(folder, texts=("zz.txt",))
    with pytest.raises(InvalidInputError, match="name a task"):
        texts(folder)
    with pytest.raises(DataError, match="nothing is left"):
        texts(folder, texts=("b.txt",), part=(0.9, 0.91))
    with pytest.raises(InvalidInputError, match="exclude and unspaced go with texts"):
        DataSection(task="mini_lm", unspaced=True)
    with pytest.raises(MissingResourceError):
        texts(folder, texts=("task:cws_gsdsimp/train",))


@pytest.mark.parametrize("name", MINI)
def test_no_text_of_dev_or_test_is_in_the_training_data_of_a_mini(name):
    recipe = find_recipe(name)
    spec = find_task(recipe.data.task)
    data = open_training(recipe.data, spec, None)
    seen = {_key(spec, row) for row in data.examples}
    for split in ("dev", "test"):
        held_out = resize(spec, split, 500)
        rows = load(held_out, split).examples
        assert seen.isdisjoint(_key(spec, row) for row in rows)
        assert shared_texts(data, TrainingData(source="", digest="", task=spec, examples=rows)) == 0


def _key(spec, row):
    return document_of(spec, row).text, row.inputs.get("question")
