"""What is measured during training is what `evalkit run` measures afterwards, and the loss is that of the whole held-out data."""

import pytest
import torch

from evalkit.catalog import find_task
from evalkit.checkpoints import load_checkpoint
from evalkit.errors import EvalkitError, InvalidInputError, UnknownNameError
from evalkit.stopping import Stop
from evalkit.training.evaluation import Evaluation, LossEvaluator, best_of
from evalkit.training.objective import Batch, Loss
from evalkit.training.recipe import BatchSection
from evalkit.training.recipe_file import read_recipe
from evalkit.training.train import TrainOptions, train

FAMILIES = {
    "bert": ("mini_cws", "finetune", "max_length = 96"),
    "t5": ("mini_mt_en_zh", "finetune", "max_length = 64"),
    "gpt": ("mini_lm", "causal_lm", "max_length = 64"),
}


def small(family: str, metric: str, *overrides: str):
    task, objective, length = FAMILIES[family]
    text = f"""
        summary = "small"
        steps = 6
        [model]
        family = "{family}"
        width = 16
        layers = 1
        heads = 2
        {length}
        [tokenizer]
        kind = "characters"
        vocab_size = 600
        [data]
        task = "{task}"
        size = 60
        [objective]
        kind = "{objective}"
        [optimizer]
        lr = 1e-2
        [batch]
        tokens = 512
        [evaluate]
        metric = "{metric}"
        limit = 12
        """
    return read_recipe(text, "small", "small.toml", overrides)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_value_is_that_of_a_run_of_the_checkpoint(family: str, tmp_path, evalkit):
    trained = train(small(family, "main"), TrainOptions(out=tmp_path / "out", device="cpu", is_quiet=True))
    task = FAMILIES[family][0]
    outcome = evalkit(
        *("run", "--task", task, "--model", str(tmp_path / "out"), "--split", "dev", "--limit", "12"),
        *(
            "--device",
            "cpu",
            "--resamples",
            "0",
            "--json",
            "--on-overflow",
            "window" if family == "bert" else "truncate",
        ),
    )
    values = {f"{row['metric']}.{row['name']}": row["value"] for row in outcome.json["runs"][0]["metrics"]}
    best = trained.evaluation
    assert best["value"] == pytest.approx(values[best["metric"]], rel=1e-6)
    assert best["values"] == pytest.approx({name: values[name] for name in best["values"]}, rel=1e-6)
    assert best["metric"].endswith(find_task(task).main_metric)


def test_a_metric_that_the_task_has_not_is_named_before_training(tmp_path):
    with pytest.raises(UnknownNameError, match=r"\[evaluate\] metric for task 'mini_cws': 'bleu'"):
        train(small("bert", "bleu"), TrainOptions(out=tmp_path / "out", device="cpu", is_quiet=True))


def test_perplexity_is_better_when_lower_and_f1_when_higher(tmp_path):
    for family, is_higher in (("gpt", False), ("bert", True)):
        options = TrainOptions(out=tmp_path / family, device="cpu", is_quiet=True)
        assert train(small(family, "main"), options).evaluation["higher_is_better"] is is_higher


def test_a_model_that_cannot_be_asked_is_refused_before_the_first_step(tmp_path):
    options = TrainOptions(out=tmp_path / "out", device="cpu", is_quiet=True)
    narrow = small("bert", "main", "model.max_length=2", "objective.max_length=2")
    with pytest.raises(EvalkitError):
        train(narrow, options)
    other = small("bert", "main", "evaluate.task=mini_qa")
    with pytest.raises(InvalidInputError, match=r"answers .* requests, but task 'mini_qa'"):
        train(other, options)
    assert not (tmp_path / "out" / "metrics.jsonl").exists()


@pytest.mark.parametrize("family", FAMILIES)
def test_evaluations_on_the_way_leave_the_weights_to_the_bit_as_without_them(family: str, tmp_path):
    for out, every in (("often", 2), ("once", 6)):
        recipe = small(family, "main", f"evaluate.every={every}", "keep.checkpoint=last")
        train(recipe, TrainOptions(out=tmp_path / out, device="cpu", is_quiet=True))
    often, once = (load_checkpoint(tmp_path / out).model.state_dict() for out in ("often", "once"))
    assert all(torch.equal(tensor, once[name]) for name, tensor in often.items())


class Counting:
    """Each example has as many targets as its number, and loses its number on each of them."""

    name = "counting"
    lengths = (1, 2, 3, 4, 5)

    def collate(self, places, generator) -> Batch:
        drawn = torch.rand((), generator=generator)
        return Batch({"places": torch.tensor(places), "drawn": drawn}, len(places))

    def loss(self, model, batch: Batch) -> Loss:
        numbers = batch.tensors["places"] + 1
        return Loss((numbers * numbers).sum() + 0.0 * batch.tensors["drawn"], int(numbers.sum()))


@pytest.mark.parametrize("tokens", [1, 4, 100])
def test_the_loss_is_the_mean_over_all_targets_however_they_are_batched(tokens: int):
    evaluator = LossEvaluator(objective=Counting(), batch=BatchSection(tokens=tokens), is_bf16=False)
    model = torch.nn.Linear(1, 1).train()
    assert evaluator.evaluate(model, 3, Stop()).value == pytest.approx((1 + 4 + 9 + 16 + 25) / 15)
    assert model.training


def evaluation(step: int, value: float | None, *, higher: bool = True) -> Evaluation:
    return Evaluation(step=step, metric="m", value=value, higher_is_better=higher, values={})


@pytest.mark.parametrize(
    ("values", "higher", "best"),
    [
        ([1.0, 3.0, 2.0], True, 1),
        ([1.0, 3.0, 0.5], False, 2),
        ([2.0, 2.0], True, 0),
        ([None, 1.0, None], True, 1),
        ([None, None], True, 0),
        ([], True, None),
    ],
)
def test_the_first_of_the_best_is_the_best(values, higher: bool, best: int | None):
    found = best_of(evaluation(step, value, higher=higher) for step, value in enumerate(values))
    assert (None if found is None else found.step) == best


def test_the_card_says_what_the_best_evaluation_was(tmp_path):
    trained = train(small("gpt", "loss"), TrainOptions(out=tmp_path / "out", device="cpu", is_quiet=True))
    assert load_checkpoint(tmp_path / "out").card.details["evaluation"] == trained.evaluation
