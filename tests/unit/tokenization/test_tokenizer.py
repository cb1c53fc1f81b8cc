import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError
from evalkit.tokenization import Tokenizer, train_bpe
from evalkit.tokenization.offsets import continues_character, exact_spans

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
NASTY = [
    "",
    " ",
    "cafe\u0301 opens",
    "ｆｕｌｌ　ｗｉｄｔｈ ３5",
    f"the {FAMILY} waits\U0001f44d\U0001f3fd!",
    "tab\there\r\n\nthere",
    "zero\u200bwidth \ufeffmark \x00null",
    "老人  等着\u3000桥。ﬁne ㍿ ½",
    "[SEP] </s> <|endoftext|> [MASK] <pad><extra_id_0>",
    "한국어 \u1112\u1161\u11ab नमस्ते שָׁלוֹם",
    "a\ufffdb \U0010ffff 𝒳",
]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.text(
    "ab 老桥é\u0301\u200d😀👩\t", max_size=20
)


@pytest.mark.parametrize("text", NASTY)
def test_offsets_lie_in_the_text_in_order_and_leave_no_visible_character_out(tokenizer, text):
    offsets = tokenizer.encode(text).offsets
    assert all(0 <= start < end <= len(text) for start, end in offsets)
    assert list(offsets) == sorted(offsets)
    covered = {place for start, end in offsets for place in range(start, end)}
    missed = {text[place] for place in range(len(text))} - {text[place] for place in covered}
    assert all(
        character.isspace() or unicodedata.category(character)[0] == "C" or character == "\ufffd"
        for character in missed
    )


@settings(max_examples=60)
@given(ANY_TEXT)
def test_ids_are_the_same_with_and_without_offsets(tokenizers_by_kind, text):
    for tokenizer in tokenizers_by_kind.values():
        encoding = tokenizer.encode(text)
        assert tokenizer.ids(text) == list(encoding.ids)
        assert len(encoding.ids) == len(encoding.offsets)
        assert all(0 <= start < end <= len(text) for start, end in encoding.offsets)


def test_offsets_are_those_of_the_words_that_the_user_wrote(tokenizer):
    text = "cafe\u0301　ferryman\t老人 😀"
    offsets = tokenizer.encode(text).offsets
    for word in ("cafe\u0301", "ferryman", "老人", "😀"):
        start = text.index(word)
        inside = [span for span in offsets if span[0] < start + len(word) and span[1] > start]
        visible = [(low, high) for low, high in inside if not text[low:high].isspace()]
        assert min(low for low, _ in visible) == start
        assert max(high for _, high in visible) == start + len(word)


def test_bytes_of_one_character_share_its_span(tokenizers_by_kind):
    encoding = tokenizers_by_kind["bpe"].encode("𝒳y")
    assert set(encoding.offsets[:-1]) == {(0, 1)}
    assert len(encoding.ids) == 5
    assert encoding.offsets[-1] == (1, 2)


def test_blank_that_a_token_carries_is_no_part_of_its_span(tokenizers_by_kind):
    tokenizer = tokenizers_by_kind["bpe"]
    encoding = tokenizer.encode("the market")
    assert "Ġ" in "".join(tokenizer.name_of(token) or "" for token in encoding.ids)
    assert "".join(sorted({"the market"[start:end] for start, end in encoding.offsets})).count(" ") == 0


def test_a_dropped_accent_belongs_to_the_letter_before_it():
    assert exact_spans("e\u0301\u0323x", [(0, 1), (3, 4)]) == ((0, 3), (3, 4))
    assert exact_spans("e\u0301x", [(0, 1), (1, 2), (2, 3)]) == ((0, 1), (1, 2), (2, 3))
    assert exact_spans("👍\U0001f3fd", [(0, 1)]) == ((0, 2),)
    assert exact_spans(" a ", [(0, 3)]) == ((1, 2),)
    assert exact_spans("  ", [(0, 2)]) == ((0, 2),)
    assert not continues_character("a")


@pytest.mark.parametrize("kind", ["bpe", "characters"])
@pytest.mark.parametrize("text", ["café  waits\n", " 老人等着。", "\ttide 😀 ３"])
def test_lossless_tokenizers_give_the_text_back(tokenizers_by_kind, kind, text):
    tokenizer = tokenizers_by_kind[kind]
    if kind == "characters" and tokenizer.unk_id in tokenizer.ids(text):
        text = "".join(character for character in text if tokenizer.unk_id not in tokenizer.ids(character))
    assert tokenizer.decode(tokenizer.ids(text)) == text


@settings(max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=25))
def test_byte_level_gives_any_text_back(tokenizers_by_kind, text):
    tokenizer = tokenizers_by_kind["bpe"]
    assert tokenizer.decode(tokenizer.ids(text)) == text


def test_names_of_special_tokens_in_a_text_are_text(tokenizer):
    text = "a [SEP] b </s> <pad><|endoftext|> [CLS] <extra_id_0> [MASK] c"
    assert tokenizer.special_ids & set(tokenizer.ids(text)) <= {tokenizer.unk_id}
    assert tokenizer.special_ids & set(tokenizer.encode(text).ids) <= {tokenizer.unk_id}
    words = tokenizer.encode_words(text.split())
    assert tokenizer.special_ids & set(words.ids) <= {tokenizer.unk_id}


@pytest.mark.parametrize("separator", [" ", ""])
def test_every_word_has_a_token(tokenizer, separator):
    words = ["老人", "\u200b", "ferryman", "\x07", "等着", "𝒳"]
    encoding = tokenizer.encode_words(words, separator)
    assert sorted(set(encoding.word_of_token)) == list(range(len(words)))
    assert list(encoding.word_of_token) == sorted(encoding.word_of_token)
    assert len(encoding.ids) == len(encoding.word_of_token)


def test_words_are_tokenized_as_in_the_text_that_they_make(tokenizer):
    words = ["老人", "waits", "桥", "market"]
    assert list(tokenizer.encode_words(words).ids) == tokenizer.ids(" ".join(words))


def test_words_without_blanks_between_get_no_blank(tokenizers_by_kind):
    for kind in ("unigram", "bpe"):
        tokenizer = tokenizers_by_kind[kind]
        encoding = tokenizer.encode_words(list("老人等着"), "")
        assert tokenizer.decode(encoding.ids) == "老人等着"


def test_a_dropped_word_without_unk_token_is_an_error(texts):
    tokenizer = train_bpe(texts, 400)
    with pytest.raises(InvalidInputError, match="has no unk token"):
        tokenizer.encode_words(["a", ""], "")


@pytest.mark.parametrize("method", ["ids", "encode"])
def test_half_a_surrogate_pair_is_refused(tokenizer, method):
    with pytest.raises(InvalidInputError, match="surrogate"):
        getattr(tokenizer, method)("a\ud83db")


@settings(max_examples=80)
@given(ANY_TEXT, st.data())
def test_streamed_parts_make_the_decoded_text(tokenizers_by_kind, text, data):
    for tokenizer in tokenizers_by_kind.values():
        ids = tokenizer.ids(text)
        ids = data.draw(st.permutations(ids)) if len(ids) < 12 else ids
        stream = tokenizer.stream()
        parts = [stream.push(token) for token in ids]
        assert "".join(parts) + stream.finish() == tokenizer.decode(ids)


def test_stream_holds_back_a_character_until_its_last_byte(tokenizers_by_kind):
    tokenizer = tokenizers_by_kind["bpe"]
    stream = tokenizer.stream()
    assert [stream.push(token) for token in tokenizer.ids("𝒳!")] == ["", "", "", "𝒳", "!"]


def test_stream_gives_replacement_characters_at_the_end_only(tokenizers_by_kind):
    tokenizer = tokenizers_by_kind["bpe"]
    stream = tokenizer.stream()
    ids = tokenizer.ids("𝒳")[:2]
    assert [stream.push(token) for token in ids] == ["", ""]
    assert stream.finish() == tokenizer.decode(ids) == "\ufffd"


def test_digest_tells_tokenizers_apart_and_survives_json(tokenizers_by_kind):
    assert len({tokenizer.digest for tokenizer in tokenizers_by_kind.values()}) == 4
    for tokenizer in tokenizers_by_kind.values():
        again = Tokenizer.from_json(tokenizer.to_json(), tokenizer.special_tokens)
        assert again.digest == tokenizer.digest
        assert again.frame == tokenizer.frame


def test_truncation_and_padding_of_a_file_are_switched_off(tokenizers_by_kind):
    import tokenizers

    backend = tokenizers.Tokenizer.from_str(tokenizers_by_kind["bpe"].to_json())
    backend.enable_truncation(2)
    backend.enable_padding(length=50)
    assert len(Tokenizer.from_json(backend.to_str(), {}).ids("老人等着 the market")) > 2
    assert len(Tokenizer.from_json(backend.to_str(), {}).ids("a")) == 1


def test_unknown_roles_and_tokens_are_refused(tokenizers_by_kind):
    content = tokenizers_by_kind["bpe"].to_json()
    with pytest.raises(InvalidInputError, match="role 'begin' is not one of"):
        Tokenizer.from_json(content, {"begin": "<|endoftext|>"})
    with pytest.raises(InvalidInputError, match="'<nowhere>' is not in the vocabulary"):
        Tokenizer.from_json(content, {"pad": "<nowhere>"})
    with pytest.raises(InvalidInputError, match="not a tokenizer"):
        Tokenizer.from_json("{}", {})
