from random import Random

import pytest

from evalkit_tasks.mini.lexicon import article, fits, gerund_of, groups, lexicon, plural_of, third_of
from evalkit_tasks.mini.names import names
from evalkit_tasks.mini.tables import sections

PEOPLE = {"human", "name", "pair"}
ALL, TRAIN = lexicon(True), lexicon(False)


@pytest.mark.parametrize(
    ("noun", "plural"),
    [("cat", "cats"), ("box", "boxes"), ("city", "cities"), ("toy", "toys"), ("watch", "watches"), ("loaf", "loaves")],
)
def test_plurals_follow_the_rules(noun, plural):
    assert plural_of(noun) == plural


@pytest.mark.parametrize(
    ("base", "third", "gerund"),
    [
        ("write", "writes", "writing"),
        ("wash", "washes", "washing"),
        ("study", "studies", "studying"),
        ("play", "plays", "playing"),
        ("look for", "looks for", "looking for"),
    ],
)
def test_verbs_are_inflected_by_their_first_word(base, third, gerund):
    assert third_of(base) == third
    assert gerund_of(base) == gerund


@pytest.mark.parametrize(
    ("word", "expected"), [("apple", "an"), ("cat", "a"), ("uniform", "a"), ("umbrella", "an"), ("English book", "an")]
)
def test_articles_fit_the_sound(word, expected):
    assert article(word) == expected


def test_there_are_hundreds_of_words():
    words = (
        {noun.english for noun in ALL.nouns} | {verb.base for verb in ALL.verbs} | {verb.base for verb in ALL.actions}
    )
    words |= {adjective.positive for adjective in ALL.adjectives} | {place.english for place in ALL.places}
    assert len(words) > 550


@pytest.mark.parametrize("words", [ALL, TRAIN], ids=["all", "train"])
def test_each_verb_has_subjects_and_objects_in_every_split(words):
    for verb in words.verbs:
        for name in verb.subjects:
            assert name in PEOPLE or words.nouns_of(name), (verb.base, name)
        assert "name" in verb.objects or words.nouns_of(",".join(verb.objects)), verb.base
        assert not verb.places or words.places_of(verb.places), verb.base


@pytest.mark.parametrize("verb", ALL.verbs, ids=lambda verb: f"{verb.base} {verb.chinese}")
def test_senses_of_a_word_are_told_apart_by_the_verb(verb):
    nouns = ALL.nouns_of(",".join(name for name in verb.objects if name != "name"))
    assert len({noun.english for noun in nouns}) == len({noun.chinese for noun in nouns}) == len(nouns)


def test_no_object_of_a_verb_could_belong_to_another_sense_of_it():
    for verb in ALL.verbs:
        for other in ALL.verbs:
            same_english = verb.base == other.base and verb.chinese != other.chinese
            if same_english and set(verb.subjects) & set(other.subjects):
                mine = {noun.english for noun in ALL.nouns_of(",".join(verb.objects))}
                assert mine.isdisjoint(noun.english for noun in ALL.nouns_of(",".join(other.objects))), verb.base


def test_many_words_have_several_translations():
    meanings = {}
    for verb in (*ALL.verbs, *ALL.actions):
        meanings.setdefault(verb.base, set()).add(verb.chinese)
    for adjective in ALL.adjectives:
        meanings.setdefault(adjective.positive, set()).add(adjective.chinese)
    for noun in ALL.nouns:
        meanings.setdefault(noun.english, set()).add(noun.chinese)
    assert {"play", "take", "old", "strong", "bat", "seal", "mouse", "coach"} <= {
        word for word, found in meanings.items() if len(found) > 1
    }
    assert len(meanings["play"]) >= 7


def test_words_that_share_a_form_are_one_group():
    group = groups()
    assert group["playing"] == group["played"] == group["plays"]
    assert group["read"] == group["watched"]  # both are 看
    assert group["opened"] == group["turned"]  # both are 打开
    assert group["apples"] == group["apple"]
    assert group["apple"] != group["pear"]


def test_training_lacks_a_share_of_nouns_and_names():
    unseen = {noun.english for noun in ALL.nouns} - {noun.english for noun in TRAIN.nouns}
    assert 30 < len(unseen) < 80
    assert len(names(False).cities) < len(names(True).cities)
    assert len(names(False).surnames) < len(names(True).surnames)


def test_parts_of_unseen_chinese_names_are_seen():
    seen, rng = names(False), Random(0)
    parts = {character for _ in range(3000) for character in seen.chinese_person(rng).chinese}
    everything = names(True)
    given = [row[1] for row in (*everything.first, *everything.second["f"], *everything.second["m"])]
    assert {row[1] for row in everything.family} | set(given) <= parts


def test_pinyin_of_a_name_stands_for_one_character_in_its_place():
    table = sections("mini_names.tsv")
    for part in (table["family"], table["first"], table["second_m"] + table["second_f"]):
        assert len({row[0] for row in part}) == len({row[1] for row in part}) == len(part)


def test_adjectives_fit_only_what_they_may_describe():
    by_name = {(adjective.positive, adjective.chinese): adjective for adjective in ALL.adjectives}
    noun = {noun.english: noun for noun in ALL.nouns}
    assert fits(by_name["old", "旧"], noun["shirt"])
    assert not fits(by_name["old", "老"], noun["shirt"])
    assert fits(by_name["strong", "浓"], noun["tea"])
    assert fits(by_name["tall", "高"], noun["teacher"])
