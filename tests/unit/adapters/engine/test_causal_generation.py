import pytest
import torch

from evalkit.adapters.engine import batching
from evalkit.requests import Decoding, GenerateRequest

PROMPTS = [
    "The ferry",
    "x",
    "渡船在黎明前",
    "A long line about the old pier",
    "No",
    "gulls over the bay",
    "Tide",
    "Salt and rope, rope and salt",
    "na\u00efve",
]


def requests(prompts=PROMPTS, **options):
    return [
        GenerateRequest(example_id=str(place), prompt=prompt, **({"max_new_tokens": 12} | options))
        for place, prompt in enumerate(prompts)
    ]


def greedy_ids(model, ids, limit, eos_id=None):
    """Continue one prompt alone, one whole forward pass a token."""
    new = []
    while len(new) < limit:
        with torch.no_grad():
            token = int(model(torch.tensor([[*ids, *new]]))[0, -1].argmax())
        if token == eos_id:
            break
        new.append(token)
    return new


def greedy_text(model, tokenizer, prompt, limit):
    new = greedy_ids(model, tokenizer.ids_of_each([prompt])[0], limit, tokenizer.eos_id)
    return tokenizer.decode(new), len(new)


def test_greedy_answers_are_those_of_a_loop_without_cache_or_batch(model, tokenizer, make_adapter):
    answers = list(make_adapter(model).answer(requests()))
    assert [(answer.text, answer.token_count) for answer in answers] == [
        greedy_text(model, tokenizer, prompt, 12) for prompt in PROMPTS
    ]


@pytest.mark.parametrize("batch_size", [1, 3, 16, None])
def test_greedy_answers_do_not_depend_on_batch_size_or_order(model, make_adapter, batch_size):
    asked = [*requests(), *requests(max_new_tokens=5), *requests(max_new_tokens=1)]
    expected = list(make_adapter(model, batch_size=2).answer(asked))
    for order in (asked, asked[::-1], asked[1::2] + asked[::2]):
        found = make_adapter(model, batch_size=batch_size).answer(order)
        answers = {id(one): answer for one, answer in zip(order, found, strict=True)}
        assert [answers[id(one)] for one in asked] == expected


def test_answers_come_in_the_order_of_the_requests(model, make_adapter):
    answers = make_adapter(model).answer(requests())
    assert [answer.example_id for answer in answers] == [str(place) for place in range(len(PROMPTS))]


def test_answers_leave_block_by_block(make_gpt, make_adapter, monkeypatch):
    monkeypatch.setattr(batching, "BLOCK", 2)
    adapter = make_adapter(make_gpt())
    seen = []
    read = adapter._stack.read
    adapter._stack.read = lambda packed, cache: seen.append(packed.batch) or read(packed, cache)
    answers = adapter.answer(requests())
    next(answers)
    assert sum(seen) == 2


def test_any_module_with_hidden_and_head_gives_the_same_answers(model, plain, make_adapter):
    assert list(make_adapter(plain(model)).answer(requests())) == list(make_adapter(model).answer(requests()))


def test_equal_prompts_are_continued_once(make_gpt, make_adapter):
    adapter = make_adapter(make_gpt())
    read, count = adapter._stack.read, []
    adapter._stack.read = lambda packed, cache: count.append(packed.batch) or read(packed, cache)
    answers = list(adapter.answer(requests(["one", "two", "one", "one"])))
    assert sum(count) == 2
    assert answers[0].text == answers[2].text == answers[3].text


def test_an_answer_ends_before_the_end_token(make_gpt, make_adapter, make_tokenizer):
    model = make_gpt()
    ids = greedy_ids(model, b"Tide", 12)
    end = ids[3]
    cut = ids.index(end)
    tokenizer = make_tokenizer(eos_id=end)
    answer = next(make_adapter(model, tokenizer).answer(requests(["Tide"])))
    assert (answer.text, answer.token_count, answer.truncated) == (tokenizer.decode(ids[:cut]), cut, False)


def test_an_answer_that_runs_into_its_limit_is_marked(make_gpt, make_adapter, make_tokenizer):
    answer = next(make_adapter(make_gpt(), make_tokenizer(eos_id=None)).answer(requests(["Tide"])))
    assert (answer.token_count, answer.truncated) == (12, True)


def test_an_empty_prompt_stands_behind_the_bos_token(make_gpt, tokenizer, make_adapter):
    model = make_gpt()
    answer = next(make_adapter(model).answer(requests([""])))
    with torch.no_grad():
        first = int(model(torch.tensor([[tokenizer.bos_id]]))[0, -1].argmax())
    assert answer.text.startswith(tokenizer.decode([first]))


def test_the_special_tokens_before_a_text_are_shown_to_the_model(make_gpt, make_tokenizer, make_adapter):
    model = make_gpt()
    framed = next(make_adapter(model, make_tokenizer(before=(65, 66))).answer(requests(["CD"])))
    assert framed.text == next(make_adapter(model).answer(requests(["ABCD"]))).text


def fail_above(stack, name, most, sign):
    """Let a method run out of memory whenever its batch is larger than that."""
    whole = getattr(stack, name)

    def limited(first, *rest):
        if len(first if name == "step" else range(first.batch)) > most:
            raise sign
        return whole(first, *rest)

    setattr(stack, name, limited)


@pytest.mark.parametrize("name", ["read", "step"])
@pytest.mark.parametrize(
    "sign", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("DefaultCPUAllocator: can't allocate memory")]
)
def test_generation_goes_on_with_half_the_batch_after_running_out_of_memory(make_gpt, make_adapter, name, sign):
    expected = list(make_adapter(make_gpt()).answer(requests()))
    adapter = make_adapter(make_gpt())
    fail_above(adapter._stack, name, 2, sign)
    assert list(adapter.answer(requests())) == expected


def test_generation_reports_that_memory_does_not_suffice_for_one_prompt(make_gpt, make_adapter):
    adapter = make_adapter(make_gpt())
    fail_above(adapter._stack, "step", 0, torch.OutOfMemoryError("out of memory"))
    with pytest.raises(batching.EvalkitError, match="out of memory with a single sequence"):
        list(adapter.answer(requests()))


def test_a_batch_size_that_was_asked_for_is_not_halved(make_gpt, make_adapter):
    adapter = make_adapter(make_gpt(), batch_size=4)
    fail_above(adapter._stack, "step", 2, torch.OutOfMemoryError("out of memory"))
    with pytest.raises(batching.EvalkitError, match="out of memory with batch size 4; use a smaller --batch-size"):
        list(adapter.answer(requests()))


def test_other_errors_are_not_taken_for_lack_of_memory(make_gpt, make_adapter):
    adapter = make_adapter(make_gpt())
    fail_above(adapter._stack, "step", 0, RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes do not match"):
        list(adapter.answer(requests()))


def test_prompts_are_read_in_batches_of_the_budget(make_gpt, make_adapter):
    adapter = make_adapter(make_gpt())
    adapter._generator._budget.tokens = 20
    expected = list(make_adapter(make_gpt()).answer(requests()))
    read, sizes = adapter._stack.read, []
    adapter._stack.read = lambda packed, cache: sizes.append(len(packed.ids)) or read(packed, cache)
    assert list(adapter.answer(requests())) == expected
    assert max(sizes) <= max(20, *(len(prompt.encode()) for prompt in PROMPTS))


def test_a_finished_sequence_makes_room_for_the_next_prompt_at_once(make_gpt, make_adapter, make_tokenizer):
    adapter = make_adapter(make_gpt(), make_tokenizer(eos_id=None), batch_size=2)
    step, sizes = adapter._stack.step, []
    adapter._stack.step = lambda ids, cache: sizes.append(len(ids)) or step(ids, cache)
    asked = [
        GenerateRequest(example_id=str(place), prompt=f"{place}", max_new_tokens=limit)
        for place, limit in enumerate([9, 5, 5, 3, 3])
    ]
    list(adapter.answer(asked))
    # 25 new tokens, the first of each from reading the prompt: 20 more in 10 steps of two.
    assert sizes == [2] * 10


def test_beams_and_temperature_exclude_each_other(make_gpt, make_adapter):
    with pytest.raises(ValueError, match="beam search does not sample"):
        make_adapter(make_gpt(), decoding=Decoding(beams=2, temperature=1.0))
