"""Published system outputs through the command line: the scores are those that were published or computed officially."""

import csv
import gzip
import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.real

WMT22_SYSTEMS = (
    "AISP-SJTU", "DLUT", "HuaweiTSC", "JDExploreAcademy", "Lan-Bridge", "LanguageX", "Online-A", "Online-B", "Online-W",
)  # fmt: skip


def values(outcome) -> dict[tuple[str, str], float]:
    """(metric, value name) to value of the only run of a command."""
    assert outcome.code == 0, outcome.err
    (record,) = outcome.json["runs"]
    assert record["status"] == "complete"
    return {(value["metric"], value["name"]): value["value"] for value in record["metrics"]}


def run(evalkit, data_dir: Path, task, model: str, *flags):
    """Run one model on one task over the published data."""
    return evalkit("run", "--task", task, "--model", model, "--data-dir", data_dir, *flags, "--json")


@pytest.fixture(scope="session")
def expected(data_dir: Path) -> dict:
    return json.loads((data_dir / "expected_scores.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def wmt22_rows(data_dir: Path) -> dict[tuple[str, str], float]:
    with (data_dir / "mt" / "wmt22" / "automatic-scores.tsv").open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return {(row["system"], row["metric"]): float(row["score"]) for row in rows if row["pair"] == "en-zh"}


def wmt22_task(folder: Path, data_dir: Path, references: str) -> Path:
    base = data_dir / "mt" / "wmt22" / "en-zh"
    files = [
        str(Path("mt/wmt22/en-zh") / f"generaltest2022.en-zh.{part}")
        for part in ("src.en", *(f"ref.{r}.zh" for r in references))
    ]
    assert (base / "generaltest2022.en-zh.src.en.gz").is_file()
    path = folder / f"wmt22_{references}.toml"
    path.write_text(
        f'name = "wmt22_{references}"\nkind = "mt"\nlanguage = "zh"\nsource_language = "en"\n'
        f'[files]\nformat = "parallel_text"\nsplits = {{ test = {json.dumps(files)} }}\n',
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("system", WMT22_SYSTEMS)
def test_wmt22_scores_equal_the_published_rows(evalkit, data_dir, tmp_path, wmt22_rows, system):
    output = data_dir / "mt" / "wmt22" / "en-zh" / f"generaltest2022.en-zh.hyp.{system}.zh.gz"
    for references, row in (("A", "A"), ("B", "B")):
        task = wmt22_task(tmp_path, data_dir, references)
        found = values(run(evalkit, data_dir, task, f"predictions:{output}", "--resamples", 0))
        assert found["bleu", "bleu"] == pytest.approx(wmt22_rows[system, f"bleu-{row}"], abs=1e-6)
        assert found["chrf", "chrf"] == pytest.approx(wmt22_rows[system, f"chrf-{row}"], abs=1e-6)


@pytest.mark.parametrize("system", WMT22_SYSTEMS)
def test_the_named_wmt22_task_scores_both_references_as_published(evalkit, data_dir, wmt22_rows, system):
    output = data_dir / "mt" / "wmt22" / "en-zh" / f"generaltest2022.en-zh.hyp.{system}.zh.gz"
    found = values(run(evalkit, data_dir, "wmt22_en_zh", f"predictions:{output}", "--resamples", 100))
    assert found["bleu", "bleu"] == pytest.approx(wmt22_rows[system, "bleu-all"], abs=1e-6)
    assert found["chrf", "chrf"] == pytest.approx(wmt22_rows[system, "chrf-all"], abs=1e-6)


def test_wmt17_scores_equal_sacrebleu(evalkit, data_dir, expected):
    computed = expected["mt/wmt17_en_de"]["computed"]
    for system in (name for name in computed if name.startswith("newstest")):
        output = data_dir / "mt" / "wmt17_en_de" / f"{system}.txt.gz"
        found = values(run(evalkit, data_dir, "wmt17_en_de", f"predictions:{output}", "--resamples", 0))
        _, bleu, chrf, chrf_plus_plus = computed[system]
        assert found["bleu", "bleu"] == pytest.approx(bleu, abs=1e-9)
        assert found["chrf", "chrf"] == pytest.approx(chrf, abs=1e-9)
        assert found["chrf++", "chrf++"] == pytest.approx(chrf_plus_plus, abs=1e-9)


@pytest.mark.parametrize("system", ["arcada", "drexel_cci", "spinningbytes"])
def test_wnut17_submissions_score_the_published_entity_f1(evalkit, data_dir, expected, system):
    output = data_dir / "ner" / "wnut17" / "submissions" / f"{system}.txt"
    found = values(run(evalkit, data_dir, "wnut17", f"predictions:{output}", "--resamples", 0))
    precision, recall, f1, strict = expected["ner/wnut17/submissions"]["computed"][system]
    assert 100 * found["seqeval", "precision"] == pytest.approx(precision, abs=0.01)
    assert 100 * found["seqeval", "recall"] == pytest.approx(recall, abs=0.01)
    assert 100 * found["seqeval", "f1"] == pytest.approx(f1, abs=0.01)
    assert 100 * found["seqeval-strict-IOB2", "f1"] == pytest.approx(strict, abs=0.01)


def test_squad_v1_predictions_score_the_official_values(evalkit, data_dir, expected):
    output = data_dir / "qa" / "squad" / "predictions" / "v1.1_logistic_regression.json.gz"
    outcome = run(evalkit, data_dir, "squad", f"predictions:{output}")
    found = values(outcome)
    official = expected["qa/squad"]["computed"]["v1.1_logistic_regression"]
    assert found["squad_v1", "exact_match"] == pytest.approx(official["exact"], abs=1e-4)
    assert found["squad_v1", "f1"] == pytest.approx(official["f1"], abs=1e-4)
    (record,) = outcome.json["runs"]
    assert record["counts"]["examples"] == official["total"]
    assert record["counts"]["missing"] == official["missing_ids"]
    assert any(str(official["extra_ids"]) in warning for warning in record["warnings"])


def test_squad_v2_predictions_score_the_official_values(evalkit, data_dir, expected):
    output = data_dir / "qa" / "squad" / "predictions" / "v2.0_bidaf_sa_elmo.json.gz"
    outcome = run(evalkit, data_dir, "squad_v2", f"predictions:{output}")
    found = values(outcome)
    official = expected["qa/squad"]["computed"]["v2.0_bidaf_sa_elmo"]
    assert found["squad_v2", "exact_match"] == pytest.approx(official["exact"], abs=1e-4)
    assert found["squad_v2", "f1"] == pytest.approx(official["f1"], abs=1e-4)
    details = outcome.json["runs"][0]["details"]["squad_v2"]
    for key in ("HasAns_exact", "HasAns_f1", "HasAns_total", "NoAns_exact", "NoAns_f1", "NoAns_total", "total"):
        assert details[key] == pytest.approx(official[key], abs=1e-4)


@pytest.mark.parametrize("system", ["test_fmm", "test_chars"])
def test_segmenter_outputs_score_as_the_official_script_and_by_spans(evalkit, data_dir, expected, system):
    output = data_dir / "cws" / "gsdsimp_seg" / "outputs" / f"{system}.utf8"
    found = values(run(evalkit, data_dir, "cws_gsdsimp", f"predictions:{output}", "--resamples", 0))
    computed = expected["cws/gsdsimp_seg"]
    official = computed["computed"][system]
    names = ("recall", "precision", "f1", "oov_rate", "oov_recall", "iv_recall")
    for name, value in zip(names, official, strict=True):
        assert found["cws-sighan", name] == pytest.approx(value, abs=0.0005 + 1e-9), name
    _, _, _, *spans = computed["computed_by_word_spans"][system]
    for name, value in zip(("recall", "precision", "f1", "oov_recall", "iv_recall"), spans, strict=True):
        assert found["cws", name] == pytest.approx(value, abs=1e-7), name


def test_forward_maximum_matching_makes_the_published_output_again(evalkit, data_dir, expected):
    found = values(run(evalkit, data_dir, "cws_gsdsimp", "baseline:max-match", "--resamples", 0))
    assert found["cws", "f1"] == pytest.approx(
        expected["cws/gsdsimp_seg"]["computed_by_word_spans"]["test_fmm"][5], abs=1e-7
    )


@pytest.mark.parametrize("system", ["tgen", "tuda"])
def test_e2e_systems_score_the_published_bleu(evalkit, data_dir, expected, system):
    output = data_dir / "nlg" / "e2e" / "system_outputs" / f"{system}.tsv"
    found = values(run(evalkit, data_dir, "e2e_nlg", f"predictions:{output}", "--resamples", 0))
    assert found["bleu", "bleu"] == pytest.approx(expected["nlg/e2e"]["computed"][system], abs=1e-9)


def test_xsum_summaries_score_the_published_rouge_line_by_line_and_in_the_mean(evalkit, data_dir, tmp_path):
    path = data_dir / "summarization" / "xsum_hallucination" / "scored_summaries.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    output = tmp_path / "summaries.txt"
    output.write_text("".join(row["summary"] + "\n" for row in rows), encoding="utf-8")
    outcome = run(evalkit, data_dir, "xsum_hallucination", f"predictions:{output}")
    found = values(outcome)
    (record,) = outcome.json["runs"]
    columns = record["statistics"]["rouge"]["columns"]
    samples = (tmp_path / "runs" / record["id"] / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    scored = [dict(zip(columns, json.loads(line)["statistics"]["rouge"], strict=True)) for line in samples]
    # rouge-score and the Perl script stem a few words differently: so many of the 1,992 lines agree within 0.0001.
    for name, column, agreeing in (("rouge1", "R1", 1806), ("rouge2", "R2", 1976), ("rougeL", "RL", 1881)):
        published = [row[column] for row in rows]
        assert found["rouge", name] == pytest.approx(sum(published) / len(rows), abs=0.005)
        ours = [line[name] for line in scored]
        assert sum(abs(a - b) < 1e-4 for a, b in zip(ours, published, strict=True)) == agreeing


def test_every_number_of_a_real_run_has_an_interval_around_it(evalkit, data_dir):
    output = data_dir / "qa" / "squad" / "predictions" / "v1.1_logistic_regression.json.gz"
    outcome = run(evalkit, data_dir, "squad", f"predictions:{output}")
    for value in outcome.json["runs"][0]["metrics"]:
        assert value["low"] < value["value"] < value["high"]
        assert 0 < value["stderr"] < value["high"] - value["low"]


def test_a_gzipped_and_a_plain_file_of_predictions_score_the_same(evalkit, data_dir, tmp_path):
    packed = data_dir / "mt" / "wmt17_en_de" / "newstest2017.FBK.4870.en-de.txt.gz"
    plain = tmp_path / "plain.txt"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    scores = [
        values(run(evalkit, data_dir, "wmt17_en_de", f"predictions:{path}", "--limit", 300)) for path in (packed, plain)
    ]
    assert scores[0] == scores[1]
