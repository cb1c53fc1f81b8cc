"""Runs of made-up systems for the tests of reports: right-or-wrong answers, translations, tags."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evalkit.metrics.bleu import Bleu
from evalkit.metrics.squad import SquadV1
from tests.stored import keep_run

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "quickly"]


def sentences(n: int, seed: int = 0) -> list[str]:
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(WORDS, size=generator.integers(5, 12))) for _ in range(n)]


def disturbed(lines: Sequence[str], share: float, seed: int) -> list[str]:
    """Lines with a share of their words drawn anew."""
    generator = np.random.default_rng(seed)
    return [
        " ".join(str(generator.choice(WORDS)) if generator.random() < share else word for word in line.split())
        for line in lines
    ]


def translation(folder: Path, name: str, share: float, *, n: int = 60, seed: int = 1, **others: Any) -> str:
    """Keep a translation run whose outputs differ from the references in a share of the words."""
    references = sentences(n)
    outputs = disturbed(references, share, seed)
    return keep_run(folder, Bleu(), outputs, [[line] for line in references], name=name, **others)


def answering(folder: Path, name: str, right: Sequence[bool], **others: Any) -> str:
    """Keep a question-answering run that is right where `right` says so."""
    task = {"kind": "qa", "name": "questions", **others.pop("task", {})}
    outputs = ["yes" if is_right else "no" for is_right in right]
    return keep_run(folder, SquadV1(), outputs, [["yes"]] * len(right), name=name, task=task, **others)
