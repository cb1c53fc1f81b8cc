"""Tags of a sentence: the likeliest sequence that a scheme allows, against a search of all sequences."""

import itertools

import numpy as np
import pytest

from evalkit.adapters.encoder.transitions import TagTransitions
from evalkit.errors import UnknownNameError
from evalkit.kinds.cws import words_from_labels
from evalkit.metrics.tag_schemes import CONVERTIBLE
from evalkit.requests import LabelRequest

SCHEMES = {
    "BMES": ("B", "M", "E", "S"),
    "IOB2": ("O", "B-PER", "I-PER", "B-LOC", "I-LOC"),
    "IOBES": ("O", "B-X", "I-X", "E-X", "S-X"),
    "BILOU": ("O", "B-X", "I-X", "L-X", "U-X"),
    "IO": ("O", "I-PER", "I-LOC"),
}


def _is_well_formed(scheme: str, tags: tuple[str, ...]) -> bool:
    """Whether tags are of a scheme, told by a walk over them that knows nothing of transitions."""
    open_kind = None
    for tag in tags:
        prefix, _, kind = tag.partition("-")
        if prefix == "O":
            if open_kind is not None and scheme in ("BMES", "IOBES", "BILOU"):
                return False
            open_kind = None
        elif prefix in ("B", "S", "U"):
            if open_kind is not None and scheme in ("BMES", "IOBES", "BILOU"):
                return False
            open_kind = kind if prefix == "B" else None
        else:
            if open_kind != kind and scheme != "IO":
                return False
            open_kind = None if prefix in ("E", "L") else kind
    return open_kind is None or scheme in ("IOB2", "IO")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("length", [1, 2, 4])
def test_the_best_sequence_is_that_of_a_search_of_all_well_formed_ones(scheme, length):
    labels = SCHEMES[scheme]
    transitions = TagTransitions(labels)
    random = np.random.default_rng(length)
    for _ in range(20):
        scores = random.normal(size=(length, len(labels)))
        candidates = [
            path
            for path in itertools.product(range(len(labels)), repeat=length)
            if _is_well_formed(scheme, tuple(labels[index] for index in path))
        ]
        expected = max(candidates, key=lambda path: sum(scores[place, index] for place, index in enumerate(path)))
        assert tuple(transitions.best(scores)) == expected


def test_labels_without_a_scheme_keep_the_likeliest_of_each_word():
    scores = np.random.default_rng(0).normal(size=(50, 6))
    for labels in (("NN", "VB", "DT", "IN", "B", "M"), ("n", "v", "m", "b", "s", "e")):
        assert TagTransitions(labels).best(scores) == scores.argmax(-1).tolist()


def test_no_word_has_no_tags_and_a_scheme_that_cannot_end_still_gives_some():
    assert TagTransitions(("B", "M", "E", "S")).best(np.zeros((0, 4))) == []
    assert len(TagTransitions(("B", "M")).best(np.zeros((3, 2)))) == 3


def test_segmentation_labels_cut_a_text_as_their_own_words_do():
    labels, text = SCHEMES["BMES"], "我们喜欢北京烤鸭"
    path = TagTransitions(labels).best(np.random.default_rng(3).normal(size=(len(text), 4)))
    tags = [labels[index] for index in path]
    spelt = ["S" if len(word) == 1 else "B" + "M" * (len(word) - 2) + "E" for word in words_from_labels(text, tags)]
    assert "".join(spelt) == "".join(tags)


def test_every_scheme_that_data_may_have_is_known():
    assert set(CONVERTIBLE) <= {*SCHEMES, "IOB1"}


def test_the_adapter_gives_well_formed_tags_across_windows_if_asked_to(make_adapter, wordpiece, write_text):
    requests = [
        LabelRequest(example_id=str(seed), tokens=tuple(write_text(40, seed).split()), labels=SCHEMES["IOB2"])
        for seed in range(30)
    ]
    found = {}
    for way in ("independent", "constrained"):
        adapter = make_adapter("labels", wordpiece, on_overflow="window", tag_decoding=way)
        found[way] = [response.labels for response in adapter.answer(requests)]
    assert all(_is_well_formed("IOB2", tags) for tags in found["constrained"])
    assert not all(_is_well_formed("IOB2", tags) for tags in found["independent"])
    for free, bound in zip(found["independent"], found["constrained"], strict=True):
        assert free == bound or not _is_well_formed("IOB2", free)


def test_an_unknown_way_to_choose_tags_is_refused(make_adapter, wordpiece):
    with pytest.raises(UnknownNameError, match="unknown tag decoding 'viterbi'"):
        make_adapter("labels", wordpiece, tag_decoding="viterbi")
