"""Published chains of a law and a second step, from training runs to accuracies of larger models."""

import csv
import json

import numpy as np
import pytest

from evalkit.scaling import fit, make_points
from evalkit.scaling.downstream import LinkSettings, fit_link
from evalkit.scaling.points import Points

pytestmark = pytest.mark.real


def table(data_dir, name):
    with (data_dir / "scaling" / name).open() as file:
        return list(csv.DictReader(file))


def golden(data_dir):
    return json.loads((data_dir / "scaling" / "golden.json").read_text())


def columns(rows, **names) -> Points:
    return make_points({field: [float(row[name]) for row in rows] for field, name in names.items()})


def gadre(data_dir, corpus, keep):
    rows = table(data_dir, "gadre_overtraining_c4_rpj.csv")
    return [
        row for row in rows if row["train_set"] == corpus and keep(float(row["N"]), int(float(row["token_multiplier"])))
    ]


TARGETS = [
    ("rpj", "open_lm_1b", 640, "err_avg17"),
    ("rpj", "open_lm_7b", 20, "err_avg17"),
    ("rpj", "open_lm_1b", 640, "err_avg46"),
    ("rpj", "open_lm_7b", 20, "err_avg46"),
    ("c4_original", "open_lm_7b", 20, "err_avg17"),
    ("c4_original", "open_lm_7b", 20, "err_avg46"),
]
"""The first two are printed in the source notebook: loss off by 0.71% and 0.73%, error by 3.64% and 0.05%."""


@pytest.mark.parametrize(("corpus", "model", "multiplier", "errors"), TARGETS)
def test_over_trained_and_larger_models_are_foretold_as_gadre_et_al_foretell_them(
    data_dir, corpus, model, multiplier, errors
):
    expected = golden(data_dir)["gadre_overtraining"][corpus]["targets"][f"{model} M={multiplier} {errors}"]
    small = gadre(data_dir, corpus, lambda n, m: (m == 20 and n < 1e9) or (m == 320 and n < 2e7))
    more = gadre(data_dir, corpus, lambda n, m: (m == 20 and n < 2e9) or (m == 320 and n < 2e7))
    law = fit(columns(small, N="N", D="D", loss="loss_c4_val"), "overtraining", "linear_squared")
    link = fit_link(
        [float(row["loss_c4_val"]) for row in more],
        [1 - float(row[errors]) for row in more],
        LinkSettings(form="exp", resamples=0),
    )
    (target,) = (row for row in gadre(data_dir, corpus, lambda n, m: m == multiplier) if row["model"] == model)
    loss = law.predict({"N": float(target["N"]), "D": float(target["D"])})
    error = 1 - link.predict(loss)
    assert abs(loss[0] / float(target["loss_c4_val"]) - 1) == pytest.approx(expected["loss_rel_err"], abs=1e-5)
    assert abs(error[0] / float(target[errors]) - 1) == pytest.approx(expected["err_rel_err"], abs=1e-5)


@pytest.mark.parametrize("task", ["mmlu_avg_test_5shot", "hellaswag_val_5shot"])
def test_the_olmo_ladder_foretells_13b_as_published(data_dir, task):
    expected = golden(data_dir)["olmo_ladder"][task]
    rows = [row for row in table(data_dir, "olmo_ladder_step1.csv") if row["task"] == task]
    train = [row for row in rows if row["role"] == "train"]
    law = fit(columns(train, N="N", D="D", loss="task_bpb"))
    steps = [row for row in table(data_dir, "olmo_ladder_step2.csv") if row["task"] == task and row["role"] == "train"]
    link = fit_link(
        [float(row["task_bpb"]) for row in steps],
        [float(row["accuracy"]) for row in steps],
        LinkSettings(resamples=0),
    )
    (target,) = (row for row in rows if row["model"].startswith("13B"))
    bpb = law.predict({"N": float(target["N"]), "D": float(target["D"])})
    assert bpb[0] == pytest.approx(expected["step1"]["pred_13B"], abs=2e-5)
    assert link.predict(bpb)[0] == pytest.approx(expected["chained_pred_13B"], abs=2e-5)
    actual = np.array([float(target["task_bpb"])])
    assert link.predict(actual)[0] == pytest.approx(expected["step2"]["pred_13B_from_actual_bpb"], abs=2e-5)


def test_the_loss_on_c4_misses_13b_by_almost_four_percent_as_published(data_dir):
    expected = golden(data_dir)["olmo_ladder"]["c4_loss"]["step1"]
    rows = [row for row in table(data_dir, "olmo_ladder_step1.csv") if row["task"] == "c4_loss"]
    law = fit(columns([row for row in rows if row["role"] == "train"], N="N", D="D", loss="task_bpb"))
    (target,) = (row for row in rows if row["model"].startswith("13B"))
    found = law.predict({"N": float(target["N"]), "D": float(target["D"])})[0]
    assert found == pytest.approx(expected["pred_13B"], abs=2e-5)
    assert found / float(target["task_bpb"]) - 1 == pytest.approx(-0.038, abs=1e-3)
