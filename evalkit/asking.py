"""From requests to responses: equal ones are asked once, cached ones not at all, the others in units.

A unit is what a model is asked at one go, wherever it runs: it is the grain of the cache and of sharing work out over ranks.
Where numbers depend in their last bits on what is computed together, the requests of a run alone decide what a unit holds, so
that one process or several, a first run or one that goes on, compute the same.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, compress
from typing import Protocol, TypeAlias, overload

from evalkit.cache.keys import Keys
from evalkit.cache.responses import ResponseCache
from evalkit.encoding import response_from_json, response_to_json
from evalkit.errors import EvalkitError, InvalidInputError, StoppedError
from evalkit.requests import (
    ClassifyRequest,
    GenerateRequest,
    LabelRequest,
    ModelAdapter,
    ModelInfo,
    Request,
    Response,
    RollingRequest,
    ScoreRequest,
)
from evalkit.stopping import Stop

TOGETHER = 8192
"""Requests of a run that are looked at together: sorted by length, shared out, held in memory."""

CPU_UNIT, ACCELERATOR_UNIT = 128, 1024
"""Requests of a unit: four times what such a device generates at once. With larger units a run that is killed loses more, with
smaller ones the device waits more often for the last answers of a unit."""


@dataclass(frozen=True, slots=True)
class Question:
    """One request and all who ask the same."""

    request: Request
    key: bytes
    """Under which the response is cached."""
    places: tuple[int, ...]
    """Where equal requests stand among those that were asked for."""


Unit: TypeAlias = Sequence[Question]
Answers: TypeAlias = Sequence[tuple[Question, Response]]
"""Responses that become known together, and are cached together or not at all."""


class Crew(Protocol):
    """Who answers units: this process alone, or several ranks."""

    @property
    def size(self) -> int:
        """How many answer at once."""
        ...

    def answer(self, units: Sequence[Unit], stop: Stop) -> Iterator[Answers]:
        """Answer units in any order; once `stop` is asked for, no new one is begun."""
        ...


class Alone:
    """This process answers everything.

    Args:
        adapter: The model.
        is_whole: Whether the answers of a unit become known together; otherwise each does as soon as the model gives it.
    """

    size = 1

    def __init__(self, adapter: ModelAdapter, *, is_whole: bool) -> None:
        self._adapter, self._is_whole = adapter, is_whole
        # Of what is computed together much is done before the first answer can leave.
        self._finishes_units = adapter.info.determined_by == "batch"

    def answer(self, units: Sequence[Unit], stop: Stop) -> Iterator[Answers]:
        """Answer one unit after the other."""
        for unit in units:
            if stop.is_asked:
                return
            requests: Sequence[Request] = [question.request for question in unit]
            if not self._finishes_units:
                requests = _UntilStopped(requests, stop)
            # What is stopped has answered what was in hand.
            with suppress(StoppedError), closing(answer_unit(self._adapter, requests)) as responses:
                pairs = zip(unit, responses, strict=True)
                if self._is_whole:
                    yield list(pairs)
                    continue
                for pair in pairs:
                    yield [pair]


class _UntilStopped(Sequence[Request]):
    """Requests that an adapter takes one after the other, as it begins them.

    Args:
        requests: All of them.
        stop: Whether someone wants the run to end.

    Raises:
        StoppedError: While they are taken: no further one is wanted, but answers to those that were taken are.
    """

    def __init__(self, requests: Sequence[Request], stop: Stop) -> None:
        self._requests, self._stop = requests, stop

    def __len__(self) -> int:
        return len(self._requests)

    def __iter__(self) -> Iterator[Request]:
        for request in self._requests:
            if self._stop.is_asked:
                raise StoppedError("no further request is wanted")
            yield request

    @overload
    def __getitem__(self, place: int) -> Request: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Request]: ...
    def __getitem__(self, place: int | slice) -> Request | Sequence[Request]:
        return self._requests[place]


def answer_unit(adapter: ModelAdapter, requests: Sequence[Request]) -> Generator[Response, None, None]:
    """Let an adapter answer, and hold it to its promise.

    Raises:
        EvalkitError: Other ids, another order, or another number of responses.
    """
    place = 0
    for response in adapter.answer(requests):
        if place == len(requests) or response.example_id != requests[place].example_id:
            raise EvalkitError(f"adapter {adapter.info.ref!r} answered {response.example_id!r} out of turn")
        place += 1
        yield response
    if place != len(requests):
        raise EvalkitError(f"adapter {adapter.info.ref!r} gave {place} answers to {len(requests)} requests")


@dataclass(frozen=True, slots=True)
class Asking:
    """How a run asks its model."""

    cache: ResponseCache | None = None
    """Where responses are kept; None for nowhere."""
    crew: Crew | None = None
    """Who answers; None for this process alone."""
    stop: Stop = field(default_factory=Stop)
    """Whether someone wants the run to end."""


class Asker:
    """Asks a model on behalf of one run.

    Attributes:
        cached: Examples that were answered from the cache so far.

    Args:
        adapter: The model, prepared for the task.
        keys: Make the keys of its responses.
        asking: Cache, crew, and whether to go on.
    """

    def __init__(self, adapter: ModelAdapter, keys: Keys, asking: Asking) -> None:
        self.cached = 0
        self._info, self._keys = adapter.info, keys
        self._crew = asking.crew or Alone(adapter, is_whole=keys.is_exact)
        self._stop = asking.stop
        # What a file says of an example is found by the example's id, and faster there.
        self._is_by_id = self._info.determined_by == "file"
        self._cache = None if self._is_by_id else asking.cache
        if self._cache is not None:
            self._cache.answers_of(self._info.digest, self._info.name)

    @property
    def name(self) -> str:
        """Short name of the model."""
        return self._info.name

    @property
    def is_stopped(self) -> bool:
        """Whether no more will be asked."""
        return self._stop.is_asked

    @property
    def together(self) -> int:
        """How many requests should be asked together: as many for each device, unless that would change last bits."""
        return TOGETHER if self._keys.is_exact else TOGETHER * self._crew.size

    def ask(self, requests: Sequence[Request], tick: Callable[[int], None]) -> list[Response | None]:
        """Answer requests.

        Args:
            requests: `together` of them, or what is left.
            tick: Is told, as answers become known, how many more examples have one.

        Returns:
            One response a request, in order; None for those that were not asked before the run was stopped.
        """
        responses: list[Response | None] = [None] * len(requests)

        def settle(answers: Answers) -> int:
            """Give responses to all that asked for them; says how many that were."""
            places = [(place, response) for question, response in answers for place in question.places]
            for place, response in places:
                example_id = requests[place].example_id
                same = response.example_id == example_id
                responses[place] = response if same else replace(response, example_id=example_id)
            tick(len(places))
            return len(places)

        known, unknown = self._recall(self._questions(requests))
        self.cached += settle(known)
        try:
            for answers in self._crew.answer(unknown, self._stop):
                settle(answers)
                self._keep(answers)
        finally:
            if self._cache is not None:
                self._cache.flush()
        return responses

    def _questions(self, requests: Sequence[Request]) -> list[Question]:
        if self._is_by_id:
            return [Question(request, b"", (place,)) for place, request in enumerate(requests)]
        places: dict[bytes, list[int]] = {}
        for place, request in enumerate(requests):
            places.setdefault(self._keys.request(request), []).append(place)
        return [Question(requests[mine[0]], key, tuple(mine)) for key, mine in places.items()]

    def _recall(self, questions: Sequence[Question]) -> tuple[Answers, Sequence[Unit]]:
        """Split questions into those that the cache knows the answers to, and units of the others."""
        if self._cache is None:
            return [], self._cut(questions)
        if not self._keys.is_exact:
            known = _known(questions, self._cache.find([question.key for question in questions]))
            found = {question.key for question, _ in known}
            return known, self._cut([one for one in questions if one.key not in found])
        units = [self._keyed_together(unit) for unit in self._cut(questions)]
        contents = self._cache.find([question.key for unit in units for question in unit])
        recalled = [_known(unit, contents) for unit in units]
        # A part of a unit would be rounded otherwise than the whole: all of it is known, or none.
        is_known = [len(known) == len(unit) for known, unit in zip(recalled, units, strict=True)]
        return (
            list(chain.from_iterable(compress(recalled, is_known))),
            [unit for unit, whole in zip(units, is_known, strict=True) if not whole],
        )

    def _cut(self, questions: Sequence[Question]) -> list[Unit]:
        return cut(questions, self._info, 1 if self._keys.is_exact else self._crew.size)

    def _keyed_together(self, unit: Unit) -> Unit:
        keys = self._keys.together([question.key for question in unit])
        return [replace(question, key=key) for question, key in zip(unit, keys, strict=True)]

    def _keep(self, answers: Answers) -> None:
        if self._cache is not None:
            self._cache.put(
                (question.key, response_to_json(response))
                for question, response in answers
                # A model that skips a text will always do so; a service that failed may not fail again.
                if response.error is None or self._info.determined_by == "batch"
            )


def cut(questions: Sequence[Question], info: ModelInfo, shares: int = 1) -> list[Unit]:
    """Cut questions into units.

    Of a model that computes in batches those of similar length come together, longest first; where several devices share
    them, every unit holds all lengths, so that the units take equally long.

    Args:
        questions: The questions.
        info: The model.
        shares: How many devices share them, as far as that may change what is computed together.
    """
    if info.determined_by != "batch":
        return [questions] if questions else []
    size = CPU_UNIT if info.device_type == "cpu" else ACCELERATOR_UNIT
    in_order = sorted(questions, key=lambda question: -length_of(question.request))
    if shares == 1:
        return [in_order[start : start + size] for start in range(0, len(in_order), size)]
    number = min(len(in_order), shares * -(-len(in_order) // (shares * size)))
    return [in_order[start::number] for start in range(number)]


def length_of(request: Request) -> int:
    """About how long a request is for a model, in bytes: closer to tokens than characters, over several scripts."""
    if isinstance(request, GenerateRequest):
        return len(request.prompt.encode("utf-8", "surrogatepass"))
    if isinstance(request, ScoreRequest):
        return _bytes(request.context, *request.continuations)
    if isinstance(request, RollingRequest):
        return _bytes(request.text)
    if isinstance(request, LabelRequest):
        return _bytes(*request.tokens)
    if isinstance(request, ClassifyRequest):
        return _bytes(request.text, request.text_pair or "")
    return _bytes(request.question, request.context)


def _bytes(*texts: str) -> int:
    return sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)


def _known(questions: Sequence[Question], contents: Mapping[bytes, str]) -> list[tuple[Question, Response]]:
    found = []
    for question in questions:
        content = contents.get(question.key)
        # What a hand has written may have a seal and still be no response; it is asked for again.
        with suppress(InvalidInputError):
            if content is not None:
                request = question.request
                found.append((question, response_from_json(content, request.kind, request.example_id)))
    return found
