"""Continuous batching: a finished sequence leaves the batch, and the next prompt takes its place at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import torch

from evalkit.adapters.engine.batching import Budget, is_out_of_memory, release_memory
from evalkit.adapters.engine.cache import SlotCache
from evalkit.adapters.engine.choosing import Chooser, Prompt, Running
from evalkit.adapters.engine.packing import Tree, pack
from evalkit.adapters.engine.stack import CausalStack
from evalkit.adapters.engine.stops import Generated


class Generator:
    """Continues prompts.

    Args:
        stack: The model.
        chooser: Decides the next tokens.
        budget: How many prompts are continued at once.
    """

    def __init__(self, stack: CausalStack, chooser: Chooser, budget: Budget) -> None:
        self._stack, self._chooser, self._budget = stack, chooser, budget
        self._cache: SlotCache | None = None
        self._places = 1

    def generate(self, prompts: Sequence[Prompt]) -> Iterator[tuple[int, Generated]]:
        """Continue all prompts, those that may become longest first, so that they do not run on alone at the end.

        Yields:
            Index and text, as they get ready.

        Raises:
            EvalkitError: Memory does not suffice for one prompt, or for the batch size that was asked for.
        """
        waiting = deque(
            sorted(range(len(prompts)), key=lambda index: (-prompts[index].limit, -len(prompts[index].ids)))
        )
        while waiting:
            running: list[Running] = []
            try:
                yield from self._rounds(prompts, waiting, running)
            except RuntimeError as error:
                if not is_out_of_memory(error):
                    raise
                self._cache = None
                # What was running begins anew; greedy or seeded, it gives the same text again.
                waiting.extendleft(one.index for one in reversed(running))
                self._budget.halve(error, min(self._places, len(waiting)), self._chooser.rows)
                release_memory()

    @torch.inference_mode()
    def _rounds(
        self, prompts: Sequence[Prompt], waiting: deque[int], running: list[Running]
    ) -> Iterator[tuple[int, Generated]]:
        """Go on until nothing waits or runs; what is in the works when memory runs out stays in `running`."""
        stack, chooser = self._stack, self._chooser
        cache = self._emptied_cache(max(_room(prompts[index]) for index in waiting), len(waiting))
        tokens: list[int] = []
        while waiting or running:
            if waiting and len(running) < self._places:
                tokens += self._admit(prompts, waiting, running, cache)
            else:
                hidden = stack.step(torch.tensor(tokens, device=stack.device), cache)
                tokens, parents = chooser.choose(running, stack.logits(hidden))
                if parents is not None:
                    cache.arrange(parents, min(len(one.prompt.ids) for one in running))
            yield from self._leave(running, tokens, cache)

    def _emptied_cache(self, capacity: int, count: int) -> SlotCache:
        """Choose how many prompts run at once, and give the slots for them."""
        slots = self._budget.slots(capacity * self._stack.token_bytes)
        self._places = slots if self._budget.is_fixed else max(1, slots // self._chooser.rows)
        slots = min(self._places, count) * self._chooser.rows
        cache = self._cache
        if cache is None or cache.capacity < capacity or cache.slots < slots:
            self._cache = None  # before the next one is allocated
            cache = self._cache = self._stack.new_cache(slots, capacity)
        cache.arrange([])
        return cache

    def _admit(
        self, prompts: Sequence[Prompt], waiting: deque[int], running: list[Running], cache: SlotCache
    ) -> list[int]:
        """Read the next prompts into free slots, as many tokens at once as the budget allows.

        Returns:
            The first new token of each of their rows.
        """
        rows, held = self._chooser.rows, len(running)
        tokens = 0
        while waiting and len(running) < self._places:
            prompt = prompts[waiting[0]]
            tokens += len(prompt.ids)
            if len(running) > held and self._budget.tokens is not None and tokens > self._budget.tokens:
                break
            running.append(self._chooser.begin(waiting.popleft(), prompt))
        fresh = running[held:]
        trees = [Tree(one.prompt.ids) for one in fresh]
        last = [[len(tree.trunk) - 1] for tree in trees]
        hidden = self._stack.read(pack(trees, last, self._stack.device), cache)
        logits = self._stack.logits(hidden)
        before = list(range(held * rows))
        if rows > 1:
            cache.arrange(before + [len(before) + row for row in range(len(fresh)) for _ in range(rows)])
            logits = logits.repeat_interleave(rows, dim=0)
        chosen, parents = self._chooser.choose(fresh, logits)
        if parents is not None:
            cache.arrange(before + [len(before) + parent for parent in parents])
        return chosen

    def _leave(self, running: list[Running], tokens: list[int], cache: SlotCache) -> Iterator[tuple[int, Generated]]:
        """Give the complete texts, and fill their places with the last ones in the batch."""
        done = [(one.index, one.answer) for one in running if one.answer is not None]
        if not done:
            return
        count = len(running) - len(done)
        spare = iter([place for place in range(count, len(running)) if running[place].answer is None])
        order = [place if running[place].answer is None else next(spare) for place in range(count)]
        rows = self._chooser.rows
        moved = [place * rows + row for place in order for row in range(rows)]
        cache.arrange(moved)
        running[:] = [running[place] for place in order]
        tokens[:] = [tokens[row] for row in moved]
        yield from done


def _room(prompt: Prompt) -> int:
    """Tokens that a slot must hold; the last new token is never read."""
    return len(prompt.ids) + prompt.limit - 1
