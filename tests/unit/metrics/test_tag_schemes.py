import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.scheme import BILOU, IOB1, IOB2, IOBES, Entities

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.metrics.tag_schemes import CONVERTIBLE, convert, read_entities, write_entities

LOSSLESS = ("IOB1", "IOB2", "IOBES", "BILOU")
TABLE = {
    "IO": ["I-PER", "I-PER", "O", "I-LOC", "I-LOC", "O", "I-PER"],
    "IOB1": ["I-PER", "I-PER", "O", "I-LOC", "I-LOC", "O", "I-PER"],
    "IOB2": ["B-PER", "I-PER", "O", "B-LOC", "I-LOC", "O", "B-PER"],
    "IOBES": ["B-PER", "E-PER", "O", "B-LOC", "E-LOC", "O", "S-PER"],
    "BILOU": ["B-PER", "L-PER", "O", "B-LOC", "L-LOC", "O", "U-PER"],
}


@st.composite
def sentences(draw):
    """Entities in order, some of them side by side, and the number of tokens."""
    entities, end = [], 0
    for _ in range(draw(st.integers(0, 5))):
        start = end + draw(st.integers(0, 2))
        end = start + draw(st.integers(1, 3))
        entities.append((start, end, draw(st.sampled_from(["A", "B", "x-y", "地名"]))))
    return entities, end + draw(st.integers(0, 2))


@pytest.mark.parametrize("source", CONVERTIBLE)
@pytest.mark.parametrize("target", LOSSLESS)
def test_one_sentence_in_every_scheme(source, target):
    assert convert(TABLE[source], source, target) == TABLE[target]


@pytest.mark.parametrize("scheme", LOSSLESS)
@given(sentences())
def test_written_entities_are_read_back(scheme, sentence):
    entities, length = sentence
    tags = write_entities(entities, length, scheme)
    assert read_entities(tags, scheme) == entities
    assert convert(convert(tags, scheme, "IOBES"), "IOBES", scheme) == tags


@pytest.mark.parametrize(("scheme", "theirs"), [("IOB2", IOB2), ("IOBES", IOBES), ("BILOU", BILOU)])
@given(sentences())
def test_seqeval_reads_the_written_entities(scheme, theirs, sentence):
    entities, length = sentence
    (found,) = Entities([write_entities(entities, length, scheme)], theirs).entities
    assert [(entity.start, entity.end, entity.tag) for entity in found] == entities


@given(sentences())
def test_seqeval_reads_written_iob1_without_neighbours(sentence):
    entities = [
        (3 * i, 3 * i + end - start, label) for i, (start, end, label) in enumerate(sentence[0]) if end - start < 3
    ]
    (found,) = Entities([write_entities(entities, 20, "IOB1")], IOB1).entities
    assert [(entity.start, entity.end, entity.tag) for entity in found] == entities


@given(sentences())
def test_io_joins_neighbours_of_one_type(sentence):
    entities, length = sentence
    tags = [tag.replace("B-", "I-") for tag in write_entities(entities, length, "IOB2")]
    joined = []
    for start, end, label in entities:
        if joined and joined[-1][1:] == (start, label):
            start = joined.pop()[0]
        joined.append((start, end, label))
    assert read_entities(tags, "IO") == joined


def test_tags_of_the_target_scheme_stay_as_they_are():
    assert convert(["I-A", "O"], "IOB2", "IOB2") == ["I-A", "O"]
    assert convert(["I-A", "O"], "BIO") == ["I-A", "O"]


def test_untyped_tags_stay_untyped():
    assert convert(["B", "I", "O", "B"], "IOB2", "IOBES") == ["B", "E", "O", "S"]


@pytest.mark.parametrize("tags", [["S-A"], ["X"], ["PER"], ["o"], [""]])
def test_tag_of_another_scheme_is_refused(tags):
    with pytest.raises(
        InvalidInputError, match=r"token 1: tag .* is not of scheme IOB1; expected O or one of the prefixes I, B"
    ):
        convert(["O", *tags], "IOB1")


@pytest.mark.parametrize(
    ("scheme", "tags", "message"),
    [
        ("IOB1", ["O", "B-A"], "token 1: tag 'B-A' cannot stand behind 'O' in scheme IOB1"),
        ("IOBES", ["I-A", "E-A"], "token 0: tag 'I-A' cannot stand behind the beginning of the sentence"),
        ("IOBES", ["B-A", "O"], "token 0: tag 'B-A' leaves an entity open"),
        ("IOBES", ["B-A", "I-A"], "token 1: tag 'I-A' leaves an entity open"),
        ("BILOU", ["B-A", "L-B"], "token 1: tag 'L-B' cannot stand behind 'B-A'"),
        ("BILOU", ["U-A", "I-A"], "token 1: tag 'I-A' cannot stand behind 'U-A'"),
    ],
)
def test_tag_in_the_wrong_place_is_refused_with_its_place(scheme, tags, message):
    with pytest.raises(InvalidInputError, match=message):
        convert(tags, scheme)


@pytest.mark.parametrize(
    ("scheme", "tags", "expected"),
    [
        ("IOB1", ["O", "B-A"], ["O", "B-A"]),
        ("IOBES", ["I-A", "E-A", "I-A", "O"], ["B-A", "I-A", "B-A", "O"]),
        ("IOBES", ["B-A", "O"], ["B-A", "O"]),
        ("BILOU", ["B-A", "L-B", "L-B"], ["B-A", "B-B", "B-B"]),
    ],
)
def test_lenient_reading_lets_any_tag_begin_an_entity(scheme, tags, expected):
    assert convert(tags, scheme, strict=False) == expected


def test_io_cannot_be_written():
    with pytest.raises(UnknownNameError, match="known: IOB1, IOB2, IOBES, BILOU"):
        convert(["O"], "IOB2", "IO")


def test_unknown_scheme_names_the_known_ones():
    with pytest.raises(UnknownNameError, match="unknown tag scheme 'IOB3'"):
        convert(["O"], "IOB3")
