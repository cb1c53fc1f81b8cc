"""Verdicts: the rule, its order, several checks, several runs, floors and relative margins."""

import itertools
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evalkit.comparison.loaded import load_run
from evalkit.errors import InvalidInputError
from evalkit.gate import GateResult, Verdict, judge
from evalkit.gating.gate_text import reason, result_json, result_markdown, result_text
from evalkit.gating.policy import Check, Policy
from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.squad import SquadV1
from evalkit.requests import RollingResponse
from tests.stored import keep_run

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = [["right"]] * 400
EM = Check(task="toy", metric="squad_v1", value="exact_match", margin=2.0)


def policy(*checks: Check, **settings) -> Policy:
    return Policy(checks=checks or (EM,), resamples=2000, **settings)


@pytest.fixture
def answers(tmp_path):
    """Make a run with so many right answers at the start, and so many wrong ones turned right at the end."""
    numbers = itertools.count()

    def make(right: int, name: str = "system", late: int = 0, **more):
        outputs = ["right"] * right + ["wrong"] * (400 - right - late) + ["right"] * late
        return load_run(keep_run(tmp_path / str(next(numbers)), SquadV1(), outputs, REFERENCES, name=name, **more))

    return make


def only(result: GateResult):
    [finding] = result.findings
    return finding


def test_identical_runs_pass_without_difference(answers):
    result = judge([answers(300, "b")], [answers(300, "c")], policy())
    bounds = only(result).bounds
    assert (result.verdict, result.exit_code) == (Verdict.PASS, 0)
    assert (bounds.effect, bounds.lower, bounds.upper, bounds.p_worse) == (0.0, 0.0, 0.0, 1.0)
    assert reason(only(result), result.policy) == "no example changed the value"


def test_a_large_loss_is_regressed(answers):
    result = judge([answers(300, "b")], [answers(260, "c")], policy())
    assert (result.verdict, result.exit_code) == (Verdict.REGRESSED, 1)
    said = reason(only(result), result.policy)
    assert said.startswith("worse by 10.00 (75.00 to 65.00); the loss is real")
    assert "exceeds the margin of 2.00" in said


def test_a_small_sure_loss_passes_with_a_note(answers):
    # Six answers of 400 fewer, none better: 1.5 points, surely lower, within a margin of 4.
    result = judge([answers(300, "b")], [answers(294, "c")], policy(replace(EM, margin=4.0)))
    assert result.verdict is Verdict.PASS
    assert only(result).bounds.upper < 0
    assert "lower, inside the margin" in reason(only(result), result.policy)


def test_noise_is_inconclusive_and_says_what_would_decide(answers):
    # 30 answers lost, 26 won elsewhere: one point down, far from sure.
    candidate = answers(270, "c", late=26)
    for mode, code in (("pass", 0), ("fail", 3)):
        result = judge([answers(300, "b")], [candidate], policy(on_inconclusive=mode))
        assert (result.verdict, result.exit_code) == (Verdict.INCONCLUSIVE, code)
    finding = only(result)
    assert finding.needed > 400
    assert finding.detectable > 2.0
    said = reason(finding, result.policy)
    assert f"about {finding.needed:,} examples like these would decide" in said


def test_a_gain_passes(answers):
    result = judge([answers(300, "b")], [answers(330, "c")], policy())
    assert result.verdict is Verdict.PASS
    assert "with 95% confidence it is no worse" in reason(only(result), result.policy)


def test_one_changed_answer_of_eighty_never_fails_a_build(tmp_path):
    runs = [
        load_run(keep_run(tmp_path, SquadV1(), ["x"] * 79 + [last], [["x"]] * 80, name=name))
        for last, name in (("x", "b"), ("y", "c"))
    ]
    result = judge(runs[:1], runs[1:], policy(Check(task="toy", margin=0.1)))
    assert result.verdict is Verdict.INCONCLUSIVE


def test_three_changed_examples_all_worse_are_too_few_for_an_alarm(tmp_path):
    # A percentile bound alone would call this a loss: its 95th percentile is below 0, yet a fair coin does it 1 time in 8.
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    texts = [" ".join(words[place % 7 : place % 7 + 3]) for place in range(80)]
    worse = [f"{text} extra" if place < 3 else text for place, text in enumerate(texts)]
    runs = [
        load_run(keep_run(tmp_path, SquadV1(), output, [[text] for text in texts], name=name))
        for output, name in ((texts, "b"), (worse, "c"))
    ]
    result = judge(runs[:1], runs[1:], policy(Check(task="toy", metric="squad_v1", value="f1", margin=0.01)))
    assert only(result).bounds.p_worse == pytest.approx(1 / 8, abs=0.03)
    assert result.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"task": {"version": 2}}, "task-version"),
        ({"changes": {"data": {"digest": "x"}}}, "data"),
        ({"changes": {"status": "interrupted"}}, "incomplete"),
    ],
)
def test_not_comparable_comes_before_everything(answers, changes, kind):
    baseline, candidate = answers(300, "b"), answers(100, "c", **changes)
    result = judge([baseline], [candidate], policy())
    assert (result.verdict, result.exit_code) == (Verdict.NOT_COMPARABLE, 4)
    assert [cause.kind for cause in only(result).causes] == [kind]
    allowed = judge([baseline], [candidate], policy(), allowed=frozenset({kind}))
    assert allowed.verdict is Verdict.REGRESSED
    assert [one.kind for one in only(allowed).accepted] == [kind]
    assert kind in json.dumps(result_json(allowed))
    assert f"accepted ({kind})" in result_text(allowed)


@pytest.mark.parametrize(
    "check",
    [
        Check(task="absent", margin=1.0),
        Check(task="toy", metric="bleu", margin=1.0),
        Check(task="toy", metric="squad_v1", value="accuracy", margin=1.0),
    ],
)
def test_what_the_policy_asks_for_and_is_not_there_is_incomplete(answers, check):
    result = judge([answers(300, "b")], [answers(300, "c")], policy(EM, check))
    assert (result.verdict, result.exit_code) == (Verdict.INCOMPLETE, 5)
    assert [finding.verdict for finding in result.findings] == [Verdict.PASS, Verdict.INCOMPLETE]


def test_floors_stand_beside_the_relative_rule(answers):
    floor = replace(EM, minimum=76.0)
    result = judge([answers(300, "b")], [answers(300, "c")], policy(floor))
    assert result.verdict is Verdict.REGRESSED
    assert reason(only(result), result.policy) == "the candidate's 75.00 is below the floor of 76.00"
    ceiling = replace(EM, maximum=70.0)
    assert judge([answers(300, "b")], [answers(300, "c")], policy(ceiling)).verdict is Verdict.REGRESSED


def test_secondary_checks_only_warn(answers):
    second = Check(task="toy", metric="squad_v1", value="f1", margin=0.5, role="secondary")
    lenient = replace(EM, margin=50.0)
    result = judge([answers(300, "b")], [answers(260, "c")], policy(lenient, second))
    assert [finding.verdict for finding in result.findings] == [Verdict.PASS, Verdict.REGRESSED]
    assert (result.verdict, result.exit_code) == (Verdict.PASS, 0)
    assert "warning only, regressed" in result_text(result)


def losing(tmp_path, task, name, lost):
    outputs = ["wrong"] * lost + ["right"] * (300 - lost) + ["wrong"] * 100
    return load_run(keep_run(tmp_path / task, SquadV1(), outputs, REFERENCES, name=name, task={"name": task}))


def test_an_alarm_among_many_checks_is_adjusted_by_holm(tmp_path):
    # Five answers lost and none won: mid-p 1/64, which is a loss alone but not as one of five checks.
    tasks = [f"t{place}" for place in range(5)]
    before = [losing(tmp_path, task, "b", 0) for task in tasks]
    after = [losing(tmp_path, task, "c", 5 if task == "t0" else 0) for task in tasks]
    checks = [Check(task=task, metric="squad_v1", margin=0.1) for task in tasks]
    alone = judge(before, after, policy(checks[0]))
    assert (alone.verdict, only(alone).p_holm) == (Verdict.REGRESSED, pytest.approx(1 / 64))
    together = judge(before, after, policy(*checks))
    assert together.findings[0].p_holm == pytest.approx(5 / 64)
    assert together.verdict is Verdict.INCONCLUSIVE
    assert "not significant among all primary checks" in reason(together.findings[0], together.policy)


def perplexities(tmp_path, factor, name):
    generator = np.random.default_rng(0)
    losses = generator.gamma(5, size=300) * factor
    outputs = [RollingResponse(example_id="", logprob_nats=-float(loss), token_count=5) for loss in losses]
    texts = [["text of five tokens each"]] * 300
    return load_run(keep_run(tmp_path / f"{name}{factor}", Perplexity(), outputs, texts, name=name))


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.002, Verdict.PASS), (1.03, Verdict.REGRESSED), (0.98, Verdict.PASS)]
)
def test_perplexity_has_a_relative_margin_and_lower_is_better(tmp_path, factor, verdict):
    check = Check(task="toy", metric="perplexity", value="token_perplexity", margin=0.01, is_relative=True)
    result = judge([perplexities(tmp_path, 1.0, "b")], [perplexities(tmp_path, factor, "c")], policy(check))
    finding = only(result)
    assert result.verdict is verdict
    assert finding.bounds.effect == pytest.approx(1 - finding.candidate / finding.baseline)
    assert (finding.bounds.effect < 0) == (factor > 1)


def test_without_a_policy_the_main_value_has_a_stated_default_margin(answers, tmp_path):
    result = judge([answers(300, "b")], [answers(300, "c")], Policy(resamples=1000))
    assert (only(result).check.metric, only(result).check.value) == ("squad_v1", "exact_match")
    assert only(result).check.margin == 1.0
    assert "margins: defaults" in result_text(result)
    relative = judge([perplexities(tmp_path, 1, "b")], [perplexities(tmp_path, 1, "c")], Policy(resamples=1000))
    assert only(relative).check.is_relative


def test_several_candidate_runs_are_seeds_of_one_recipe(answers):
    baseline = answers(300, "b")
    steady = judge([baseline], [answers(280, "s1"), answers(281, "s2"), answers(279, "s3")], policy())
    assert steady.verdict is Verdict.REGRESSED
    assert only(steady).runs == (1, 3)
    assert only(steady).candidate == pytest.approx(70.0)
    # The same mean, but the runs differ so much that the recipe may well be as good.
    uneven = judge([baseline], [answers(330, "u1"), answers(250, "u2"), answers(260, "u3")], policy())
    assert uneven.verdict is Verdict.INCONCLUSIVE
    assert only(uneven).bounds.lower < only(steady).bounds.lower


def test_two_single_runs_bounds_agree_with_their_exact_test(answers):
    bounds = only(judge([answers(300, "b")], [answers(290, "c")], policy())).bounds
    assert bounds.method.startswith("Newcombe")
    assert bounds.p_worse == pytest.approx(0.5**11)


def test_nothing_to_check_is_said(answers):
    with pytest.raises(InvalidInputError, match="nothing to check"):
        judge([], [answers(300, "c")], Policy())


def test_tasks_that_nothing_asks_for_are_named(tmp_path):
    one, other = losing(tmp_path, "t0", "b", 0), losing(tmp_path, "t1", "c", 0)
    result = judge([one], [losing(tmp_path, "t0", "c", 0), other], Policy(resamples=1000))
    assert result.ignored == ("t1",)
    assert "not checked: t1" in result_text(result)


def test_one_unit_alone_is_inconclusive(tmp_path):
    runs = [load_run(keep_run(tmp_path, SquadV1(), ["x"], [["x"]], name=name, clusters=["all"])) for name in ("b", "c")]
    result = judge(runs[:1], runs[1:], policy(Check(task="toy", metric="squad_v1", value="f1", margin=1.0)))
    assert result.verdict in (Verdict.PASS, Verdict.INCONCLUSIVE)


def test_equal_calls_give_equal_bytes(answers):
    runs = [answers(300, "b")], [answers(280, "c", late=9)]

    def written():
        result = judge(*runs, policy())
        return result_text(result), result_markdown(result), json.dumps(result_json(result))

    assert written() == written()


def test_a_run_that_is_named_twice_is_refused(answers):
    candidate = answers(300, "c")
    with pytest.raises(InvalidInputError, match="'c' is named twice"):
        judge([answers(300, "b")], [candidate, candidate], policy())


def test_gate_and_compare_load_no_model_and_no_data_library():
    modules = [
        "commands.gate",
        "commands.compare",
        "gating.gate_text",
        "comparison.text",
        "gating.junit",
        "gating.gate_plan",
    ]
    code = f"import sys, {', '.join(f'evalkit.{name}' for name in modules)}"
    heavy = ("torch", "datasets", "pandas", "scipy", "sklearn", "sacrebleu", "nltk", "rich", "jinja2", "fsspec")
    program = f"{code}\nprint([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
