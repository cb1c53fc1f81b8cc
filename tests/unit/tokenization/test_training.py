import math
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.tokenization import train_bpe, train_characters, train_unigram, train_wordpiece
from evalkit.tokenization.unigram import unigram_pieces

TRAINERS = [train_bpe, train_wordpiece, train_unigram, train_characters]


@pytest.mark.parametrize("train", TRAINERS)
def test_same_texts_give_the_same_tokenizer_in_another_process(train, texts):
    program = (
        "import sys; from evalkit import tokenization as t\n"
        f"print(t.{train.__name__}([line for line in sys.stdin.read().split(chr(10))], 460).digest)"
    )
    joined = "\n".join(texts).encode()
    done = subprocess.run([sys.executable, "-c", program], input=joined, capture_output=True, check=True)
    assert done.stdout.decode().strip() == train(texts, 460).digest


@pytest.mark.parametrize("train", TRAINERS)
@pytest.mark.parametrize("family", ["gpt", "bert", "t5"])
def test_vocabulary_keeps_to_its_size_and_ids_have_no_gaps(train, family, texts):
    tokenizer = train(texts, 420, family=family)
    assert tokenizer.token_count <= 420
    assert tokenizer.largest_id == tokenizer.token_count - 1


def test_families_have_their_special_tokens_and_frames(texts):
    gpt, bert, t5 = (train_bpe(texts, 420, family=family) for family in ("gpt", "bert", "t5"))
    assert (gpt.bos_id, gpt.eos_id, gpt.pad_id) == (0, 0, None)
    assert gpt.frame.single([7]) == [7]
    assert (bert.pad_id, bert.unk_id, bert.cls_id, bert.sep_id, bert.mask_id) == (0, 1, 2, 3, 4)
    assert bert.frame.single([7]) == [2, 7, 3]
    assert bert.frame.pair([7, 7], [8]) == ([2, 7, 7, 3, 8, 3], [0, 0, 0, 0, 1, 1])
    assert (t5.pad_id, t5.eos_id, t5.unk_id) == (0, 1, 2)
    assert t5.frame.single([7]) == [7, 1]
    assert t5.id_of("<extra_id_0>") is not None


def test_wordpiece_reads_chinese_characters_one_by_one(tokenizers_by_kind):
    tokenizer = tokenizers_by_kind["wordpiece"]
    assert [tokenizer.name_of(token) for token in tokenizer.ids("渡船桥")] == ["渡", "船", "桥"]


def test_wordpiece_does_not_spend_ids_on_chinese_inside_words(tokenizers_by_kind):
    assert tokenizers_by_kind["wordpiece"].id_of("##船") is None


def test_rare_characters_give_way_in_a_small_vocabulary():
    texts = ["aaaa bbb"] * 50 + ["z"]
    wordpiece, unigram = train_wordpiece(texts, 11), train_unigram(texts, 107)
    assert wordpiece.token_count <= 11
    assert wordpiece.ids("z") == [wordpiece.unk_id]
    assert unigram.unk_id in unigram.ids("z")


@pytest.mark.parametrize(("train", "size"), [(train_bpe, 256), (train_wordpiece, 7), (train_unigram, 104)])
def test_too_small_vocabulary_is_refused_with_the_least_size(train, size, texts):
    with pytest.raises(InvalidInputError, match=rf"vocab_size is {size}, expected at least \d+"):
        train(texts, size)


@pytest.mark.parametrize("train", [train_wordpiece, train_unigram])
def test_no_text_is_refused(train):
    with pytest.raises(InvalidInputError, match="no text"):
        train([], 300)


def test_unknown_family_names_the_known_ones(texts):
    with pytest.raises(UnknownNameError, match="gpt, bert, t5"):
        train_bpe(texts, 300, family="gtp")


def best_split(text: str, scores: dict[str, float]) -> float:
    best = [0.0] + [-math.inf] * len(text)
    for end in range(1, len(text) + 1):
        for start in range(end):
            best[end] = max(best[end], best[start] + scores.get(text[start:end], -math.inf))
    return best[-1]


def test_unigram_pieces_are_probabilities_that_hold_every_character():
    fragments = Counter({"abcabc": 4, "abd": 9, "xyz": 1, "c": 2})
    pieces = unigram_pieces(fragments, 9, 4)
    assert sum(math.exp(score) for _, score in pieces) == pytest.approx(1.0, abs=1e-4)
    assert set("abcdxyz") <= {piece for piece, _ in pieces}
    assert len(pieces) == 9
    assert [score for _, score in pieces] == sorted((score for _, score in pieces), reverse=True)
    assert all(piece in "abcabc" or piece in "abdxyz" for piece, _ in pieces)


def test_unigram_explains_the_text_better_with_more_pieces(texts):
    fragments = Counter(word for text in texts for word in text.split())
    likelihoods = []
    for size in (60, 80, 110):
        scores = dict(unigram_pieces(fragments, size, 8))
        likelihoods.append(sum(count * best_split(word, scores) for word, count in fragments.items()))
    assert all(small < large for small, large in pairwise(likelihoods))


def test_unigram_splits_as_well_as_the_librarys_own_trainer(texts):
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    peer = tokenizers.Tokenizer(models.Unigram())
    peer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=160, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False)
    peer.train_from_iterator(texts, trainer)
    ours = train_unigram(texts, 263)
    theirs = sum(len(encoding.ids) for encoding in peer.encode_batch(texts))
    assert sum(map(len, ours.ids_of_each(texts))) <= 1.1 * theirs
