"""All 36 pairs of nine published WMT22 en-zh systems: evalkit's decisions at 0.05 beside sacrebleu's two paired tests.

    python benchmarks/simulations/wmt22_pairs.py --data-dir DATA --out reports/wmt22_pairs.md

BLEU against each reference and against both. evalkit decides by the randomization test, 10,000 trials, ties counted. sacrebleu
runs with its defaults: paired bootstrap with 1,000 resamples, approximate randomization with 10,000 trials, seed 12345.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from populations import lines_of  # noqa: E402
from sacrebleu.metrics import BLEU  # noqa: E402
from sacrebleu.significance import PairedTest  # noqa: E402

from evalkit.comparison.significance import Measure, Paired, bootstrap, randomize  # noqa: E402
from evalkit.metrics.bleu import Bleu  # noqa: E402

SYSTEMS = (
    "AISP-SJTU",
    "DLUT",
    "HuaweiTSC",
    "JDExploreAcademy",
    "Lan-Bridge",
    "LanguageX",
    "Online-A",
    "Online-B",
    "Online-W",
)
LEVEL = 0.05
REFERENCES = ("AB", "A", "B")
HEADER = (
    "first",
    "second",
    "difference",
    "evalkit randomization",
    "evalkit bootstrap",
    "sacrebleu randomization",
    "sacrebleu bootstrap",
)


@dataclass(frozen=True)
class Pair:
    """Two systems with the p-values of every test."""

    first: str
    second: str
    difference: float
    randomization: float
    bootstrap: float
    their_randomization: float
    their_bootstrap: float

    @property
    def decisions(self) -> tuple[bool, bool, bool, bool]:
        """Which tests reject."""
        values = (self.randomization, self.bootstrap, self.their_randomization, self.their_bootstrap)
        return tuple(p < LEVEL for p in values)  # type: ignore[return-value]

    @property
    def is_agreed(self) -> bool:
        """Whether all tests decide alike."""
        return len(set(self.decisions)) == 1


def compare_all(folder: Path, names: str, trials: int, resamples: int) -> list[Pair]:
    """Test all pairs with every test, against the references of these names."""
    place = folder / "mt" / "wmt22" / "en-zh"
    texts = {name: lines_of(place / f"generaltest2022.en-zh.hyp.{name}.zh.gz") for name in SYSTEMS}
    references = [lines_of(place / f"generaltest2022.en-zh.ref.{name}.zh.gz") for name in names]
    metric = Bleu(language="zh")
    tables = {name: metric.statistics(text, list(zip(*references, strict=True))) for name, text in texts.items()}
    measure = Measure(metric, tables[SYSTEMS[0]].columns, "bleu")
    pairs = []
    for number, first in enumerate(SYSTEMS[:-1]):
        others = SYSTEMS[number + 1 :]
        theirs = {
            kind: _sacrebleu([(name, texts[name]) for name in (first, *others)], references, kind, count)
            for kind, count in (("ar", trials), ("bs", resamples))
        }
        for second in others:
            pair = Paired(measure, (tables[first].rows,), (tables[second].rows,))
            [spread], chance = bootstrap([pair], 10_000, 0), randomize(pair, 10_000, 0)
            assert spread is not None
            assert chance is not None
            pairs.append(
                Pair(
                    first,
                    second,
                    pair.observed(),
                    chance.p,
                    spread.p(),
                    theirs["ar"][second],
                    theirs["bs"][second],
                )
            )
    return pairs


def _sacrebleu(
    systems: list[tuple[str, list[str]]], references: list[list[str]], kind: str, count: int
) -> dict[str, float]:
    """P-values of sacrebleu's test of each system against the first."""
    _, scores = PairedTest(systems, {"BLEU": BLEU(tokenize="zh")}, references, test_type=kind, n_samples=count)()
    results = dict(
        zip(scores["System"], next(values for name, values in scores.items() if name != "System"), strict=True)
    )
    return {name: results[name].p_value for name, _ in systems[1:]}


def main() -> None:
    """Write the table and the explanation of every disagreement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("EVALKIT_DATA_DIR"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--resamples", type=int, default=1000)
    options = parser.parse_args()
    if options.data_dir is None:
        parser.error("name the folder of published data with --data-dir or EVALKIT_DATA_DIR")
    parts = [
        section(names, compare_all(Path(options.data_dir), names, options.trials, options.resamples))
        for names in REFERENCES
    ]
    text = "\n".join([TITLE, *parts, WHY])
    print(text)
    if options.out:
        options.out.write_text(text, encoding="utf-8")


def section(names: str, pairs: list[Pair]) -> str:
    """Lay out the table of one set of references; bold where a test decides otherwise than evalkit's randomization test."""
    pairs = sorted(pairs, key=lambda pair: abs(pair.difference))
    which = f"reference {names}" if len(names) == 1 else "both references"
    lines = [f"## Against {which}", "", f"| {' | '.join(HEADER)} |", "|---|---|" + "---:|" * (len(HEADER) - 2)]
    for pair in pairs:
        values = (pair.randomization, pair.bootstrap, pair.their_randomization, pair.their_bootstrap)
        cells = [
            f"**{p:.4f}**" if decision != pair.decisions[0] else f"{p:.4f}"
            for p, decision in zip(values, pair.decisions, strict=True)
        ]
        lines.append(f"| {pair.first} | {pair.second} | {pair.difference:+.2f} | {' | '.join(cells)} |")
    agreed = sum(pair.is_agreed for pair in pairs)
    lines += ["", f"All four tests decide alike on {agreed} of {len(pairs)} pairs.", ""]
    differing = [explanation(pair) for pair in pairs if not pair.is_agreed]
    return "\n".join([*lines, *differing, *([""] if differing else [])])


def explanation(pair: Pair) -> str:
    """Say why the tests of one pair decide differently."""
    ours, mine, theirs, bootstrapped = pair.decisions
    reasons = []
    if bootstrapped and not ours:
        reasons.append(
            f"sacrebleu's bootstrap rejects with {pair.their_bootstrap:.4f}, about half of the two-sided {pair.bootstrap:.4f}"
            " (see below)"
        )
    if ours and not bootstrapped:
        reasons.append(
            f"sacrebleu's bootstrap has {pair.their_bootstrap:.4f} from 1,000 resamples, above the level by its noise"
        )
    if theirs != ours or mine != ours:
        reasons.append(
            f"the p-values {pair.randomization:.4f}, {pair.bootstrap:.4f} and {pair.their_randomization:.4f} lie on both sides of"
            " 0.05, as close as two tests and two draws of 10,000 can come to it"
        )
    return f"- {pair.first} and {pair.second} ({pair.difference:+.2f}): {'; '.join(reasons)}."


TITLE = """<!-- python benchmarks/simulations/wmt22_pairs.py --data-dir DATA --out reports/wmt22_pairs.md -->
# WMT22 English to Chinese: 36 pairs, four tests

BLEU of nine published systems on 2,037 segments. The cells are p-values, decided at 0.05; bold marks another decision than that
of evalkit's randomization test. Differences are second minus first.
"""

WHY = """## Why sacrebleu's bootstrap is smaller

It resamples the difference of the two systems, takes absolute values, subtracts their mean, and counts how many of these exceed
the observed absolute difference. With an observed difference d and a standard error s, resampled differences spread around d;
where d is well away from 0 their absolute values are the differences themselves, and what is counted is the chance that a normal
deviate exceeds d / s. That is one tail, half of a two-sided p. Its test at 0.05 therefore rejects where a two-sided test has p
below about 0.10, and so it rejects a true null about twice as often as it says. evalkit's bootstrap centres the signed
differences and counts both tails; its p-values and those of both randomization tests differ only by the noise of their draws.

On identical outputs sacrebleu's tests give p = 0.0001 or 0.0010, for they count strictly larger differences only; evalkit's tests
count ties and give 1.
"""


if __name__ == "__main__":
    main()
