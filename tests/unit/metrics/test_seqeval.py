import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval import scheme as seqeval_scheme
from seqeval.metrics import accuracy_score, classification_report

from evalkit.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from evalkit.metrics.base import Statistics
from evalkit.metrics.prf import MEASURES
from evalkit.metrics.seqeval import Seqeval

SCHEMES = {"IOB1": "IB", "IOB2": "IB", "IOE1": "IE", "IOE2": "IE", "IOBES": "IBES", "BILOU": "BILU"}
DEFAULT_TAGS = ["O", "O", "B-PER", "I-PER", "E-PER", "S-PER", "B-地名", "I-地名", "E-地名", "B", "I"]
WILD_TAGS = ["O", "O-A", "U-A", "X", ".", ".-A", "B-A", "I-A", "E", "S-B", "ORG", "-", "B-", "I--A", "A-B-C", "L-A"]
SUFFIX_TAGS = ["O", "A-B", "A-I", "B-B", "B-I", "A-E", "A-S", "B", "-I", "A-X-I"]


def strict_tags(scheme):
    return ["O", *(f"{prefix}-{name}" for prefix in SCHEMES[scheme] for name in ("A", "B")), SCHEMES[scheme][0], "I-A-"]


@st.composite
def corpora(draw, tags):
    """Gold and predicted tags of a few sentences, which agree about half of the time."""
    lengths = draw(st.lists(st.integers(0, 7), min_size=1, max_size=4).filter(any))
    tag = st.sampled_from(tags)
    golds = [draw(st.lists(tag, min_size=n, max_size=n)) for n in lengths]
    preds = [[draw(st.one_of(st.just(gold), tag)) for gold in golds_of] for golds_of in golds]
    return golds, preds


def reference_report(golds, preds, zero_division=0, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = classification_report(golds, preds, output_dict=True, zero_division=zero_division, **options)

    def named(row):
        return {"precision": row["precision"], "recall": row["recall"], "f1": row["f1-score"]}

    return {
        **{kind: named(table[f"{kind} avg"]) for kind in ("micro", "macro", "weighted")},
        "per_type": {
            name: named(row) | {"support": row["support"]} for name, row in table.items() if not name.endswith(" avg")
        },
        "accuracy": accuracy_score(golds, preds),
    }


def assert_same(got, want):
    assert got.keys() == want.keys()
    for name, value in want.items():
        if isinstance(value, dict):
            assert_same(got[name], value)
        else:
            found = np.nan if got[name] is None else got[name]
            assert found == pytest.approx(value, rel=1e-12, abs=1e-12, nan_ok=True), name


def report(metric, golds, preds):
    return metric.report(preds, [[gold] for gold in golds])


@settings(max_examples=40, deadline=None)
@given(corpora(DEFAULT_TAGS), st.sampled_from([0, 1]))
def test_default_mode_equals_seqeval(corpus, zero_division):
    assert_same(report(Seqeval(zero_division=zero_division), *corpus), reference_report(*corpus, zero_division))


@settings(max_examples=40, deadline=None)
@given(corpora(WILD_TAGS))
def test_default_mode_equals_seqeval_on_malformed_tags(corpus):
    assert_same(report(Seqeval(), *corpus), reference_report(*corpus))


@settings(max_examples=40, deadline=None)
@given(corpora(SUFFIX_TAGS))
def test_suffix_tags_equal_seqeval(corpus):
    assert_same(report(Seqeval(suffix=True), *corpus), reference_report(*corpus, suffix=True))


@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("scheme", SCHEMES)
@given(st.data())
def test_strict_mode_equals_seqeval(scheme, data):
    golds, preds = data.draw(corpora(strict_tags(scheme)))
    zero_division = data.draw(st.sampled_from([0, 1]))
    want = reference_report(golds, preds, zero_division, mode="strict", scheme=getattr(seqeval_scheme, scheme))
    assert_same(report(Seqeval(mode="strict", scheme=scheme, zero_division=zero_division), golds, preds), want)


@settings(max_examples=40, deadline=None)
@given(corpora(DEFAULT_TAGS), st.data())
def test_score_of_a_resample_equals_seqeval_on_that_resample(corpus, data):
    golds, preds = corpus
    draws = data.draw(
        st.lists(st.integers(0, len(golds) - 1), min_size=1, max_size=6).filter(lambda d: any(golds[i] for i in d))
    )
    statistics = Seqeval().statistics(preds, [[gold] for gold in golds])
    counts = np.bincount(draws, minlength=len(golds))
    values = Seqeval().score(np.stack([counts @ statistics.rows, statistics.total()]), statistics.columns)
    want = reference_report([golds[i] for i in draws], [preds[i] for i in draws])
    for kind in ("macro", "weighted"):
        for measure in MEASURES:
            assert values[f"{kind}_{measure}"].shape == (2,)
            assert values[f"{kind}_{measure}"][0] == pytest.approx(want[kind][measure], abs=1e-12, nan_ok=True)
    assert values["f1"][0] == pytest.approx(want["micro"]["f1"], abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(corpora(DEFAULT_TAGS))
def test_shards_and_order_do_not_change_the_scores(corpus):
    golds, preds = corpus
    metric = Seqeval()
    whole = metric.statistics(preds, [[gold] for gold in golds])
    shards = [metric.statistics([pred], [[gold]]) for gold, pred in zip(golds, preds, strict=True)]
    merged = Statistics.merge(shards[::-1])
    want = metric.score(whole.total(), whole.columns)
    got = metric.score(merged.total(), merged.columns)
    assert got.keys() == want.keys()
    assert all(got[name] == pytest.approx(value, nan_ok=True) for name, value in want.items())


@pytest.mark.parametrize("scheme", [None, "IOB2", "IOBES"])
def test_gold_as_prediction_scores_one(scheme):
    tags = [["S-A", "O", "B-A", "I-A", "E-A"]] if scheme == "IOBES" else [["B-A", "O", "B-B", "I-B", "B-B"]]
    metric = Seqeval(mode="strict", scheme=scheme) if scheme else Seqeval()
    statistics = metric.statistics(tags, [tags])
    values = metric.score(statistics.total(), statistics.columns)
    assert all(value == 1.0 for value in values.values())
    assert tuple(values)[:3] == MEASURES


def test_entity_never_crosses_a_sentence_boundary():
    golds = [["B-PER", "I-PER"], ["I-PER", "O"]]
    assert report(Seqeval(), golds, golds)["per_type"]["PER"]["support"] == 2


def test_adjacent_bilou_entities_merge_in_default_mode_and_not_in_strict_mode():
    tags = [["U-ORG", "U-ORG", "O"]]
    assert report(Seqeval(), tags, tags)["per_type"]["ORG"]["support"] == 1
    assert report(Seqeval(mode="strict", scheme="BILOU"), tags, tags)["per_type"]["ORG"]["support"] == 2


def test_macro_average_over_no_type_is_undefined():
    got = report(Seqeval(), [["O", "O"]], [["O", "O"]])
    assert got["macro"]["f1"] is None
    assert got["micro"]["f1"] == 0.0
    assert got["accuracy"] == 1.0


def test_tuples_are_sequences_too():
    assert report(Seqeval(), [("B-A", "O")], [("B-A", "O")])["micro"]["f1"] == 1.0


def test_label_and_signature_name_mode_and_scheme():
    assert Seqeval().label == "seqeval"
    assert Seqeval().signature() == "seqeval|suffix:no|zero_division:0"
    assert (
        Seqeval(mode="strict", scheme="BIO", suffix=True).signature()
        == "seqeval-strict-IOB2|suffix:yes|zero_division:0"
    )


def test_unknown_prefixes_are_warned_of():
    metric = Seqeval()
    assert metric.warnings([["B-A"]], [[["O"]]]) == ()
    (warning,) = metric.warnings([["U-A", "S-A"]], [[["O", "LOC"]]])
    assert "2 tags" in warning
    assert "LOC, U-A" in warning
    assert Seqeval(mode="strict", scheme="BILOU").warnings([["U-A"]], [[["O"]]]) == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "strict"}, "needs a scheme"),
        ({"mode": "loose"}, "unknown seqeval mode 'loose'"),
        ({"mode": "strict", "scheme": "IOB3"}, "did you mean 'IOB1'|did you mean 'IOB2'"),
        ({"scheme": "IOB2"}, "use mode 'strict' or no scheme"),
        ({"zero_division": 2}, "expected 0 or 1"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        Seqeval(**settings)


@pytest.mark.parametrize(
    ("predictions", "references", "error", "message"),
    [
        (
            [["O"], ["O", "B-A"]],
            [[["O"]], [["O"]]],
            InvalidInputError,
            "example 1: the numbers of tags differ, 2 predicted and 1 in the reference",
        ),
        ([["O"]], [[["O"]], [["O"]]], InvalidInputError, "1 predictions but references for 2"),
        ([], [], InvalidInputError, "empty corpus"),
        ([["O"]], [[["O"], ["O"]]], InvalidInputError, "2 references; expected exactly one"),
        (["O", "B-A"], [["O", "B-A"]], InvalidTypeError, "prediction 0 is 'O'; expected a list of tags"),
        ([["O"]], [["O"]], InvalidTypeError, "reference 0 is 'O'"),
        ([None], [[["O"]]], InvalidTypeError, "prediction 0 is None"),
        ([["O", 3]], [[["O", "O"]]], InvalidTypeError, "example 0: tag 3 is not a string"),
        ([["O", ["B-A"]]], [[["O", "O"]]], InvalidTypeError, "not a tag"),
        ([["O"], [""]], [[["O"]], [["O"]]], InvalidInputError, "example 1: a tag is empty"),
    ],
)
def test_bad_corpora_are_refused(predictions, references, error, message):
    with pytest.raises(error, match=message):
        Seqeval().statistics(predictions, references)


def test_strict_mode_refuses_foreign_prefixes():
    with pytest.raises(
        InvalidInputError, match="example 1: tag 'S-A' is not of scheme IOB2; expected the prefixes B, I, O"
    ):
        Seqeval(mode="strict", scheme="IOB2").statistics([["O"], ["S-A"]], [[["O"]], [["B-A"]]])


def test_unknown_scheme_is_an_unknown_name():
    with pytest.raises(UnknownNameError):
        Seqeval(mode="strict", scheme="iob2")


def _conll(path: Path) -> list[list[str]]:
    sentences: list[list[str]] = [[]]
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.strip():
            sentences[-1].append(line.split()[-1])
        elif sentences[-1]:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


@pytest.mark.real
@pytest.mark.parametrize(
    ("system", "default", "strict"),
    [("arcada", 39.98, 39.98), ("drexel_cci", 26.30, 26.30), ("spinningbytes", 40.78, 41.31)],
)
def test_published_f1_of_wnut17_systems_is_reproduced(data_dir, system, default, strict):
    folder = data_dir / "ner" / "wnut17"
    golds, preds = _conll(folder / "emerging.test.annotated"), _conll(folder / "submissions" / f"{system}.txt")
    assert round(100 * report(Seqeval(), golds, preds)["micro"]["f1"], 2) == default
    assert round(100 * report(Seqeval(mode="strict", scheme="IOB2"), golds, preds)["micro"]["f1"], 2) == strict
