"""`evalkit compare` and `evalkit baseline` as a user calls them."""

import json

import pytest


@pytest.fixture
def runs(evalkit, tmp_path):
    """Two runs of one task: folder of the first, folder of the second."""
    outcome = evalkit(
        "run", "--task", "mini_cws", "--model", "baseline:copy", "--model", "baseline:max-match", "--size", "80"
    )
    assert outcome.code == 0, outcome.err
    return [line.removeprefix("kept: ") for line in outcome.err.splitlines() if line.startswith("kept: ")]


def test_compare_prints_differences_subsets_and_samples(evalkit, runs):
    outcome = evalkit("compare", *runs, "--resamples", "300")
    assert outcome.code == 0, outcome.err
    assert "mini_cws: 80 examples; B - A, 300 resamples, seed 0" in outcome.out
    assert "A = copy" in outcome.out
    assert "f1 on subsets:" in outcome.out
    assert "samples that changed f1 most" in outcome.out


def test_compare_json_is_one_document_that_repeats_byte_for_byte(evalkit, runs):
    first, second = (evalkit("compare", *runs, "--json", "--resamples", "300") for _ in range(2))
    assert first.out == second.out
    [comparison] = first.json["comparisons"]
    assert comparison["first"]["model"] == "copy"
    value = comparison["values"][0]
    assert (value["metric"], value["value"]) == ("cws", "f1")
    assert value["difference"] == pytest.approx(value["second"] - value["first"])
    assert value["low"] < value["difference"] < value["high"]


def test_a_folder_of_runs_is_compared_in_all_pairs_or_against_one(evalkit, runs, tmp_path):
    evalkit("run", "--task", "mini_cws", "--model", "baseline:majority", "--size", "80")
    everything = evalkit("compare", tmp_path / "runs", "--json", "--resamples", "200")
    assert len(everything.json["comparisons"]) == 3
    one = evalkit("compare", tmp_path / "runs", "--against", runs[1], "--json", "--resamples", "200")
    assert {pair["first"]["model"] for pair in one.json["comparisons"]} == {"max-match"}
    assert len(one.json["comparisons"]) == 2
    assert "p (Holm)" in evalkit("compare", tmp_path / "runs", "--resamples", "200").out


def test_runs_that_cannot_be_compared_exit_4_and_say_what_differs(evalkit, runs, tmp_path):
    evalkit("run", "--task", "mini_cws", "--model", "baseline:copy", "--size", "70", "--out", tmp_path / "other")
    outcome = evalkit("compare", runs[0], tmp_path / "other")
    assert outcome.code == 4
    assert "not comparable (examples)" in outcome.out
    assert "not comparable (data)" in outcome.out
    allowed = evalkit(
        "compare", runs[0], tmp_path / "other", "--allow", "examples", "--allow", "data", "--resamples", "200"
    )
    assert allowed.code == 0, allowed.out
    assert "accepted (examples)" in allowed.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "nowhere"], "neither a run folder nor a baseline"),
        (["compare", "a/b/nowhere", "x"], "expected a run folder"),
        (["compare", ".", "--resamples", "3"], "expected at least 100"),
        (["compare", ".", "--confidence", "95"], "expected a level between 0 and 1"),
        (["compare", ".", "--allow", "prompt"], "did you mean 'prompts'"),
        (["baseline", "show", "main"], "no baseline 'main'"),
        (["baseline", "set", "main", "nowhere", "--why", "x"], "expected a run folder"),
        (["baseline", "set", "main", "nowhere"], "--why"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(evalkit, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    outcome = evalkit(*arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert len(outcome.err.splitlines()) == 1


def test_a_baseline_is_set_shown_listed_compared_with_and_kept_in_history(evalkit, runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for run, why in zip(runs, ("first try", "the list helps"), strict=True):
        outcome = evalkit("baseline", "set", "main", run, "--why", why, "--who", "Ann")
        assert outcome.code == 0, outcome.err
    assert "the list helps" in evalkit("baseline", "show", "main").out
    assert "first try" not in evalkit("baseline", "list").out
    lines = evalkit("baseline", "history", "main", "--json").json["baselines"]
    assert [(line["why"], line["who"]) for line in lines] == [("first try", "Ann"), ("the list helps", "Ann")]
    compared = evalkit("compare", "baseline:main", runs[0], "--json", "--resamples", "200")
    assert compared.code == 0, compared.err
    [comparison] = compared.json["comparisons"]
    assert comparison["first"]["model"] == "max-match"
    assert comparison["subsets"] == []
    assert comparison["changed"][0]["first"] is None


def test_a_run_of_another_task_version_than_evalkits_is_no_baseline(evalkit, runs, tmp_path):
    path = f"{runs[0]}/run.json"
    with open(path, encoding="utf-8") as file:
        record = json.load(file)
    record["task"]["version"] = 99
    with open(path, "w", encoding="utf-8") as file:
        json.dump(record, file)
    outcome = evalkit("baseline", "set", "main", runs[0], "--why", "x", "--dir", tmp_path / "b")
    assert outcome.code == 2
    assert "version 99 of task 'mini_cws'" in outcome.err
