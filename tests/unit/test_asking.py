"""From requests to responses: each asked once, in units that the requests alone decide, and kept as they come."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.asking import ACCELERATOR_UNIT, CPU_UNIT, Alone, Asker, Asking, Question, answer_unit, cut, length_of
from evalkit.cache.keys import Keys
from evalkit.cache.opening import open_database
from evalkit.cache.responses import ResponseCache
from evalkit.encoding import REQUESTS
from evalkit.errors import EvalkitError, StoppedError
from evalkit.requests import GenerateRequest, GenerateResponse, ModelInfo, Request, Response
from evalkit.stopping import Stop

EXACT = Keys(model="m", is_exact=True, by_example=False)
LOOSE = Keys(model="m", is_exact=False, by_example=False)


class Model:
    """Answers with the prompt and with how many are asked together, and notes what it was asked."""

    supports = frozenset({"generate"})

    def __init__(self, determined_by="request", device="cpu", fails=(), dies_at=None) -> None:
        self.info = ModelInfo(
            ref="toy", name="toy", digest="d", family="toy", determined_by=determined_by, details={"device": device}
        )
        self.fails, self.dies_at = fails, dies_at
        self.units: list[list[str]] = []

    @property
    def asked(self) -> list[str]:
        return [name for unit in self.units for name in unit]

    def prepare(self, context) -> tuple[str, ...]:
        return ()

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        self.units.append([])
        for request in requests:
            if len(self.asked) == self.dies_at:
                raise EvalkitError("the model broke down")
            self.units[-1].append(request.example_id)
            error = "lost" if request.prompt in self.fails else None
            text = None if error else f"{request.prompt}/{len(requests)}"
            yield GenerateResponse(example_id=request.example_id, text=text, error=error)


def requests(*prompts: str) -> list[Request]:
    return [GenerateRequest(example_id=f"e{place}", prompt=prompt) for place, prompt in enumerate(prompts)]


def ask(model: Model, asked: Sequence[Request], keys=LOOSE, cache=None, stop=None, ticks=None):
    asker = Asker(model, keys, Asking(cache=cache, stop=stop or Stop()))
    return asker, asker.ask(asked, (ticks if ticks is not None else []).append)


@pytest.fixture
def open_cache(tmp_path):
    def make() -> ResponseCache:
        path = tmp_path / "cache.sqlite"
        return ResponseCache(path, open_database(path, pytest.fail), 2**40, pytest.fail)

    return make


@given(st.lists(st.sampled_from("abcd"), max_size=12))
def test_equal_requests_are_asked_once_and_each_example_gets_its_answer(prompts):
    model, ticks = Model(), []
    _, found = ask(model, requests(*prompts), ticks=ticks)
    assert [response.example_id for response in found] == [f"e{place}" for place in range(len(prompts))]
    assert [response.text[0] for response in found] == prompts
    assert len(model.asked) == len(set(prompts))
    assert sum(ticks) == len(prompts)


def test_what_a_file_says_of_an_example_is_its_own_also_where_requests_are_equal(open_cache):
    model = Model(determined_by="file")
    cache = open_cache()
    asker, _ = ask(model, requests("a", "a"), cache=cache)
    assert model.asked == ["e0", "e1"]
    ask(model, requests("a", "a"), cache=cache)
    assert len(model.asked) == 4
    assert asker.cached == 0
    cache.close()


def test_a_second_run_asks_nothing_and_gives_the_same(open_cache):
    cache, model = open_cache(), Model()
    _, first = ask(model, requests("a", "b", "a"), cache=cache)
    asker, second = ask(model, requests("a", "b", "a"), cache=cache)
    assert second == first
    assert asker.cached == 3
    assert len(model.asked) == 2
    cache.close()


def test_of_a_run_that_broke_down_what_was_answered_is_not_asked_again(open_cache):
    cache, prompts = open_cache(), [f"p{number}" for number in range(10)]
    broken = Model(dies_at=7)
    with pytest.raises(EvalkitError, match="broke down"):
        ask(broken, requests(*prompts), cache=cache)
    cache.close()
    cache, model = open_cache(), Model()
    asker, found = ask(model, requests(*prompts), cache=cache)
    assert model.asked == ["e7", "e8", "e9"]
    assert asker.cached == 7
    assert [response.text.split("/")[0] for response in found] == prompts
    cache.close()


@pytest.mark.parametrize(("determined_by", "asked_again"), [("service", ["e1"]), ("batch", [])])
def test_failures_of_a_service_are_tried_again_those_of_a_model_are_not(open_cache, determined_by, asked_again):
    cache = open_cache()
    ask(Model(determined_by, device="cuda", fails=("b",)), requests("a", "b"), cache=cache)
    model = Model(determined_by, device="cuda")
    _, found = ask(model, requests("a", "b"), cache=cache)
    assert model.asked == asked_again
    assert (found[1].error is None) is bool(asked_again)
    cache.close()


class TestUnits:
    """On a CPU what is computed together decides the last bits."""

    PROMPTS = tuple("x" * (1 + number * 7 % 300) + str(number) for number in range(300))

    def test_units_hold_what_is_about_equally_long_and_the_longest_come_first(self):
        model = Model("batch")
        ask(model, requests(*self.PROMPTS), EXACT)
        assert [len(unit) for unit in model.units] == [CPU_UNIT, CPU_UNIT, 300 - 2 * CPU_UNIT]
        lengths = [len(self.PROMPTS[int(name[1:])]) for name in model.asked]
        assert lengths == sorted(lengths, reverse=True)

    def test_a_unit_that_was_half_answered_is_asked_again_as_a_whole(self, open_cache):
        cache = open_cache()
        _, expected = ask(Model("batch"), requests(*self.PROMPTS), EXACT)
        with pytest.raises(EvalkitError):
            ask(Model("batch", dies_at=CPU_UNIT + 100), requests(*self.PROMPTS), EXACT, cache)
        model = Model("batch")
        asker, found = ask(model, requests(*self.PROMPTS), EXACT, cache)
        assert asker.cached == CPU_UNIT
        assert [len(unit) for unit in model.units] == [CPU_UNIT, 300 - 2 * CPU_UNIT]
        assert found == expected, "the very numbers of a run that was not disturbed"
        cache.close()

    def test_answers_that_were_computed_in_other_company_are_not_taken(self, open_cache):
        cache = open_cache()
        ask(Model("batch"), requests(*self.PROMPTS[:50]), EXACT, cache)
        asker, found = ask(Model("batch"), requests(*self.PROMPTS), EXACT, cache)
        assert asker.cached == 0
        assert found == ask(Model("batch"), requests(*self.PROMPTS), EXACT)[1]
        cache.close()

    def test_on_an_accelerator_they_are_since_nothing_is_promised_there(self, open_cache):
        cache = open_cache()
        ask(Model("batch", "cuda"), requests(*self.PROMPTS[:50]), LOOSE, cache)
        asker, _ = ask(Model("batch", "cuda"), requests(*self.PROMPTS), LOOSE, cache)
        assert asker.cached == 50
        cache.close()

    def test_shared_by_several_devices_every_unit_holds_all_lengths(self):
        questions = [Question(one, b"", ()) for one in requests(*("x" * number for number in range(5000)))]
        units = cut(questions, Model("batch", "cuda").info, shares=3)
        assert sorted(len(unit) for unit in units) == [833] * 4 + [834] * 2
        sums = [sum(len(question.request.prompt) for question in unit) for unit in units]
        assert max(sums) < 1.01 * min(sums)
        assert sorted(len(q.request.prompt) for unit in units for q in unit) == list(range(5000))

    def test_few_questions_make_no_empty_units(self):
        questions = [Question(one, b"", ()) for one in requests("a", "b")]
        assert [len(unit) for unit in cut(questions, Model("batch", "cuda").info, shares=8)] == [1, 1]
        assert cut([], Model("batch", "cuda").info, shares=8) == []


class TestStopping:
    def stopped_after(self, number: int) -> tuple[Stop, list[int]]:
        stop, ticks = Stop(), []

        class Ticks(list):
            def append(self, count: int) -> None:
                ticks.append(count)
                if sum(ticks) >= number:
                    stop.ask()

        return stop, Ticks()

    def test_no_further_request_is_asked_and_what_is_answered_stays(self, open_cache):
        cache, model = open_cache(), Model()
        stop, ticks = self.stopped_after(3)
        asker, found = ask(model, requests(*"abcdef"), cache=cache, stop=stop, ticks=ticks)
        assert [response is not None for response in found] == [True] * 3 + [False] * 3
        assert asker.is_stopped
        again = Model()
        ask(again, requests(*"abcdef"), cache=cache)
        assert again.asked == ["e3", "e4", "e5"]
        cache.close()

    def test_what_an_adapter_has_begun_is_answered_and_kept(self, open_cache):
        class Ahead(Model):
            """Begins three requests before it answers the first."""

            def answer(self, requests):
                begun, stopped = [], None
                try:
                    for request in requests:
                        begun.append(request)
                        if len(begun) == 3:
                            yield from super().answer([begun.pop(0)])
                except StoppedError as error:
                    stopped = error
                yield from super().answer(begun)
                if stopped is not None:
                    raise stopped

        cache, model = open_cache(), Ahead()
        stop, ticks = self.stopped_after(2)
        _, found = ask(model, requests(*"abcdefgh"), cache=cache, stop=stop, ticks=ticks)
        assert [response is not None for response in found] == [True] * 4 + [False] * 4
        assert model.asked == ["e0", "e1", "e2", "e3"]
        cache.close()

    @pytest.mark.parametrize(
        ("device", "keys", "size", "number"), [("cpu", EXACT, CPU_UNIT, 300), ("cuda", LOOSE, ACCELERATOR_UNIT, 1500)]
    )
    def test_a_unit_that_is_in_hand_is_finished(self, device, keys, size, number):
        model = Model("batch", device)
        stop, ticks = self.stopped_after(1)
        _, found = ask(model, requests(*map(str, range(number))), keys, stop=stop, ticks=ticks)
        assert len(model.units) == 1
        assert sum(response is not None for response in found) == size


def test_half_characters_have_a_length_too():
    assert all(length_of(kind(example_id="1")) == 0 for kind in REQUESTS.values())
    assert length_of(GenerateRequest(example_id="1", prompt="茶\ud800")) == 6


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda found: found[::-1], "answered 'e1' out of turn"),
        (lambda found: found[:1], "gave 1 answers to 2 requests"),
        (lambda found: [*found, replace(found[0], example_id="e9")], "answered 'e9' out of turn"),
    ],
)
def test_an_adapter_is_held_to_its_promise(change, problem):
    class Odd(Model):
        def answer(self, requests):
            yield from change(list(super().answer(requests)))

    with pytest.raises(EvalkitError, match=problem):
        list(answer_unit(Odd(), requests("a", "b")))


def test_a_response_in_the_cache_that_is_none_is_asked_for_again(open_cache):
    cache, model = open_cache(), Model()
    cache.answers_of("d", "toy")
    cache.put([(LOOSE.request(requests("a")[0]), '["label",{"labels":["O"]}]')])
    _, (found,) = ask(model, requests("a"), cache=cache)
    assert found.text == "a/1"
    cache.close()


def test_alone_gives_each_response_as_it_comes():
    crew = Alone(Model(), is_whole=False)
    unit = [Question(request, b"", (0,)) for request in requests("a", "b")]
    assert [len(answers) for answers in crew.answer([unit], Stop())] == [1, 1]
    whole = Alone(Model(), is_whole=True)
    assert [len(answers) for answers in whole.answer([unit], Stop())] == [2]
