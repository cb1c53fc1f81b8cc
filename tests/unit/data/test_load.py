import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.data.load import lexicon, load, open_rows, training
from evalkit.errors import DataError, UnknownNameError
from evalkit.spec import Files, Generated, Hub, TaskSpec


def task(kind="mt", **data):
    return TaskSpec(
        name="tea",
        kind=kind,
        version=1,
        summary="A task for tests.",
        language="zh",
        paper="none",
        licence="none",
        **data,
    )


def files(format_name="jsonl", test="test.jsonl", **settings):
    return Files(format=format_name, splits={"test": (test,), "train": ("train.jsonl",)}, **settings)


@pytest.fixture(autouse=True)
def _no_data_dir(monkeypatch):
    monkeypatch.delenv("EVALKIT_DATA_DIR", raising=False)


@pytest.fixture
def pair(write):
    line = {"source": "Tea.", "references": ["茶。"], "cluster": "d1"}
    return write("test.jsonl", json.dumps(line) + "\n" + json.dumps({**line, "id": "x"}) + "\n")


def test_rows_become_examples_with_ids_and_a_digest(pair, tmp_path):
    data = load(task(files=files()), "test", tmp_path)
    assert [(row.id, dict(row.inputs), row.references, row.cluster) for row in data.examples] == [
        ("1", {"source": "Tea."}, ("茶。",), "d1"),
        ("x", {"source": "Tea."}, ("茶。",), "d1"),
    ]
    canonical = '["1",{"source":"Tea."},["茶。"],"d1"]\n["x",{"source":"Tea."},["茶。"],"d1"]\n'
    assert data.digest == hashlib.sha256(canonical.encode()).hexdigest()[:16]
    assert (data.source, data.revision, data.split, data.paths, data.warnings) == (
        "files",
        None,
        "test",
        (str(pair),),
        (),
    )


def test_the_digest_is_of_the_content_not_of_the_file(write, tmp_path):
    write("a.jsonl", '{"source": "Tea.", "references": ["茶。"]}\n')
    write("b.jsonl.gz", '\n{"references": "茶。", "more": 1, "source": "Tea.", "id": 1}\r\n')
    write("c.jsonl", '{"source": "Tea", "references": ["茶。"]}\n')
    digests = [load(task(files=files(test=f"{name}.jsonl")), "test", tmp_path).digest for name in "abc"]
    assert digests[0] == digests[1] != digests[2]


def test_the_environment_names_the_data_folder(pair, tmp_path, monkeypatch):
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path))
    assert len(load(task(files=files()), "test").examples) == 2


def test_a_folder_in_hand_comes_before_the_environment(pair, tmp_path, monkeypatch):
    monkeypatch.setenv("EVALKIT_DATA_DIR", "/nowhere")
    assert len(load(task(files=files()), "test", str(tmp_path)).examples) == 2


def test_generated_tasks_need_no_folder():
    def rows(split, size, seed):
        return ({"source": f"{split} {number + seed}", "references": ["r"]} for number in range(size))

    generated = Generated(rows=rows, sizes={"train": 3, "test": 2}, seed=7)
    data = load(task(generated=generated, files=files()), "test")
    assert [row.inputs["source"] for row in data.examples] == ["test 7", "test 8"]
    assert (data.source, data.revision) == ("generated", "seed 7, size 2")
    assert len(training(task(generated=generated))) == 3


def test_a_data_folder_that_is_not_needed_is_not_looked_for(monkeypatch):
    monkeypatch.setenv("EVALKIT_DATA_DIR", "/nowhere")
    generated = Generated(rows=lambda split, size, seed: [{"text": "a"}] * size, sizes={"test": 2})
    assert len(load(task("lm", generated=generated), "test").examples) == 2


def test_the_hub_is_read_where_no_folder_is_given(pair, tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets")
    row = {"source": "Tea.", "references": ["茶。"]}
    monkeypatch.setattr(datasets, "load_dataset", lambda *args, **keywords: datasets.Dataset.from_list([row]))
    commit = "0123456789" * 4
    source = Hub(name="o/n", revision=commit, splits={"test": "validation"}, checked="a test")
    both = task(hub=source, files=files())
    assert (load(both, "test").source, load(both, "test").revision) == ("hub", commit)
    assert load(both, "test", tmp_path).source == "files"
    assert load(task(hub=source), "test", tmp_path).source == "hub"


def test_the_current_split_reaches_the_reader(write, tmp_path):
    write("all.tsv", "".join(f"s{number}\tr{number}\n" for number in range(200)))
    options = {
        "columns": ["source", "references"],
        "split_by": "source",
        "split_shares": {"test": 0.25, "train": 0.75},
    }
    one_file = Files(format="tsv", splits={"test": ("all.tsv",), "train": ("all.tsv",)}, options=options)
    parts = [load(task(files=one_file), split, tmp_path).examples for split in ("test", "train")]
    assert sum(map(len, parts)) == 200
    assert 30 < len(parts[0]) < 70
    assert parts[0][0].id == parts[1][0].id == "1"


def test_opening_reads_nothing_yet(write, tmp_path):
    write("test.jsonl", "broken\n")
    assert open_rows(task(files=files()), "test", tmp_path).source == "files"


def test_blank_inputs_are_warned_of(write, tmp_path):
    write("test.jsonl", '{"source": "a", "references": ["r"]}\n{"source": " ", "references": ["r"]}\n')
    data = load(task(files=files()), "test", tmp_path)
    assert data.warnings == ("task 'tea': field 'source' is blank in 1 of 2 examples, first in '2'",)


def test_the_training_split_is_loaded(pair, write, tmp_path):
    write("train.jsonl", '{"source": "a", "references": ["r"]}\n')
    assert [row.inputs["source"] for row in training(task(files=files()), tmp_path)] == ["a"]


def test_the_lexicon_is_the_word_list_or_else_the_training_words(write, tmp_path):
    write("train.utf8", "我  爱\n我  茶\n")
    write("words.utf8.gz", "天\r\n\n地 \n")
    splits = {"train": ("train.utf8",)}
    assert lexicon(task("cws", files=Files(format="sighan", splits=splits)), tmp_path) == {"我", "爱", "茶"}
    listed = Files(format="sighan", splits=splits, lexicon="words.utf8")
    assert lexicon(task("cws", files=listed), tmp_path) == {"天", "地"}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('{"source": "a"}\n', "test.jsonl:1: no field 'references'; found 'source'"),
        (
            '\n{"source": 3, "references": ["r"]}\n',
            "test.jsonl:2: field 'source' is int 3; expected text",
        ),
        (
            '{"source": "a", "references": ["r"], "id": "x"}\n{"source": "b", "references": ["r"], "id": "x"}\n',
            "test.jsonl:2: id 'x' is that of test.jsonl:1 already; expected a different id for each row",
        ),
        (
            '{"source": "a", "references": ["r"], "id": 1.5}\n',
            "test.jsonl:1: field 'id' is 1.5; expected a text or a whole number",
        ),
        (
            '{"source": "a", "references": ["r"], "id": ""}\n',
            "test.jsonl:1: field 'id' is ''; expected a text or a whole number",
        ),
        ("\n\n", "test.jsonl: no rows in split 'test'; expected at least one"),
    ],
)
def test_bad_rows_are_shown_where_they_are(write, tmp_path, complaint, content, expected):
    write("test.jsonl", content)
    assert complaint(load, task(files=files()), "test", tmp_path) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            '[{"source": "a", "references": ["r"]}, {"source": "a"}]',
            "test.json: row 2: no field 'references'; found 'source'",
        ),
        (
            '[{"source": "a", "references": "r", "id": 4}, {"source": "a", "references": "r", "id": "4"}]',
            "test.json: row 2: id '4' is that of row 1 already; expected a different id for each row",
        ),
    ],
)
def test_rows_without_lines_are_counted(write, tmp_path, complaint, content, expected):
    write("test.json", content)
    assert complaint(load, task(files=files("json", "test.json")), "test", tmp_path) == expected


def test_the_same_question_id_twice_is_refused(write, tmp_path, complaint):
    qas = [{"id": "q", "question": "?", "answers": [{"text": "a", "answer_start": 0}]}] * 2
    write("test.json", json.dumps({"data": [{"title": "T", "paragraphs": [{"context": "a", "qas": qas}]}]}))
    assert complaint(load, task("qa", files=files("squad_json", "test.json")), "test", tmp_path) == (
        "test.json: row 2: id 'q' is that of row 1 already; expected a different id for each row"
    )


class TestDataThatIsNotThere:
    def test_an_unknown_split_names_the_known(self, tmp_path, complaint):
        with pytest.raises(UnknownNameError):
            load(task(files=files()), "tset", tmp_path)
        expected = "unknown split of task 'tea': 'tset'; did you mean 'test'? known: test, train"
        assert complaint(load, task(files=files()), "tset", tmp_path) == expected
        assert complaint(load, task(files=files()), "tset") == expected

    def test_without_a_folder_the_expected_files_are_named(self, complaint):
        assert complaint(load, task(files=files()), "test") == (
            "task 'tea' reads files: give --data-dir (or set EVALKIT_DATA_DIR) to a folder with test.jsonl"
        )

    def test_a_file_that_is_missing_from_the_folder(self, write, tmp_path, complaint):
        write("mt/tea/test.jsnol", "")
        assert complaint(load, task(files=files(test="mt/tea/test.jsonl")), "test", tmp_path) == (
            "task 'tea' needs mt/tea/test.jsonl below the data folder: mt/tea/test.jsonl: no such file;"
            " did you mean 'test.jsnol'?"
        )

    def test_a_data_folder_that_is_none(self, tmp_path, complaint, monkeypatch):
        assert complaint(load, task(files=files()), "test", tmp_path / "no") == (
            "the data folder 'no' of --data-dir is not a folder; check the path"
        )
        monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path / "no"))
        assert complaint(load, task(files=files()), "test") == (
            "the data folder 'no' of EVALKIT_DATA_DIR is not a folder; check the path"
        )

    @pytest.mark.parametrize("path", ["../secret.jsonl", "/etc/passwd", "mt/../../secret.jsonl"])
    def test_paths_do_not_leave_the_folder(self, tmp_path, complaint, path):
        assert complaint(load, task(files=files(test=path)), "test", tmp_path) == (
            f"task 'tea': path {path!r} leaves the data folder; expected a path below it"
        )

    def test_an_unknown_format(self, pair, tmp_path, complaint):
        assert complaint(load, task(files=files("json_lines")), "test", tmp_path) == (
            "unknown file format of task 'tea': 'json_lines'; did you mean 'jsonl'? known: parallel_text, jsonl, json, csv,"
            " tsv, squad_json, conll, sighan, plain_text"
        )

    def test_the_hub_error_names_the_files_that_would_do(self, complaint, monkeypatch):
        monkeypatch.setitem(sys.modules, "datasets", None)
        source = Hub(name="o/n", revision="abc", splits={"test": "test"}, checked="a test")
        assert complaint(load, task(hub=source, files=files()), "test") == (
            "data set 'o/n' is on the Hugging Face hub; install its client: pip install 'evalkit[hub]';"
            " or give --data-dir with test.jsonl"
        )

    def test_no_training_split(self, tmp_path, complaint):
        only_test = Files(format="jsonl", splits={"test": ("t",), "dev": ("d",)})
        assert complaint(training, task(files=only_test), tmp_path) == (
            "task 'tea' has no split 'train'; its splits: test, dev"
        )

    def test_no_lexicon(self, tmp_path, complaint):
        assert complaint(lexicon, task(files=files()), tmp_path) == (
            "task 'tea' is of kind 'mt'; only cws tasks have a word list"
        )


def test_the_module_that_lists_formats_loads_nothing_heavy():
    heavy = "numpy", "pandas", "datasets", "nltk", "sacrebleu", "sklearn", "torch"
    program = f"import sys, evalkit.data.load; print([name for name in {heavy} if name in sys.modules])"
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout == "[]\n"


def test_an_example_that_does_not_go_with_the_task_is_refused_with_its_line(write, tmp_path):
    write("test.jsonl", '{"text": "fine", "label": "a"}\n{"text": "odd", "label": "z"}\n')
    with pytest.raises(DataError, match=r"test\.jsonl:2: label 'z' is none of the task's labels 'a', 'b'"):
        load(task("classification", files=files(), labels=("a", "b")), "test", tmp_path)
