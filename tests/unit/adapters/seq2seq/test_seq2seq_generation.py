import pytest
import torch

from evalkit.adapters.engine import batching
from evalkit.requests import Decoding, GenerateRequest, RollingRequest

PROMPTS = [
    "The ferry",
    "x",
    "渡船在黎明前",
    "A long line about the old pier",
    "No",
    "gulls over the bay",
    "Tide",
    "Salt and rope, rope and salt",
    "naïve",
]
ORDERS = [lambda asked: asked, lambda asked: asked[::-1], lambda asked: asked[1::2] + asked[::2]]


def requests(prompts=PROMPTS, **options):
    return [
        GenerateRequest(example_id=str(place), prompt=prompt, **({"max_new_tokens": 12} | options))
        for place, prompt in enumerate(prompts)
    ]


def greedy_ids(model, source, limit, end=1, start=0):
    """Answer one source alone, by whole forward passes of encoder and decoder."""
    new = []
    while len(new) < limit:
        with torch.no_grad():
            token = int(model(torch.tensor([source]), None, torch.tensor([[start, *new]]))[0, -1].argmax())
        if token == end:
            break
        new.append(token)
    return new


def source_of(tokenizer, prompt):
    return [*tokenizer.ids_of_each([prompt])[0], *tokenizer.frame.after]


def test_greedy_answers_are_those_of_a_loop_without_cache_or_batch(model, tokenizer, make_adapter):
    expected = [greedy_ids(model, source_of(tokenizer, prompt), 12) for prompt in PROMPTS]
    answers = list(make_adapter(model).answer(requests()))
    assert [(answer.text, answer.token_count) for answer in answers] == [
        (tokenizer.decode(ids), len(ids)) for ids in expected
    ]
    assert [answer.truncated for answer in answers] == [len(ids) == 12 for ids in expected]


@pytest.mark.parametrize("batch_size", [1, 3, 16, None])
@pytest.mark.parametrize(
    "decoding",
    [Decoding(), Decoding(beams=3), Decoding(temperature=1.0, top_p=0.9), Decoding(repetition_penalty=1.5)],
    ids=["greedy", "beams", "sampled", "penalised"],
)
def test_answers_do_not_depend_on_batch_size_or_order(make_t5, make_adapter, batch_size, decoding):
    model = make_t5()
    asked = [*requests(PROMPTS[:6], max_new_tokens=6), *requests(PROMPTS[3:], max_new_tokens=3)]
    expected = list(make_adapter(model, batch_size=2, decoding=decoding).answer(asked))
    for order in ORDERS:
        found = make_adapter(model, batch_size=batch_size, decoding=decoding).answer(order(asked))
        answers = {id(one): answer for one, answer in zip(order(asked), found, strict=True)}
        assert [answers[id(one)] for one in asked] == expected


def test_an_adapter_answers_long_and_short_prompts_again_and_again(model, make_adapter):
    adapter = make_adapter(model, batch_size=4)
    calls = [
        requests(["ab"] * 2, max_new_tokens=40),
        requests(["o" * 47, "n"], max_new_tokens=2),
        requests(PROMPTS, max_new_tokens=20),
        requests(["e" * 20], max_new_tokens=47),
    ]
    for asked in calls:
        assert list(adapter.answer(asked)) == list(make_adapter(model, batch_size=1).answer(asked))


def test_an_answer_ends_before_the_end_token(make_t5, make_adapter, make_tokenizer, tokenizer):
    model = make_t5()
    ids = greedy_ids(model, source_of(tokenizer, "Tide"), 12, end=None)
    cut = ids.index(ids[4])
    framed = make_tokenizer(eos_id=ids[4])
    answer = next(make_adapter(model, framed).answer(requests(["Tide"])))
    assert (answer.text, answer.token_count, answer.truncated) == (tokenizer.decode(ids[:cut]), cut, False)


def test_an_answer_ends_before_a_stop_string_across_tokens(make_t5, make_adapter, tokenizer):
    model = make_t5()
    with torch.no_grad():
        model.tokens.weight[130:] = 0.0  # leaves only ASCII among the best
    whole = next(make_adapter(model).answer(requests(["Tide"]))).text
    stop = whole[3:5]
    answer = next(make_adapter(model).answer(requests(["Tide"], stop=(stop, "never"))))
    assert (answer.text, answer.truncated) == (whole[: whole.index(stop)], False)


def test_an_answer_is_at_most_as_long_as_the_longest_target(make_t5, make_adapter, make_tokenizer):
    tokenizer = make_tokenizer(eos_id=None)
    answer = next(make_adapter(make_t5(max_length=9), tokenizer).answer(requests(["Tide"], max_new_tokens=500)))
    assert (answer.token_count, answer.truncated) == (9, True)


@pytest.mark.parametrize(("start_id", "expected"), [(None, 70), (101, 101), (0, 0)])
def test_the_decoder_begins_with_the_models_start_token_or_else_the_pad_token(
    make_t5, make_adapter, make_tokenizer, start_id, expected
):
    model, tokenizer = make_t5(start_id=start_id), make_tokenizer(pad_id=70)
    answer = next(make_adapter(model, tokenizer).answer(requests(["Tide"])))
    assert answer.text == tokenizer.decode(greedy_ids(model, source_of(tokenizer, "Tide"), 12, start=expected))


def test_an_empty_prompt_is_its_frame_or_an_end_token(make_t5, make_adapter, make_tokenizer, tokenizer):
    model, bare = make_t5(), make_tokenizer()
    bare.frame.after = ()
    expected = tokenizer.decode(greedy_ids(model, [1], 12))
    assert next(make_adapter(model).answer(requests([""]))).text == expected
    assert next(make_adapter(model, bare).answer(requests([""]))).text == expected


def test_equal_prompts_are_read_once_and_each_source_is_encoded_once(make_t5, make_adapter):
    adapter = make_adapter(make_t5(), decoding=Decoding(beams=3))
    encode, sources = adapter._steps._encode, []
    adapter._steps._encode = lambda run: sources.extend(run.lengths) or encode(run)
    answers = list(adapter.answer(requests(["one", "three", "one", "one"])))
    assert sorted(sources) == [4, 6]
    assert answers[0].text == answers[2].text == answers[3].text


def test_beams_share_the_keys_and_values_of_their_source(make_t5, make_adapter):
    adapter = make_adapter(make_t5(), batch_size=4, decoding=Decoding(beams=3))
    list(adapter.answer(requests()))
    cache = adapter._generator._cache
    assert (cache.slots, cache.sources.slots) == (12, 4)


def test_a_finished_answer_makes_room_for_the_next_prompt_at_once(make_t5, make_adapter, make_tokenizer):
    adapter = make_adapter(make_t5(), make_tokenizer(eos_id=None), batch_size=2)
    step, sizes = adapter._steps.step, []
    adapter._steps.step = lambda ids, cache: sizes.append(len(ids)) or step(ids, cache)
    asked = [
        GenerateRequest(example_id=str(place), prompt=f"{place}", max_new_tokens=limit)
        for place, limit in enumerate([9, 5, 5, 3, 3])
    ]
    list(adapter.answer(asked))
    # 25 new tokens, the first of each from reading the prompt: 20 more in 10 steps of two.
    assert sizes == [2] * 10


@pytest.mark.parametrize("name", ["read", "step"])
@pytest.mark.parametrize("beams", [1, 2])
def test_generation_goes_on_with_half_the_batch_after_running_out_of_memory(make_t5, make_adapter, name, beams):
    decoding = Decoding(beams=beams)
    expected = list(make_adapter(make_t5(), decoding=decoding).answer(requests()))
    adapter = make_adapter(make_t5(), decoding=decoding)
    whole = getattr(adapter._steps, name)

    def limited(first, *rest):
        if len(first if name == "step" else range(first.batch)) > 2 * beams:
            raise torch.OutOfMemoryError("out of memory")
        return whole(first, *rest)

    setattr(adapter._steps, name, limited)
    assert list(adapter.answer(requests())) == expected


def test_a_prompt_that_is_too_long_is_an_error(make_t5, make_adapter):
    adapter = make_adapter(make_t5())
    assert next(adapter.answer(requests(["o" * 47]))).error is None
    with pytest.raises(ValueError, match=r"example '0': the model cannot take a prompt of 49 tokens, .* has 48; use"):
        adapter.answer(requests(["o" * 48]))


def test_a_prompt_that_is_too_long_is_cut_on_the_right_before_the_end_token(make_t5, make_adapter):
    answers = list(make_adapter(make_t5(), on_overflow="truncate").answer(requests(["o" * 47, "o" * 47 + "x" * 9])))
    assert answers[0].text == answers[1].text
    assert answers[1].truncated


def test_a_prompt_that_is_too_long_is_skipped_and_said_to_be(make_t5, make_adapter):
    short, long, other = make_adapter(make_t5(), on_overflow="skip").answer(requests(["ab", "o" * 48, "cd"]))
    assert (long.text, long.error) == (None, "the model cannot take a prompt of 49 tokens, its longest source has 48")
    assert [short.text, other.text] == [one.text for one in make_adapter(make_t5()).answer(requests(["ab", "cd"]))]


def test_no_policy_but_skip_helps_where_the_frame_alone_does_not_fit(make_t5, make_adapter, make_tokenizer):
    framed = make_tokenizer()
    framed.frame.before = (2,) * 8
    with pytest.raises(ValueError, match=r"use --on-overflow skip$"):
        make_adapter(make_t5(max_length=9), framed, on_overflow="truncate").answer(requests(["Tide"]))


def test_an_answer_of_no_token_cannot_be_asked_for(make_t5, make_adapter):
    with pytest.raises(ValueError, match="max_new_tokens is 0; expected at least 1"):
        make_adapter(make_t5()).answer(requests(["Tide"], max_new_tokens=0))


def test_other_requests_are_refused(make_t5, make_adapter):
    adapter = make_adapter(make_t5())
    assert adapter.supports == {"generate", "score"}
    with pytest.raises(ValueError, match="an encoder-decoder cannot answer a 'rolling' request"):
        adapter.answer([RollingRequest(example_id="0", text="Tide")])


def test_there_must_be_a_pad_token(make_t5, make_adapter, make_tokenizer):
    with pytest.raises(ValueError, match="tokenizer of 'toy' has no pad token"):
        make_adapter(make_t5(), make_tokenizer(pad_id=None))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch_size": 0}, "batch size is 0; expected at least 1"),
        ({"on_overflow": "cut"}, "unknown overflow policy 'cut'"),
        ({"decoding": Decoding(beams=0)}, "beams is 0; expected at least 1"),
    ],
)
def test_settings_are_checked(make_t5, make_adapter, settings, message):
    with pytest.raises(ValueError, match=message):
        make_adapter(make_t5(), **settings)


def test_other_models_are_refused(make_adapter):
    with pytest.raises(TypeError, match="Linear is no encoder-decoder; expected T5"):
        make_adapter(torch.nn.Linear(2, 2))


def test_answers_leave_block_by_block(make_t5, make_adapter, monkeypatch):
    monkeypatch.setattr(batching, "BLOCK", 2)
    adapter = make_adapter(make_t5())
    encode, read = adapter._steps._encode, []
    adapter._steps._encode = lambda run: read.extend(run.lengths) or encode(run)
    next(adapter.answer(requests()))
    assert len(read) == 2


def test_half_precision_answers_repeat(make_t5, make_adapter):
    model = make_t5().to(torch.bfloat16)
    decoding = Decoding(beams=2)
    adapter = make_adapter(model, batch_size=4, decoding=decoding)
    answers = list(adapter.answer(requests()))
    assert len(answers) == len(PROMPTS)
    assert list(adapter.answer(requests())) == answers
