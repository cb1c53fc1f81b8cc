"""Rank 0 deals units out and takes answers from whoever is ready; other ranks obey, tell their errors, and may die."""

import json
import queue
import threading
import time

import pytest

from evalkit import ranks
from evalkit.asking import Question
from evalkit.encoding import request_to_json
from evalkit.errors import EvalkitError
from evalkit.ranks import Leader, LostRankError, follow, is_leader, own_device, rank_count
from evalkit.requests import GenerateRequest, GenerateResponse, ModelInfo
from evalkit.stopping import Stop


class Cables:
    """Queues in place of connections: `ends[r]` is what rank r holds."""

    class End:
        def __init__(self, rank: int, size: int, lines: dict) -> None:
            self.rank, self.size, self.lines = rank, size, lines
            self.is_dead = False

        def begin_sending(self, rank, text):
            if self.is_dead:
                raise RuntimeError("connection closed")
            self.lines[self.rank, rank].put(text)
            return lambda: None

        def receive(self, rank):
            try:
                text = self.lines[rank, self.rank].get(timeout=10)
            except queue.Empty:
                text = None
            if text is None:
                raise RuntimeError("connection closed by peer")
            return text

        def close(self):
            self.is_dead = True

        def die(self):
            """What the others notice when the process is killed."""
            for (sender, _), line in self.lines.items():
                if sender == self.rank:
                    line.put(None)

    def __init__(self, size: int) -> None:
        lines = {(a, b): queue.Queue() for a in range(size) for b in range(size) if a != b}
        self.ends = [self.End(rank, size, lines) for rank in range(size)]


class Model:
    """Answers in upper case, slowly if it should, and notes what it was asked."""

    supports = frozenset({"generate"})
    info = ModelInfo(ref="toy", name="toy", digest="d", family="toy")

    def __init__(self, pause_s: float = 0.0) -> None:
        self.pause_s, self.asked = pause_s, []

    def prepare(self, context):
        return ()

    def answer(self, requests):
        for request in requests:
            if request.prompt == "bad":
                raise EvalkitError("too long")
            if request.prompt == "bug":
                raise ZeroDivisionError("division by zero")
            time.sleep(self.pause_s)
            self.asked.append(request.prompt)
            yield GenerateResponse(example_id=request.example_id, text=request.prompt.upper())


def units(*prompts: str):
    return [[Question(GenerateRequest(example_id=p, prompt=p), b"", (place,))] for place, p in enumerate(prompts)]


class Team:
    """A leader with followers in threads."""

    def __init__(self, models, opens=None) -> None:
        self.cables = Cables(len(models))
        self.models, self.errors, self.orders = models, {}, []
        self.leader = Leader(self.cables.ends[0])
        self.threads = [
            threading.Thread(target=self._follow, args=(rank, opens), daemon=True) for rank in range(1, len(models))
        ]
        for thread in self.threads:
            thread.start()

    def _follow(self, rank, opens):
        def open_model(order):
            self.orders.append(order)
            if opens is not None:
                opens()
            return self.models[rank]

        try:
            follow(self.cables.ends[rank], open_model)
        except LostRankError as error:
            self.errors[rank] = error

    def answer(self, asked, stop=None):
        self.leader.open({"task": 0, "model": "toy"})
        self.leader.join(self.models[0])
        return self.leader.answer(asked, stop or Stop())


def texts(found) -> dict[str, str]:
    return {question.request.prompt: response.text for answers in found for question, response in answers}


def test_every_unit_is_answered_once_by_some_rank():
    team = Team([Model(0.001) for _ in range(3)])
    prompts = [f"p{number}" for number in range(60)]
    assert texts(team.answer(units(*prompts))) == {prompt: prompt.upper() for prompt in prompts}
    asked = [prompt for model in team.models for prompt in model.asked]
    assert sorted(asked) == sorted(prompts)
    assert all(len(model.asked) > 5 for model in team.models)
    team.leader.close(5)
    for thread in team.threads:
        thread.join(5)
        assert not thread.is_alive()
    assert team.errors == {}


def test_a_slow_rank_gets_less_to_do():
    team = Team([Model(0.001), Model(0.05)])
    texts(team.answer(units(*[f"p{number}" for number in range(60)])))
    assert len(team.models[1].asked) < 15


def test_all_ranks_open_the_model_before_the_first_unit_is_dealt():
    team = Team([Model(), Model()], opens=lambda: time.sleep(0.1))
    assert texts(team.answer(units("a"))) == {"a": "A"}
    assert [(order["do"], order["model"]) for order in team.orders] == [("open", "toy")]


@pytest.mark.parametrize(("prompt", "problem"), [("bad", "rank 1: too long"), ("bug", "ZeroDivisionError")])
def test_the_error_of_a_rank_ends_the_run_and_the_next_run_goes_on(prompt, problem):
    team = Team([Model(0.05), Model()])
    with pytest.raises(EvalkitError, match=problem):
        texts(team.answer(units(prompt, "a", "b", "c")))
    assert texts(team.answer(units("d", "e", "f"))) == {"d": "D", "e": "E", "f": "F"}


def test_a_rank_that_cannot_open_the_model_ends_the_run():
    def opens():
        raise EvalkitError("no such folder")

    team = Team([Model(), Model()], opens=opens)
    with pytest.raises(EvalkitError, match="rank 1: no such folder"):
        texts(team.answer(units("a")))


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_rank_that_dies_ends_the_run_instead_of_being_waited_for(when):
    team = Team([Model(0.05), Model(0.2)])
    stream = team.answer(units(*"abcdef"))
    if when == "during":
        next(stream)
    team.cables.ends[1].die()
    with pytest.raises(LostRankError, match="rank 1 of 2 is gone: its connection closed; run the same command again"):
        texts(stream)
    started = time.monotonic()
    team.leader.close(5)
    assert time.monotonic() - started < 1, "nobody is left to wait for"


def test_a_rank_that_falls_silent_is_given_up_after_the_time_that_was_set(monkeypatch):
    monkeypatch.setenv(ranks.PATIENCE_VARIABLE, "0")
    team = Team([Model(), Model(3.0)])
    with pytest.raises(LostRankError, match=r"has not answered for 0 s; .*EVALKIT_RANK_TIMEOUT"):
        texts(team.answer(units("a", "b", "c")))


def test_followers_notice_that_rank_0_is_gone():
    team = Team([Model(), Model()])
    team.cables.ends[0].die()
    team.threads[0].join(5)
    assert str(team.errors[1]) == "rank 1: rank 0 is gone"


def test_when_asked_to_stop_what_is_dealt_is_finished_and_no_more_begun():
    team, stop = Team([Model(0.02), Model(0.02)]), Stop()
    found = []
    for answers in team.answer(units(*[f"p{number}" for number in range(50)]), stop):
        found += answers
        stop.ask()
    assert 1 <= len(found) <= 4
    assert len(found) == sum(len(model.asked) for model in team.models)


def test_messages_hold_half_characters():
    request = GenerateRequest(example_id="\ud800", prompt="茶\udfff")
    assert json.dumps({"requests": [request_to_json(request)]}).isascii()


def test_without_torchrun_there_is_one_rank_and_it_leads(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert (rank_count(), is_leader(), own_device("auto")) == (1, True, "auto")
    monkeypatch.setenv("WORLD_SIZE", "4")  # Left over from something else.
    assert rank_count() == 1


def test_with_torchrun_rank_0_leads_and_named_devices_stay_named(monkeypatch):
    for name, value in {"RANK": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "x", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    assert (rank_count(), is_leader()) == (4, False)
    assert own_device("cpu") == "cpu"
    assert own_device("cuda:1") == "cuda:1"
    monkeypatch.setenv("RANK", "0")
    assert is_leader()
