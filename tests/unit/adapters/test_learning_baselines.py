import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.adapters import open_adapter
from evalkit.adapters.baselines.majority import repaired
from evalkit.adapters.baselines.max_match import longest_by_start, longest_matches
from evalkit.errors import InvalidInputError, MissingResourceError
from evalkit.requests import ClassifyRequest, GenerateRequest, LabelRequest, SpanRequest

TAGGED = [
    ("t1", {"tokens": ("Bo", "likes", "New", "York", "City")}, [("B-PER", "O", "B-LOC", "I-LOC", "I-LOC")]),
    ("t2", {"tokens": ("New", "York", "likes", "Bo")}, [("B-LOC", "I-LOC", "O", "B-PER")]),
    ("t3", {"tokens": ("Paris", "met", "Paris")}, [("B-PER", "O", "B-LOC")]),
]
SEGMENTED = [("t1", {"text": "我爱北京"}, ["我  爱  北京"]), ("t2", {"text": "北京人爱我"}, ["北京人  爱  我"])]
REVIEWS = [
    ("t1", {"text": "a fine film, fine music"}, ["good"]),
    ("t2", {"text": "fine acting"}, ["good"]),
    ("t3", {"text": "a dull film, dull music"}, ["bad"]),
    ("t4", {"text": "what a fine day"}, ["good"]),
]


@pytest.fixture
def prepared(make_context):
    def make(name, kind, request_kind, training=None, words=None):
        adapter = open_adapter("baseline", name)
        assert adapter.prepare(make_context(kind, request_kind, [], training=training, words=words)) == ()
        return adapter

    return make


def labels(adapter, tokens):
    (response,) = adapter.answer([LabelRequest(example_id="a", inputs={"text": tokens}, tokens=tuple(tokens))])
    return response.labels


def test_majority_tags_each_token_as_it_was_tagged_most_and_repairs_the_tags(prepared):
    adapter = prepared("majority", "ner", "label", TAGGED)
    assert labels(adapter, ("York", "City", "likes", "Bo", "Li")) == ("B-LOC", "I-LOC", "O", "B-PER", "O")


@pytest.mark.parametrize("tag", ["B-LOC", "B-PER"])
def test_majority_prefers_the_tag_that_is_more_frequent_overall(prepared, tag):
    adapter = prepared("majority", "ner", "label", [*TAGGED, ("t4", {"tokens": ("Li",)}, [(tag,)])])
    assert labels(adapter, ("Paris",)) == (tag,)


@given(st.lists(st.sampled_from(["O", "B-X", "I-X", "B-Y", "I-Y"])))
def test_repaired_tags_are_iob2_and_change_only_stray_insides(tags):
    result = repaired(tags)
    for place, tag in enumerate(result):
        assert tag[:2] != "I-" or result[place - 1] in (f"B-{tag[2:]}", tag)
        assert tag == tags[place] or tags[place] == tag.replace("B-", "I-")
    assert repaired(result) == result


def test_majority_cuts_each_character_as_it_was_cut_most(prepared):
    adapter = prepared("majority", "cws", "label", SEGMENTED)
    assert "".join(labels(adapter, "我爱北京城")) == "SSBES"


def test_majority_labels_always_spell_words(prepared):
    adapter = prepared("majority", "cws", "generate", SEGMENTED)
    (response,) = adapter.answer([GenerateRequest(example_id="a", inputs={"text": "京京北北我"})])
    assert response.text.replace("  ", "") == "京京北北我"


def test_majority_chooses_the_most_frequent_class_with_its_share(prepared):
    adapter = prepared("majority", "classification", "classify", REVIEWS)
    (response,) = adapter.answer([ClassifyRequest(example_id="a", text="?", labels=("bad", "good", "new"))])
    assert (response.label, response.probabilities) == ("good", (0.25, 0.75, 0.0))


@pytest.mark.parametrize(
    ("references", "expected"),
    [([["two"], ["one", "two"], ["two"]], "two"), ([[], [], ["two"]], ""), ([["b"], ["a"]], "a")],
)
def test_majority_answers_with_the_most_frequent_first_answer(prepared, references, expected):
    training = [(str(place), {"question": "?", "context": "."}, each) for place, each in enumerate(references)]
    (response,) = prepared("majority", "qa", "span", training).answer([SpanRequest(example_id="a")])
    assert response.text == expected


@pytest.mark.parametrize("name", ["majority", "tfidf"])
def test_a_class_that_only_the_training_split_has_is_an_error(prepared, name):
    adapter = prepared(name, "classification", "classify", REVIEWS)
    request = ClassifyRequest(example_id="a", inputs={"text": "fine"}, labels=("good", "poor"))
    with pytest.raises(
        InvalidInputError, match="class 'bad' of the training split is none of the task's; expected good, poor"
    ):
        list(adapter.answer([request]))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("北京大学生", "BMMES"), ("研究生命", "BMES"), ("我在", "SS"), ("北京大", "BES"), ("", "")],
)
def test_max_match_takes_the_longest_word_from_left_to_right(prepared, text, expected):
    adapter = prepared("max-match", "cws", "label", words={"北京", "北京大学", "大学生", "研究生", "生命", ""})
    assert "".join(labels(adapter, text)) == expected


@given(st.text(alphabet="abc", max_size=12), st.sets(st.text(alphabet="abc", min_size=1, max_size=4)))
def test_longest_matches_equal_a_search_over_all_prefixes(text, known):
    expected, rest = [], text
    while rest:
        piece = max((word for word in known if rest.startswith(word)), key=len, default=rest[0])
        expected.append(piece)
        rest = rest[len(piece) :]
    assert list(longest_matches(text, known, longest_by_start(known))) == expected


def test_max_match_marks_the_longest_entities_that_had_one_type_only(prepared):
    adapter = prepared("max-match", "ner", "label", TAGGED)
    tokens = ("In", "New", "York", "City", "Bo", "met", "Paris", "New", "York")
    assert labels(adapter, tokens) == ("O", "B-LOC", "I-LOC", "I-LOC", "B-PER", "O", "O", "B-LOC", "I-LOC")


@pytest.mark.parametrize(
    ("name", "kind", "request_kind", "missing"),
    [
        ("majority", "ner", "label", "task 'toy' has no training split"),
        ("max-match", "cws", "label", "task 'toy' has no word list"),
        ("ngram", "lm", "rolling", "task 'toy' has no training split"),
        ("tfidf", "mt", "generate", "task 'toy' has no training split"),
    ],
)
def test_a_missing_training_split_or_word_list_is_reported(make_context, name, kind, request_kind, missing):
    with pytest.raises(MissingResourceError, match=missing):
        open_adapter("baseline", name).prepare(make_context(kind, request_kind, []))


def test_an_empty_training_split_is_reported(make_context):
    with pytest.raises(
        InvalidInputError, match="baseline 'majority': the training split of toy is empty; expected examples"
    ):
        open_adapter("baseline", "majority").prepare(make_context("ner", "label", [], training=[]))
