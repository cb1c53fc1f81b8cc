"""Tiny random transformers models, saved as folders."""

import json

import pytest
import torch

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

TEXT = ["the cat sat on the mat , and a dog ran to the old house .", "who sat on the mat ?", "我爱北京天安门"]
WORDS = sorted({word for line in TEXT[:2] for word in line.split()} | set(TEXT[2]))
PIECES = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
TINY = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


def byte_bpe(**special):
    """A byte-level tokenizer, as GPT-2 has."""
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT * 3, trainer)
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def word_pieces():
    """A WordPiece tokenizer, as BERT has."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {token: index for index, token in enumerate(dict.fromkeys([*special, *PIECES, *WORDS]))}
    return transformers.BertTokenizerFast(vocab=vocabulary, do_lower_case=True)


def unigram():
    """A tokenizer whose texts end in </s>, as T5 has."""
    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -9.0)]
    pieces += [(f"\u2581{word}", -3.0) for word in WORDS] + [
        (letter, -5.0) for letter in "\u2581abcdefghijklmnopqrstuvwxyz"
    ]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=2))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    tokenizer.decoder = tokenizers.decoders.Metaspace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


def make_gpt(cls=None, **options):
    tokenizer = byte_bpe(eos_token="<|endoftext|>", bos_token="<|endoftext|>")
    config = transformers.GPT2Config(
        vocab_size=300, n_positions=32, n_embd=16, n_layer=2, n_head=2, eos_token_id=0, bos_token_id=0, **options
    )
    return (cls or transformers.GPT2LMHeadModel)(config), tokenizer


def make_bert(cls, **options):
    tokenizer = word_pieces()
    config = transformers.BertConfig(vocab_size=len(tokenizer), max_position_embeddings=24, **TINY, **options)
    return cls(config), tokenizer


def named(labels):
    return {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}


def make_roberta():
    content = json.loads(byte_bpe().backend_tokenizer.to_str())["model"]
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *content["vocab"]]
    tokenizer = transformers.RobertaTokenizerFast(
        vocab={name: index for index, name in enumerate(names)}, merges=[tuple(pair) for pair in content["merges"]]
    )
    config = transformers.RobertaConfig(
        vocab_size=len(names), max_position_embeddings=26, pad_token_id=1, **TINY, **named(TAGS)
    )
    return transformers.RobertaForTokenClassification(config), tokenizer


def make_t5():
    tokenizer = unigram()
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, decoder_start_token_id=0
    )
    return transformers.T5ForConditionalGeneration(config), tokenizer


MAKERS = {
    "gpt": make_gpt,
    "t5": make_t5,
    "tags": lambda: make_bert(transformers.BertForTokenClassification, **named(TAGS)),
    "bmes": lambda: make_bert(transformers.BertForTokenClassification, **named("BMES")),
    "spans": lambda: make_bert(transformers.BertForQuestionAnswering),
    "gpt-spans": lambda: make_gpt(transformers.GPT2ForQuestionAnswering),
    "classes": lambda: make_bert(transformers.BertForSequenceClassification, **named(("bad", "good", "mixed"))),
    "gpt-classes": lambda: make_gpt(transformers.GPT2ForSequenceClassification, **named(("bad", "good"))),
    "one-number": lambda: make_bert(transformers.BertForSequenceClassification, num_labels=1),
    "masked": lambda: make_bert(transformers.BertForMaskedLM),
    "roberta": make_roberta,
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A function that gives the folder of a tiny model, one of `MAKERS`, made once."""
    root, made = tmp_path_factory.mktemp("hf"), {}
    transformers.utils.logging.disable_progress_bar()

    def make(name):
        if name not in made:
            with torch.random.fork_rng():
                torch.manual_seed(11)
                model, tokenizer = MAKERS[name]()
                for parameter in model.parameters():
                    # Larger weights than a fresh model's, or all texts would be answered alike.
                    if parameter.dim() > 1:
                        torch.nn.init.normal_(parameter, std=0.5)
            model.save_pretrained(root / name)
            tokenizer.save_pretrained(root / name)
            made[name] = root / name
        return made[name]

    return make


@pytest.fixture(scope="session")
def plain(folder):
    """A function that gives model and tokenizer of a folder as transformers loads them."""
    known = {}

    def load(name, auto_class, **options):
        if name not in known:
            path = str(folder(name))
            model = getattr(transformers, auto_class).from_pretrained(path).eval().float()
            known[name] = (model, transformers.AutoTokenizer.from_pretrained(path, **options))
        return known[name]

    return load


@pytest.fixture(autouse=True)
def one_thread():
    """Tests share few cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
