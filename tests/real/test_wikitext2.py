"""WikiText-2 through a tiny random GPT-2: the whole command gives what a plain loop over transformers' model gives."""

import gzip
import json
import math
import re
from itertools import pairwise

import pytest
import tokenizers
import torch
import transformers

from evalkit.checkpoints import save_checkpoint
from evalkit.tokenization import train_bpe
from evalkit_models.gpt import GPT, GPTConfig

pytestmark = pytest.mark.real

ARTICLES, LONGEST = 2, 96


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def articles(data_dir):
    """The first articles of the test split: each but the first begins at a heading of the first level."""
    with gzip.open(data_dir / "lm" / "wikitext2" / "test.txt.gz", "rt", encoding="utf-8") as file:
        text = file.read()
    headings = [match.start() + 2 for match in re.finditer(r"^ \n = [^=].*[^=] = \n", text, flags=re.MULTILINE)]
    bounds = [0, *headings[1 : ARTICLES + 1]]
    return [text[start:end] for start, end in pairwise(bounds)]


@pytest.fixture(scope="module")
def folder(articles, tmp_path_factory):
    torch.manual_seed(7)
    model = GPT(GPTConfig(vocab_size=400, max_length=LONGEST, width=32, layers=2, heads=4, ff_width=64))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape))
    path = tmp_path_factory.mktemp("models") / "gpt-tiny"
    save_checkpoint(path, model, train_bpe([articles[0][:20000]], 400), layout="huggingface")
    return path


@torch.no_grad()
def plain_loop(model, tokenizer, text):
    """Sum the log-probabilities of a text's tokens window by window, the token of the text's end before the first."""
    ids = [tokenizer.token_to_id("<|endoftext|>"), *tokenizer.encode(text, add_special_tokens=False).ids]
    total, scored = 0.0, 1
    while scored < len(ids):
        end = min(scored + LONGEST, len(ids))
        begin = max(0, end - 1 - LONGEST)
        logprobs = model(torch.tensor([ids[begin : end - 1]])).logits[0].double().log_softmax(-1)
        places = torch.arange(scored, end)
        total += logprobs[places - begin - 1, torch.tensor(ids)[places]].sum().item()
        scored = end
    return total, len(ids) - 1


def test_the_command_gives_what_a_plain_loop_gives(evalkit, data_dir, articles, folder, tmp_path):
    outcome = evalkit(
        "run",
        "--task",
        "wikitext2",
        "--model",
        folder,
        "--data-dir",
        data_dir,
        "--limit",
        ARTICLES,
        "--device",
        "cpu",
        "--json",
    )
    assert outcome.code == 0, outcome.err
    (record,) = outcome.json["runs"]
    model = transformers.GPT2LMHeadModel.from_pretrained(folder, attn_implementation="eager").eval()
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    expected = [plain_loop(model, tokenizer, article) for article in articles]
    lines = (tmp_path / "runs" / record["id"] / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    for line, article, (logprob, tokens) in zip(lines, articles, expected, strict=True):
        response = json.loads(line)["response"]
        assert json.loads(line)["references"] == [article]
        assert response["token_count"] == tokens
        assert response["logprob_nats"] == pytest.approx(logprob, rel=1e-6)
    values = {value["name"]: value["value"] for value in record["metrics"]}
    nats, tokens = -sum(logprob for logprob, _ in expected), sum(count for _, count in expected)
    words = sum(len(re.split(r"\s+", article)) for article in articles)
    size = sum(len(article.encode()) for article in articles)
    assert values["token_perplexity"] == pytest.approx(math.exp(nats / tokens), rel=1e-6)
    assert values["word_perplexity"] == pytest.approx(math.exp(nats / words), rel=1e-5)
    assert values["bits_per_byte"] == pytest.approx(nats / size / math.log(2), rel=1e-6)
