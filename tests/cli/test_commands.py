"""What each verb prints, on embedded tasks and on small files of the test's own."""

import json
from pathlib import Path

import pytest

from evalkit.cli import COMMANDS
from evalkit.commands.run import format_interval, format_value
from evalkit.table import format_table, printable, width


def own_task(folder: Path, more: str = "") -> str:
    (folder / "src.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (folder / "ref.txt").write_text("uno\ndos\ntres\n", encoding="utf-8")
    path = folder / "own.toml"
    path.write_text(
        f'name = "own"\nkind = "mt"\nlanguage = "es"\nsource_language = "en"\n{more}\n'
        '[files]\nformat = "parallel_text"\nsplits = { test = ["src.txt", "ref.txt"], train = ["src.txt", "ref.txt"] }\n',
        encoding="utf-8",
    )
    return str(path)


@pytest.mark.parametrize("verb", COMMANDS)
def test_the_help_of_every_verb_shows_an_example(evalkit, verb):
    outcome = evalkit(verb, "--help")
    assert outcome.code == 0
    assert f"evalkit {verb}" in outcome.out
    assert "Example:" in outcome.out


def test_flags_may_be_written_with_underscores(evalkit):
    outcome = evalkit("run", "--task", "mini_cws", "--model", "baseline:copy", "--sample_ids", "test-0", "--limit", "1")
    assert "--sample_ids" not in outcome.err


def test_run_prints_values_with_intervals_and_signatures(evalkit, tmp_path):
    outcome = evalkit("run", "--task", "mini_cws", "--model", "baseline:max-match", "--size", "60")
    assert outcome.code == 0
    header, _, first, *_ = outcome.out.splitlines()
    assert header.split() == ["task", "model", "metric", "value", "95%", "interval", "n"]
    assert first.split()[:4] == ["mini_cws", "max-match", "cws", "f1"]
    assert first.rstrip().endswith("60")
    assert "mini_cws cws: cws|variant:span" in outcome.out
    assert outcome.err.startswith("kept: ")


def test_run_json_is_one_document_with_the_records_that_were_kept(evalkit, tmp_path):
    outcome = evalkit("run", "--task", "mini_cws,mini_ner", "--model", "baseline:majority", "--size", "20", "--json")
    assert outcome.code == 0
    records = outcome.json["runs"]
    assert [record["task"]["name"] for record in records] == ["mini_cws", "mini_ner"]
    for record in records:
        kept = json.loads((tmp_path / "runs" / record["id"] / "run.json").read_text(encoding="utf-8"))
        assert kept == record


def test_a_grid_goes_on_past_a_run_that_fails_and_exits_5(evalkit):
    outcome = evalkit("run", "--task", "mini_cws,mini_lm", "--model", "baseline:max-match", "--size", "5", "--json")
    assert outcome.code == 5
    assert [record["task"]["name"] for record in outcome.json["runs"]] == ["mini_cws"]
    assert "but task 'mini_lm' asks by rolling" in outcome.err
    assert "1 of 2 runs failed" in outcome.err


def test_all_baselines_and_task_patterns_expand_to_what_fits(evalkit):
    outcome = evalkit("run", "--task", "mini_c*", "--model", "baseline:all", "--size", "12", "--json")
    assert outcome.code == 0, outcome.err
    pairs = {(record["task"]["kind"], record["model"]["name"]) for record in outcome.json["runs"]}
    assert ("cws", "max-match") in pairs
    assert ("classification", "tfidf") in pairs
    assert ("cws", "lead-3") not in pairs


def test_metrics_can_be_chosen_on_the_command_line(evalkit):
    outcome = evalkit(
        "run", "--task", "mini_mt_en_zh", "--model", "baseline:copy", "--size", "9", "--metrics", "chrf,ter", "--json"
    )
    assert [value["metric"] for value in outcome.json["runs"][0]["metrics"]] == ["chrf", "ter"]


def test_sample_ids_may_come_from_a_file(evalkit, tmp_path):
    task = own_task(tmp_path)
    (tmp_path / "ids.txt").write_text("3\n1\n", encoding="utf-8")
    outcome = evalkit(
        "run", "--task", task, "--model", "baseline:copy", "--sample-ids", f"@{tmp_path / 'ids.txt'}", "--json"
    )
    assert outcome.json["runs"][0]["counts"]["examples"] == 2


def test_a_part_is_scored_as_its_examples_are(evalkit):
    given = ("run", "--task", "mini_cws", "--model", "baseline:copy", "--size", "10", "--json")
    part = evalkit(*given, "--part", "0.8:1").json["runs"][0]
    named = evalkit(*given, "--sample-ids", "9,10").json["runs"][0]
    assert part["counts"]["examples"] == 2
    assert part["metrics"] == named["metrics"]


def test_one_example_gives_a_value_without_an_interval(evalkit, tmp_path):
    outcome = evalkit("run", "--task", own_task(tmp_path), "--model", "baseline:copy", "--limit", "1", "--json")
    for value in outcome.json["runs"][0]["metrics"]:
        assert (value["low"], value["high"], value["stderr"]) == (None, None, None)


def test_validate_says_ok_for_a_sound_task_and_warns_of_leakage(evalkit, tmp_path):
    outcome = evalkit("validate", own_task(tmp_path), "--json")
    assert outcome.code == 0
    by_check = {finding["check"]: finding for finding in outcome.json["findings"]}
    assert by_check["data test"]["status"] == "ok"
    assert by_check["metrics"]["status"] == "ok"
    # The test's task reads the same files as train and test.
    assert by_check["leakage"]["status"] == "warning"
    assert "3 of 3" in by_check["leakage"]["detail"]


def test_validate_finds_a_template_that_fails_and_exits_2(evalkit, tmp_path):
    outcome = evalkit("validate", own_task(tmp_path, more='prompt = "{{ sauce }}"'))
    assert outcome.code == 2
    assert "problem" in outcome.out
    assert "'sauce' is undefined" in outcome.out


@pytest.mark.parametrize(
    "task", ["mini_mt_en_zh", "mini_summarization", "mini_qa", "mini_ner", "mini_cws", "mini_lm", "mini_classification"]
)
def test_every_kind_of_embedded_task_is_valid(evalkit, task):
    outcome = evalkit("validate", task, "--json")
    assert outcome.code == 0, outcome.out
    assert all(finding["status"] == "ok" for finding in outcome.json["findings"]), outcome.out


def test_show_a_task_prints_source_licence_and_the_prompt_on_a_real_example(evalkit):
    outcome = evalkit("show", "mini_mt_en_zh", "--shots", "1")
    assert "licence: " in outcome.out
    assert "Translate from English to Chinese." in outcome.out
    assert outcome.out.rstrip().endswith("Chinese:")
    assert outcome.out.count("English: ") == 2


def test_show_a_metric_prints_its_settings_and_reference(evalkit):
    shown = evalkit("show", "bleu", "--json").json
    assert shown["equals"].startswith("sacrebleu")
    assert shown["settings"]["smooth_method"] == "'exp'"


def test_show_a_run_folder_prints_its_record(evalkit, tmp_path):
    record = evalkit("run", "--task", "mini_cws", "--size", "5", "--model", "baseline:copy", "--json").json["runs"][0]
    assert evalkit("show", str(tmp_path / "runs" / record["id"]), "--json").json == record


def test_lists_hold_what_can_be_named(evalkit):
    tasks = evalkit("list", "tasks", "--kind", "cws", "--json").json["tasks"]
    assert "mini_cws" in [task["name"] for task in tasks]
    assert {task["kind"] for task in tasks} == {"cws"}
    models = evalkit("list", "models", "--json").json["models"]
    assert "baseline:max-match" in [model["model"] for model in models]
    metrics = evalkit("list", "metrics", "--json").json["metrics"]
    assert "ter" in [metric["name"] for metric in metrics if metric["better"] == "lower"]


def test_doctor_reports_packages_and_resources(evalkit):
    findings = evalkit("doctor", "--json").json["findings"]
    whats = [finding["what"] for finding in findings]
    for what in ("evalkit", "sacrebleu", "WordNet", "punkt_tab"):
        assert what in whats


def case(**changes) -> dict:
    return {
        "id": "x-1",
        "metric": "span_f1",
        "params": {},
        "predictions": [[[0, 2, "PER"]]],
        "references": [[[[0, 2, "PER"]]]],
        "expected": {"tp": 1, "f1": 1.0},
        "tolerance": 1e-9,
        "source": "by hand",
        "tags": [],
        "note": "",
        **changes,
    }


def doctor(evalkit, folder: Path, *cases: dict):
    lines = "".join(json.dumps(row) + "\n" for row in cases)
    (folder / "cases.jsonl").write_text(lines, encoding="utf-8")
    return evalkit("doctor", "--metrics", str(folder), "--json")


def test_conformance_counts_passed_and_failed_cases_and_exits_1_on_a_failure(evalkit, tmp_path):
    good, wrong = case(), case(id="x-2", expected={"tp": 1, "f1": 0.5})
    outcome = doctor(evalkit, tmp_path, good, wrong)
    assert outcome.code == 1
    assert (outcome.json["passed"], outcome.json["failed"], outcome.json["skipped"]) == (1, 1, 0)
    (listed,) = outcome.json["not_passed"]
    assert listed["id"] == "x-2"
    assert "f1 is 1.0, expected 0.5" in listed["reason"]


def test_an_error_case_passes_only_if_that_error_is_raised(evalkit, tmp_path):
    refused = case(predictions=[], references=[], expected={"error": "ValueError"}, tolerance=0)
    accepted = case(id="x-2", expected={"error": "ValueError"}, tolerance=0)
    other = case(id="x-3", predictions=[], references=[], expected={"error": "TypeError"}, tolerance=0)
    outcome = doctor(evalkit, tmp_path, refused, accepted, other)
    assert (outcome.json["passed"], outcome.json["failed"]) == (1, 2)


def test_a_value_that_is_missing_fails(evalkit, tmp_path):
    outcome = doctor(evalkit, tmp_path, case(expected={"no_such_value": 1.0}))
    assert outcome.json["not_passed"][0]["reason"] == "no_such_value is missing"


@pytest.mark.parametrize(
    ("value", "scale", "text"),
    [
        (None, 1, "-"),
        (0.39981, 1, "0.3998"),
        (41.2345, 100, "41.23"),
        (100.00000000000004, 100, "100.00"),
        (22.71, 1, "22.71"),
        (1.30418e52, 1, "1.304e+52"),
    ],
)
def test_values_are_printed_as_the_field_prints_them(value, scale, text):
    assert format_value(value, scale) == text


def test_an_interval_that_is_not_there_is_a_dash():
    assert format_interval(None, None, 1) == "-"
    assert format_interval(0.1, 0.2, 1) == "[0.1000, 0.2000]"


def test_a_table_is_aligned_also_where_characters_are_two_columns_wide():
    lines = format_table(("a", "b"), [("北京", "1"), ("x", "22")], right=frozenset({1})).splitlines()
    assert {width(line) for line in lines} == {8}


def test_data_cannot_steer_the_terminal():
    assert printable("a\x1b[31mb\tc\u202ed") == "a\\x1b[31mb c\\x202ed"


def test_two_variants_of_a_metric_are_kept_apart_by_their_settings(evalkit, tmp_path):
    task = own_task(tmp_path, more='metrics = ["bleu", { name = "bleu", tokenize = "char" }]')
    outcome = evalkit("run", "--task", task, "--model", "baseline:copy", "--json")
    (record,) = outcome.json["runs"]
    labels = [value["metric"] for value in record["metrics"]]
    assert labels == ["bleu[language=es]", "bleu[tokenize=char,language=es]"]
    assert list(record["statistics"]) == list(record["details"]) == labels


def test_the_same_metric_twice_is_refused(evalkit, tmp_path):
    outcome = evalkit("run", "--task", own_task(tmp_path), "--model", "baseline:copy", "--metrics", "bleu,bleu")
    assert outcome.code == 2
    assert "stands there twice" in outcome.err


def test_shots_come_from_the_split_that_the_task_names(evalkit, tmp_path):
    (tmp_path / "dev_src.txt").write_text("four\nfive\n", encoding="utf-8")
    (tmp_path / "dev_ref.txt").write_text("cuatro\ncinco\n", encoding="utf-8")
    task = Path(own_task(tmp_path, more='shots_split = "dev"'))
    text = task.read_text(encoding="utf-8").replace("train = [", 'dev = ["dev_src.txt", "dev_ref.txt"], train = [')
    task.write_text(text, encoding="utf-8")
    shown = evalkit("show", str(task), "--shots", "1", "--json").json
    assert "cuatro" in shown["prompt"] or "cinco" in shown["prompt"]


def test_a_known_name_wins_over_a_file_of_that_name(evalkit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mini_cws").write_text("not a task", encoding="utf-8")
    (tmp_path / "bleu").mkdir()
    assert evalkit("show", "mini_cws").code == 0
    assert evalkit("show", "bleu").code == 0


def test_a_data_folder_that_is_not_there_does_not_matter_to_embedded_tasks(evalkit, monkeypatch, tmp_path):
    monkeypatch.setenv("EVALKIT_DATA_DIR", str(tmp_path / "gone"))
    outcome = evalkit(
        "run", "--task", "mini_cws", "--size", "3", "--model", "baseline:copy", "--out", str(tmp_path / "r")
    )
    assert outcome.code == 0, outcome.err


def test_a_grid_in_which_every_run_fails_exits_as_its_last_error_does(evalkit):
    outcome = evalkit("run", "--task", "mini_lm,mini_mt_en_zh", "--model", "baseline:max-match", "--size", "2")
    assert outcome.code == 2
    assert len(outcome.err.strip().splitlines()) == 2


def test_evalkit_alone_prints_its_help(evalkit):
    outcome = evalkit()
    assert outcome.code == 0
    assert "Example:\n    evalkit run" in outcome.out


@pytest.mark.parametrize("verb", COMMANDS)
def test_examples_in_help_keep_their_lines(evalkit, verb):
    text = evalkit(verb, "--help").out
    assert "\\b" not in text
    assert f"\n    evalkit {verb}" in text


def test_blank_outputs_count_as_empty(evalkit, tmp_path):
    task = own_task(tmp_path)
    (tmp_path / "out.txt").write_text("uno\n   \n\n", encoding="utf-8")
    outcome = evalkit("run", "--task", task, "--model", f"predictions:{tmp_path / 'out.txt'}", "--json")
    assert outcome.json["runs"][0]["counts"]["empty"] == 2


@pytest.mark.parametrize(
    ("level", "header"), [("0.95", "95% interval"), ("0.995", "99.5% interval"), ("0.5", "50% interval")]
)
def test_the_head_of_the_table_names_the_level_exactly(evalkit, level, header):
    outcome = evalkit("run", "--task", "mini_cws", "--size", "4", "--model", "baseline:copy", "--confidence", level)
    assert header in outcome.out.splitlines()[0]


def test_validate_tries_the_answer_template_also_without_a_split_for_shots(evalkit, tmp_path):
    outcome = evalkit("validate", own_task(tmp_path, more='answer = "{{ nope }}"\nshots_split = "gone"'))
    assert outcome.code == 2
    assert "'nope' is undefined" in outcome.out
    assert "split of shots 'gone' is not among" in outcome.out


def test_show_prints_the_header_of_the_tasks_file(evalkit):
    assert "chrF takes" in evalkit("show", "wmt22_en_zh").out


def test_control_characters_of_the_data_are_shown_not_obeyed(evalkit, tmp_path):
    task = own_task(tmp_path)
    (tmp_path / "src.txt").write_text("\x1b[31mone\ntwo\nthree\n", encoding="utf-8")
    outcome = evalkit("show", task)
    assert "\x1b" not in outcome.out


def test_a_closed_stdout_of_a_real_process_is_no_error():
    import subprocess
    import sys

    command = f"{sys.executable} -m evalkit list tasks | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
