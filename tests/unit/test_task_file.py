"""Task files: every mistake is one line that names the file, the key, what was found and what was expected."""

import codecs
from pathlib import Path

import pytest

from evalkit.errors import DataError
from evalkit.task_file import read_task_file

TASK = """
name = "own"
kind = "mt"
language = "en"
[files]
format = "jsonl"
splits = { test = "test.jsonl" }
"""
HUB = """
name = "own"
kind = "mt"
language = "en"
[hub]
name = "someone/texts"
splits = { test = "validation" }
"""


@pytest.fixture
def problem(tmp_path):
    """A function that writes a task file and gives its error after the file's name."""

    def make(content: str | bytes) -> str:
        path = tmp_path / "task.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with pytest.raises(DataError) as error:
            read_task_file(path)
        message = str(error.value)
        assert message.startswith(f"{path}:")
        assert "\n" not in message
        return message.removeprefix(f"{path}:").removeprefix(" ")

    return make


def read(tmp_path: Path, content: str | bytes):
    path = tmp_path / "task.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_task_file(path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("split = 3", "split is 3; expected a text"),
        ("shots_split = 5", "shots_split is 5; expected a text"),
        ("version = 'a'", "version is 'a'; expected a whole number"),
        ("version = true", "version is true; expected a whole number"),
        ("version = 0", "version is 0; expected at least 1"),
        ("max_new_tokens = 'x'", "max_new_tokens is 'x'; expected a whole number"),
        ("max_new_tokens = -5", "max_new_tokens is -5; expected at least 1"),
        ("summary = 3", "summary is 3; expected a text"),
        ("paper = [1]", "paper is [1]; expected a text"),
        ("licence = { a = 1 }", "licence is {'a': 1}; expected a text"),
        ("prompt = 3", "prompt is 3; expected a text"),
        ("instruction = true", "instruction is true; expected a text"),
        ("answer = 1.5", "answer is 1.5; expected a text"),
        ("options = 3", "options is 3; expected a table"),
        ("options = { lang = 1 }", "unknown option of kind 'mt': 'lang'; known: none"),
        ("requests = 3", "requests is 3; expected a text or a list of texts"),
        ("requests = ['generat']", "unknown request kind 'generat'; did you mean 'generate'?"),
        ("labels = ['a', 1]", "labels is ['a', 1]; expected a text or a list of texts"),
        ("labels = ['a', 'a']", "labels holds 'a' twice; expected it once"),
        ("stop = 3", "stop is 3; expected a text or a list of texts"),
        ("stop = ['']", "stop holds an empty text; expected texts with at least one character"),
        ("metrics = 3", "metrics is 3; expected a list of names, or of tables with a name and settings"),
        ("metrics = [3]", "metrics holds 3; expected a metric's name or a table with its name and settings"),
        ("metrics = [{ lowercase = true }]", "metrics holds {'lowercase': True}; expected a metric's name"),
        (
            "metrics = [{ name = 'bleu', lowercase = 'yes' }]",
            "metric 'bleu': lowercase is 'yes'; expected true or false",
        ),
        ("metrics = [{ name = 'bleu', lowercase = [1] }]", "metric 'bleu': lowercase is [1]; expected true or false"),
        ("metrics = [{ name = 'bleu', tokenise = 'zh' }]", "unknown setting of metric 'bleu' 'tokenise'; did you mean"),
        (
            "metrics = [{ name = 'rouge', rouge_types = 'rouge1' }]",
            "metric 'rouge': rouge_types is 'rouge1'; expected a",
        ),
        ("source_language = 3", "source_language is 3; expected a text"),
        ("files = 3", "files is 3; expected a table [files]"),
    ],
)
def test_a_key_of_the_wrong_type_or_without_meaning_is_named(problem, line, expected):
    content = TASK if not line.startswith("files") else TASK[: TASK.index("[files]")]
    assert problem(f"{line}\n{content}").startswith(expected)


@pytest.mark.parametrize(
    ("base", "old", "new", "expected"),
    [
        (TASK, 'name = "own"', 'name = ""', "name is ''; expected a text of printable characters"),
        (TASK, 'name = "own"', 'name = "a\\nb"', "name is 'a\\nb'; expected a text of printable characters"),
        (TASK, 'name = "own"', "", "key 'name' is missing; expected name = a text"),
        (TASK, '"mt"', "[1]", "kind is [1]; expected a text"),
        (TASK, '"jsonl"', "3", "[files] format is 3; expected a text"),
        (TASK, "{ test", "3 # { test", "[files] splits is 3; expected a table such as"),
        (TASK, '"test.jsonl"', "3", "[files] splits.test is 3; expected a text or a list of texts"),
        (TASK, '"test.jsonl"', "[]", "[files] splits.test is (); expected a name"),
        (TASK, "format", "options = 3\nformat", "[files] options is 3; expected a table"),
        (TASK, "format", "fields = 3\nformat", "[files] fields is 3; expected a table, each value a text"),
        (TASK, "format", "fields = { source = 3 }\nformat", "[files] fields is {'source': 3}; expected a table, each"),
        (TASK, "format", "lexicon = 3\nformat", "[files] lexicon is 3; expected a text"),
        (TASK, "splits", "splitz", "unknown key of [files] 'splitz'; did you mean 'splits'?"),
        (HUB, '"someone/texts"', "3", "[hub] name is 3; expected a text"),
        (HUB, '"someone/texts"', '""', "[hub] name is ''; expected a name"),
        (HUB, "name = \"someone", "revision = 3\nname = \"someone", "[hub] revision is 3; expected a text"),
        (HUB, '"validation"', "['a']", "[hub] splits is {'test': ['a']}; expected a table, each value a text"),
    ],
)  # fmt: skip
def test_nested_tables_are_checked_as_strictly(problem, base, old, new, expected):
    assert problem(base.replace(old, new, 1)).startswith(expected)


def test_options_of_a_kind_have_their_type(problem):
    content = TASK.replace('"mt"', '"qa"') + "[options]\nunanswerable = 'no'\n"
    assert problem(content) == "[options] unanswerable is 'no'; expected true or false"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("x = " + "[" * 100_000, "not a TOML file that can be read: it is nested too deeply"),
        ("x = " + "1" * 5000, "not a TOML file: Exceeds the limit"),
        ("name = \n", "not a TOML file: Invalid value (at line 1, column 8)"),
        (TASK.encode("utf-16"), "the text is UTF-16; expected UTF-8"),
        (b"name = 'caf\xe9'\n", "1: byte 11 (0xe9) is not UTF-8"),
        (b"", "the file is empty"),
    ],
    ids=["deep", "digits", "broken", "utf-16", "latin-1", "empty"],
)
def test_what_is_no_toml_is_named(problem, content, expected):
    assert problem(content).startswith(expected)


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path):
    assert read(tmp_path, codecs.BOM_UTF8 + TASK.encode()).name == "own"


def test_a_missing_file_is_named_with_the_nearest_one(tmp_path):
    read(tmp_path, TASK)
    with pytest.raises(DataError, match=r"tusk\.toml: no such file; did you mean 'task\.toml'\?"):
        read_task_file(tmp_path / "tusk.toml")


def test_a_valid_file_keeps_its_settings(tmp_path):
    content = 'stop = "END"\nmax_new_tokens = 7\nmetrics = ["bleu", { name = "chrf", beta = 3 }]\n' + TASK
    task = read(tmp_path, content)
    assert (task.stop, task.max_new_tokens) == (("END",), 7)
    assert [metric.name for metric in task.metrics] == ["bleu", "chrf"]
    assert task.metrics[1].beta == 3
