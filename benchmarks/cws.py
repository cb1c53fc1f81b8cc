"""Time the bakeoff's word counts against its method: one diff process a line.

    python benchmarks/cws.py [--n LINES] [--rounds N]

Lines have about 24 words with Zipf-like frequencies; a prediction cuts one word in eight apart and joins one pair in eight. With
EVALKIT_DATA_DIR set, the forward-maximum-matching output of its gsdsimp_seg corpus is timed instead.
"""

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

from evalkit.metrics.cws import Cws

Lines = list[str]
TARGET = 20.0
_COMMON = "的了是在我有不人这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天"


def generated(n: int, seed: int) -> tuple[Lines, Lines]:
    """Draw n gold lines and a segmenter's output."""
    source = random.Random(seed)
    alphabet = _COMMON + "".join(chr(0x4E00 + 7 * place) for place in range(1500))
    vocabulary = [
        *_COMMON[:20],
        *("".join(source.choices(alphabet, k=source.choice((1, 2, 2, 2, 3)))) for _ in range(20_000)),
    ]
    weights = list(accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))
    golds, preds = [], []
    for _ in range(n):
        words = source.choices(vocabulary, cum_weights=weights, k=source.randint(6, 42))
        found: list[str] = []
        for word in words:
            change = source.random()
            if change < 0.125 and len(word) > 1:
                found += [word[0], word[1:]]
            elif change > 0.875 and found:
                found[-1] += word
            else:
                found.append(word)
        golds.append("  ".join(words))
        preds.append("  ".join(found))
    return golds, preds


def loaded(folder: Path) -> tuple[Lines, Lines]:
    """Read the real corpus and its forward-maximum-matching output."""
    paths = (folder / "test_gold.utf8", folder / "outputs" / "test_fmm.utf8")
    golds, preds = (path.read_text(encoding="utf-8").splitlines() for path in paths)
    return golds, preds


def matched_by_diff(golds: Lines, preds: Lines) -> int:
    """Count unchanged words with one diff a line, as the bakeoff's script does."""
    matched = 0
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in ("gold", "pred")]
        for pair in zip(golds, preds, strict=True):
            for path, line in zip(paths, pair, strict=True):
                path.write_text("".join(f"{word}\n" for word in line.split()), encoding="utf-8")
            printed = subprocess.run(["diff", *paths], capture_output=True, text=True, check=False).stdout
            matched += len(pair[0].split()) - sum(line.startswith("< ") for line in printed.split("\n"))
    return matched


def seconds(work: Callable[[], int]) -> tuple[float, int]:
    """Measure the wall-clock time of one call; the processor time of child processes would not count."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if shutil.which("diff") is None:
        parser.exit(2, "diff is not installed: install GNU diffutils to time the bakeoff's method\n")
    data = os.environ.get("EVALKIT_DATA_DIR")
    golds, preds = loaded(Path(data, "cws", "gsdsimp_seg")) if data else generated(given.n, seed=1)
    references = [[gold] for gold in golds]
    metric = Cws(variant="sighan")
    best, best_peer = math.inf, math.inf
    for _ in range(given.rounds):
        duration, ours = seconds(lambda: int(metric.statistics(preds, references).total()[0]))
        peer_duration, theirs = seconds(lambda: matched_by_diff(golds, preds))
        best, best_peer = min(best, duration), min(best_peer, peer_duration)
    line = {
        "benchmark": "word segmentation, sighan",
        "n": len(golds),
        "evalkit_s": round(best, 4),
        "peer": "one diff a line",
        "peer_s": round(best_peer, 4),
        "ratio": round(best_peer / best, 1),
        "target": TARGET,
        "equal": ours == theirs,
    }
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
