"""Each recipe of the embedded suite trains in a few steps to a checkpoint that answers its task; the demo knows them all."""

import pytest

from benchmarks import demo
from evalkit.catalog import find_task
from evalkit.tokenization import load_tokenizer
from evalkit.training.recipe_file import find_recipe, recipe_names
from evalkit.training.train import TrainOptions, train

MINIS = [name for name in recipe_names() if "-mini-" in name]


@pytest.mark.parametrize("name", MINIS)
def test_a_few_steps_of_a_mini_make_a_checkpoint_that_answers_its_task(name, tmp_path, evalkit):
    shorter = [
        "steps=3",
        "schedule.warmup=1",
        "evaluate.every=2",
        "evaluate.limit=2",
        "batch.tokens=512",
        "data.size=48",
    ]
    recipe = find_recipe(name, [*shorter, "evaluate.metric=loss"])
    trained = train(recipe, TrainOptions(out=tmp_path / name, device="cpu", is_quiet=True))
    assert trained is not None
    assert trained.steps == 3
    outcome = evalkit(
        *("run", "--task", recipe.data.task, "--model", tmp_path / name, "--size", "4", "--device", "cpu", "--json"),
        *("--max-new-tokens", "4") if recipe.model.family == "t5" else (),
        *("--resamples", "0"),
    )
    assert outcome.code == 0
    (run,) = outcome.json["runs"]
    assert run["status"] == "complete"
    assert run["model"]["recipe"] == name


def test_what_other_minis_start_from_knows_the_words_of_their_prompts(tmp_path):
    few = ["steps=2", "evaluate.limit=2", "batch.tokens=512", "data.size=64"]
    start = train(find_recipe(demo.START, few), TrainOptions(out=tmp_path / "start", device="cpu", is_quiet=True))
    assert start is not None
    started = [mini for mini in demo.MINIS if mini.start]
    assert {mini.start for mini in started} == {demo.START}
    for mini in started:
        recipe = find_recipe(mini.recipe, [*few, "evaluate.metric=loss"])
        options = TrainOptions(out=tmp_path / mini.recipe, init=str(tmp_path / "start"), device="cpu", is_quiet=True)
        assert train(recipe, options) is not None
    tokenizer = load_tokenizer(tmp_path / "t5-mini-qa")
    assert len(tokenizer.ids("Question: Answer: unanswerable")) < 12


@pytest.mark.parametrize("name", [demo.START, *MINIS])
def test_a_mini_asks_for_one_core(name):
    recipe = find_recipe(name)
    assert recipe.hardware == "1 CPU core"
    assert recipe.summary.endswith(".")


def test_the_demo_trains_all_minis_on_their_tasks_and_translates_both_ways():
    assert {mini.recipe for mini in demo.MINIS} == set(MINIS)
    for mini in demo.MINIS:
        assert mini.is_trained_on_task or find_recipe(mini.recipe).data.task == mini.task
        assert find_task(mini.task).name == mini.task
    assert {"mini_mt_en_zh", "mini_mt_zh_en"} <= {mini.task for mini in demo.MINIS}
    assert len({mini.folder(0) for mini in demo.MINIS}) == len(demo.MINIS)


def value(low: float, high: float, is_higher_better: bool = True) -> demo.Value:
    return demo.Value("m", "v", (low + high) / 2, low, high, is_higher_better)


def test_a_value_beats_another_only_where_the_intervals_do_not_touch():
    assert value(0.6, 0.7).beats(value(0.4, 0.5))
    assert not value(0.5, 0.7).beats(value(0.4, 0.5))
    assert value(1.0, 1.1, False).beats(value(1.2, 1.3, False))
    assert not value(1.2, 1.3, False).beats(value(1.0, 1.1, False))


def test_the_baseline_to_beat_is_the_one_that_reaches_furthest():
    wide, narrow = value(0.2, 0.6), value(0.45, 0.5)
    assert demo.best([narrow, wide]) is wide
    wide, narrow = value(1.0, 2.0, False), value(1.4, 1.5, False)
    assert demo.best([narrow, wide]) is wide


@pytest.mark.parametrize(("errors", "is_leak"), [(50.0, False), (-2.9, False), (-3.1, True)])
def test_a_loss_well_below_that_of_the_source_is_a_leak(errors, is_leak):
    assert demo.Entropy(1.27, 1.26, errors).is_leak is is_leak


@pytest.mark.parametrize(
    ("shown", "is_fine", "is_strict", "code"),
    [
        ("yes", True, True, 0),
        ("misses 80", False, False, 0),
        ("misses 80", False, True, 1),
        (demo.LEAKED, False, False, 1),
    ],
)
def test_a_leak_always_ends_with_1_and_a_missed_target_where_that_is_asked_for(shown, is_fine, is_strict, code):
    assert demo.exit_code([f"| m | {shown} |"], is_fine, is_strict) == code


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_reason_of_the_first_failure_is_what_is_said(jobs, monkeypatch):
    def run(self, *words):
        if self._is_stopped:
            raise SystemExit(1)
        if demo.START in words:
            self.stop()
            raise SystemExit("evalkit train --recipe t5-mini ended with code 2")
        return '{"runs": [{}]}', 0.0

    monkeypatch.setattr(demo.Commands, "run", run)
    with pytest.raises(SystemExit, match="t5-mini ended with code 2"):
        demo.collect([0], jobs)


def test_the_first_job_that_fails_ends_the_others():
    commands = demo.Commands()
    with pytest.raises(SystemExit, match="ended with code 2"):
        commands.run("show", "no-such-task")
    with pytest.raises(SystemExit):
        commands.run("--version")


@pytest.fixture
def in_tmp(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def runs_of(evalkit, task: str, *models: str) -> list[dict]:
    """Records of runs of baselines on a few examples."""
    flags = [flag for model in models for flag in ("--model", f"baseline:{model}")]
    return evalkit("run", "--task", task, "--size", "40", *flags, "--out", demo.RUNS, "--json").json["runs"]


def test_the_table_says_what_a_model_shows_and_what_it_misses(evalkit, in_tmp):
    segmented, copied = runs_of(evalkit, "mini_cws", "max-match", "copy")
    good = demo.Trained(demo.Mini("a", "mini_cws", 0.5), 0, 12.3, segmented)
    lines, is_fine = demo.table([good], [copied])
    assert is_fine
    assert lines[2].startswith("| mini_cws | cws f1 | max-match | 0 |")
    assert lines[2].endswith("| 0.5 | yes |")
    assert any("not in training" in line for line in lines)
    bad = demo.Trained(demo.Mini("a", "mini_cws", 0.99), 0, 0.0, copied)
    lines, is_fine = demo.table([good, bad], [segmented])
    assert not is_fine
    assert "does not beat max-match by more than both intervals; misses 0.99 |" in lines[3]


def test_the_table_holds_a_language_model_against_the_entropy_of_its_source(evalkit, in_tmp):
    (run,) = runs_of(evalkit, "mini_lm", "ngram")
    entropy = demo.entropy_of(run)
    assert entropy.source == pytest.approx(1.0248, abs=1e-4)
    assert abs(entropy.on_texts - entropy.source) < 0.1
    assert entropy.errors_above > 5
    lines, is_fine = demo.table([demo.Trained(demo.Mini("a", "mini_lm"), 0, 0.0, run)], [run])
    assert not is_fine
    assert "loses more than 0.1 nats a word above the entropy" in lines[2]
    assert any("the entropy of the source is 1.0248 nats a word" in line for line in lines)
