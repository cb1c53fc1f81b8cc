"""Models with new weights, models that start from a checkpoint, and folders of transformers in between."""

from dataclasses import replace

import pytest
import torch

from evalkit.checkpoints import Architecture, build, load_checkpoint, save_checkpoint
from evalkit.errors import EvalkitError, InvalidInputError
from evalkit.tokenization import save_tokenizer, train_characters
from evalkit.training.building import Head, model_config, new_model, started_model
from evalkit.training.recipe import ModelSection
from evalkit.training.recipe_file import read_recipe
from evalkit.training.train import TrainOptions, train
from evalkit_models.bert import BertConfig

CPU = torch.device("cpu")
SHAPE = {"width": 16, "layers": 2, "heads": 2, "max_length": 24}
SECTIONS = {
    "gpt": ModelSection(family="gpt", **SHAPE),
    "decoder": ModelSection(family="decoder", **SHAPE, kv_heads=1),
    "bert": ModelSection(family="bert", **SHAPE),
    "t5": ModelSection(family="t5", **SHAPE),
}
HEADS = {"bert": Head(name="classes", labels=("a", "b"))}


@pytest.mark.parametrize("family", SECTIONS)
def test_new_weights_are_the_familys_own_and_the_seed_decides_them(family: str):
    head = HEADS.get(family, Head())
    one, same, other = (new_model(SECTIONS[family], 40, head, seed, CPU) for seed in (0, 0, 1))
    architecture = Architecture(family=family, config=one.config, head=head.name, labels=head.labels)
    usual = build(architecture).state_dict()
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, same.state_dict()[name])
        assert float(tensor.std()) == pytest.approx(float(usual[name].std()), rel=0.5, abs=1e-6), name
    drawn = [name for name, tensor in one.state_dict().items() if tensor.dim() >= 2]
    assert all(not torch.equal(one.state_dict()[name], other.state_dict()[name]) for name in drawn)


def test_init_std_scales_matrices_and_leaves_norms_and_biases():
    usual = new_model(SECTIONS["gpt"], 40, Head(), 0, CPU).state_dict()
    wide = new_model(replace(SECTIONS["gpt"], init_std=0.1), 40, Head(), 0, CPU).state_dict()
    for name, tensor in usual.items():
        torch.testing.assert_close(wide[name], tensor * 5 if tensor.dim() >= 2 else tensor)


def test_a_published_size_can_be_changed_in_single_numbers():
    config = model_config(ModelSection(family="bert", size="bert-base-uncased", layers=3, dropout=0.0), None)
    assert (config.vocab_size, config.width, config.layers, config.dropout) == (30522, 768, 3, 0.0)


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        (ModelSection(family="gpt", size="gpt2-huge"), "[model] size of family 'gpt': 'gpt2-huge'"),
        (ModelSection(family="gpt", width=16), "[model] has no max_length, layers, heads; give them"),
        (ModelSection(family="bert"), "a checkpoint to start from (--init)"),
        (replace(SECTIONS["bert"], heads=5), "[model] width 16 is not divisible by heads 5"),
        (replace(SECTIONS["bert"], kv_heads=1), "[model] of family 'bert': the model has unknown settings kv_heads"),
    ],
)
def test_a_shape_that_cannot_be_is_explained(section: ModelSection, problem: str):
    with pytest.raises(EvalkitError) as caught:
        model_config(section, 40)
    assert problem in str(caught.value)


def checkpoint(folder, head: str, labels: tuple[str, ...] = ()):
    config = BertConfig(vocab_size=40, max_length=24, width=16, layers=2, heads=2, ff_width=24)
    torch.manual_seed(1)
    model = build(Architecture(family="bert", config=config, head=head, labels=labels, has_pooler=False))
    save_checkpoint(folder, model, train_characters(["abcdefgh"], 40, family="bert"), labels=labels)
    return load_checkpoint(folder)


@pytest.mark.parametrize("head", ["trunk", "masked_lm", "classes"])
def test_a_new_head_stands_on_the_trunk_of_the_checkpoint(tmp_path, head: str):
    start = checkpoint(tmp_path / "start", head, ("x", "y") if head == "classes" else ())
    model = started_model(start, ModelSection(family="bert"), Head(name="token_labels", labels=("a", "b", "c")), 0)
    before = {name.removeprefix("bert."): tensor for name, tensor in start.model.state_dict().items()}
    trunk = {name: tensor for name, tensor in model.state_dict().items() if name.startswith("bert.")}
    assert len(trunk) > 20
    for name, tensor in trunk.items():
        assert torch.equal(tensor, before[name.removeprefix("bert.")]), name
    assert model.state_dict()["head.out.weight"].shape == (3, 16)


def test_the_head_stays_where_it_tells_the_same_labels_apart(tmp_path):
    start = checkpoint(tmp_path / "start", "classes", ("x", "y"))
    same = started_model(start, ModelSection(family="bert", dropout=0.3), Head(name="classes", labels=("x", "y")), 0)
    other = started_model(start, ModelSection(family="bert"), Head(name="classes", labels=("y", "x")), 0)
    kept, drawn = (model.state_dict()["head.out.weight"] for model in (same, other))
    assert torch.equal(kept, start.model.state_dict()["head.out.weight"])
    assert not torch.equal(drawn, start.model.state_dict()["head.out.weight"])
    assert same.config.dropout == 0.3


def test_a_checkpoint_of_another_family_is_refused(tmp_path):
    start = checkpoint(tmp_path / "start", "trunk")
    with pytest.raises(InvalidInputError, match=r"of family 'bert'; \[model\] family of the recipe is 't5'"):
        started_model(start, ModelSection(family="t5"), Head(), 0)


FINETUNING = {
    "bert": ("mini_classification", "BertModel", "BertForSequenceClassification"),
    "t5": ("mini_mt_en_zh", "T5ForConditionalGeneration", "T5ForConditionalGeneration"),
}
PEERS = {
    "bert": {
        "vocab_size": 400,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 64,
    },
    "t5": {
        "vocab_size": 700,
        "d_model": 16,
        "d_kv": 8,
        "d_ff": 24,
        "num_layers": 1,
        "num_heads": 2,
        "decoder_start_token_id": 0,
    },
}


@pytest.mark.parametrize("family", FINETUNING)
def test_a_folder_of_transformers_is_finetuned_and_the_result_opens_there(family: str, tmp_path):
    transformers = pytest.importorskip("transformers")
    task, start_class, end_class = FINETUNING[family]
    start = getattr(transformers, start_class)
    torch.manual_seed(5)
    start(start.config_class(**PEERS[family])).save_pretrained(tmp_path / "theirs")
    text = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,?!'0123456789这是一个的在有我他你们"
    tokenizer = train_characters([text], 400, family=family)
    save_tokenizer(tmp_path / "theirs", tokenizer)
    recipe = read_recipe(
        f"""
        summary = "finetuning"
        steps = 4
        [model]
        family = "{family}"
        [data]
        size = 30
        [objective]
        kind = "finetune"
        max_length = 60
        [optimizer]
        lr = 1e-2
        [batch]
        examples = 8
        [keep]
        layout = "huggingface"
        """,
        "finetuning",
        "finetuning.toml",
    )
    options = TrainOptions(out=tmp_path / "ours", task=task, init=str(tmp_path / "theirs"), device="cpu", is_quiet=True)
    assert train(recipe, options).steps == 4
    ours, theirs = (
        load_checkpoint(tmp_path / "ours"),
        getattr(transformers, end_class).from_pretrained(tmp_path / "ours"),
    )
    ids = torch.tensor([[5, 6, 7, 8, 9, 10]])
    with torch.no_grad():
        if family == "bert":
            assert theirs.config.id2label == dict(enumerate(ours.labels))
            torch.testing.assert_close(ours.model(ids), theirs.eval()(ids).logits, atol=1e-5, rtol=1e-4)
        else:
            target = torch.tensor([[0, 4, 5]])
            wanted = theirs.eval()(input_ids=ids, decoder_input_ids=target).logits
            torch.testing.assert_close(ours.model(ids, None, target), wanted, atol=1e-5, rtol=1e-4)
