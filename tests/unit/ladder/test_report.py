"""What a ladder says follows from its points: laws near the truth, errors of held-back runs, noise between seeds."""

import math

import numpy as np
import pytest

from evalkit.ladder.report import Truth, fit_ladder, ladder_outcome, leave_largest_out, seed_noise, true_loss
from evalkit.scaling import make_points
from evalkit.scaling.tables import render

E = 0.22


def points(noise=0.004, seeds=2):
    """A ladder of 4 sizes and 4 lengths of a law with a known floor; seeds see slightly different token counts."""
    generator = np.random.default_rng(0)
    rows = [
        (size, tokens * (1 + 0.002 * seed), seed)
        for size in (1e4, 3e4, 1e5, 3e5)
        for tokens in (1e5, 3e5, 1e6, 3e6)
        for seed in range(seeds)
    ]
    sizes, tokens, labels = zip(*rows, strict=True)
    sizes, tokens = np.array(sizes), np.array(tokens)
    loss = (E + 20 * sizes**-0.45 + 60 * tokens**-0.42) * np.exp(noise * generator.normal(size=len(rows)))
    return make_points(
        {"N": sizes, "D": tokens, "loss": loss, "seed": list(map(str, labels)), "loss_unit": "nats/byte"}
    )


@pytest.fixture(scope="module")
def fits():
    return fit_ladder(points(), resamples=200)


def test_joint_laws_take_all_rungs_and_single_ones_the_largest_row_and_column(fits):
    assert [(one.name, one.fit.quality.n) for one in fits] == [
        ("chinchilla", 32),
        ("coupled", 32),
        ("chinchilla", 24),
        ("coupled", 24),
        ("offset_n", 8),
        ("offset_d", 8),
    ]
    assert fits[2].on == "D from 3e+05"
    assert fits[4].on.startswith("D about 3")
    assert fits[5].on == "N = 3e+05"


def test_the_irreducible_loss_is_held_against_the_truth(fits):
    found = points()
    inside, outside = (ladder_outcome(found, fits, [], Truth(entropy=E, on_texts=value)) for value in (E, 0.9))
    column = inside.tables[1].header.index("holds the truth")
    assert inside.tables[1].rows[0][column] is True
    assert outside.tables[1].rows[0][column] is False
    assert "A perfect model loses 0.2200 nats/byte" in render(inside, "text")
    assert "perfect model" not in render(ladder_outcome(found, fits, [], None), "text")


def test_the_largest_in_size_length_and_compute_are_predicted_from_the_others():
    rows = leave_largest_out(points(), resamples=100)
    known = {(row.by, row.law): row for row in rows if row.on == "all rungs"}
    by_size = known["N", "chinchilla"]
    assert (by_size.trained, by_size.tested) == (24, 8)
    assert by_size.factor == pytest.approx(3.0)
    assert by_size.mean_error < 0.02
    assert known["D", "chinchilla"].tested == 8
    assert known["C", "chinchilla"].tested == 2
    assert all(row.held is not None for row in rows)


def test_few_rungs_are_fitted_without_bands_and_say_why():
    small = points(seeds=1)
    few = small.take(small.axis("N") <= 1e5).take(np.arange(12)[np.arange(12) % 4 != 3])
    rows = leave_largest_out(few, resamples=100)
    assert {row.law for row in rows} == {"chinchilla"}
    by_size = next(row for row in rows if row.by == "N")
    assert by_size.mean_error is not None
    assert by_size.held is None
    assert "expected two more at least for a band" in by_size.problem


def test_noise_between_seeds_is_pooled_over_nominal_lengths():
    found, freedom = seed_noise(points(noise=0.01))
    assert freedom == 16
    # The law's own slope over 0.2% of tokens is a hundredth of the noise.
    assert found == pytest.approx(0.01, rel=0.5)
    assert seed_noise(points(seeds=1)) is None


def test_the_loss_of_a_perfect_model_is_its_log_probability_a_byte():
    texts = ["abc", "é"]
    assert true_loss(texts, lambda text: -2.0 * len(text), "nats/byte") == pytest.approx(8 / 5)
    assert true_loss(texts, lambda text: -2.0 * len(text), "bits/byte") == pytest.approx(8 / 5 / math.log(2))


def test_warnings_name_their_laws_and_are_said_once(fits):
    outcome = ladder_outcome(points(), fits, [], None)
    texts = [warning.text for warning in outcome.warnings]
    assert len(texts) == len(set(texts))
    assert all(text.endswith(")") for text in texts)
