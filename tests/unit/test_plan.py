"""What a test set can decide: formulas beside simulated verdicts, and the plan of a policy."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from evalkit.comparison.loaded import load_run
from evalkit.errors import InvalidInputError
from evalkit.gating.gate_plan import plan, plan_json, plan_text
from evalkit.gating.plan import chance_to_pass, detectable_drop, examples_needed, power_of
from evalkit.gating.policy import Check, Policy
from evalkit.metrics.rouge import Rouge
from evalkit.metrics.squad import SquadV1
from tests.stored import keep_run

Z = 1.6448536269514722


def simulated(drop, stderr, margin):
    """Share of verdicts of a normal effect with a known standard error: pass, regressed."""
    effects = np.random.default_rng(0).normal(-drop, stderr, 200_000)
    lower, upper = effects - Z * stderr, effects + Z * stderr
    return np.mean(lower > -margin), np.mean((lower <= -margin) & (upper < 0))


@pytest.mark.parametrize(("stderr", "margin"), [(1.0, 0.3), (1.0, 1.0), (1.0, 3.0), (0.2, 1.0)])
@pytest.mark.parametrize("drop", [0.0, 0.5, 1.0, 4.0])
def test_power_is_that_of_the_rule(drop, stderr, margin):
    passed, regressed = simulated(drop, stderr, margin)
    assert power_of(drop, stderr, margin, 0.05) == pytest.approx(regressed, abs=0.005)
    if drop == 0:
        assert chance_to_pass(stderr, margin, 0.05) == pytest.approx(passed, abs=0.005)


@pytest.mark.parametrize("margin", [0.5, 1.0, 2.0, 5.0])
def test_the_detectable_drop_has_the_power_it_is_asked_for(margin):
    drop = detectable_drop(1.0, margin, 0.05, 0.8)
    assert power_of(drop, 1.0, margin, 0.05) == pytest.approx(0.8)


def test_the_examples_needed_give_the_chance_to_pass():
    needed = examples_needed(500, 1.0, 1.2, 0.05, 0.8)
    assert chance_to_pass(math.sqrt(500 / needed), 1.2, 0.05) == pytest.approx(0.8, abs=0.001)
    assert examples_needed(500, 0.0, 1.0, 0.05, 0.8) == 1


def test_without_spread_everything_is_decided():
    assert power_of(1.0, 0.0, 0.5, 0.05) == 1.0
    assert power_of(0.4, 0.0, 0.5, 0.05) == 0.0
    assert chance_to_pass(0.0, 0.5, 0.05) == 1.0


@pytest.fixture
def runs(tmp_path):
    generator = np.random.default_rng(1)
    outputs = [np.where(generator.random(200) < 0.7, "x", "y").tolist() for _ in range(2)]
    return [
        load_run(keep_run(tmp_path, SquadV1(), output, [["x"]] * 200, name=name))
        for output, name in zip(outputs, ("base", "pilot"), strict=True)
    ]


def test_a_pilot_gives_the_paired_standard_error(runs):
    policy = Policy(checks=(Check(task="toy", metric="squad_v1", value="f1", margin=2.0),), resamples=4000)
    [planned] = plan(runs[:1], runs[1:], policy, 0.5)
    gain = runs[1].statistics["squad_v1"].rows[:, 1] - runs[0].statistics["squad_v1"].rows[:, 1]
    assert planned.stderr == pytest.approx(100 * gain.std(ddof=1) / math.sqrt(200), rel=0.05)
    assert planned.basis == "paired with pilot"
    # Seen where the upper bound is below 0: the estimate, normal around -4, lies 1.645 standard errors below 0.
    assert planned.power_at_twice == pytest.approx(
        NormalDist(-4.0, planned.stderr).cdf(-1.6449 * planned.stderr), abs=1e-3
    )


def test_without_a_pilot_the_correlation_is_assumed_and_said(runs):
    policy = Policy(checks=(Check(task="toy", metric="squad_v1", value="f1", margin=2.0),), resamples=4000)
    own = runs[0].statistics["squad_v1"].rows[:, 1].std(ddof=1) * 100 / math.sqrt(200)
    for correlation in (0.0, 0.5, 0.9):
        [planned] = plan(runs[:1], [], policy, correlation)
        assert planned.stderr == pytest.approx(own * math.sqrt(2 * (1 - correlation)), rel=0.05)
        assert planned.basis == f"assumed correlation {correlation:g}"


def test_a_margin_that_cannot_be_decided_is_warned_of_with_one_that_can(runs):
    policy = Policy(checks=(Check(task="toy", metric="squad_v1", value="f1", margin=1.0),), resamples=2000)
    [planned] = plan(runs[:1], [], policy, 0.5)
    assert not planned.can_decide
    text = plan_text([planned], policy)
    assert "warning: toy squad_v1 f1: a margin of 1.00 cannot be decided with 200 examples" in text
    margin = float(text.split("take a margin of ")[1].split()[0])
    wider = Policy(checks=(Check(task="toy", metric="squad_v1", value="f1", margin=margin),), resamples=2000)
    [again] = plan(runs[:1], [], wider, 0.5)
    assert again.can_decide
    assert again.chance_to_pass >= 0.8
    assert plan_json([planned], policy)["checks"][0]["can_decide"] is False


@pytest.mark.parametrize(("size", "is_warned"), [(29, True), (30, False)])
def test_a_plan_on_few_units_is_warned_of(tmp_path, size, is_warned):
    outputs = ["a b" if place % 3 else "b" for place in range(size)]
    run = load_run(keep_run(tmp_path, Rouge(), outputs, [["a"]] * size))
    checks = (Check(task="toy", metric="rouge", value="rouge1", margin=60.0),)
    planned = plan([run], [], Policy(checks=checks, resamples=1000), 0.5)
    assert planned[0].can_decide
    assert (f"planned with {size} independent units" in plan_text(planned, Policy())) is is_warned


def test_one_cluster_alone_cannot_be_planned(tmp_path):
    run = load_run(keep_run(tmp_path, Rouge(), ["a b", "c"], [["a"], ["c"]], clusters=["d", "d"]))
    [planned] = plan([run], [], Policy(resamples=1000), 0.5)
    assert (planned.stderr, planned.needed, planned.can_decide) == (None, None, False)
    assert "nothing can be planned" in plan_text([planned], Policy())


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (Check(task="toi"), "did you mean 'toy'"),
        (Check(task="toy", metric="squad"), "did you mean 'squad_v1'"),
        (Check(task="toy", metric="squad_v1", value="f"), "unknown value"),
    ],
)
def test_a_plan_of_what_is_not_there_is_refused(runs, check, said):
    with pytest.raises(InvalidInputError, match=said):
        plan(runs[:1], [], Policy(checks=(check,), resamples=1000), 0.5)


def test_a_correlation_must_be_one(runs):
    with pytest.raises(InvalidInputError, match=r"correlation is 1\.5"):
        plan(runs[:1], [], Policy(), 1.5)
