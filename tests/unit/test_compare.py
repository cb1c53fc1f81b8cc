"""Comparing runs: what is checked first, what is computed, and that nothing depends on the order of things."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from evalkit.compare import EXACT, RANDOMIZATION, CompareOptions, compare_pair, compare_runs
from evalkit.comparison.loaded import load_run
from evalkit.comparison.pairing import check_allowed, mismatches
from evalkit.comparison.text import comparisons_json
from evalkit.errors import InvalidInputError
from evalkit.metrics.bleu import Bleu
from evalkit.metrics.chrf import Chrf
from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.seqeval import Seqeval
from evalkit.metrics.squad import SquadV1
from evalkit.requests import RollingResponse
from evalkit.stats import Resampling, paired_difference
from tests.stored import keep_run

QUICK = CompareOptions(resamples=500)
WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "quickly"]


def sentences(n, seed):
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, size=generator.integers(5, 12))) for _ in range(n)]


def disturbed(lines, share, seed):
    generator = np.random.default_rng(seed)
    return [
        " ".join(str(generator.choice(WORDS)) if generator.random() < share else word for word in line.split())
        for line in lines
    ]


@pytest.fixture
def translations(tmp_path):
    """Two translation runs, the second clearly worse, and the texts."""
    references = sentences(120, 0)
    outputs = disturbed(references, 0.2, 1), disturbed(references, 0.4, 2)
    folders = [
        keep_run(tmp_path, Bleu(), output, [[line] for line in references], name=name)
        for output, name in zip(outputs, "AB", strict=True)
    ]
    return [load_run(folder) for folder in folders], outputs, references


def test_the_difference_is_that_of_the_scores_and_its_interval_that_of_a_plain_bootstrap(translations):
    runs, outputs, references = translations
    comparison = compare_pair(*runs, CompareOptions(resamples=4000))
    [value] = comparison.values
    statistics = [Bleu().statistics(output, [[line] for line in references]) for output in outputs]
    [plain] = paired_difference(Bleu(), *statistics, Resampling(resamples=4000, seed=3))
    assert value.difference == pytest.approx(plain.value, abs=1e-12)
    width = plain.high - plain.low
    assert (value.low, value.high) == pytest.approx((plain.low, plain.high), abs=0.08 * width)
    assert value.p < 0.01
    assert value.test == RANDOMIZATION


def test_a_run_compared_with_itself_differs_in_nothing(translations):
    runs, _, _ = translations
    comparison = compare_pair(runs[0], runs[0], QUICK)
    [value] = comparison.values
    assert (value.difference, value.low, value.high, value.p, value.p_bootstrap) == (0.0, 0.0, 0.0, 1.0, 1.0)
    assert comparison.changed == ()


def test_right_or_wrong_answers_are_tested_exactly(tmp_path):
    references = [["x"]] * 30
    first = ["x"] * 20 + ["y"] * 10
    second = ["x"] * 14 + ["y"] * 6 + ["x"] + ["y"] * 9
    runs = [
        load_run(keep_run(tmp_path, SquadV1(), side, references, name=n)) for side, n in ((first, "A"), (second, "B"))
    ]
    exact, _ = compare_pair(*runs, QUICK).values
    assert exact.test == EXACT
    # Seven answers differ, one of them better: 2 x (1 + 7) / 2**7.
    assert exact.p == pytest.approx(0.125)


def test_clusters_are_kept_together(tmp_path):
    references = [["x"]] * 60
    first, second = ["x"] * 60, ["y"] * 20 + ["x"] * 40
    clusters = [f"c{place // 10}" for place in range(60)]
    runs = [
        load_run(keep_run(tmp_path, SquadV1(), side, references, name=name, clusters=clusters))
        for side, name in ((first, "A"), (second, "B"))
    ]
    comparison = compare_pair(*runs, QUICK)
    assert comparison.units == 6
    assert comparison.values[0].test == RANDOMIZATION
    # Only two of six clusters differ: a coin for each gives p = 2/4.
    assert comparison.values[0].p == pytest.approx(0.5, abs=0.07)


def test_lower_is_better_keeps_the_metrics_own_direction(tmp_path):
    texts = [[f"text number {place}"] for place in range(40)]
    runs = [
        load_run(
            keep_run(
                tmp_path,
                Perplexity(),
                [RollingResponse(example_id="", logprob_nats=-10.0 - extra - p % 3, token_count=5) for p in range(40)],
                texts,
                name=name,
            )
        )
        for extra, name in ((0, "A"), (2, "B"))
    ]
    for value in compare_pair(*runs, QUICK).values:
        assert not value.higher_is_better
        assert value.difference > 0
        assert value.low <= value.difference <= value.high


def test_values_by_type_are_compared_too(tmp_path):
    gold = [[["B-PER", "O", "B-LOC"]]] * 20
    worse = [["B-PER", "O", "O"]] * 20
    runs = [
        load_run(keep_run(tmp_path, Seqeval(), side, gold, name=name))
        for side, name in (([row[0] for row in gold], "A"), (worse, "B"))
    ]
    by_name = {value.value: value for value in compare_pair(*runs, QUICK).values}
    assert by_name["f1[PER]"].difference == 0
    assert by_name["f1[LOC]"].difference == -1


def test_labels_that_only_one_run_knows_are_zeros_in_the_other(tmp_path):
    gold = [[["B-PER", "O"]], [["B-PER", "O"]]] * 10
    other = [["B-ORG", "O"], ["B-PER", "O"]] * 10
    runs = [
        load_run(keep_run(tmp_path, Seqeval(), side, gold, name=name))
        for side, name in (([row[0] for row in gold], "A"), (other, "B"))
    ]
    value = compare_pair(*runs, QUICK).values[0]
    assert (value.first, value.second) == (1.0, 0.5)


def test_subsets_cover_all_examples_and_changed_samples_name_the_largest_effects(translations):
    runs, outputs, references = translations
    comparison = compare_pair(*runs, QUICK)
    for by in {subset.by for subset in comparison.subsets}:
        assert sum(subset.n for subset in comparison.subsets if subset.by == by) == 120
    top = comparison.changed[0]
    place = int(top.id[1:])
    assert (top.first, top.second, top.references) == (outputs[0][place], outputs[1][place], [references[place]])
    statistics = [Bleu().statistics(output, [[line] for line in references]) for output in outputs]
    base = statistics[0].total()
    effects = [
        float(Bleu().score(base + after - before, statistics[0].columns)["bleu"])
        for before, after in zip(statistics[0].rows, statistics[1].rows, strict=True)
    ]
    alone = np.array(effects) - float(Bleu().score(base, statistics[0].columns)["bleu"])
    assert abs(top.effect) == pytest.approx(np.abs(alone).max(), abs=1e-9)


def test_order_of_samples_changes_no_byte(tmp_path, translations):
    _, outputs, references = translations
    ids = [f"id{place}" for place in range(120)]
    documents = []
    for folder, order in (("straight", range(120)), ("reversed", range(119, -1, -1))):
        runs = [
            load_run(
                keep_run(
                    tmp_path / folder,
                    Bleu(),
                    [output[place] for place in order],
                    [[references[place]] for place in order],
                    name=name,
                    ids=[ids[place] for place in order],
                )
            )
            for output, name in zip(outputs, "AB", strict=True)
        ]
        documents.append(json.dumps(comparisons_json(compare_runs(runs, (), QUICK), QUICK)))
    assert documents[0] == documents[1]


def three(tmp_path):
    references = sentences(60, 0)
    return [
        load_run(
            keep_run(tmp_path, Chrf(), disturbed(references, share, 7), [[line] for line in references], name=name)
        )
        for name, share in (("A", 0.2), ("B", 0.22), ("C", 0.5))
    ]


def test_all_pairs_are_compared_and_adjusted_by_holm(tmp_path):
    comparisons = compare_runs(three(tmp_path), (), QUICK)
    assert [(one.first.name, one.second.name) for one in comparisons] == [("A", "B"), ("A", "C"), ("B", "C")]
    p = [one.values[0].p for one in comparisons]
    adjusted = [one.values[0].p_holm for one in comparisons]
    assert min(adjusted) == pytest.approx(3 * min(p))
    assert all(after >= before for before, after in zip(p, adjusted, strict=True))


def test_all_against_one_has_that_one_first(tmp_path):
    runs = three(tmp_path)
    comparisons = compare_runs(runs, [runs[1]], QUICK)
    assert [(one.first.name, one.second.name) for one in comparisons] == [("B", "A"), ("B", "C")]


def test_runs_of_different_tasks_are_no_pair(tmp_path):
    one, _, other = three(tmp_path)
    other = load_run(keep_run(tmp_path, Chrf(), ["a"], [["a"]], name="D", task={"name": "another"}))
    with pytest.raises(InvalidInputError, match="no two runs of one task"):
        compare_runs([one, other], (), QUICK)


EDITS = {
    "prompts": ('"prompt_digest":"p0"', '"prompt_digest":"q0"'),
    "truncated": ('"truncated":false', '"truncated":true'),
    "unscored": (r'"statistics":\{.*\}\}', '"statistics":null}'),
}
"""What to change in the first sample for a kind of difference."""


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("task-version", {"task": {"version": 2}}),
        ("task-version", {"task": {"digest": "d2"}}),
        ("data", {"changes": {"data": {"digest": "other"}}}),
        ("incomplete", {"changes": {"status": "interrupted"}}),
        ("incomplete", {"changes": {"counts": {"examples": 70}}}),
        ("examples", {"ids": [f"n{place:04}" for place in range(60)]}),
        ("prompts", {}),
        ("truncated", {}),
        ("unscored", {}),
    ],
)
def test_what_differs_is_named_and_may_be_allowed(tmp_path, kind, changes):
    references = [[line] for line in sentences(60, 0)]
    first = load_run(keep_run(tmp_path, Chrf(), [row[0] for row in references], references, name="A"))
    folder = keep_run(tmp_path, Chrf(), [row[0] for row in references], references, name="B", **changes)
    if kind in EDITS:
        path = Path(folder) / "samples.jsonl"
        first_line, rest = path.read_text().split("\n", 1)
        path.write_text(re.sub(*EDITS[kind], first_line) + "\n" + rest)
    second = load_run(folder)
    found = mismatches(first, second)
    assert kind in {one.kind for one in found}
    refused = compare_pair(first, second, QUICK)
    assert refused.not_comparable == tuple(found)
    assert refused.values == ()
    kinds = frozenset(one.kind for one in found)
    allowed = compare_pair(first, second, CompareOptions(resamples=200, allowed=kinds))
    if kind != "examples":
        assert allowed.accepted == tuple(found)
        assert allowed.values[0].difference == 0
    else:
        assert "share no scored example" in allowed.not_comparable[0].detail


def test_signatures_are_never_allowed_to_differ(tmp_path):
    references = [[line] for line in sentences(30, 0)]
    runs = [
        load_run(keep_run(tmp_path, metric, [row[0] for row in references], references, name=name))
        for metric, name in ((Chrf(), "A"), (Chrf(beta=1), "B"))
    ]
    comparison = compare_pair(*runs, QUICK)
    assert [one.kind for one in comparison.not_comparable] == ["signature"]
    with pytest.raises(InvalidInputError, match="never compared"):
        check_allowed(["signature"])


def test_an_unknown_kind_of_difference_gets_the_nearest_name():
    with pytest.raises(InvalidInputError, match="did you mean 'prompts'"):
        check_allowed(["prompt"])
