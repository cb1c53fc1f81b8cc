"""Which models a ladder has: sizes, lengths and seeds, from a smoke test to a GPU.

Depth, head width and the product of learning rate and width are the same on every rung, initial weights shrink with the root
of the width, and no rung sees the largest model's data twice: what changes between rungs is size and tokens alone.

References:
    Yang et al. (2021), "Tensor Programs V: Tuning Large Neural Networks via Zero-Shot Hyperparameter Transfer": rates and
    initial weights over width.
    Porian et al. (2024), "Resolving Discrepancies in Compute-Optimal Scaling of Language Models": warm-up and rates that fit
    the small sizes too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from evalkit.errors import InvalidInputError, UnknownNameError

RECIPE = "gpt-ladder"
"""The bundled recipe that every rung replaces some values of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """One training."""

    width: int
    """Width of the residual stream."""
    tokens: int
    """Tokens to train on, about."""
    seed: int
    """Seed of weights and order."""

    @property
    def name(self) -> str:
        """Name of its folder."""
        return f"w{self.width}-d{self.tokens}-s{self.seed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A whole ladder."""

    name: str
    """As the user calls it."""
    summary: str
    """What it is for and what it takes, one line."""
    widths: tuple[int, ...]
    """Widths, rising; multiples of `head_width`."""
    tokens: tuple[int, ...]
    """Lengths of training, rising."""
    largest_tokens: Mapping[int, int]
    """Width to its longest training, where that is not the longest of all."""
    seeds: Mapping[int, int]
    """Width to its number of seeds, where that is more than one; at the two shortest lengths only."""
    layers: int
    """Blocks, the same on every rung."""
    head_width: int
    """Width of an attention head."""
    batch_tokens: int
    """Tokens of an optimiser step."""
    lr_times_width: float
    """Highest learning rate times width."""
    texts: int
    """Training texts of the embedded task: enough for the longest training to see none twice."""
    test_texts: int
    """Texts that are scored."""
    processes: int
    """Trainings at once, one thread each."""
    device: str
    """Where they run."""
    note: str = ""
    """What a reader of its report should know, one line."""

    def rungs(self) -> list[Rung]:
        """All trainings, those that take longest first."""
        found = [
            Rung(width=width, tokens=tokens, seed=seed)
            for width in self.widths
            for tokens in self.tokens
            if tokens <= self.largest_tokens.get(width, max(self.tokens))
            for seed in range(self.seeds.get(width, 1) if tokens in self.tokens[:2] else 1)
        ]
        return sorted(found, key=lambda rung: (-rung.tokens * (rung.width**2 + 600), rung.seed))

    def shortened(self, tokens: float) -> Preset:
        """The same models on so many tokens at most: lengths that fit, halved further until there are as many as before."""
        lengths = [length for length in self.tokens if length <= tokens]
        shortest = min(lengths, default=int(tokens))
        lengths = lengths or [shortest]
        while len(lengths) < len(self.tokens):
            shortest //= 2
            lengths.insert(0, shortest)
        longest = {width: min(length, lengths[-1]) for width, length in self.largest_tokens.items()}
        return replace(self, tokens=tuple(lengths), largest_tokens=longest)

    def overrides(self, rung: Rung) -> list[str]:
        """What a rung changes of the recipe, as ``--set`` takes it."""
        return [
            f"model.width={rung.width}",
            f"model.layers={self.layers}",
            f"model.heads={rung.width // self.head_width}",
            f"model.init_std={0.6 / math.sqrt(rung.width):.6g}",
            f"optimizer.lr={self.lr_times_width / rung.width:.6g}",
            f"batch.tokens={self.batch_tokens}",
            f"steps={max(1, round(rung.tokens / self.batch_tokens))}",
            f"seed={rung.seed}",
        ]


_PRESETS = (
    Preset(
        name="smoke",
        summary="plumbing only: nine trainings of a few seconds; its fits mean nothing",
        widths=(8, 16, 32),
        tokens=(10_000, 20_000, 40_000),
        largest_tokens={},
        seeds={},
        layers=2,
        head_width=8,
        batch_tokens=1024,
        lr_times_width=0.25,
        texts=300,
        test_texts=20,
        processes=2,
        device="cpu",
    ),
    Preset(
        name="cpu",
        summary="12k to 200k parameters, 0.12M to 1.9M tokens; about a quarter of an hour on two free cores",
        widths=(16, 24, 32, 48, 64),
        tokens=(131_072, 262_144, 524_288, 1_048_576, 2_097_152),
        largest_tokens={16: 1_048_576, 24: 1_048_576, 48: 1_048_576},
        seeds={32: 3},
        layers=3,
        head_width=8,
        batch_tokens=512,
        lr_times_width=0.25,
        texts=16_000,
        test_texts=1000,
        processes=2,
        device="cpu",
        note="Of the rates 0.12, 0.25 and 0.5 over the width, 0.25 was the best at widths 16 and 64 on 0.27M tokens of mini_lm"
        " version 1.",
    ),
    Preset(
        name="gpu",
        summary="0.4M to 25M parameters, 1.3M to 42M tokens; for one large GPU",
        widths=(64, 96, 128, 192, 256, 384, 512),
        tokens=(1_310_720, 2_621_440, 5_242_880, 10_485_760, 20_971_520, 41_943_040),
        largest_tokens={},
        seeds={128: 3},
        layers=6,
        head_width=16,
        batch_tokens=8192,
        lr_times_width=0.25,
        texts=320_000,
        test_texts=2000,
        processes=4,
        device="cuda",
    ),
)
PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in _PRESETS}
"""The ladders that there are."""


def preset_named(name: str) -> Preset:
    """Give a preset.

    Raises:
        UnknownNameError: There is none of that name.
        InvalidInputError: A width is no multiple of the head width.
    """
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    preset = PRESETS[name]
    for width in preset.widths:
        if width % preset.head_width:
            raise InvalidInputError(f"width {width} of preset {name!r} is no multiple of {preset.head_width}")
    return preset
