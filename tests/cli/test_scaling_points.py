"""`evalkit scaling` on points that are none, and the verbs that fit no law: one line, exit 2, nothing written."""

import csv
import io
import json

import numpy as np
import pytest

from evalkit.metrics.perplexity import Perplexity
from evalkit.scaling.flops import count_parameters
from tests.stored import keep_run

SHAPE = ("vocab_size=50257", "max_length=1024", "width=768", "layers=12", "heads=12", "ff_width=3072")


def shape(*fields):
    return [part for field in fields for part in ("--shape", field)]


def sweep():
    """Budgets with seven sizes each around the best of Chinchilla's law."""
    rows = []
    for compute in (1e17, 1e18, 1e19, 1e20):
        best = (0.34 * 406.4 / (0.28 * 410.7)) ** (1 / 0.62) * (compute / 6) ** (0.28 / 0.62)
        for factor in np.geomspace(0.4, 2.5, 7):
            size = best * factor
            tokens = compute / 6 / size
            rows.append((size, tokens, compute, 1.69 + 406.4 * size**-0.34 + 410.7 * tokens**-0.28))
    return rows


def table(folder, rows, header=("N", "D", "C", "loss"), name="runs.csv"):
    path = folder / name
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def refused(outcome, *parts):
    assert outcome.code == 2, outcome
    (line,) = outcome.err.strip().splitlines()
    assert line.startswith("evalkit: ")
    for part in parts:
        assert part in line
    assert outcome.out == ""


def test_isoflop_prints_budgets_exponents_and_predictions(evalkit, tmp_path):
    outcome = evalkit("scaling", "isoflop", table(tmp_path, sweep()), "--compute", "5.76e23", "--json")
    assert outcome.code == 0, outcome.err
    found = outcome.json
    assert found["exponents"]["N"]["exponent"] == pytest.approx(0.28 / 0.62, abs=1e-4)
    assert [budget["C"] for budget in found["budgets"]] == pytest.approx([1e17, 1e18, 1e19, 1e20])
    (prediction,) = found["predictions"]
    assert prediction["N"][0] == pytest.approx(3.219e10, rel=0.02)


def test_columns_rows_and_units_are_named_by_flags(evalkit, tmp_path):
    rows = [(*row, "a", row[3] / np.log(2)) for row in sweep()] + [(1e6, 1e6, 6e12, 1.0, "b", 1.0)]
    path = table(tmp_path, rows, ("params", "tokens", "flops", "nats", "kind", "bits"))
    flags = ("--column", "N=params", "--column", "D=tokens", "--column", "C=flops", "--where", "kind=a")
    nats = evalkit("scaling", "isoflop", path, *flags, "--column", "loss=nats", "--json").json
    bits = evalkit(
        "scaling", "isoflop", path, *flags, "--column", "loss=bits", "--loss-unit", "bits/token",
        "--convert-loss", "nats/token", "--json",
    ).json  # fmt: skip
    assert bits["exponents"]["N"]["exponent"] == pytest.approx(nats["exponents"]["N"]["exponent"], rel=1e-9)
    assert bits["budgets"][0]["loss"] == pytest.approx(nats["budgets"][0]["loss"], rel=1e-9)


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ("text", "Growth with compute\nquantity  exponent"),
        ("markdown", "| quantity | exponent | low |"),
        ("latex", r"quantity & exponent & low"),
        ("csv", "table,quantity,exponent,low"),
    ],
)
def test_tables_come_in_every_format_and_by_the_extension_of_a_file(evalkit, tmp_path, form, part):
    path = table(tmp_path, sweep())
    printed = evalkit("scaling", "isoflop", path, "--resamples", "0", "--format", form)
    assert printed.code == 0, printed.err
    assert part in printed.out
    suffix = {"text": "txt", "markdown": "md", "latex": "tex", "csv": "csv"}[form]
    file = tmp_path / f"out.{suffix}"
    written = evalkit("scaling", "isoflop", path, "--resamples", "0", "--out", str(file))
    assert written.code == 0, written.err
    assert file.read_text() == printed.out


def test_csv_keeps_every_digit(evalkit, tmp_path):
    path = table(tmp_path, sweep())
    text = evalkit("scaling", "isoflop", path, "--format", "csv").out
    found = evalkit("scaling", "isoflop", path, "--json").json
    rows = [row for row in csv.reader(io.StringIO(text)) if row[:2] == ["Growth with compute", "N*"]]
    assert float(rows[0][2]) == found["exponents"]["N"]["exponent"]


def test_count_is_exact_and_has_6nd_beside_it(evalkit):
    outcome = evalkit("scaling", "count", "--family", "gpt", *shape(*SHAPE), "--tokens", "1e10", "--json")
    (model,) = outcome.json["models"]
    assert model["parameters"]["total"] == 124_439_808
    assert model["parameters"]["embedding"] == (50257 + 1024) * 768
    assert model["ratio_to_6n"]["total"] == pytest.approx(model["train_flops"] / (6 * 124_439_808 * 1e10))
    text = evalkit("scaling", "count", "--family", "gpt", *shape(*SHAPE)).out
    assert "124,439,808" in text


def test_a_checkpoint_folder_is_counted_as_its_record_counts_it(evalkit, gpt):
    (model,) = evalkit("scaling", "count", gpt, "--json").json["models"]
    (run,) = evalkit("run", "--task", "mini_lm", "--size", 2, "--model", gpt, "--json").json["runs"]
    assert model["parameters"]["total"] == run["model"]["parameters"]
    assert model["parameters"]["non_embedding"] == run["model"]["parameters_non_embedding"]


BAD_TABLES = {
    "empty": ("", "the table is empty"),
    "text in a column": ("N,D,loss\n1e6,2e7,4.5\n2e6,many,4\n", ":3: column 'D' has 'many'; expected a number"),
    "missing value": ("N,D,loss\n1e6,2e7,4.5\n2e6,,4\n", "column 'D', row 3: found nan"),
    "infinite loss": ("N,D,loss\n1e6,2e7,inf\n", "column 'loss', row 2: found inf"),
    "negative loss": ("N,D,loss\n1e6,2e7,4.5\n2e6,4e7,-4\n", ":3: column 'loss' has -4.0; expected a number above 0"),
    "no tokens": ("N,D,loss\n1e6,0,4.5\n", ":2: column 'D' has 0.0"),
    "no loss": ("N,D\n1e6,2e7\n", "no column 'loss'"),
    "only losses": ("loss\n4.5\n", "none of the columns 'N' (parameters), 'D' (tokens), 'C' (FLOPs)"),
    "compute in another unit": ("N,D,C,loss\n1e6,2e7,1,4.5\n", "FLOPs within 50% of 6ND"),
    "ragged": ("N,D,loss\n1e6,2e7\n", ":2: 2 cells; expected 3"),
    "twice the same column": ("N,N,loss\n1,2,3\n", "two columns are named 'N'"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_tables_that_are_no_points_are_one_line(evalkit, tmp_path, name):
    text, message = BAD_TABLES[name]
    path = tmp_path / "runs.csv"
    path.write_text(text)
    refused(evalkit("scaling", "isoflop", str(path)), message)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--column", "N"), "--column is 'N'; expected e.g. --column N=params"),
        (("--column", "M=N"), "unknown field of a point 'M'"),
        (("--column", "N=params"), "unknown column 'params'"),
        (("--column", "N=N", "--column", "N=D"), "--column names 'N' twice"),
        (("--where", "N"), "condition 'N'; expected e.g. N>=1e6"),
        (("--where", "N>1e99"), "no row of 28 with N>1e99"),
        (("--loss-unit", "nits"), "unknown unit of loss 'nits'; known: nats/token"),
        (("--task", "mini_lm"), "--task goes with run folders"),
        (("--method", "quartic"), "unknown IsoFLOP method 'quartic'"),
        (("--weighting", "none"), "unknown weighting 'none'"),
        (("--resamples", "3"), "resamples is 3; expected at least 20, or 0"),
        (("--confidence", "95"), "level is 95.0"),
        (("--compute", "-1"), "compute is -1.0; expected one finite number above 0"),
        (("--budget-tolerance", "2"), "budget_tolerance is 2.0"),
        (("--format", "html"), "unknown format 'html'"),
        (("--out", "x.html"), "--out 'x.html' has extension '.html'"),
        (("--out", "/dev/null/x.md"), "cannot write '/dev/null/x.md'"),
    ],
)
def test_flags_that_mean_nothing_are_one_line(evalkit, tmp_path, flags, message):
    refused(evalkit("scaling", "isoflop", table(tmp_path, sweep()), *flags), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("isoflop",), "Missing argument"),
        (("isoflop", "none.csv"), "none.csv: is not there; expected a CSV file"),
        (("isoflops",), "unknown verb of scaling 'isoflops'; did you mean 'isoflop'?"),
        (("count",), "nothing to count"),
        (("count", "--family", "gpt"), "--family and --shape go together"),
        (("count", "--family", "gtp", *shape(*SHAPE)), "unknown model family 'gtp'; did you mean 'gpt'?"),
        (("count", "--family", "gpt", *shape("width=wide")), "--shape width=wide; expected a whole number"),
        (("count", "--family", "gpt", *shape(*SHAPE), "--length", "0"), "length is 0"),
        (("count", "--family", "gpt", *shape(*SHAPE), "--tokens", "nan"), "--tokens is nan"),
        (("count", "nowhere"), "nowhere/config.json: cannot be read"),
    ],
)
def test_calls_that_mean_nothing_are_one_line(evalkit, arguments, message):
    refused(evalkit("scaling", *arguments), message)


def test_files_and_folders_together_are_refused(evalkit, tmp_path):
    path = table(tmp_path, sweep())
    refused(evalkit("scaling", "isoflop", path, str(tmp_path)), "files and run folders named together")
    refused(evalkit("scaling", "isoflop", path, path), "2 files of points; expected one")
    refused(evalkit("scaling", "isoflop", str(tmp_path)), "no run.json in it")


def test_json_out_and_table_out_can_be_had_in_one_call(evalkit, tmp_path):
    path, file = table(tmp_path, sweep()), tmp_path / "a" / "isoflop.md"
    outcome = evalkit("scaling", "isoflop", path, "--resamples", "0", "--json", "--out", str(file))
    assert outcome.json["method"] == "parabola"
    assert file.read_text().startswith("## Lowest loss of each budget")
    assert json.loads(outcome.out) == outcome.json


def test_help_of_every_verb_has_an_example(evalkit):
    from evalkit.commands.scaling import VERBS

    for verb in VERBS:
        outcome = evalkit("scaling", verb, "--help")
        assert outcome.code == 0
        assert "Example:" in outcome.out


def lm_run(folder, name, width, tokens, perplexity_nats):
    """One stored run of a language model of a shape, with a loss."""
    sizes = {"vocab_size": 50, "max_length": 16, "width": width, "layers": 2, "heads": 2, "ff_width": 4 * width}
    parameters = count_parameters("gpt", sizes)
    model = {
        "ref": name,
        "name": name,
        "digest": f"{name}-tokens",
        "family": "gpt",
        "parameters": parameters.total,
        "parameters_non_embedding": parameters.non_embedding,
        "tokens_seen": tokens,
        "shape": sizes,
        "training": {"recipe_digest": name, "seed": 0, "lr": 0.1 / width},
    }
    task = {"kind": "lm", "name": "toy_lm"}
    logprobs = [[-perplexity_nats] * 4, [-perplexity_nats] * 2]
    keep_run(folder, Perplexity(), logprobs, [["a b c d"], ["e f"]], name=name, task=task, changes={"model": model})


def test_stored_runs_are_points_without_any_file_of_columns(evalkit, tmp_path):
    for width in (8, 16, 32, 64):
        for tokens in (10**5, 10**6, 10**7):
            size = count_parameters(
                "gpt",
                {"vocab_size": 50, "max_length": 16, "width": width, "layers": 2, "heads": 2, "ff_width": 4 * width},
            ).non_embedding
            lm_run(tmp_path / "runs", f"w{width}-{tokens}", width, tokens, 1 + 20 * size**-0.4 + 30 * tokens**-0.35)
    flags = ("--intervals", "none", "--no-sensitivity", "--json")
    found = evalkit("scaling", "fit", str(tmp_path / "runs"), *flags).json
    assert found["quality"]["n"] == 12
    assert found["parameters"]["alpha"]["value"] == pytest.approx(0.4, abs=1e-3)
    assert found["parameters"]["E"]["value"] == pytest.approx(1.0, abs=1e-3)
    totals = evalkit("scaling", "fit", str(tmp_path / "runs"), "--counting", "total", *flags).json
    assert totals["parameters"]["alpha"]["value"] != pytest.approx(0.4, abs=1e-3)
    refused(evalkit("scaling", "fit", str(tmp_path / "runs"), "--task", "toy"), "unknown task among the runs 'toy'")
    refused(evalkit("scaling", "fit", str(tmp_path / "runs"), "--where", "N>1"), "--where goes with a CSV file")


def test_seeds_can_be_averaged_before_the_fit(evalkit, tmp_path):
    rows = [(*row[:3], row[3] * factor, seed) for row in sweep() for seed, factor in ((0, 1.01), (1, 1 / 1.01))]
    path = table(tmp_path, rows, ("N", "D", "C", "loss", "seed"))
    flags = ("--intervals", "none", "--no-sensitivity", "--json")
    assert evalkit("scaling", "fit", path, *flags).json["quality"]["n"] == 56
    found = evalkit("scaling", "fit", path, "--average-seeds", *flags).json
    assert found["quality"]["n"] == 28
    assert found["parameters"]["alpha"]["value"] == pytest.approx(0.34, abs=1e-3)
