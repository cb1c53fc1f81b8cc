import pkgutil
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

import evalkit_tasks
from evalkit.data import READERS
from evalkit.data.options import check_names
from evalkit.data.steps import STEPS
from evalkit.kinds import KINDS
from evalkit.prompts import render
from evalkit.spec import TaskSpec
from evalkit_tasks import TASKS

MODULES = {
    module.name: import_module(f"evalkit_tasks.{module.name}")
    for module in pkgutil.iter_modules(evalkit_tasks.__path__)
    if not module.ispkg and not module.name.startswith("_")
}
NAMED = [name for name, task in TASKS.items() if task.generated is None]
WITH_FILES = [name for name in NAMED if TASKS[name].files]
WITH_HUB = [name for name in NAMED if TASKS[name].hub]
HEAVY = ("numpy", "nltk", "sacrebleu", "datasets", "torch", "sklearn", "pandas", "rouge_score", "rapidfuzz", "jinja2")
COMMIT = re.compile("[0-9a-f]{40}")
CONVERTED = "refs/convert/parquet"

ROWS: Mapping[str, Mapping[str, object]] = {
    "mt": {"source": "a blue door", "references": ["a door that is blue"]},
    "summarization": {"document": "The door was painted. It is blue.", "references": ["Door now blue.", "Blue door."]},
    "qa": {"question": "What is blue?", "context": "The door is blue.", "answers": ["The door"]},
    "ner": {"tokens": ["Ann", "left", "Rome"], "tags": ["B-PER", "O", "B-LOC"]},
    "cws": {"words": ["我", "喜欢", "门"]},
    "lm": {"text": "The door is blue."},
    "classification": {"text": "The door is blue.", "label": "one"},
}


def test_each_file_is_a_task_of_its_own_name():
    assert sorted(MODULES) == sorted(TASKS)
    for name, module in MODULES.items():
        assert module.TASK is TASKS[name]
        assert module.TASK.name == name


def test_tasks_are_in_the_order_of_kind_and_name():
    kinds = list(KINDS)
    assert list(TASKS) == sorted(TASKS, key=lambda name: (kinds.index(TASKS[name].kind), name))


@pytest.mark.parametrize("name", NAMED)
def test_header_says_paper_licence_and_an_example(name):
    header = MODULES[name].__doc__
    summary, blank, *lines = header.splitlines()
    assert summary.endswith(".")
    assert not blank
    for part in ("Paper: ", "Licence: ", "Hub: ", "Example (made up in the same form):"):
        assert any(line.startswith(part) for line in lines), f"{name} says nothing of {part}"
    assert header.index("Example (") > header.index("Licence: ")


@pytest.mark.parametrize("name", TASKS)
def test_header_says_licence_and_example_of_generated_data_too(name):
    header = MODULES[name].__doc__
    assert "\nLicence: " in header
    assert "\nExample" in header


@pytest.mark.parametrize("name", NAMED)
def test_header_says_how_the_hub_is_pinned(name):
    hub, header = TASKS[name].hub, MODULES[name].__doc__
    if hub is None:
        assert "Hub: none" in header or "so there is none here" in header or "cuts the last 10% in two" in header
        return
    assert hub.name in header
    assert hub.checked.endswith(".")
    if hub.revision == "":
        assert "Unpinned: no commit" in header
    elif hub.revision != CONVERTED:
        assert COMMIT.fullmatch(hub.revision)
        assert "pinned" in header


@pytest.mark.parametrize("name", TASKS)
def test_splits_exist_where_the_task_needs_them(name):
    task = TASKS[name]
    sources = [source for source in (task.files, task.hub) if source]
    splits = [set(source.splits) for source in sources]
    if task.generated:
        splits.append(set(task.generated.sizes))
    assert all(task.split in found for found in splits)
    assert task.shots_split is None or any(task.shots_split in found for found in splits)
    assert task.shots_split != task.split


@pytest.mark.parametrize("name", WITH_FILES)
def test_paths_are_relative_and_below_the_folder_of_a_data_set(name):
    files = TASKS[name].files
    paths = [path for split in files.splits.values() for path in split] + ([files.lexicon] if files.lexicon else [])
    for path in paths:
        assert re.fullmatch(r"(mt|nlg|summarization|qa|ner|cws|lm|classification)/[a-z0-9_]+/[^/].*", path)
        assert ".." not in path
        assert not path.endswith(".gz")


@pytest.mark.parametrize("name", NAMED)
def test_fields_and_options_are_known(name):
    task, kind = TASKS[name], KINDS[TASKS[name].kind]
    known = {*kind.required, *kind.optional, "id", "cluster"}
    if task.files:
        reader = READERS[task.files.format]
        assert set(task.files.fields) <= known
        check_names(task.files.options, [*reader.options, *STEPS], name)
    if task.hub:
        assert set(task.hub.fields) <= known
        check_names(task.hub.options, STEPS, name)


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_complete_with_the_defaults_of_its_kind(name):
    task = KINDS[TASKS[name].kind].complete(TASKS[name])
    assert task.main_metric
    assert task.requests
    assert set(task.requests) <= set(KINDS[task.kind].requests)
    assert len({metric.signature() for metric in task.metrics}) == len(task.metrics)
    assert task.version >= 1
    assert task.summary.endswith(".")


def complete(name: str) -> TaskSpec:
    return KINDS[TASKS[name].kind].complete(TASKS[name])


@pytest.mark.parametrize("name", TASKS)
def test_prompt_shows_the_inputs_and_hides_the_answer(name):
    task = complete(name)
    example = KINDS[task.kind].example(ROWS[task.kind], "1")
    hidden = replace(example, references=tuple(_masked(reference) for reference in example.references))
    assert render(task, example) == render(task, hidden)
    shown = next(iter(example.inputs.values()))
    prompt = render(task, example)
    assert all(token in prompt for token in ([shown] if isinstance(shown, str) else shown))
    assert not prompt.endswith(" "), "a model would have to continue after a space"


def _masked(reference: object) -> object:
    if isinstance(reference, tuple):
        return tuple("O" for _ in reference)
    return " ".join("x" for _ in str(reference).split())


@pytest.mark.parametrize("name", [name for name in TASKS if TASKS[name].shots_split and TASKS[name].kind != "lm"])
def test_a_shot_ends_with_its_answer_before_the_example_begins(name):
    task = complete(name)
    example = KINDS[task.kind].example(ROWS[task.kind], "1")
    blocks = [*([task.instruction] if task.instruction else []), render(replace(task, instruction=""), example)]
    with_shot = render(task, example, [example])
    assert with_shot.startswith(blocks[0])
    assert with_shot.endswith("\n\n" + blocks[-1])
    answer = with_shot.removesuffix("\n\n" + blocks[-1]).removeprefix("".join(block + "\n\n" for block in blocks[:-1]))
    assert len(answer) > len(blocks[-1])


@pytest.mark.parametrize("name", [name for name in NAMED if TASKS[name].language == "zh"])
def test_prompts_of_chinese_tasks_are_chinese_apart_from_translation_and_entities(name):
    task = complete(name)
    if task.kind not in ("mt", "lm"):
        assert re.search("[\u4e00-\u9fff]", task.prompt)


def test_listing_tasks_loads_nothing_heavy():
    program = f"import sys, evalkit_tasks; print([name for name in {HEAVY!r} if name in sys.modules])"
    environment_path = [path for path in sys.path if path]
    program = f"import sys; sys.path[:0] = {environment_path!r}; {program}"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_the_page_of_tasks_names_each_task_with_its_licence():
    page = (Path(__file__).parents[3] / "docs/tasks.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(" `"): line for line in page.splitlines() if line.startswith("| `")}
    assert list(rows) == list(TASKS)
    for name, task in TASKS.items():
        assert f"| {task.licence} |" in rows[name]
        assert f"**{task.split}**" in rows[name]
