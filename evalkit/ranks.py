"""Several processes, started by torchrun, that answer for one run.

    torchrun --nproc-per-node 2 -m evalkit run --task ... --model FOLDER

Rank 0 leads: it reads the data, asks, measures, keeps and prints. The other ranks open the same model and answer the units that
rank 0 deals out, longest first, to whoever is free. What a unit holds does not depend on who answers it, so several ranks give
the numbers and samples of one. Messages are JSON over gloo; a rank that dies closes its connection, which the others notice.
"""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, NoReturn

from evalkit.asking import Answers, Unit, answer_unit
from evalkit.encoding import request_from_json, request_to_json, response_from_json, response_to_json
from evalkit.errors import EvalkitError, IncompleteError
from evalkit.requests import ModelAdapter
from evalkit.stopping import Stop

LEADER = 0

PATIENCE_VARIABLE = "EVALKIT_RANK_TIMEOUT"
"""Environment variable: seconds after which a rank that still has work counts as lost."""

_PATIENCE_S = 1800.0
_TIMES_LONGEST = 10.0
"""A rank may take so many times longer than the slowest unit so far."""
_AHEAD = 2
"""Units dealt to a rank at once, so that it does not wait while rank 0 is busy."""
_FOREVER = timedelta(days=30)
"""The leader may measure for hours; who dies is noticed without waiting."""
_FAREWELL_S = 10.0
_POLL_S = 0.2


class LostRankError(IncompleteError):
    """A rank died or no longer answers."""


def rank_count() -> int:
    """How many processes torchrun has started for this command; 1 without it."""
    return int(os.environ.get("WORLD_SIZE", "1")) if {"RANK", "MASTER_ADDR", "MASTER_PORT"} <= os.environ.keys() else 1


def is_leader() -> bool:
    """Whether this process is the one that reads, measures and prints."""
    return rank_count() == 1 or int(os.environ["RANK"]) == LEADER


def own_device(name: str) -> str:
    """The device of this rank: of several GPUs each rank of a machine takes its own.

    Args:
        name: Device as the user named it.
    """
    if rank_count() == 1 or name not in ("auto", "cuda"):
        return name
    import torch

    count = torch.cuda.device_count()
    return f"cuda:{int(os.environ.get('LOCAL_RANK', '0')) % count}" if count else name


class Wires:
    """Texts between ranks."""

    def __init__(self) -> None:
        import torch
        from torch import distributed

        self._torch, self._group = torch, distributed
        if not distributed.is_initialized():
            distributed.init_process_group("gloo", timeout=_FOREVER)
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()

    def begin_sending(self, rank: int, text: str) -> Callable[[], None]:
        """Send without waiting for the other side; returns what waits for the end, and must be called."""
        data = text.encode("ascii")
        length = self._torch.tensor([len(data)], dtype=self._torch.int64)
        content = self._torch.frombuffer(bytearray(data), dtype=self._torch.uint8)
        # The tensors must live until the other side has read them.
        works = [(self._group.isend(part, rank), part) for part in (length, content)]

        def finish() -> None:
            for work, _ in works:
                if work is not None:
                    work.wait()
            works.clear()

        return finish

    def receive(self, rank: int) -> str:
        """Wait for a text.

        Raises:
            RuntimeError: The other side is gone.
        """
        length = self._torch.empty(1, dtype=self._torch.int64)
        self._group.recv(length, rank)
        content = self._torch.empty(int(length), dtype=self._torch.uint8)
        self._group.recv(content, rank)
        return content.numpy().tobytes().decode("ascii")

    def close(self) -> None:
        """End the group."""
        self._group.destroy_process_group()


class Leader:
    """Rank 0 as the crew of a run: answers units itself and deals others out.

    Args:
        wires: To the other ranks.
    """

    def __init__(self, wires: Wires) -> None:
        self.size = wires.size
        self._wires = wires
        self._others = [rank for rank in range(wires.size) if rank != LEADER]
        self._inbox: queue.Queue[tuple[int, dict[str, Any] | None]] = queue.Queue()
        self._sending: dict[int, deque[Callable[[], None]]] = {rank: deque() for rank in self._others}
        self._adapter: ModelAdapter | None = None
        self._number = 0
        self._unready: set[int] = set()
        self._lost: set[int] = set()
        self._heard_at = time.monotonic()
        self._longest_s = 0.0
        for rank in self._others:
            threading.Thread(target=self._listen, args=(rank,), daemon=True).start()

    def open(self, order: Mapping[str, Any]) -> None:
        """Let all other ranks open a model."""
        self._number += 1
        self._unready = set(self._others)
        for rank in self._others:
            self._send(rank, {"do": "open", "number": self._number, **order})

    def join(self, adapter: ModelAdapter) -> None:
        """Take part with this rank's own adapter of that model."""
        self._adapter = adapter

    def answer(self, units: Sequence[Unit], stop: Stop) -> Iterator[Answers]:
        """Deal units out in the order in which they come, and answer some here; gives whole units."""
        waiting = deque(enumerate(units))
        dealt: dict[int, set[int]] = {rank: set() for rank in self._others}
        self._heard_at = time.monotonic()
        while self._unready and not stop.is_asked:
            self._take(_POLL_S)
        while True:
            while not stop.is_asked and waiting and (free := _freest(dealt)) is not None:
                self._deal(free, *waiting.popleft(), units_of=dealt)
            is_idle = stop.is_asked or not waiting
            if is_idle and not any(dealt.values()):
                return
            reply = self._take(_POLL_S if is_idle else 0.0)
            if reply is not None:
                rank, number, texts = reply
                dealt[rank].discard(number)
                yield _read_answers(units[number], texts)
            elif not is_idle:
                _, unit = waiting.popleft()
                yield self._answer_here(unit)

    def close(self, patience_s: float) -> None:
        """Let the other ranks end.

        Args:
            patience_s: How long to wait for them.
        """
        left = set(self._others) - self._lost
        for rank in tuple(left):
            with suppress(LostRankError):
                self._send(rank, {"do": "end"})
        deadline = time.monotonic() + patience_s
        while left - self._lost and time.monotonic() < deadline:
            with suppress(queue.Empty):
                rank, reply = self._inbox.get(timeout=_POLL_S)
                if reply is None or "end" in reply:
                    left.discard(rank)
        if not left and not self._lost:
            self._wires.close()

    @property
    def lost(self) -> list[LostRankError]:
        """What there is to say of each rank that is gone."""
        return [
            LostRankError(f"rank {rank} of {self.size} is gone: its connection closed; run the same command again")
            for rank in sorted(self._lost)
        ]

    def _answer_here(self, unit: Unit) -> Answers:
        assert self._adapter is not None
        started = time.monotonic()
        responses = answer_unit(self._adapter, [question.request for question in unit])
        answers = list(zip(unit, responses, strict=True))
        self._heard_at = time.monotonic()
        self._longest_s = max(self._longest_s, self._heard_at - started)
        return answers

    def _deal(self, rank: int, number: int, unit: Unit, units_of: Mapping[int, set[int]]) -> None:
        units_of[rank].add(number)
        requests = [request_to_json(question.request) for question in unit]
        self._send(rank, {"do": "answer", "number": self._number, "unit": number, "requests": requests})

    def _send(self, rank: int, message: Mapping[str, Any]) -> None:
        try:
            self._sending[rank].append(self._wires.begin_sending(rank, json.dumps(message)))
        except RuntimeError:
            self._lose(rank)

    def _take(self, wait_s: float) -> tuple[int, int, Sequence[str]] | None:
        """Take the next answered unit: its rank, its number and its responses; None where there is none yet."""
        try:
            rank, reply = self._inbox.get(block=wait_s > 0, timeout=wait_s or None)
        except queue.Empty:
            if wait_s and time.monotonic() - self._heard_at > self._patience_s():
                raise LostRankError(
                    f"a rank has not answered for {self._patience_s():.0f} s; run the same command again, with"
                    f" {PATIENCE_VARIABLE} set to more seconds if it only needs longer"
                ) from None
            return None
        self._heard_at = time.monotonic()
        if reply is None:
            self._lose(rank)
        self._sending[rank].popleft()()
        if reply["number"] != self._number:
            return None  # An answer to a run that has failed here in the meantime.
        if "error" in reply:
            raise EvalkitError(f"rank {rank}: {reply['error']}")
        if "ready" in reply:
            self._unready.discard(rank)
            return None
        self._longest_s = max(self._longest_s, reply["seconds"])
        return rank, reply["unit"], reply["responses"]

    def _patience_s(self) -> float:
        named = os.environ.get(PATIENCE_VARIABLE, "")
        return float(named) if named.isdecimal() else max(_PATIENCE_S, _TIMES_LONGEST * self._longest_s)

    def _lose(self, rank: int) -> NoReturn:
        self._lost.add(rank)
        raise self.lost[0]

    def _listen(self, rank: int) -> None:
        while True:
            try:
                reply = json.loads(self._wires.receive(rank))
            except (RuntimeError, ValueError):
                self._lost.add(rank)
                self._inbox.put((rank, None))
                return
            self._inbox.put((rank, reply))
            if "end" in reply:
                return


def _freest(dealt: Mapping[int, set[int]]) -> int | None:
    """The rank with the least to do; None where all have enough."""
    rank = min(dealt, key=lambda rank: len(dealt[rank]))
    return rank if len(dealt[rank]) < _AHEAD else None


def _read_answers(unit: Unit, texts: Sequence[str]) -> Answers:
    return [
        (question, response_from_json(text, question.request.kind, question.request.example_id))
        for question, text in zip(unit, texts, strict=True)
    ]


def follow(wires: Wires, open_model: Callable[[Mapping[str, Any]], ModelAdapter]) -> None:
    """Do what rank 0 says until it says that this is the end.

    Args:
        wires: To rank 0.
        open_model: Opens the model of an order, prepared for its task.

    Raises:
        LostRankError: Rank 0 is gone.
    """
    adapter: ModelAdapter | None = None

    def obey(order: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal adapter
        if order["do"] == "open":
            adapter = None  # Two models at once may be too many for the device.
            adapter = open_model(order)
            return {"ready": True}
        started = time.monotonic()
        requests = [request_from_json(text) for text in order["requests"]]
        if adapter is None:
            raise EvalkitError("the model could not be opened")
        responses = [response_to_json(response) for response in answer_unit(adapter, requests)]
        return {"unit": order["unit"], "responses": responses, "seconds": time.monotonic() - started}

    try:
        while (order := json.loads(wires.receive(LEADER)))["do"] != "end":
            try:
                reply = obey(order)
            except EvalkitError as error:
                reply = {"error": str(error)}
            except Exception as error:  # whatever a model may raise: rank 0 tells it
                reply = {"error": f"{type(error).__name__}: {error}"}
            wires.begin_sending(LEADER, json.dumps({"number": order["number"], **reply}))()
        wires.begin_sending(LEADER, json.dumps({"end": True}))()
        wires.close()
    except RuntimeError as error:
        raise LostRankError(f"rank {wires.rank}: rank 0 is gone") from error


@contextmanager
def leading() -> Iterator[Leader | None]:
    """The crew of all ranks, while the context is open; None where this process is alone."""
    if rank_count() == 1:
        yield None
        return
    leader = Leader(Wires())
    patience_s = 0.0
    try:
        yield leader
        patience_s = _FAREWELL_S
    except Exception:
        patience_s = _FAREWELL_S
        raise
    finally:
        leader.close(patience_s)
