"""Files that are meant to harm: each is refused in one line, soon, without a traceback, and nothing is kept."""

import gzip
import json
import pickle
import struct
from pathlib import Path

import pytest

from evalkit.data import text

DEEP = 100_000


class Runs:
    """What a pickle would do when it is opened."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return Path.touch, (Path(self.mark),)


def refused(outcome, said):
    assert outcome.code == 2, outcome.err
    assert said in outcome.err
    assert len(outcome.err.strip().splitlines()) == 1
    assert "Traceback" not in outcome.err
    assert not list(Path("runs").glob("*")) if Path("runs").exists() else True


def scored(evalkit, path, task="mini_mt_en_zh"):
    return evalkit("run", "--task", task, "--model", f"predictions:{path}", "--out", "runs")


@pytest.fixture(autouse=True)
def _working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def checkpoint(gpt, tmp_path):
    import shutil

    return Path(shutil.copytree(gpt, tmp_path / "model"))


def asked(evalkit, folder):
    return evalkit("run", "--task", "mini_lm", "--model", str(folder), "--limit", "2", "--on-overflow", "window")


def test_a_compressed_line_without_end_is_not_read_to_its_end(evalkit, monkeypatch):
    monkeypatch.setattr(text, "LINE_BYTES", 1 << 20)
    with gzip.open("bomb.gz", "wb") as file:
        for _ in range(40):
            file.write(b"a" * (1 << 20))
    refused(scored(evalkit, "bomb.gz"), "bomb.gz:1: the line is longer than 1,048,576 bytes")


def test_a_compressed_text_without_end_is_not_read_to_its_end(evalkit, monkeypatch):
    from evalkit.json_files import CONFIG_BYTES

    with gzip.open("policy.toml.gz", "wb", compresslevel=9) as file:
        for _ in range(CONFIG_BYTES // (1 << 20) + 1):
            file.write(b"#" * (1 << 20))
    outcome = evalkit("gate", "--baseline", "a", "--candidate", "b", "--policy", "policy.toml")
    refused(outcome, "holds more than")


def test_blank_lines_without_end_are_not_read_to_their_end(evalkit):
    with gzip.open("blank.gz", "wb") as file:
        for _ in range(20):
            file.write(b"\n" * (1 << 20))
    refused(scored(evalkit, "blank.gz"), "more than 2000 lines")


@pytest.mark.parametrize("task", ["mini_mt_en_zh", "mini_qa", "mini_ner", "mini_cws", "mini_lm", "mini_classification"])
@pytest.mark.parametrize("bracket", ["[", '{"a":', '{"id":"1","prediction":['])
def test_predictions_that_nest_too_deeply(evalkit, task, bracket):
    Path("deep.jsonl").write_text(bracket * DEEP + "\n", encoding="utf-8")
    refused(scored(evalkit, "deep.jsonl", task), "deep.jsonl")


@pytest.mark.parametrize(
    "command",
    [
        ["run", "--task", "deep.toml", "--model", "baseline:copy"],
        ["gate", "--baseline", "a", "--candidate", "b", "--policy", "deep.toml"],
        ["sweep", "deep.toml"],
        ["train", "--recipe", "deep.toml"],
        ["validate", "deep.toml"],
        ["show", "deep.toml"],
    ],
    ids=lambda words: words[0],
)
def test_settings_that_nest_too_deeply(evalkit, command):
    Path("deep.toml").write_text("objective = " + "[" * DEEP, encoding="utf-8")
    refused(evalkit(*command), "nested too deeply")


def test_a_run_record_that_nests_too_deeply(evalkit):
    folder = Path("runs-of-others/r1")
    folder.mkdir(parents=True)
    (folder / "samples.jsonl").write_text("", encoding="utf-8")
    (folder / "run.json").write_text("[" * DEEP, encoding="utf-8")
    for command in (["compare", str(folder), str(folder)], ["report", str(folder), "--out", "out.md"]):
        refused(evalkit(*command), "run.json")
    assert not Path("out.md").exists()


def test_a_pickle_is_not_opened(evalkit, checkpoint):
    (checkpoint / "model.safetensors").unlink()
    (checkpoint / "pytorch_model.bin").write_bytes(pickle.dumps(Runs("owned")))
    refused(asked(evalkit, checkpoint), "a pickle can run any code")
    assert not Path("owned").exists()


def test_predictions_that_are_a_pickle_are_not_opened(evalkit):
    Path("out.jsonl").write_bytes(pickle.dumps(Runs("owned")))
    refused(scored(evalkit, "out.jsonl"), "out.jsonl")
    assert not Path("owned").exists()


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ({"a": {"dtype": "F32", "shape": [1 << 50], "data_offsets": [0, 1 << 52]}}, "tensor 'a'"),
        ({"a": {"dtype": "F32", "shape": [1 << 30, 1 << 30, 1 << 30], "data_offsets": [0, 4]}}, "tensor 'a'"),
        (
            {
                "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                "b": {"dtype": "F32", "shape": [2], "data_offsets": [4, 12]},
            },
            "begins at byte",
        ),
    ],
)
def test_absurd_and_overlapping_tensors_ask_for_no_memory(evalkit, checkpoint, header, said):
    text = json.dumps(header).encode()
    (checkpoint / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + bytes(12))
    refused(asked(evalkit, checkpoint), said)


def test_a_header_that_claims_more_than_the_file_asks_for_no_memory(evalkit, checkpoint):
    (checkpoint / "model.safetensors").write_bytes(struct.pack("<Q", (1 << 63) - 1) + b"{}")
    refused(asked(evalkit, checkpoint), "its header claims")


@pytest.mark.parametrize(
    "name", ["../secret.safetensors", "/etc/passwd", "..", "a/b.safetensors", "x\\..\\y.safetensors"]
)
def test_an_index_cannot_lead_out_of_its_folder(evalkit, checkpoint, name):
    (checkpoint / "model.safetensors").unlink()
    index = {"weight_map": {"token_embedding.weight": name}}
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    refused(asked(evalkit, checkpoint), "expected a .safetensors file of the same folder")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("layers", 10**9),
        ("width", 10**12),
        ("vocab_size", 10**15),
        ("max_length", 10**12),
        ("heads", 0),
        ("layers", -1),
        ("width", 1e400),
    ],
)
def test_absurd_configurations_ask_for_no_memory(evalkit, checkpoint, key, value):
    path = checkpoint / "config.json"
    content = json.loads(path.read_text(encoding="utf-8"))
    content["model"][key] = value
    path.write_text(json.dumps(content), encoding="utf-8")
    refused(asked(evalkit, checkpoint), "")


@pytest.mark.parametrize(
    "content", ["[" * DEEP, "{}", "null", '{"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}', "\0"]
)
def test_tokenizers_that_are_none(evalkit, checkpoint, content):
    (checkpoint / "tokenizer.json").write_text(content, encoding="utf-8")
    refused(asked(evalkit, checkpoint), "tokenizer.json")


@pytest.mark.parametrize("name", ["tokenizer.json", "tokenizer_config.json", "config.json"])
def test_half_characters_in_settings_are_refused_or_passed_over(evalkit, checkpoint, name):
    path = checkpoint / name
    content = json.loads(path.read_text(encoding="utf-8"))
    content |= {"unk_token": "\ud800", "eos_token": "\ud800", "added_tokens": [{"id": 0, "content": "\ud800"}]}
    path.write_text(json.dumps(content), encoding="utf-8")
    outcome = asked(evalkit, checkpoint)
    assert outcome.code in (0, 2), outcome.err
    assert len(outcome.err.strip().splitlines()) == 1


def test_a_pipe_is_not_waited_for(evalkit, tmp_path):
    import os

    os.mkfifo("pipe.jsonl")
    refused(scored(evalkit, "pipe.jsonl"), "this is a pipe")


@pytest.mark.parametrize(
    "name", ["config.json", "tokenizer.json", "tokenizer_config.json", "card.json", "model.safetensors"]
)
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_in_a_checkpoint_is_not_waited_for(evalkit, checkpoint, name, kind):
    import os

    (checkpoint / name).unlink()
    if kind == "pipe":
        os.mkfifo(checkpoint / name)
    else:
        (checkpoint / name).symlink_to("/dev/zero")
    outcome = asked(evalkit, checkpoint)
    assert outcome.code == (0 if name in ("card.json", "tokenizer_config.json") else 2), "what may be missing is"
    assert len(outcome.err.strip().splitlines()) == 1


def test_a_baseline_that_is_a_bomb_is_not_unpacked_to_its_end(evalkit, tmp_path, monkeypatch):
    from evalkit.metrics.squad import SquadV1
    from tests.stored import keep_run

    run = keep_run(tmp_path / "others", SquadV1(), ["a"] * 5, [["a"]] * 5)
    assert evalkit("baseline", "set", "main", run, "--why", "test").code == 0
    [file] = Path("baselines/main").glob("*.gz")
    monkeypatch.setattr("evalkit.baseline.LARGEST_BYTES", 1 << 20)
    file.write_bytes(gzip.compress(bytes(64 << 20)))
    refused(evalkit("gate", "--baseline", "main", "--candidate", run), "holds more than 1,048,576 bytes")


def test_a_template_that_computes_for_ever_is_stopped(evalkit, monkeypatch):
    monkeypatch.setattr("evalkit.sandbox.LONGEST_S", 0.05)
    Path("s.txt").write_text("one\n", encoding="utf-8")
    loops = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    Path("t.toml").write_text(
        f'name = "t"\nkind = "mt"\nlanguage = "en"\nsource_language = "de"\nprompt = "{loops}"\n'
        '[files]\nformat = "parallel_text"\nsplits = { test = ["s.txt", "s.txt"] }\n',
        encoding="utf-8",
    )
    outcome = evalkit("validate", "t.toml")
    assert outcome.code in (1, 2)
    assert "it computes for more than 0.05 s; loop over less" in outcome.out + outcome.err


def test_a_template_reaches_no_python(evalkit):
    Path("s.txt").write_text("one\n", encoding="utf-8")
    for attack, said in (
        ("{{ source.__class__.__mro__ }}", "unsafe"),
        ("{{ cycler.__init__.__globals__ }}", "unsafe"),
        ("{{ 'a' * 10**10 }}", ""),
        ("{% for i in range(10**9) %}x{% endfor %}", ""),
        ("{% include '/etc/passwd' %}", ""),
        ("{{ 9 ** (9 ** 9) }}", ""),
    ):
        Path("t.toml").write_text(
            'name = "t"\nkind = "mt"\nlanguage = "en"\nsource_language = "de"\n'
            f"prompt = {json.dumps(attack)}\n"
            '[files]\nformat = "parallel_text"\nsplits = { test = ["s.txt", "s.txt"] }\n',
            encoding="utf-8",
        )
        outcome = evalkit("validate", "t.toml")
        assert outcome.code in (1, 2)
        assert said in outcome.out + outcome.err
        assert "Traceback" not in outcome.err
