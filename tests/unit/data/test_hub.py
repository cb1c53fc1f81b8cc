import json
import logging
import sys
from types import SimpleNamespace

import pytest

from evalkit.data.hub import pinned, read_hub
from evalkit.spec import Hub

datasets = pytest.importorskip("datasets")


def hub(name, **settings):
    defaults = {"revision": "0123abcd", "splits": {"test": "test"}, "checked": "not at all, a test"}
    return Hub(name=str(name), **{**defaults, **settings})


def rows(source, split="test"):
    return [located.row for located in read_hub(source, split)]


@pytest.fixture(autouse=True)
def _quiet_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    datasets.disable_progress_bars()


@pytest.fixture(autouse=True)
def _answering_hub(monkeypatch):
    """No test asks the real hub."""
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda *_, **__: SimpleNamespace(sha="f" * 40))


@pytest.fixture
def folder(tmp_path):
    """A data set with every kind of column, in the parquet files that the hub serves."""
    tags = datasets.ClassLabel(names=["O", "B-X", "I-X"])
    features = datasets.Features(
        {
            "tokens": datasets.Sequence(datasets.Value("string")),
            "ner_tags": datasets.Sequence(tags),
            "label": datasets.ClassLabel(names=["neg", "pos"]),
            "translation": {"en": datasets.Value("string"), "zh": datasets.Value("string")},
            "answers": datasets.Sequence({"text": datasets.Value("string"), "answer_start": datasets.Value("int32")}),
            "parts": [{"kind": tags}],
            "number": datasets.Value("int32"),
        }
    )
    row = {
        "tokens": ["茶", "好"],
        "ner_tags": [1, 0],
        "label": 1,
        "translation": {"en": "tea", "zh": "茶"},
        "answers": {"text": ["p", "q"], "answer_start": [0, 1]},
        "parts": [{"kind": 2}],
        "number": 2,
    }
    folder = tmp_path / "set"
    folder.mkdir()
    many = [{**row, "label": number % 2} for number in range(1003)]
    datasets.Dataset.from_list(many, features=features).to_parquet(folder / "test.parquet")
    return folder


def test_class_numbers_become_names_and_dots_reach_into_columns(folder):
    fields = {
        "tags": "ner_tags",
        "source": "translation.en",
        "references": "translation.zh",
        "answers": "answers.text",
        "answer_starts": "answers.answer_start",
    }
    found = rows(hub(folder, fields=fields))
    assert len(found) == 1003
    assert found[1] | {"x": 0} == {
        "tokens": ["茶", "好"],
        "ner_tags": ["B-X", "O"],
        "tags": ["B-X", "O"],
        "label": "pos",
        "translation": {"en": "tea", "zh": "茶"},
        "source": "tea",
        "references": "茶",
        "answers": ["p", "q"],
        "answer_starts": [0, 1],
        "parts": [{"kind": "I-X"}],
        "number": 2,
        "x": 0,
    }
    assert [row["label"] for row in found[:3]] == ["neg", "pos", "neg"]


@pytest.fixture
def plain(tmp_path):
    """A data set of JSON lines, whose numbers have no names."""
    folder = tmp_path / "plain"
    folder.mkdir()
    lines = [{"tokens": ["a", "b"], "ner": [1, 1], "label": 0}, {"tokens": ["c"], "ner": [0], "label": 2}]
    (folder / "test.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_names_may_be_given_and_schemes_are_converted(plain):
    options = {"names": ["O", "I-X", "I-Y"], "scheme": "IOB1"}
    found = rows(hub(plain, fields={"tags": "ner"}, options=options))
    assert [row["tags"] for row in found] == [["B-X", "I-X"], ["O"]]
    assert [row["label"] for row in found] == ["O", "I-Y"]


def test_steps_apply_to_the_hub_too(plain):
    found = rows(hub(plain, options={"join": {"tokens": " "}}))
    assert [row["tokens"] for row in found] == ["a b", "c"]


def test_the_pinned_revision_is_asked_for_and_code_is_not_trusted(monkeypatch):
    asked = []

    def load_dataset(*args, **keywords):
        asked.append((args, keywords))
        return datasets.Dataset.from_list([{"text": "a"}])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert rows(hub("o/n", config="zh", splits={"dev": "validation[:5]"}), "dev") == [{"text": "a"}]
    assert asked == [(("o/n", "zh"), {"revision": "0123abcd", "split": "validation[:5]"})]


@pytest.mark.parametrize(("revision", "asked_for"), [("", None), ("refs/convert/parquet", "refs/convert/parquet")])
def test_a_revision_that_may_move_is_pinned_to_the_commit_it_stands_for(monkeypatch, revision, asked_for):
    asked = []

    def dataset_info(self, name, *, revision, timeout):
        asked.append((name, revision))
        return SimpleNamespace(sha="f" * 40)

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", dataset_info)
    assert pinned(hub("o/n", revision=revision)).revision == "f" * 40
    assert asked == [("o/n", asked_for)]


def test_a_commit_and_a_local_folder_are_not_asked_for(monkeypatch, tmp_path):
    monkeypatch.delattr("huggingface_hub.HfApi.dataset_info")
    assert pinned(hub("o/n", revision="0" * 40)).revision == "0" * 40
    assert pinned(hub(tmp_path, revision="")).revision == ""


def test_a_hub_that_cannot_be_asked_is_reported_with_what_to_do(monkeypatch, complaint):
    def dataset_info(self, name, *, revision, timeout):
        raise ConnectionError("no route")

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", dataset_info)
    assert complaint(pinned, hub("o/n", revision=""), "; or give --data-dir with a.txt") == (
        "data set 'o/n' cannot be loaded: no route; check the network; or give --data-dir with a.txt"
    )


class Copy:
    """Loaded data whose files in the cache lie below a commit."""

    features = None

    def __init__(self, commit):
        self.cache_files = [{"filename": f"/cache/o___n/default/0.0.0/{commit}/n-test.arrow"}]

    def iter(self, batch_size):
        yield {"text": ["a"]}


@pytest.fixture
def unreached(monkeypatch):
    """A hub out of reach; gives the offline settings that each load saw."""
    from huggingface_hub import constants

    seen = []

    def dataset_info(self, name, *, revision, timeout):
        assert timeout <= 5
        raise OSError("no route to the hub")

    def load_dataset(*args, **keywords):
        logging.getLogger("huggingface_hub.utils._http").warning("Retrying in 8s")
        logging.getLogger("datasets.load").warning("Using the latest cached version")
        seen.append((constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE))
        return Copy("a" * 40)

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", dataset_info)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    before = constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE
    yield seen
    assert before == (constants.HF_HUB_OFFLINE, datasets.config.HF_HUB_OFFLINE)


def test_without_the_hub_only_this_machine_is_searched_and_nothing_is_logged(unreached, caplog):
    assert rows(hub("o/n", revision="a" * 40)) == [{"text": "a"}]
    assert unreached == [(True, True)]
    assert caplog.records == []


def test_a_copy_of_another_revision_is_not_taken_for_the_pinned_one(unreached, complaint):
    assert complaint(read_hub, hub("o/n", revision="b" * 40), "test") == (
        "data set 'o/n' cannot be loaded: no route to the hub; check the network: the copy on this machine"
        " is of another revision"
    )


def test_what_the_hub_said_is_told_where_this_machine_has_no_copy(unreached, monkeypatch, complaint):
    def load_dataset(*args, **keywords):
        raise FileNotFoundError("not cached")

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert "cannot be loaded: no route to the hub; check the network" in complaint(
        read_hub, hub("o/n", revision="a" * 40), "test"
    )


def test_a_hub_that_refuses_is_within_reach(unreached, monkeypatch):
    def dataset_info(self, name, *, revision, timeout):
        error = OSError("403")
        error.response = object()
        raise error

    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", dataset_info)
    assert rows(hub("o/n", revision="b" * 40)) == [{"text": "a"}]
    assert unreached == [(False, False)]


def test_without_a_revision_the_newest_is_loaded(monkeypatch):
    asked = []

    def load_dataset(*args, **keywords):
        asked.append(keywords["revision"])
        return datasets.Dataset.from_list([{"text": "a"}])

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    assert rows(hub("o/n", revision="")) == [{"text": "a"}]
    assert asked == [None]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"fields": {"tags": "nre"}},
            "plain: no column 'nre' for field 'tags'; found 'tokens', 'ner', 'label'; did you mean 'ner'?",
        ),
        (
            {"options": {"names": ["O", "X"]}},
            "plain: field 'label' holds 2; expected 0 to 1, for there are 2 names",
        ),
        (
            {"fields": {"tags": "ner"}, "options": {"names": ["O", "X", "Y"], "scheme": "IO"}},
            "plain: field 'tags': token 0: tag 'X' is not of scheme IO; expected O or one of the prefixes I and a type",
        ),
        (
            {"options": {"name": ["O"]}},
            "unknown option of data set 'plain': 'name'; did you mean 'names'? known: constants, names, values,"
            " scheme, split_by, split_in_order, split_shares, join, group_by",
        ),
    ],
)
def test_complaints(plain, complaint, settings, expected):
    assert complaint(read_hub, hub(plain, **settings), "test") == expected


def test_a_class_number_without_name_is_refused(tmp_path, complaint):
    folder = tmp_path / "hidden"
    folder.mkdir()
    features = datasets.Features({"label": datasets.ClassLabel(names=["neg", "pos"])})
    datasets.Dataset.from_list([{"label": -1}], features=features).to_parquet(folder / "test.parquet")
    assert complaint(read_hub, hub(folder), "test") == (
        "hidden: field 'label' holds -1; expected 0 to 1, for there are 2 names"
    )


OTHERWISE = "; or give --data-dir with a/b.txt"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            ConnectionError("Couldn't reach 'o/n' on the Hub\n(LocalEntryNotFoundError)"),
            "data set 'o/n' cannot be loaded: Couldn't reach 'o/n' on the Hub (LocalEntryNotFoundError); check the network",
        ),
        (
            datasets.exceptions.DatasetNotFoundError("Dataset 'o/n' doesn't exist on the Hub or cannot be accessed."),
            "data set 'o/n' cannot be loaded: Dataset 'o/n' doesn't exist on the Hub or cannot be accessed.;"
            " check name, configuration, split and revision",
        ),
        (
            datasets.exceptions.DatasetNotFoundError("Dataset 'o/n' is a gated dataset on the Hub."),
            "data set 'o/n' cannot be loaded: Dataset 'o/n' is a gated dataset on the Hub.;"
            " accept its terms on the hub and log in with: hf auth login",
        ),
        (
            RuntimeError("Dataset scripts are no longer supported, but found n.py"),
            "data set 'o/n' cannot be loaded: Dataset scripts are no longer supported, but found n.py;"
            " it can only be loaded by running its code, which evalkit does not do",
        ),
        (
            KeyError(),
            "data set 'o/n' cannot be loaded: KeyError; check name, configuration, split and revision",
        ),
    ],
)
def test_what_cannot_be_loaded_says_why_and_what_to_do(monkeypatch, complaint, error, expected):
    def fail(*args, **keywords):
        raise error

    monkeypatch.setattr(datasets, "load_dataset", fail)
    assert complaint(read_hub, hub("o/n"), "test", OTHERWISE) == expected + OTHERWISE


def test_a_missing_client_says_how_to_install_it(monkeypatch, complaint):
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert complaint(read_hub, hub("o/n"), "test", OTHERWISE) == (
        "data set 'o/n' is on the Hugging Face hub; install its client: pip install 'evalkit[hub]'"
        "; or give --data-dir with a/b.txt"
    )


def test_a_client_that_runs_code_is_refused(monkeypatch, complaint):
    monkeypatch.setattr(datasets, "__version__", "2.19.2")
    assert complaint(read_hub, hub("o/n"), "test") == (
        "datasets 2.19.2 runs code of data sets; update it: pip install -U 'evalkit[hub]'"
    )
