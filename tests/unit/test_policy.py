"""Policy files: what they may say, and one line for everything else."""

import pytest

from evalkit.errors import InvalidInputError
from evalkit.gating.policy import Check, Policy, default_margin, read_policy
from evalkit.metrics.bleu import Bleu
from evalkit.metrics.cws import Cws
from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.squad import SquadV1
from evalkit.metrics.ter import Ter

GOOD = """
alpha = 0.01
power = 0.9
on-inconclusive = "fail"
resamples = 2000
seed = 3

[[check]]
task = "t"
metric = "rouge"
value = "rougeL"
margin = 0.005
min = 0.3

[[check]]
task = "lm"
margin = "1.5%"
max = 20
role = "secondary"
"""


def read(tmp_path, text):
    path = tmp_path / "gate.toml"
    path.write_text(text, encoding="utf-8")
    return read_policy(path)


def test_a_policy_is_read_as_written(tmp_path):
    policy = read(tmp_path, GOOD)
    assert (policy.alpha, policy.power, policy.on_inconclusive, policy.resamples, policy.seed) == (
        0.01,
        0.9,
        "fail",
        2000,
        3,
    )
    assert policy.checks == (
        Check(task="t", metric="rouge", value="rougeL", margin=0.005, minimum=0.3),
        Check(task="lm", margin=0.015, is_relative=True, maximum=20, role="secondary"),
    )


CHECK = '[[check]]\ntask = "t"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("alpa = 0.05\n" + CHECK, "did you mean 'alpha'"),
        ("on_inconclusive = 'fail'\n" + CHECK, "did you mean 'on-inconclusive'"),
        (CHECK + "margn = 1\n", "did you mean 'margin'"),
        (CHECK + "role = 'primry'\n", "did you mean 'primary'"),
        (CHECK + "margin = 0\n", "expected a number above 0"),
        (CHECK + "margin = -1\n", "expected a number above 0"),
        (CHECK + "margin = true\n", "expected a number above 0"),
        (CHECK + "margin = 'one'\n", "expected a number above 0"),
        (CHECK + "margin = '1'\n", "expected a number above 0"),
        (CHECK + "margin = inf\n", "expected a number above 0"),
        (CHECK + "min = 'high'\n", "min is 'high'; expected a number"),
        (CHECK + "value = 'f1'\n", "of no metric"),
        (CHECK + CHECK, "two checks of t"),
        ("[[check]]\nmargin = 1\n", "names no task"),
        ("alpha = 0.05\n", r"no \[\[check\]\]"),
        ("check = 3\n", "no list of tables"),
        ("alpha = 0.7\n" + CHECK, "alpha is 0.7"),
        ("alpha = 'x'\n" + CHECK, "expected a number"),
        ("power = 1.0\n" + CHECK, "power is 1.0"),
        ("resamples = 10\n" + CHECK, "expected 1000 or more"),
        ("resamples = 2.5\n" + CHECK, "expected a whole number"),
        ("seed = -1\n" + CHECK, "expected 0 or more"),
        ("on-inconclusive = 'maybe'\n" + CHECK, "expected 'pass' or 'fail'"),
        ("alpha =\n", "not a TOML file"),
    ],
)
def test_what_a_policy_cannot_say_is_one_line(tmp_path, text, said):
    with pytest.raises(InvalidInputError, match=said) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)


def test_a_missing_policy_is_said(tmp_path):
    with pytest.raises(InvalidInputError, match="no such file"):
        read_policy(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Bleu(), (1.0, False)),
        (SquadV1(), (1.0, False)),
        (Cws(), (0.01, False)),
        (Perplexity(), (0.01, True)),
        (Ter(), (0.01, True)),
    ],
)
def test_default_margins_are_one_point_or_one_percent(metric, expected):
    assert default_margin(metric) == expected
    assert Policy().on_inconclusive == "pass"
