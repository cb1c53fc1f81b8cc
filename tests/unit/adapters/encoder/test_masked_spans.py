"""Answers that are spans of a context: the best one there is, in the user's own characters, or none."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.adapters.encoder.fitting import overlapping_windows
from evalkit.adapters.encoder.spans import FoundSpan, best_span
from evalkit.errors import InvalidInputError
from evalkit.requests import SpanRequest

LONGEST = 24
LOGITS = st.integers(-4, 4).map(float)


def find(adapter, *pairs, allows_no_answer=True):
    requests = [
        SpanRequest(example_id=str(n), question=question, context=context, allows_no_answer=allows_no_answer)
        for n, (question, context) in enumerate(pairs)
    ]
    return list(adapter.answer(requests))


def owner(first, last, windows):
    """Find the window with the most context on a span's shorter side, the first of equals."""
    contexts = [min(first - window.start, window.stop - 1 - last) for window in windows]
    return contexts.index(max(contexts))


def naive_best(starts, ends, borders, place, longest):
    """Search all spans that belong to one window, the earliest and shortest of equals."""
    windows, index = place
    window, best = windows[index], None
    for first in range(len(starts)):
        for last in range(first, min(first + longest, len(starts))):
            if not (borders[window.start + first] and borders[window.start + last]):
                continue
            if owner(window.start + first, window.start + last, windows) != index:
                continue
            score = starts[first] + ends[last]
            if best is None or score > best.score:
                best = FoundSpan(score, window.start + first, window.start + last)
    return best


@given(st.data())
def test_the_best_span_is_that_of_a_search_of_all(data):
    count, longest = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 10))
    starts, ends = (data.draw(st.lists(LOGITS, min_size=count, max_size=count)) for _ in range(2))
    borders = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    found = best_span(torch.tensor(starts), torch.tensor(ends), torch.tensor(borders), ([range(count)], 0), longest)
    assert found == naive_best(starts, ends, borders, ([range(count)], 0), longest)


@settings(deadline=None)
@given(st.data())
def test_every_span_that_may_be_an_answer_is_found_in_one_window_that_gives_it_the_most_context(data):
    length, size, longest = (data.draw(st.integers(1, most)) for most in (40, 12, 6))
    windows = overlapping_windows(length, size, max(1, min(size // 2, size - longest + 1)))
    borders = torch.ones(length, dtype=torch.bool)
    first = data.draw(st.integers(0, length - 1))
    last = data.draw(st.integers(first, min(first + min(longest, size), length) - 1))
    finders = []
    for index, window in enumerate(windows):
        tokens = torch.arange(window.start, window.stop)
        found = best_span((tokens == first).double(), (tokens == last).double(), borders, (windows, index), longest)
        if found is not None and found.score == 2.0:
            assert (found.first, found.last) == (first, last)
            finders.append(index)
    assert finders == [owner(first, last, windows)]


@torch.no_grad()
def naive_answer(model, tokenizer, question, context, longest):
    """Answer by transformers' model, one window at a time, without batches, bands or masks."""
    encoded, asked = tokenizer.encode(context), tokenizer.ids(question)
    borders = [bool(context[start:end].strip()) for start, end in encoded.offsets]
    spans, none_scores = [], []
    size = LONGEST - 3 - len(asked)
    windows = overlapping_windows(len(encoded.ids), size, max(1, min(size // 2, size - longest + 1)))
    for index, window in enumerate(windows):
        head = [tokenizer.cls_id, *asked, tokenizer.sep_id]
        tail = [*encoded.ids[window.start : window.stop], tokenizer.sep_id]
        segments = torch.tensor([[0] * len(head) + [1] * len(tail)])
        outputs = model(input_ids=torch.tensor([head + tail]), token_type_ids=segments)
        starts, ends = outputs.start_logits[0].tolist(), outputs.end_logits[0].tolist()
        none_scores.append(starts[0] + ends[0])
        place = slice(len(head), len(head) + len(window))
        spans.append(naive_best(starts[place], ends[place], borders, (windows, index), longest))
    best = max((span for span in spans if span), key=lambda span: span.score)
    text = context[encoded.offsets[best.first][0] : encoded.offsets[best.last][1]]
    return text, encoded.offsets[best.first][0], 1 / (1 + math.exp(best.score - min(none_scores)))


@pytest.mark.parametrize(
    "context", ["the cafe\u0301 opens", "码头　灯笼 ３5", "tide\twaits 😀", "the ferryman drifts."]
)
def test_answers_are_those_of_transformers_logits(make_adapter, make_pair, wordpiece, context):
    expected = naive_answer(make_pair("spans")[1], wordpiece, "桥?", context, 30)
    [answer] = find(make_adapter("spans", wordpiece), ("桥?", context))
    assert answer.no_answer_probability == pytest.approx(expected[2], abs=1e-4)
    [forced] = find(make_adapter("spans", wordpiece), ("桥?", context), allows_no_answer=False)
    assert (forced.text, forced.start, forced.no_answer_probability) == (*expected[:2], None)
    assert (answer.text, answer.start) == (("", None) if expected[2] > 0.5 else expected[:2])


@pytest.mark.parametrize("longest", [4, 15, 40])
def test_a_long_context_is_searched_through_windows_as_in_a_plain_loop(
    make_adapter, make_pair, wordpiece, write_text, longest
):
    adapter = make_adapter("spans", wordpiece, on_overflow="window", max_answer_tokens=longest)
    for seed in range(1 + 24 // longest):
        context = write_text(45, seed)
        assert len(wordpiece.ids(context)) > 2 * LONGEST
        text, start, chance = naive_answer(make_pair("spans")[1], wordpiece, "桥?", context, longest)
        [forced] = find(adapter, ("桥?", context), allows_no_answer=False)
        assert (forced.text, forced.start, forced.truncated) == (text, start, False)
        [answer] = find(adapter, ("桥?", context))
        assert answer.no_answer_probability == pytest.approx(chance, abs=1e-4)


def test_no_answer_is_given_exactly_where_it_is_more_probable(make_adapter, wordpiece, write_text):
    pairs = [(write_text(1, seed), write_text(4, seed + 50)) for seed in range(40)]
    answers = find(make_adapter("spans", wordpiece, on_overflow="window"), *pairs)
    assert {answer.text == "" for answer in answers} == {True, False}
    for (_, context), answer in zip(pairs, answers, strict=True):
        assert (answer.text == "") == (answer.no_answer_probability > 0.5)
        assert (answer.start is None) == (answer.text == "")
        assert answer.text == "" or context[answer.start :].startswith(answer.text)


@settings(max_examples=40, deadline=None)
@given(
    context=st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
    | st.text("ab 老é\u0301\u200d😀👩\t", max_size=40)
)
def test_an_answer_is_cut_out_of_the_users_own_characters(make_adapter, tokenizers_by_kind, context):
    for tokenizer in tokenizers_by_kind.values():
        [answer] = find(make_adapter("spans", tokenizer, on_overflow="window"), ("桥", context), allows_no_answer=False)
        if answer.start is None:
            assert answer.text == ""
            continue
        assert answer.text == context[answer.start : answer.start + len(answer.text)] != ""
        assert answer.text == answer.text.strip()


def test_an_answer_has_at_most_the_tokens_that_are_allowed(make_adapter, wordpiece, write_text):
    for longest in (1, 2, 3):
        adapter = make_adapter("spans", wordpiece, on_overflow="window", max_answer_tokens=longest)
        for answer in find(adapter, *(("桥", write_text(9, seed)) for seed in range(10)), allows_no_answer=False):
            assert len(wordpiece.ids(answer.text)) <= longest


def test_a_context_without_text_has_no_answer(make_adapter, tokenizer):
    empty, blank, real = find(make_adapter("spans", tokenizer), ("桥", ""), ("桥", " \t"), ("桥", "老人"))
    assert (empty.text, empty.no_answer_probability) == ("", 1.0)
    assert (blank.text, blank.no_answer_probability) == ("", 1.0)
    assert real.no_answer_probability < 1.0
    [forced] = find(make_adapter("spans", tokenizer), ("桥", ""), allows_no_answer=False)
    assert (forced.text, forced.no_answer_probability) == ("", None)


def test_a_long_context_is_refused_by_default_before_any_work(make_adapter, wordpiece):
    with pytest.raises(InvalidInputError, match=r"example '1' has 54 tokens.* takes 24; .*window, truncate or skip"):
        find(make_adapter("spans", wordpiece), ("桥", "桥"), ("桥", "桥" * 50))


def test_a_long_context_can_be_skipped_or_cut(make_adapter, wordpiece):
    pairs = [("桥", "灯笼"), ("桥", "老人" + "桥" * 50)]
    short, long = find(make_adapter("spans", wordpiece, on_overflow="skip"), *pairs)
    assert (short.error, long.text, long.start) == (None, None, None)
    assert long.error == "56 tokens, special ones included, but the model takes 24"
    short, long = find(make_adapter("spans", wordpiece, on_overflow="truncate"), *pairs, allows_no_answer=False)
    assert (short.truncated, long.truncated) == (False, True)
    [cut] = find(make_adapter("spans", wordpiece), ("桥", "老人" + "桥" * 18), allows_no_answer=False)
    assert (long.text, long.start) == (cut.text, cut.start)


def test_a_question_that_leaves_no_room_is_cut_and_that_is_said(make_adapter, wordpiece):
    adapter = make_adapter("spans", wordpiece, on_overflow="window")
    long, short = find(adapter, ("桥" * 60, "老人" * 20), ("桥", "老人" * 20), allows_no_answer=False)
    assert (long.truncated, short.truncated) == (True, False)
    assert long.text
    [alone] = find(adapter, ("桥" * 60, ""))
    assert (alone.text, alone.truncated) == ("", True)
