import pytest

from evalkit.adapters.engine.stops import TextEnd
from evalkit.requests import GenerateRequest


def first_cut(tokenizer, stop, tokens):
    """The text when a stop string is found first, and after how many tokens."""
    end = TextEnd(tokenizer, stop)
    for count in range(1, len(tokens) + 1):
        text = end.cut(tokens[:count])
        if text is not None:
            return text, count
    return None


PIECES = (b"wharf", b"\n\n", b" end. N", b"ext")


@pytest.mark.parametrize(
    ("stop", "tokens", "expected"),
    [
        # the string is one token, begins in one and ends in the next, or stands inside of one
        (("wharf",), [97, 258, 98], ("a", 2)),
        (("arfa",), [258, 97, 98], ("wh", 2)),
        (("end.",), [97, 260, 261], ("a ", 2)),
        ((". Next",), [260, 261], (" end", 2)),
        (("\n",), [97, 259, 98], ("a", 2)),
        # several strings: the one that stands first in the text, not the one that is listed first
        (("f", "a"), [258], ("wh", 1)),
        (("zz", "b"), [97, 98], ("a", 2)),
        # nothing to find
        (("q",), [97, 98], None),
        ((), [97], None),
        (("",), [97], None),
        # a blank may come from the decoder
        (("e ",), [101, 32], ("", 2)),
    ],
)
def test_the_text_ends_before_the_stop_string(make_tokenizer, stop, tokens, expected):
    assert first_cut(make_tokenizer(PIECES), stop, tokens) == expected


@pytest.mark.parametrize("stop", ["。", "🙂", "é"])
def test_a_stop_string_is_found_once_its_last_byte_is_there(tokenizer, stop):
    tokens = list(f"ab{stop}c".encode())
    assert first_cut(tokenizer, (stop,), tokens) == ("ab", 2 + len(stop.encode()))


def test_a_stop_string_that_ends_inside_of_a_token_of_two_half_characters_is_found(make_tokenizer):
    text = "a。é"
    tokenizer = make_tokenizer((text.encode()[3:5],))  # the last byte of one character and the first of the next
    tokens = [97, 0xE3, 0x80, 258, 0xA9]
    assert tokenizer.decode(tokens) == text
    assert first_cut(tokenizer, ("。",), tokens) == ("a", 4)


def test_half_a_character_does_not_stop_a_text(tokenizer):
    assert first_cut(tokenizer, ("。",), list("a、b".encode())) is None


def test_an_answer_holds_neither_the_stop_string_nor_what_follows(make_gpt, make_tokenizer, make_adapter):
    tokenizer = make_tokenizer(eos_id=None)
    model = make_gpt(seed=2)
    request = GenerateRequest(example_id="a", prompt="Tide", max_new_tokens=20)
    whole = next(make_adapter(model, tokenizer).answer([request])).text
    stop = next(whole[place : place + 2] for place in range(3, 18) if "\ufffd" not in whole[place : place + 2])
    stopped = GenerateRequest(example_id="a", prompt="Tide", max_new_tokens=20, stop=("zzzz", stop))
    answer = next(make_adapter(model, tokenizer).answer([stopped]))
    assert answer.text == whole[: whole.index(stop)]
    assert not answer.truncated


def test_a_stop_string_in_the_prompt_does_not_count(make_gpt, make_adapter):
    model = make_gpt()
    asked = [GenerateRequest(example_id="a", prompt="Tide\n", max_new_tokens=5, stop=stop) for stop in ((), ("e\n",))]
    plain, stopped = make_adapter(model).answer(asked)
    assert plain.text == stopped.text
