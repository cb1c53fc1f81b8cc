import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError, InvalidTypeError, MissingResourceError, UnknownNameError
from evalkit.metrics.cws import Cws


@st.composite
def segmentations(draw, count=2):
    """Several segmentations of one line of characters."""
    characters = draw(st.text(alphabet="天气很好我们去公园散步", min_size=1, max_size=12))
    lines = []
    for _ in range(count):
        cuts = draw(st.lists(st.booleans(), min_size=len(characters), max_size=len(characters)))
        lines.append("".join(c + ("  " if cut else "") for c, cut in zip(characters, cuts, strict=True)))
    return lines


def naive_spans(line):
    """Word spans, from the position of every space."""
    spans, start, place = [], 0, 0
    for character in f"{line} ":
        if character.isspace():
            if place > start:
                spans.append((start, place))
            start = place
        else:
            place += 1
    return spans


def score(predictions, references, **settings):
    metric = Cws(**settings)
    statistics = metric.statistics(predictions, [[line] for line in references])
    return {name: float(value) for name, value in metric.score(statistics.total(), statistics.columns).items()}


@given(st.lists(segmentations(), min_size=1, max_size=4))
def test_span_values_equal_sets_of_spans(lines):
    golds, preds = [[naive_spans(pair[side]) for pair in lines] for side in (0, 1)]
    right = sum(len(set(gold) & set(pred)) for gold, pred in zip(golds, preds, strict=True))
    got = score([pred for _, pred in lines], [gold for gold, _ in lines])
    assert got["recall"] == pytest.approx(right / sum(map(len, golds)))
    assert got["precision"] == pytest.approx(right / sum(map(len, preds)))


@pytest.mark.parametrize("variant", ["span", "sighan"])
@given(segmentations(1))
def test_gold_as_prediction_scores_one(variant, lines):
    got = score(lines, lines, variant=variant, train_words=frozenset({"天气", "好"}))
    assert (got["f1"], got["precision"], got["recall"]) == (1.0, 1.0, 1.0)
    assert {got["oov_recall"], got["iv_recall"]} <= {1.0} or any(map(math.isnan, got.values()))


@given(segmentations())
def test_swapping_gold_and_prediction_swaps_precision_and_recall(lines):
    gold, pred = lines
    there, back = score([pred], [gold]), score([gold], [pred])
    assert there["precision"] == back["recall"]
    assert there["f1"] == back["f1"]


@given(st.lists(segmentations(), min_size=2, max_size=4))
def test_rows_add_up_over_examples(lines):
    metric = Cws(train_words=frozenset({"天", "公园"}))
    whole = metric.statistics([pred for _, pred in lines], [[gold] for gold, _ in lines])
    parts = [metric.statistics([pred], [[gold]]).rows[0] for gold, pred in lines]
    assert (whole.rows == np.stack(parts)).all()


def test_words_count_where_they_stand_not_where_diff_aligns_them():
    assert score(["上海 上 海"], ["上 海上 海"])["recall"] == pytest.approx(1 / 3)
    assert score(["上海 上 海"], ["上 海上 海"], variant="sighan")["recall"] == pytest.approx(2 / 3)


def test_unknown_and_known_words_have_their_own_recall():
    got = score(["她 修 好 了 旧 收音机"], ["她 修好 了 旧 收音机"], train_words=frozenset({"她", "修好", "了"}))
    assert got["iv_recall"] == pytest.approx(2 / 3)
    assert got["oov_recall"] == 1.0
    assert got["oov_rate"] == pytest.approx(2 / 5)


def test_values_of_words_that_do_not_occur_are_undefined():
    got = score(["渡船 离开"], ["渡船 离开"], train_words=frozenset({"渡船", "离开"}))
    assert math.isnan(got["oov_recall"])
    assert got["iv_recall"] == 1.0
    without = score(["渡船"], ["渡船"])
    assert all(math.isnan(without[name]) for name in ("oov_recall", "iv_recall", "oov_rate"))
    assert Cws().report(["渡船"], [["渡船"]])["oov_rate"] is None


@pytest.mark.parametrize("separator", ["  ", "\t", "\u3000", " \r ", "\v", "\f"])
def test_white_space_of_the_script_and_the_full_width_space_separate_words(separator):
    assert score(["渡船 在 日出"], [f" 渡船{separator}在{separator}日出\r\n"])["f1"] == 1.0


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u200b", "\ufeff"])
def test_other_spaces_are_characters(space):
    assert score([f"渡船{space}在"], [f"渡船{space}在"], train_words=frozenset({f"渡船{space}在"}))["iv_recall"] == 1.0


def test_empty_lines_count_nothing():
    assert score(["", "渡船 在"], [" ", "渡船 在"])["f1"] == 1.0
    assert score(["", "渡 船"], ["", "渡船"])["f1"] == 0.0


def test_empty_output_scores_zero_in_the_sighan_variant():
    got = Cws(variant="sighan").report(["", "在"], [["渡船"], ["在"]])
    assert got["recall"] == 0.5
    assert got["printed"] is None


@pytest.mark.parametrize(
    ("prediction", "reference", "message"),
    [
        (
            "渡船 在 日出",
            "渡船 在 日",
            "example 1: the prediction spells '出' where the reference has 'nothing', at character 4",
        ),
        ("渡船", "渡船 在", "spells 'nothing' where the reference has '在', at character 2"),
        ("渡轮 在", "渡船 在", "spells '轮' where the reference has '船', at character 1"),
        ("渡船 在", "", "example 1"),
    ],
)
def test_other_characters_than_the_reference_are_refused_with_their_place(prediction, reference, message):
    with pytest.raises(InvalidInputError, match=message):
        Cws().statistics(["好", prediction], [["好"], [reference]])


def test_words_for_an_empty_reference_are_refused_in_the_sighan_variant():
    with pytest.raises(InvalidInputError, match="example 0: words are predicted for an empty reference"):
        Cws(variant="sighan").statistics(["渡船"], [[""]])


def test_lexicon_is_bound_once():
    bound = Cws().with_lexicon(lambda: frozenset({"渡船"}))
    assert bound.train_words == frozenset({"渡船"})
    assert bound.with_lexicon(lambda: frozenset({"在"})) is bound


def test_task_without_training_words_leaves_them_undefined():
    def none():
        raise MissingResourceError("no training split")

    metric = Cws(variant="sighan")
    assert metric.with_lexicon(none) is metric


def test_signature_tells_lexicons_apart():
    one, two = Cws(train_words=frozenset({"a", "b"})), Cws(train_words=frozenset({"a", "c"}))
    assert one.signature() != two.signature()
    assert one.signature() == Cws(train_words=frozenset(["b", "a"])).signature()
    assert Cws(variant="sighan").signature() == "cws|variant:sighan|train_words:none"
    assert Cws(variant="sighan").label == "cws-sighan"
    assert Cws().label == "cws"


def test_lists_of_training_words_become_sets():
    assert Cws(train_words=("a", "a")).train_words == frozenset({"a"})


def test_bad_settings_and_inputs_are_refused():
    with pytest.raises(UnknownNameError, match="did you mean 'span'"):
        Cws(variant="spans")
    with pytest.raises(InvalidTypeError, match="bare string"):
        Cws(train_words="渡船")
    with pytest.raises(InvalidTypeError, match="prediction 0 is None"):
        Cws().statistics([None], [["渡船"]])
    with pytest.raises(InvalidInputError, match="2 references"):
        Cws().statistics(["渡船"], [["渡船", "渡 船"]])


@pytest.mark.real
@pytest.mark.parametrize(
    ("output", "printed"),
    [
        ("test_fmm", ["0.857", "0.736", "0.792", "0.124", "0.032", "0.974"]),
        ("test_chars", ["0.511", "0.319", "0.393", "0.124", "0.032", "0.578"]),
    ],
)
def test_official_script_output_on_real_segmentations_is_reproduced(data_dir, output, printed):
    folder = data_dir / "cws" / "gsdsimp_seg"
    golds = (folder / "test_gold.utf8").read_text(encoding="utf-8").splitlines()
    preds = (folder / "outputs" / f"{output}.utf8").read_text(encoding="utf-8").splitlines()
    words = frozenset((folder / "train_words.utf8").read_text(encoding="utf-8").split())
    got = Cws(variant="sighan", train_words=words).report(preds, [[gold] for gold in golds])
    assert list(got["printed"].values()) == printed


@pytest.mark.real
@pytest.mark.parametrize(
    ("output", "correct", "oov_recall"), [("test_fmm", 10310, 0.0316285), ("test_chars", 6157, 0.0323015)]
)
def test_span_counts_on_real_segmentations_are_reproduced(data_dir, output, correct, oov_recall):
    folder = data_dir / "cws" / "gsdsimp_seg"
    golds = (folder / "test_gold.utf8").read_text(encoding="utf-8").splitlines()
    preds = (folder / "outputs" / f"{output}.utf8").read_text(encoding="utf-8").splitlines()
    words = frozenset((folder / "train_words.utf8").read_text(encoding="utf-8").split())
    got = Cws(train_words=words).report(preds, [[gold] for gold in golds])
    assert (got["matched"], got["true_words"]) == (correct, 12012)
    assert got["oov_recall"] == pytest.approx(oov_recall, abs=1e-6)
