"""Finetuning shows a model what evaluation shows it, and teaches what its task reads back as the gold answer."""

from dataclasses import replace

import pytest
import torch

from evalkit import runner
from evalkit.adapters.encoder.stack import BertStack
from evalkit.adapters.engine.generation import Generator
from evalkit.adapters.neural import adapter_around
from evalkit.catalog import find_task
from evalkit.data.load import load
from evalkit.errors import InvalidInputError
from evalkit.kinds import KINDS
from evalkit.requests import GenerateResponse, LabelResponse, ModelInfo, ModelSettings, SpanResponse
from evalkit.resolve import resize
from evalkit.spec import ModelRef, RunSpec
from evalkit.training.building import new_model
from evalkit.training.objectives import build_objective, card_details, head_for, objective_name, train_tokenizer
from evalkit.training.objectives.answers import shown_answers
from evalkit.training.objectives.label import words_and_tags
from evalkit.training.objectives.span import answer_characters
from evalkit.training.recipe_file import read_recipe
from evalkit.training.sources import open_training

RECIPE = """
summary = "tiny"
steps = 1
[model]
family = "FAMILY"
width = 16
layers = 1
heads = 2
max_length = LENGTH
[tokenizer]
kind = "KIND"
vocab_size = 420
[data]
task = "TASK"
size = 30
[objective]
kind = "finetune"
[optimizer]
lr = 1e-3
[batch]
examples = 8
"""
KINDS_OF_TOKENIZERS = {"gpt": "bpe", "bert": "wordpiece", "t5": "unigram"}
MINI = [
    "mini_mt_en_zh",
    "mini_mt_zh_en",
    "mini_summarization",
    "mini_summarization_zh",
    "mini_qa",
    "mini_qa_zh",
    "mini_ner",
    "mini_ner_zh",
    "mini_cws",
    "mini_classification",
    "mini_classification_zh",
]
ENCODED = ["mini_qa", "mini_ner", "mini_ner_zh", "mini_cws", "mini_classification"]


class Parts:
    """A tiny model with its objective on the training split of a task."""

    def __init__(self, family: str, task: str, length: int = 400, *overrides: str) -> None:
        text = RECIPE.replace("FAMILY", family).replace("KIND", KINDS_OF_TOKENIZERS[family])
        self.recipe = read_recipe(
            text.replace("TASK", task).replace("LENGTH", str(length)), "tiny", "tiny.toml", overrides
        )
        self.task = resize(find_task(task), "train", 30)
        self.data = open_training(self.recipe.data, self.task, None)
        self.head = head_for(self.recipe, self.data)
        self.tokenizer = train_tokenizer(self.recipe, self.data)
        rows = self.tokenizer.largest_id + 1
        self.model = new_model(self.recipe.model, rows, self.head, 0, torch.device("cpu")).eval()
        self.objective = build_objective(
            self.recipe, self.tokenizer, self.model, self.data, self.head, is_training=True
        )

    def ask(self) -> None:
        """Score the training split as `evalkit run` does."""
        info = ModelInfo(ref="m", name="m", digest="", family=self.recipe.model.family)
        has_windows = self.head.name in ("token_labels", "spans")
        settings = ModelSettings(on_overflow="window" if has_windows else "truncate", batch_size=4)
        adapter = adapter_around(self.model, self.tokenizer, info, settings, self.head.labels)
        spec = RunSpec(task=self.task.name, model=ModelRef(scheme="checkpoint", target="m"), split="train")
        context = runner.task_context(spec, self.task, load(self.task, "train"), adapter)
        adapter.prepare(context)
        kind = KINDS[self.task.kind]
        prompted = context.request_kind in runner.PROMPTED
        requests = [
            kind.request(self.task, row, context.request_kind, runner.render(self.task, row) if prompted else "")
            for row in self.data.examples
        ]
        requests = [replace(one, max_new_tokens=2) if prompted else one for one in requests]
        assert len(list(adapter.answer(requests))) == 30

    def rows(self) -> list[tuple[int, ...]]:
        """The token ids of each thing that is learnt, padding left out."""
        found = []
        for place, length in enumerate(self.objective.lengths):
            ids = self.objective.collate([place], torch.Generator()).tensors["ids"][0].tolist()
            assert self.recipe.model.family == "t5" or len(ids) == length
            found.append(tuple(ids))
        return found


@pytest.mark.parametrize("length", [400, 40])
@pytest.mark.parametrize("task", ENCODED)
def test_an_encoder_learns_the_very_passages_that_it_is_scored_on(task, length, monkeypatch):
    parts = Parts("bert", task, length)
    read = []
    plain = BertStack.read
    monkeypatch.setattr(BertStack, "read", lambda stack, passages: (read.extend(passages), plain(stack, passages))[1])
    parts.ask()
    assert {passage.ids for passage in read} == set(parts.rows())
    wanted = sum(len(passage.wanted) for passage in set(read))
    learnt = {
        ids: len(parts.objective.collate([place], torch.Generator()).tensors["places"])
        for place, ids in enumerate(parts.rows())
    }
    assert sum(learnt.values()) == wanted
    if length == 40 and task == "mini_qa":
        assert len(read) > 60


@pytest.mark.parametrize(("family", "task"), [("t5", "mini_mt_en_zh"), ("t5", "mini_ner"), ("gpt", "mini_qa")])
def test_prompts_are_learnt_as_they_are_shown(family, task, monkeypatch):
    parts = Parts(family, task, 900)
    shown = []
    plain = Generator.generate
    monkeypatch.setattr(Generator, "generate", lambda self, prompts: (shown.extend(prompts), plain(self, prompts))[1])
    parts.ask()
    assert len(shown) > 20
    rows = parts.rows()
    if family == "t5":
        assert {prompt.ids for prompt in shown} == set(rows)
    else:
        assert all(any(row[: len(prompt.ids)] == prompt.ids for row in rows) for prompt in shown)


@pytest.mark.parametrize("task", MINI)
def test_the_answer_that_is_learnt_is_read_back_as_the_gold_one(task):
    spec = resize(find_task(task), "train", 60)
    data = open_training(
        read_recipe(
            RECIPE.replace("TASK", task).replace("FAMILY", "t5").replace("LENGTH", "9").replace("KIND", "unigram"),
            "x",
            "x",
        ).data,
        spec,
        None,
    )
    kind = KINDS[spec.kind]
    for example, shown in zip(data.examples, shown_answers(data, "first"), strict=True):
        for stop in spec.stop:
            assert stop not in shown.answer
        predicted = kind.prediction(spec, example, GenerateResponse(example_id=example.id, text=shown.answer))
        if spec.kind == "qa":
            assert predicted.text == (example.references[0] if example.references else "")
        elif spec.kind in ("mt", "summarization"):
            assert predicted.strip() == example.references[0]
        else:
            assert predicted == example.references[0]


@pytest.mark.parametrize("family", ["gpt", "t5"])
@pytest.mark.parametrize("task", ["mini_mt_en_zh", "mini_mt_zh_en", "mini_ner", "mini_cws"])
def test_the_tokens_that_are_learnt_spell_the_answer_and_end(family, task):
    parts = Parts(family, task, 400, "tokenizer.vocab_size=1200")
    for place, shown in enumerate(shown_answers(parts.data, "first")):
        labels = parts.objective.collate([place], torch.Generator()).tensors["labels"].tolist()
        assert labels[-1] == parts.tokenizer.eos_id
        assert parts.tokenizer.decode(labels).strip() == shown.answer.strip()


def test_a_gpt_learns_the_answer_and_nothing_of_the_prompt():
    parts = Parts("gpt", "mini_mt_zh_en")
    tensors = parts.objective.collate([0], torch.Generator()).tensors
    shown = next(shown_answers(parts.data, "first"))
    prompt = len(parts.tokenizer.ids(shown.prompt))
    assert tensors["places"].tolist() == list(range(prompt - 1, tensors["ids"].shape[1]))
    logprobs = parts.model(tensors["ids"])[0].log_softmax(-1)
    expected = -logprobs[tensors["places"], tensors["labels"]].sum()
    assert parts.objective.loss(parts.model, parts.objective.collate([0], torch.Generator())).total.item() == (
        pytest.approx(expected.item(), rel=1e-5)
    )


def test_examples_of_a_gpt_that_share_a_row_lose_what_they_lose_alone():
    alone, packed = Parts("gpt", "mini_mt_zh_en"), Parts("gpt", "mini_mt_zh_en", 400, "objective.pack=true")
    batches = [parts.objective.collate(range(9), torch.Generator()) for parts in (alone, packed)]
    losses = [alone.objective.loss(alone.model, batch) for batch in batches]
    assert len(batches[1].tensors["ids"]) < 9
    assert losses[0].total.item() == pytest.approx(losses[1].total.item(), rel=1e-5)
    assert losses[0].target_count == losses[1].target_count


@pytest.mark.parametrize("task", ["mini_cws", "mini_ner", "mini_ner_zh"])
def test_gold_tags_come_back_as_the_gold_answer(task):
    spec = find_task(task)
    for example in load(spec, "dev").examples:
        words, tags = words_and_tags(spec, example)
        assert len(words) == len(tags)
        response = LabelResponse(example_id=example.id, labels=tags)
        assert KINDS[spec.kind].prediction(spec, example, response) == example.references[0]


def test_every_word_gets_its_own_tag_across_windows():
    whole, cut = Parts("bert", "mini_ner"), Parts("bert", "mini_ner", 12)
    labels = whole.head.labels
    assert len(cut.objective.lengths) > len(whole.objective.lengths)
    for parts in (whole, cut):
        taught = [
            label
            for place in range(len(parts.objective.lengths))
            for label in parts.objective.collate([place], torch.Generator()).tensors["labels"].tolist()
        ]
        assert [labels[index] for index in taught] == [
            tag for example in parts.data.examples for tag in example.references[0]
        ]


@pytest.mark.parametrize("length", [400, 48])
def test_the_place_that_is_taught_is_the_answer_and_windows_without_it_point_at_the_first_token(length):
    parts = Parts("bert", "mini_qa", length, "tokenizer.vocab_size=900")
    finder, place, with_answer = parts.objective, 0, 0
    for example in parts.data.examples:
        context = parts.tokenizer.encode(example.inputs["context"])
        found = answer_characters(example, parts.data.answer_starts.get(example.id))
        assert (found is None) == (not example.references)
        taught = False
        while place < len(finder.lengths) and finder._items[place].passage in _passages(parts, example):
            item = finder._items[place]
            place += 1
            if (item.first, item.last) == (0, 0):
                continue
            taught = True
            window = next(w for w, p in zip(*_windows(parts, example), strict=True) if p == item.passage)
            start = context.offsets[window.start + item.first - 1][0]
            end = context.offsets[window.start + item.last - 1][1]
            assert example.inputs["context"][start:end] == example.references[0]
            response = SpanResponse(example_id=example.id, text=example.inputs["context"][start:end])
            assert KINDS["qa"].prediction(parts.task, example, response).text in example.references
        assert taught == bool(example.references)
        with_answer += taught
    assert place == len(finder.lengths)
    assert 15 < with_answer < 25


def _windows(parts: Parts, example):
    from evalkit.adapters.encoder.spans import LONGEST_ANSWER, ContextFitter

    fitter = ContextFitter(parts.tokenizer, parts.model.config.max_length, "window", LONGEST_ANSWER)
    question = parts.tokenizer.ids(example.inputs["question"])
    fitted = fitter.fit(question, parts.tokenizer.encode(example.inputs["context"]), example.id)
    return fitted.windows, fitted.passages


def _passages(parts: Parts, example) -> set:
    return set(_windows(parts, example)[1])


def test_the_answer_of_most_annotators_is_taught_where_they_said_it_stands():
    example = load(find_task("mini_qa"), "train").examples[0]
    context = "Bell met Ann. Ann left Bell behind."
    asked = replace(example, inputs={"question": "Who?", "context": context}, references=("Ann", "Bell", "Bell"))
    assert answer_characters(asked, (9, 23, 23)) == (23, 27)
    assert answer_characters(asked, None) == (0, 4)
    # Places where the answer does not stand are passed over.
    assert answer_characters(asked, (2, 3, 4)) == (0, 4)
    assert answer_characters(replace(asked, references=("Carl",)), None) is None


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_losses_of_encoders_are_those_of_a_plain_loop(smoothing):
    for task in ("mini_ner", "mini_qa", "mini_classification"):
        parts = Parts("bert", task, 400, f"objective.label_smoothing={smoothing}")
        together = parts.objective.loss(parts.model, parts.objective.collate(range(6), torch.Generator()))
        total, count = 0.0, 0
        for place in range(6):
            tensors = parts.objective.collate([place], torch.Generator()).tensors
            logits = parts.model(tensors["ids"], None, tensors.get("segments"))
            for values, labels in _targets(task, logits, tensors):
                logprobs = values.log_softmax(-1)
                own = logprobs.gather(-1, labels[:, None])[:, 0]
                total -= ((1 - smoothing) * own + smoothing * logprobs.mean(-1)).sum().item()
                count += len(labels)
        assert together.total.item() == pytest.approx(total, rel=1e-5)
        assert together.target_count == count


def _targets(task, logits, tensors):
    if task == "mini_qa":
        yield logits[0][0][tensors["places"]][None], tensors["starts"]
        yield logits[1][0][tensors["places"]][None], tensors["ends"]
    elif task == "mini_ner":
        yield logits[0][tensors["places"]], tensors["labels"]
    else:
        yield logits, tensors["labels"]


def test_all_acceptable_answers_can_be_learnt():
    first, every = (
        Parts("t5", "mini_summarization", 400, f"objective.references={which}") for which in ("first", "all")
    )
    assert (len(first.objective.lengths), len(every.objective.lengths)) == (30, 60)


def test_a_card_says_how_tags_are_chosen_and_heads_have_the_tasks_labels():
    parts = Parts("bert", "mini_cws")
    assert parts.head.labels == ("B", "M", "E", "S")
    assert card_details(parts.recipe, parts.data) == {"tag_decoding": "constrained"}
    assert Parts("bert", "mini_ner").head.labels == ("O", "B-LOC", "I-LOC", "B-ORG", "I-ORG", "B-PER", "I-PER")
    assert Parts("bert", "mini_classification").head.labels == ("positive", "negative", "neutral")
    assert card_details(parts.recipe, Parts("bert", "mini_qa").data) == {}


@pytest.mark.parametrize(
    ("family", "task", "said"),
    [
        ("bert", "mini_mt_en_zh", "a BERT cannot learn task 'mini_mt_en_zh' of kind 'mt'"),
        ("t5", "mini_lm", "asks for no answer in text"),
        ("bert", None, "the data are text files; name one"),
    ],
)
def test_what_a_family_cannot_learn_is_one_line(family, task, said):
    text = RECIPE.replace("FAMILY", family).replace("KIND", "bpe").replace("LENGTH", "20").replace("TASK", "mini_lm")
    options = read_recipe(text, "x", "x").objective
    with pytest.raises(InvalidInputError, match=said):
        objective_name(options, family, find_task(task) if task else None)
