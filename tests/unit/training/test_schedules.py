"""The learning rate over the steps, against closed forms and against transformers' schedules."""

import math

import pytest

from evalkit.training.recipe import ScheduleSection
from evalkit.training.schedules import rate_share, warmup_steps

STEPS, WARMUP = 50, 10


def shares(**settings) -> list[float]:
    section = ScheduleSection(**{"warmup": WARMUP, **settings})
    return [rate_share(section, step, STEPS) for step in range(STEPS)]


@pytest.mark.parametrize("kind", ["cosine", "linear", "constant", "wsd"])
def test_warmup_climbs_in_even_steps_and_never_starts_at_zero(kind: str):
    assert shares(kind=kind)[:WARMUP] == pytest.approx([(step + 1) / 11 for step in range(WARMUP)])


def transformers_shares(name: str, **settings) -> list[float]:
    torch = pytest.importorskip("torch")
    optimization = pytest.importorskip("transformers.optimization")
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = getattr(optimization, name)(optimizer, num_warmup_steps=WARMUP, **settings)
    return [schedule.lr_lambdas[0](step) for step in range(STEPS)]


@pytest.mark.parametrize(
    ("kind", "name"),
    [("cosine", "get_cosine_schedule_with_warmup"), ("linear", "get_linear_schedule_with_warmup")],
)
def test_after_the_warmup_rates_are_those_of_transformers(kind: str, name: str):
    theirs = transformers_shares(name, num_training_steps=STEPS)
    assert shares(kind=kind)[WARMUP:] == pytest.approx(theirs[WARMUP:], abs=1e-12)


def test_wsd_with_a_linear_decay_is_that_of_transformers():
    theirs = transformers_shares(
        "get_wsd_schedule", num_decay_steps=20, num_stable_steps=20, decay_type="linear", min_lr_ratio=0.1
    )
    assert shares(kind="wsd", decay=0.4, final=0.1)[WARMUP:] == pytest.approx(theirs[WARMUP:], abs=1e-12)


def test_cosine_is_halfway_down_in_the_middle():
    section = ScheduleSection(kind="cosine", warmup=0, final=0.2)
    assert rate_share(section, 25, 50) == pytest.approx(0.2 + 0.8 * 0.5 * (1 + math.cos(math.pi / 2)))


@pytest.mark.parametrize("kind", ["cosine", "linear", "wsd"])
def test_rates_fall_to_the_final_share_and_no_further(kind: str):
    section = ScheduleSection(kind=kind, warmup=0.1, final=0.25)
    values = [rate_share(section, step, STEPS) for step in range(5, STEPS + 5)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(0.25)


def test_a_fraction_of_warmup_is_one_of_all_steps():
    assert warmup_steps(ScheduleSection(warmup=0.06), 1000) == 60
    assert warmup_steps(ScheduleSection(warmup=7), 1000) == 7


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_warmup_longer_than_the_training_leaves_a_step_at_full_rate(steps: int):
    section = ScheduleSection(kind="linear", warmup=100)
    assert rate_share(section, steps - 1, steps) == 1.0
