import json
import struct

import pytest
import transformers

from evalkit.errors import DataError, MissingResourceError
from evalkit.tokenization import load_tokenizer, save_tokenizer, train_bpe, train_wordpiece

LINES = [
    "The ferryman WAITS at the café, don't he?",
    "老人等着渡船。ｆｕｌｌ 市场",
    "cafe\u0301  \t tide\n😀 ３5",
    "",
    " leading and trailing ",
    "a-b_c 1,234.5 U.S. [x]",
]


def write(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False))
    return folder


def assert_reads_as(folder, peer, lines=LINES):
    ours = load_tokenizer(folder)
    for line in lines:
        assert ours.ids(line) == peer(line, add_special_tokens=False)["input_ids"], line
        framed = ours.frame.single(ours.ids(line))
        assert framed == peer(line)["input_ids"]
        assert ours.decode(framed) == peer.decode(framed, skip_special_tokens=True, clean_up_tokenization_spaces=False)
    pair, segments = ours.frame.pair(ours.ids(lines[0]), ours.ids(lines[1]))
    theirs = peer(lines[0], lines[1], return_token_type_ids=True)
    assert pair == theirs["input_ids"]
    if ours.cls_id is not None:
        assert segments == theirs["token_type_ids"]
    for role in ("bos", "eos", "pad", "unk", "mask", "cls", "sep"):
        if (theirs_id := getattr(peer, f"{role}_token_id")) is not None:
            assert getattr(ours, f"{role}_id") == theirs_id, role
    return ours


@pytest.fixture(scope="module")
def wordpiece_names(texts):
    tokenizer = train_wordpiece([*texts, *LINES], 300, lowercase=False)
    return [tokenizer.name_of(number) for number in range(tokenizer.token_count)]


@pytest.fixture(scope="module")
def merges(texts):
    model = json.loads(train_bpe([*texts, *LINES], 400).to_json())["model"]
    return model["vocab"], "#version: 0.2\n" + "\n".join(" ".join(pair) for pair in model["merges"]) + "\n"


@pytest.mark.parametrize(
    "settings",
    [{}, {"do_lower_case": False}, {"do_lower_case": True, "strip_accents": False, "tokenize_chinese_chars": False}],
)
def test_vocab_txt_reads_as_in_transformers(tmp_path, wordpiece_names, settings):
    folder = write(
        tmp_path,
        vocab__txt="\n".join(wordpiece_names) + "\n",
        config__json={"model_type": "bert"},
        tokenizer_config__json={"tokenizer_class": "BertTokenizer", **settings},
    )
    assert_reads_as(folder, transformers.AutoTokenizer.from_pretrained(folder))


def test_words_are_split_as_transformers_splits_them(tmp_path, wordpiece_names):
    folder = write(tmp_path, vocab__txt="\n".join(wordpiece_names), config__json={"model_type": "bert"})
    words = ["ferryman", "U.S.", "老人", "cafe\u0301", "don't", "😀"]
    theirs = transformers.AutoTokenizer.from_pretrained(folder)(
        words, is_split_into_words=True, add_special_tokens=False
    )
    ours = load_tokenizer(folder).encode_words(words)
    assert list(ours.ids) == theirs["input_ids"]
    assert list(ours.word_of_token) == theirs.word_ids()


def test_vocab_and_merges_read_as_gpt2_in_transformers(tmp_path, merges):
    folder = write(tmp_path, vocab__json=merges[0], merges__txt=merges[1], config__json={"model_type": "gpt2"})
    ours = assert_reads_as(folder, transformers.AutoTokenizer.from_pretrained(folder))
    assert ours.frame.single([5]) == [5]


def test_vocab_and_merges_read_as_roberta_in_transformers(tmp_path, merges):
    names = ["<s>", "<pad>", "</s>", "<unk>", *(name for name in merges[0] if name != "<|endoftext|>"), "<mask>"]
    folder = write(
        tmp_path,
        vocab__json={name: number for number, name in enumerate(names)},
        merges__txt=merges[1],
        config__json={"model_type": "roberta"},
    )
    ours = assert_reads_as(folder, transformers.AutoTokenizer.from_pretrained(folder))
    assert ours.frame.pair([7], [8])[0] == [0, 7, 2, 2, 8, 2]


def test_special_tokens_come_from_whichever_file_names_them(tmp_path, merges):
    folder = write(
        tmp_path,
        vocab__json=merges[0],
        merges__txt=merges[1],
        special_tokens_map__json={"pad_token": {"content": "!", "lstrip": False}, "mask_token": "<nowhere>"},
        config__json={"model_type": "gpt2", "sep_token_id": merges[0]["#"]},
        added_tokens__json={"<turn>": len(merges[0])},
    )
    tokenizer = load_tokenizer(folder)
    assert (tokenizer.pad_id, tokenizer.sep_id, tokenizer.mask_id) == (merges[0]["!"], merges[0]["#"], None)
    assert tokenizer.ids("a<turn>")[-1] == len(merges[0])


def test_saved_tokenizer_is_the_same_for_us_and_for_transformers(tmp_path, tokenizer):
    save_tokenizer(tmp_path, tokenizer)
    assert load_tokenizer(tmp_path).digest == tokenizer.digest
    peer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert_reads_as(tmp_path, peer)


def protobuf(*fields):
    message = b""
    for number, value in fields:
        if isinstance(value, int):
            message += bytes([number << 3, value])
        elif isinstance(value, float):
            message += bytes([number << 3 | 5]) + struct.pack("<f", value)
        else:
            assert len(value) < 128
            message += bytes([number << 3 | 2, len(value)]) + value
    return message


def piece(text, score=0.0, kind=1):
    return (1, protobuf((1, text.encode()), (2, score), (3, kind)))


SMALL = (
    piece("<pad>", kind=3), piece("</s>", kind=3), piece("<unk>", kind=2), piece("▁", -2.0), piece("▁tide", -3.0),
    piece("s", -4.0), piece("潮水", -5.0),
)  # fmt: skip


def test_spiece_model_gives_pieces_sentinels_and_the_end(tmp_path):
    (tmp_path / "spiece.model").write_bytes(protobuf(*SMALL))
    tokenizer = load_tokenizer(tmp_path)
    assert tokenizer.ids("tides 潮水") == [4, 5, 3, 6]
    assert (tokenizer.pad_id, tokenizer.eos_id, tokenizer.unk_id) == (0, 1, 2)
    assert (tokenizer.id_of("<extra_id_0>"), tokenizer.token_count) == (106, 107)
    assert tokenizer.frame.single([4]) == [4, 1]
    assert tokenizer.special_ids.isdisjoint(set(tokenizer.ids("s</s>s")) - {2})
    assert tokenizer.decode([4, 5, 3, 6]) == "tides 潮水"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "no pieces"),
        (protobuf(*SMALL)[:-3], "cut short"),
        (b"not a model at all", "not a SentencePiece model"),
        (protobuf(*SMALL, (2, protobuf((3, 2)))), "only Unigram"),
        (protobuf(*SMALL, (3, protobuf((3, 0)))), "only Unigram"),
        (protobuf(*SMALL, (3, protobuf((2, b"no map")))), "cannot be used"),
        (protobuf(*SMALL, piece("a", float("nan"))), "score nan"),
    ],
)
def test_broken_or_other_spiece_model_is_refused(tmp_path, content, problem):
    (tmp_path / "spiece.model").write_bytes(content)
    with pytest.raises(DataError, match=problem):
        load_tokenizer(tmp_path)


@pytest.fixture
def trained_spiece(tmp_path, texts):
    """Train a model with SentencePiece itself, its character map included."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="the reference for spiece.model is not installed")
    (tmp_path / "text").write_text("\n".join([*texts, "5 6 7 1 2 3 f i l x"] * 3), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "text"),
        model_prefix=str(tmp_path / "spiece"),
        vocab_size=66,
        pad_id=0,
        eos_id=1,
        unk_id=2,
        bos_id=-1,
        num_threads=1,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "spiece.model"))


def test_spiece_model_reads_as_sentencepiece_does(tmp_path, texts, trained_spiece):
    tokenizer = load_tokenizer(tmp_path)
    for text in [*texts[:100], "ｆｕｌｌ　ｗｉｄｔｈ　ﬁne ㍿", "cafe\u0301 \t 等着\n桥", "  two  blanks "]:
        assert tokenizer.ids(text) == trained_spiece.encode(text), text


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("\x07老", {(1, 2)}),
        ("\x07\x07市场桥", {(4, 5)}),
        ("½\x07桥", {(0, 1), (2, 3)}),
        ("½\u0301桥", {(0, 2), (2, 3)}),
        ("桥\x07\x07桥", {(0, 1), (3, 4)}),
    ],
)
def test_characters_that_the_map_drops_or_expands_move_no_other(tmp_path, trained_spiece, text, spans):
    offsets = load_tokenizer(tmp_path).encode(text).offsets
    assert spans <= set(offsets)
    assert max(end for _, end in offsets) == len(text)


def test_folder_without_tokenizer_says_what_was_expected(tmp_path):
    with pytest.raises(MissingResourceError, match=r"vocab\.json with merges\.txt; vocab\.txt; spiece\.model"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"tokenizer__json": "{"}, "not JSON"),
        ({"tokenizer__json": "[]"}, "expected a JSON object"),
        ({"tokenizer__json": "{}"}, "not a tokenizer"),
        ({"tokenizer__json": '{"a":' * 100_000}, "nested too deeply"),
        ({"tokenizer__json": '{"version": NaN}'}, "NaN is not JSON"),
        ({"vocab__json": {"a": 0}, "merges__txt": "a b c"}, "two parts"),
        ({"vocab__json": {"a": 0}, "merges__txt": "a b"}, "does not fit"),
        ({"vocab__json": {"a": "x"}, "merges__txt": ""}, "expected a number for each token"),
        ({"vocab__txt": "hello"}, r"no token '\[CLS\]'"),
        ({"vocab__txt": "[CLS]\n[SEP]\n[UNK]", "added_tokens__json": {"<new>": 9}}, "should have id 9"),
        (
            {"vocab__txt": "[CLS]\n[SEP]\n[UNK]", "tokenizer_config__json": {"added_tokens_decoder": {"x": 1}}},
            "cannot be read",
        ),
    ],
)
def test_broken_files_are_named(tmp_path, files, problem):
    with pytest.raises(DataError, match=problem) as caught:
        load_tokenizer(write(tmp_path, **files))
    assert str(tmp_path) in str(caught.value)
    assert "\n" not in str(caught.value)
