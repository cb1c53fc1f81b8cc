"""Marks, ranks and pairs of a column, against exact tests, `evalkit compare` and a plain bootstrap written here."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from evalkit.compare import CompareOptions, compare_pair
from evalkit.comparison.loaded import load_run
from evalkit.metrics.bleu import Bleu
from evalkit.report import compared
from evalkit.report.compared import BOOTSTRAP, EXACT, Contestant, compare
from evalkit.report.model import Settings
from tests.stored import keep_run
from tests.unit.report.made import answering, disturbed, sentences, translation

QUICK = Settings(resamples=2000)


def contestants(*folders: str) -> list[Contestant]:
    return [Contestant(Path(folder).name, (load_run(folder),)) for folder in folders]


def systems(folder: Path, **shares: float) -> list[Contestant]:
    """Translation systems with shares of wrong words, each with errors of its own."""
    return contestants(
        *(translation(folder, name, share, n=150, seed=seed) for seed, (name, share) in enumerate(shares.items(), 1))
    )


def answers(folder: Path, **right: np.ndarray) -> list[Contestant]:
    return contestants(*(answering(folder, name, marks) for name, marks in right.items()))


def adjusted(p_values: list[float]) -> list[float]:
    """Holm's adjustment by its definition: step down, multiply by how many are left."""
    order = np.argsort(p_values, kind="stable")
    result = [0.0] * len(p_values)
    highest = 0.0
    for step, place in enumerate(order):
        highest = max(highest, min(1.0, p_values[place] * (len(p_values) - step)))
        result[place] = highest
    return result


def test_bootstrap_differences_are_those_of_evalkit_compare_to_the_last_digit(tmp_path: Path):
    models = systems(tmp_path, A=0.2, B=0.25, C=0.4)
    outcome = compare(models, "bleu", "bleu", QUICK)
    options = CompareOptions(resamples=2000, with_details=False)
    for pair in outcome.pairs:
        runs = {one.model: one.runs[0] for one in models}
        [value] = compare_pair(runs[pair.first], runs[pair.second], options).values
        assert (pair.difference, pair.low, pair.high) == pytest.approx(
            (value.difference, value.low, value.high), abs=1e-9
        )
        assert pair.p == pytest.approx(value.p_bootstrap, abs=1e-9)
    assert outcome.test == BOOTSTRAP
    assert [one.model for one in outcome.standings] == ["A", "B", "C"]


def test_single_answers_are_tested_exactly(tmp_path: Path):
    generator = np.random.default_rng(0)
    first, second = generator.random(300) < 0.7, generator.random(300) < 0.6
    outcome = compare(answers(tmp_path, A=first, B=second), "squad_v1", "exact_match", QUICK)
    only_a, only_b = int((first & ~second).sum()), int((second & ~first).sum())
    assert outcome.test == EXACT
    assert outcome.pairs[0].p == pytest.approx(binomtest(only_a, only_a + only_b).pvalue, rel=1e-9)


def test_what_is_not_significantly_worse_than_the_best_is_marked_and_no_more(tmp_path: Path):
    generator = np.random.default_rng(1)
    marks = {name: generator.random(400) < share for name, share in zip("ABCD", (0.80, 0.80, 0.74, 0.5), strict=True)}
    outcome = compare(answers(tmp_path, **marks), "squad_v1", "exact_match", QUICK)
    best, *others = outcome.standings
    raw = []
    for one in others:
        a, b = marks[best.model], marks[one.model]
        only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
        raw.append(binomtest(only_a, only_a + only_b).pvalue)
    assert [one.p_best for one in others] == pytest.approx(adjusted(raw), rel=1e-9)
    assert [one.is_tied for one in others] == [p >= 0.05 for p in adjusted(raw)]
    assert (best.is_best, best.is_tied, best.p_best) == (True, False, None)
    assert {one.is_tied for one in others} == {True, False}, "the example must have both"


def test_pairs_are_adjusted_over_all_pairs_of_the_column(tmp_path: Path):
    outcome = compare(systems(tmp_path, A=0.2, B=0.24, C=0.3), "bleu", "bleu", QUICK)
    assert len(outcome.pairs) == 3
    assert [pair.p_holm for pair in outcome.pairs] == pytest.approx(adjusted([pair.p for pair in outcome.pairs]))


def test_rank_ranges_are_those_of_a_plain_bootstrap(tmp_path: Path):
    references = sentences(100)
    outputs = {name: disturbed(references, share, 7 + place) for place, (name, share) in enumerate(
        {"A": 0.20, "B": 0.22, "C": 0.24, "D": 0.5}.items()
    )}  # fmt: skip
    folders = [keep_run(tmp_path, Bleu(), out, [[r] for r in references], name=name) for name, out in outputs.items()]
    outcome = compare(contestants(*folders), "bleu", "bleu", QUICK)
    rows = {name: Bleu().statistics(out, [[r] for r in references]).rows for name, out in outputs.items()}
    columns = Bleu().statistics(references, [[r] for r in references]).columns
    generator = np.random.default_rng(5)
    picks = generator.integers(0, 100, (2000, 100))
    scores = {name: Bleu().score(own[picks].sum(axis=1), columns)["bleu"] for name, own in rows.items()}
    drawn = {name: 1 + sum((other > own).astype(int) for other in scores.values()) for name, own in scores.items()}
    for one in outcome.standings:
        ranks = np.sort(drawn[one.model])
        assert (one.rank_low, one.rank_high) == (ranks[49], ranks[1950])
    assert len({one.rank_low for one in outcome.standings}) < 4, "some must tie"


def test_equal_outputs_tie_in_every_way(tmp_path: Path):
    folders = [translation(tmp_path, name, share, n=80) for name, share in (("A", 0.2), ("B", 0.2), ("C", 0.6))]
    outcome = compare(contestants(*folders), "bleu", "bleu", QUICK)
    first, second, third = outcome.standings
    assert (first.rank, second.rank, third.rank) == (1, 1, 3)
    assert (first.rank_low, first.rank_high) == (second.rank_low, second.rank_high) == (1, 1)
    assert first.is_best
    assert second.is_best
    assert outcome.pairs[0].p == 1
    assert not third.is_best
    assert not third.is_tied


def test_where_few_examples_differ_the_randomization_test_must_see_the_difference_too(tmp_path: Path):
    references = sentences(200)
    outputs = {"A": list(references), "B": ["other words"] * 5 + references[5:]}
    folders = [keep_run(tmp_path, Bleu(), out, [[r] for r in references], name=name) for name, out in outputs.items()]
    [pair] = compare(contestants(*folders), "bleu", "bleu", QUICK).pairs
    # Five examples differ, all in one direction: of the 32 ways to swap them, two are as extreme. A bootstrap that draws none of
    # the five, the only one without a difference, has the chance exp(-5).
    assert pair.p == pytest.approx(2 / 32, abs=0.02)


def test_clusters_are_the_units(tmp_path: Path):
    clusters = [str(place // 10) for place in range(200)]
    marks = {name: np.random.default_rng(seed).random(200) < 0.6 for seed, name in enumerate("AB")}
    folders = [answering(tmp_path, name, right, clusters=clusters) for name, right in marks.items()]
    outcome = compare(contestants(*folders), "squad_v1", "exact_match", QUICK)
    assert (outcome.n, outcome.units, outcome.test) == (200, 20, BOOTSTRAP)


def test_one_example_gives_values_without_ranges_or_tests(tmp_path: Path):
    folders = [translation(tmp_path, name, 0.0, n=1, seed=seed) for seed, name in enumerate("AB")]
    outcome = compare(contestants(*folders), "bleu", "bleu", QUICK)
    assert [(one.rank_low, one.p_best) for one in outcome.standings] == [(None, None)] * 2
    assert not any(one.is_tied for one in outcome.standings)


def test_seeds_of_a_model_widen_its_interval_by_their_spread(tmp_path: Path):
    generator = np.random.default_rng(3)
    seeds = [answering(tmp_path, f"s{i}", generator.random(300) < share) for i, share in enumerate((0.5, 0.6, 0.7))]
    alone = compare(contestants(seeds[1]), "squad_v1", "exact_match", QUICK).standings[0]
    mean = compare([Contestant("m", tuple(map(load_run, seeds)))], "squad_v1", "exact_match", QUICK).standings[0]
    scores = [load_run(seed).record.metrics[0].value for seed in seeds]
    assert mean.value == pytest.approx(np.mean(scores))
    # Student's t of two degrees of freedom at 97.5% is 4.303.
    by_seeds = 4.303 * np.std(scores, ddof=1) / np.sqrt(3)
    assert mean.high - mean.value == pytest.approx(np.hypot(by_seeds, (alone.high - alone.value) / np.sqrt(3)), rel=0.1)


def test_very_many_models_are_compared_with_the_best_alone(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(compared, "MATRIX_MODELS", 2)
    outcome = compare(systems(tmp_path, A=0.2, B=0.25, C=0.4), "bleu", "bleu", QUICK)
    assert [(pair.first, pair.second) for pair in outcome.pairs] == [("A", "B"), ("A", "C")]
    assert not outcome.is_matrix


def test_models_are_resampled_in_blocks_without_another_result(tmp_path: Path, monkeypatch):
    models = systems(tmp_path, A=0.2, B=0.25, C=0.4)
    whole = compare(models, "bleu", "bleu", QUICK)
    monkeypatch.setattr(compared, "BLOCK_COLUMNS", 1)
    assert compare(models, "bleu", "bleu", QUICK) == whole


def test_an_undefined_value_takes_no_part(tmp_path: Path):
    from evalkit.metrics.cws import Cws

    references = [["我们  走"]] * 4
    folders = [keep_run(tmp_path, Cws(), ["我们  走"] * 4, references, name="A", task={"kind": "cws"})]
    assert compare(contestants(*folders), "cws", "oov_recall", QUICK) is None
