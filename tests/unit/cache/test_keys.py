"""Keys: everything that an answer depends on changes them, and nothing else does."""

from dataclasses import replace

import pytest

from evalkit.cache import keys as module
from evalkit.cache.keys import code_digest, keys_for
from evalkit.requests import Decoding, GenerateRequest, ModelInfo, ModelSettings, TaskContext

INFO = ModelInfo(
    ref="models/gpt", name="gpt", digest="w1-t1", family="gpt", determined_by="batch", details={"device": "cpu"}
)
CONTEXT = TaskContext(
    task="tea", kind="mt", language="zh", example_ids=(), request_kind="generate", training=tuple, examples=tuple,
    lexicon=frozenset,
)  # fmt: skip
SETTINGS = ModelSettings()
REQUEST = GenerateRequest(example_id="1", inputs={"source": "tea"}, prompt="tea:", stop=("\n",), max_new_tokens=8)
SAMPLED = replace(SETTINGS, decoding=Decoding(temperature=1.0))


def key(info=INFO, context=CONTEXT, settings=SETTINGS, request=REQUEST) -> bytes:
    return keys_for(info, context, settings).request(request)


@pytest.mark.parametrize(
    "changed",
    [
        {"info": replace(INFO, digest="w2-t1")},
        {"info": replace(INFO, family="t5")},
        {"info": replace(INFO, details={"device": "cuda:0"})},
        {"context": replace(CONTEXT, kind="summarization")},
        {"context": replace(CONTEXT, language="en")},
        {"context": replace(CONTEXT, request_kind="score")},
        {"settings": replace(SETTINGS, dtype="bfloat16")},
        {"settings": replace(SETTINGS, on_overflow="truncate")},
        {"settings": replace(SETTINGS, decoding=Decoding(beams=4))},
        {"settings": replace(SETTINGS, decoding=Decoding(repetition_penalty=1.1))},
        {"settings": SAMPLED},
        {"request": replace(REQUEST, prompt="tea: ")},
        {"request": replace(REQUEST, stop=())},
        {"request": replace(REQUEST, max_new_tokens=9)},
        {"request": replace(REQUEST, inputs={"source": "Tea"})},
    ],
    ids=str,
)
def test_what_an_answer_depends_on_changes_the_key(changed):
    assert key(**changed) != key()


@pytest.mark.parametrize("name", ["code_digest", "package_versions"])
def test_other_code_and_other_packages_change_the_key(monkeypatch, name):
    before = key()
    monkeypatch.setattr(module, name, lambda: "another")
    assert key() != before


@pytest.mark.parametrize(
    "changed",
    [
        {"info": replace(INFO, ref="./models/gpt", name="copy")},
        {"info": replace(INFO, details={"device": "cpu", "recipe": "r"})},
        {"context": replace(CONTEXT, task="coffee", example_ids=("1", "2"))},
        {"settings": replace(SETTINGS, batch_size=4)},
        {"settings": replace(SETTINGS, device="cpu")},
        {"settings": replace(SETTINGS, decoding=Decoding(seed=7))},
        {"request": replace(REQUEST, example_id="2")},
        {"request": replace(REQUEST, inputs={"source": "tea"})},
    ],
    ids=str,
)
def test_what_changes_no_answer_leaves_the_key_as_it_is(changed):
    assert key(**changed) == key()


def test_a_sampled_answer_belongs_to_its_example_and_seed():
    assert key(settings=SAMPLED, request=replace(REQUEST, example_id="2")) != key(settings=SAMPLED)
    seeded = replace(SAMPLED, decoding=replace(SAMPLED.decoding, seed=1))
    assert key(settings=seeded) != key(settings=SAMPLED)


def test_two_gpus_of_one_machine_share_their_answers():
    first, second = (replace(INFO, details={"device": f"cuda:{number}"}) for number in (0, 1))
    assert key(info=first) == key(info=second)


def test_a_server_is_asked_again_only_when_it_would_be_asked_otherwise(monkeypatch):
    server = replace(INFO, determined_by="service", family="openai", details={})
    before = key(info=server)
    monkeypatch.setattr(module, "code_digest", lambda: "another release")
    assert key(info=server) == before


def test_on_a_cpu_the_key_covers_what_is_computed_together():
    keys = keys_for(INFO, CONTEXT, SETTINGS)
    one, two = (keys.request(replace(REQUEST, prompt=text)) for text in ("a", "b"))
    assert len({keys.together([one])[0], keys.together([one, two])[0], keys.together([two, one])[1], one}) == 4
    assert keys.together([one, two]) == keys.together([one, two])


@pytest.mark.parametrize("determined_by", ["request", "service"])
def test_where_batches_do_not_matter_the_key_covers_the_request_alone(determined_by):
    keys = keys_for(replace(INFO, determined_by=determined_by), CONTEXT, SETTINGS)
    assert keys.together([b"a", b"b"]) == [b"a", b"b"]


def test_on_an_accelerator_nothing_is_promised_and_the_key_covers_the_request_alone():
    keys = keys_for(replace(INFO, details={"device": "cuda:0"}), CONTEXT, SETTINGS)
    assert keys.together([b"a", b"b"]) == [b"a", b"b"]


def test_the_code_digest_changes_with_a_character_of_an_adapter(tmp_path, monkeypatch):
    source = tmp_path / "evalkit" / "adapters"
    source.mkdir(parents=True)
    (source / "a.py").write_text("x = 1\n")

    class Spec:
        submodule_search_locations = (str(tmp_path / "evalkit"),)

    monkeypatch.setattr(module, "_CODE", ("evalkit/adapters",))
    monkeypatch.setattr(module.util, "find_spec", lambda name: Spec)
    first = code_digest.__wrapped__()
    (source / "a.py").write_text("x = 2\n")
    second = code_digest.__wrapped__()
    (source / "b.py").write_text("")
    assert len({first, second, code_digest.__wrapped__()}) == 3
