"""Recipes are read strictly: what is wrong with one is said in one line that names the key."""

from dataclasses import replace

import pytest

from evalkit.errors import DataError, EvalkitError, InvalidInputError, UnknownNameError
from evalkit.training.recipe_file import find_recipe, is_recipe_file, read_recipe, recipe_digest, recipe_names

MINIMAL = """
summary = "s"
steps = 10
[model]
family = "bert"
[objective]
kind = "masked_lm"
[optimizer]
lr = 1e-3
[batch]
tokens = 64
"""


def read(*overrides: str):
    return read_recipe(MINIMAL, "mine", "mine.toml", overrides)


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("model.widht=3", "unknown key of [model] 'widht'; did you mean 'width'?"),
        ("modle={}", "unknown key 'modle'; did you mean 'model'?"),
        ("model.width=1.5", "[model] width is 1.5; expected a whole number"),
        ("model.width=0", "[model] width is 0; expected a number of at least 1"),
        ("model.width=true", "[model] width is true; expected a whole number"),
        ("model.family=gtp", "unknown [model] family 'gtp'; did you mean 'gpt'?"),
        ("model.family=gpt", "[objective] kind 'masked_lm' is for bert; [model] family is 'gpt'"),
        ("model.family=", "[model] family is missing"),
        ("model.dropout=1.0", "[model] dropout is 1.0"),
        ("objective.kind=masked", "unknown [objective] kind 'masked'; did you mean 'masked_lm'?"),
        ("objective.kind=3", "[objective] kind is 3; expected one of causal_lm, masked_lm"),
        ("objective={}", "[objective] kind is None; expected one of"),
        ("objective.mean_span=3.0", "unknown key of [objective] 'mean_span'"),
        ("objective.mask_rate=1.5", "[objective] mask_rate is 1.5; expected a number from 0 to 1"),
        ("objective.random_share=0.5", "are more than 1 together"),
        ("optimizer=", "[optimizer] is missing"),
        ("optimizer.lr=", "[optimizer] lr is missing"),
        ("optimizer.lr=0.0", "[optimizer] lr is 0.0; expected a number above 0"),
        ("optimizer.lr=nan", "[optimizer] lr is nan; expected a finite number"),
        ("optimizer.lr='fast'", "[optimizer] lr is 'fast'; expected a finite number"),
        ("optimizer=3", "optimizer is 3; expected a table [optimizer]"),
        ("schedule.kind=cos", "unknown [schedule] kind 'cos'; did you mean 'cosine'?"),
        ("schedule.warmup=1.5", "[schedule] warmup is 1.5; expected whole steps, or a fraction below 1"),
        ("schedule.warmup=-1", "[schedule] warmup is -1"),
        ("batch.tokens=", "[batch] takes one of tokens and examples"),
        ("steps=", "a recipe takes one of steps and epochs"),
        ("steps=0", "steps is 0; expected a number of at least 1"),
        ("precision=fp16", "unknown precision 'fp16'"),
        ("seed=-1", "seed is -1"),
        ("data.part=[0.5]", "[data] part is [0.5]; expected two fractions in order"),
        ("data.part=[0.9, 0.1]", "[data] part is [0.9, 0.1]"),
        ("data.documents=word", "unknown [data] documents 'word'"),
        ("evaluate.patience=0", "[evaluate] patience is 0"),
        ("lora.rank=0", "[lora] rank is 0; expected a number of at least 1"),
        ("lora={rank=4, targets=[]}", "[lora] targets names no layer"),
        ("tokenizer.kind=folder", "[tokenizer] kind is 'folder' and folder None; they go together"),
        ("tokenizer.kind=bpe", "[tokenizer] vocab_size is for a kind that is trained, and needed there"),
        ("name='x'", "a recipe is named by its file"),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(override: str, problem: str):
    with pytest.raises(DataError) as caught:
        read(override)
    assert str(caught.value).startswith("mine.toml: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("override", "problem"),
    [
        ("steps", "--set 'steps' is no setting; expected section.key=value"),
        ("=3", "is no setting"),
        ("model..width=3", "is no setting"),
        ("steps.more=3", "steps is a value, not a section"),
        ("model.width=3 4", "the value is not TOML"),
        ("data.texts=[a]", "the value is not TOML"),
    ],
)
def test_a_setting_that_cannot_be_read_is_refused(override: str, problem: str):
    with pytest.raises(InvalidInputError, match="--set") as caught:
        read(override)
    assert problem in str(caught.value)


def test_settings_are_typed_as_in_toml_and_plain_words_need_no_quotes():
    recipe = read("optimizer.lr=2e-4", "model.width=128", "compile=true", "data.texts=['a b.txt']", "schedule.kind=wsd")
    assert (recipe.optimizer.lr, recipe.model.width, recipe.compile) == (2e-4, 128, True)
    assert (recipe.data.texts, recipe.schedule.kind) == (("a b.txt",), "wsd")


@pytest.mark.parametrize(
    ("override", "now"),
    [
        ("epochs=2.5", lambda recipe: (recipe.steps, recipe.epochs) == (None, 2.5)),
        ("batch.examples=8", lambda recipe: (recipe.batch.tokens, recipe.batch.examples) == (None, 8)),
    ],
)
def test_a_key_replaces_the_one_that_it_excludes(override: str, now):
    assert now(read(override))


@pytest.mark.parametrize("text", ["a = ", "steps = 1\nsteps = 2", "[" * 3000])
def test_what_is_no_toml_is_refused_with_the_name_of_the_file(text: str):
    with pytest.raises(DataError, match=r"^mine\.toml: not a TOML file"):
        read_recipe(text, "mine", "mine.toml")


def test_an_unknown_name_names_the_nearest_bundled_recipe():
    nearest = recipe_names()[0]
    with pytest.raises(UnknownNameError, match=f"did you mean '{nearest}'"):
        find_recipe(nearest[:-1])


@pytest.mark.parametrize("name", recipe_names())
def test_every_bundled_recipe_is_valid_and_says_what_it_is_for(name: str):
    recipe = find_recipe(name)
    assert recipe.name == name
    assert recipe.summary
    assert recipe.hardware


def test_a_file_of_ones_own_works_by_its_path(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(MINIMAL, encoding="utf-8")
    assert find_recipe(str(path)).name == "own"
    assert is_recipe_file(str(path))


def test_a_task_file_is_no_recipe(tmp_path):
    path = tmp_path / "task.toml"
    path.write_text('name = "a"\nkind = "mt"\n', encoding="utf-8")
    assert not is_recipe_file(str(path))
    assert not is_recipe_file(str(tmp_path / "absent.toml"))


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(EvalkitError, match="no such file"):
        find_recipe(str(tmp_path / "absent.toml"))


def test_the_digest_covers_what_changes_weights_and_nothing_else():
    recipe = read()
    assert recipe_digest(recipe) == recipe_digest(replace(recipe, name="other", summary="other", hardware="other"))
    assert recipe_digest(recipe) == recipe_digest(read("keep.state_every=3"))
    assert len({recipe_digest(read(one)) for one in ("seed=1", "objective.mask_rate=0.2", "model.width=8")}) == 3
