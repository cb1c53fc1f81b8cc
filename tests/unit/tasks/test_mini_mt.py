import re

import pytest

from evalkit_tasks.mini import translation
from evalkit_tasks.mini.english import BE, predicate, verb_group
from evalkit_tasks.mini.events import MODAL, PAST, PROGRESSIVE, Event
from evalkit_tasks.mini.lexicon import lexicon
from evalkit_tasks.mini.phrases import Phrase
from evalkit_tasks.mini.sentences import FUNCTION_WORDS, Sentence, SentenceMaker
from evalkit_tasks.mini.translation import english_text

TEST = translation.rows("en", "test", 400, 0)
HAN = re.compile("[\u4e00-\u9fff]")


def test_directions_have_the_same_pairs():
    back = translation.rows("zh", "test", 400, 0)
    assert [(row["source"], row["references"][0]) for row in TEST] == [
        (row["references"][0], row["source"]) for row in back
    ]


def test_sentences_are_written_as_such():
    for row in TEST:
        english, chinese = row["source"], row["references"][0]
        assert english[0].isupper()
        assert english[-1] in ".?"
        assert chinese[-1] in "。？"
        assert (english[-1] == "?") == (chinese[-1] == "？")
        assert not HAN.search(english)
        assert not re.search(r"[A-Za-z]", chinese)
        assert "  " not in english
        assert " " not in chinese


def test_numbers_are_the_same_on_both_sides():
    for row in TEST:
        months = re.findall(r"(\d+)月", row["references"][0])
        numbers = re.findall(r"\d+", row["references"][0])
        assert len(re.findall(r"\d+", row["source"])) == len(numbers) - len(months)
        for number in re.findall(r"\d+", row["source"]):
            assert number in numbers


def test_named_people_and_places_stand_on_both_sides():
    from random import Random

    maker = SentenceMaker(Random(5), True)
    for _ in range(400):
        sentence = maker.draw()
        sides = [sorted(piece[1] for piece in side if not isinstance(piece, str)) for side in sentence[:2]]
        assert sides[0] == sides[1]


def test_sentence_has_one_translation_each_way():
    rows = translation.rows("en", "train", 1500, 9)
    assert len({row["source"] for row in rows}) == len({row["references"][0] for row in rows}) == len(rows)


def test_test_words_are_partly_unseen():
    def words(rows):
        return [word.lower() for row in rows for word in re.findall(r"[\w']+|[^\w\s]", row["source"])]

    seen = set(words(translation.rows("en", "train", 2000, 0)))
    assert len(seen) > 1500
    unseen = [word for word in words(TEST) if word not in seen]
    assert 0.03 < len(unseen) / len(words(TEST)) < 0.12


def test_articles_agree_with_the_next_word():
    for row in TEST:
        assert not re.search(r"\ba [aeioAEIO]", row["source"])
        assert not re.search(r"\ban [^aeiouAEIOUh]", row["source"])


def test_key_forgets_form_and_keeps_content():
    groups = {"buys": "buy", "bought": "buy"}
    past = Sentence((("Anna", "PER"), "bought", "a", "pear"), ())
    present = Sentence((("Anna", "PER"), "buys", "the", "pear"), ())
    other = Sentence((("Anna", "PER"), "buys", "the", "plum"), ())
    assert past.key(groups) == present.key(groups) == "Anna buy pear"
    assert other.key(groups) != past.key(groups)


WRITE = next(verb for verb in lexicon(True).verbs if verb.base == "write")
SHE = Phrase(("she",), ("她",), "3")


@pytest.mark.parametrize(
    ("mode", "is_split", "expected"),
    [
        (PAST, False, ("", "wrote")),
        (PAST, True, ("did", "write")),
        (PROGRESSIVE, False, ("is", "writing")),
        (MODAL, False, ("will", "write")),
        ("experience", False, ("has", "written")),
        ("skill", True, ("can", "write")),
        ("habitual", False, ("", "writes")),
        ("habitual", True, ("does", "write")),
    ],
)
def test_verb_groups_have_their_auxiliary(mode, is_split, expected):
    assert verb_group(Event(SHE, WRITE, None, None, mode, False), "3", is_split) == expected


def test_be_agrees():
    assert BE == {"1": "am", "2": "are", "3": "is"}


def test_cannot_is_one_word():
    text = english_text(Sentence(predicate(Event(SHE, WRITE, None, None, "skill", True)), ())).text
    assert text == "Cannot write."
    assert "cannot" in FUNCTION_WORDS


def test_known_things_stand_before_the_verb_of_giving():
    for row in translation.rows("en", "train", 1500, 2):
        if re.search(r"[送借寄卖递]给了", row["references"][0]) and "把" not in row["references"][0].split("给了")[0]:
            assert not re.search(r" (?:this|that|his|her|my|your|our|their) \w+\.$", row["source"]), row
