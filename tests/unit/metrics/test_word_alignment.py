import random
import shutil
import subprocess
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.metrics.word_alignment import aligned_positions

WORDS = st.lists(st.sampled_from(list("abcde")), max_size=12)
needs_diff = pytest.mark.skipif(shutil.which("diff") is None, reason="diff is not installed")


def aligned(left, right):
    return sorted(left[position] for position in aligned_positions(left, right))


def unchanged_by_diff(left, right, folder):
    """Words of `left` that diff does not report as changed."""
    paths = []
    for name, words in (("left", left), ("right", right)):
        paths.append(folder / name)
        paths[-1].write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    printed = subprocess.run(["diff", *paths], capture_output=True, text=True, check=False).stdout
    changed = Counter(line[2:] for line in printed.split("\n") if line.startswith("< "))
    return sorted((Counter(left) - changed).elements())


def longest_common(left, right):
    row = [0] * (len(right) + 1)
    for word in left:
        previous = row
        row = [0]
        for place, other in enumerate(right):
            row.append(previous[place] + 1 if word == other else max(row[-1], previous[place + 1]))
    return row[-1]


def long_lines(seed):
    """Lines with rare and very frequent words and stretches that share nothing, where diff's shortcuts show."""
    source = random.Random(seed)
    size, count = source.choice([2, 3, 5, 10, 30]), source.choice([10, 40, 150, 400])
    weights = [1 / (rank + 1) ** source.choice([0, 1, 2]) for rank in range(size)]
    left = [f"w{rank}" for rank in source.choices(range(size), weights, k=count)]
    right = []
    for word in left:
        change = source.random()
        if change < 0.2:
            right.append(f"{word}x")
        elif change < 0.4:
            right += [f"q{word}", f"z{source.randint(0, 50)}"]
        elif change > 0.5:
            right.append(word)
    return left, right


@needs_diff
@pytest.mark.parametrize("seed", range(120))
def test_alignment_equals_diff_on_long_lines(seed, tmp_path):
    left, right = long_lines(seed)
    assert aligned(left, right) == unchanged_by_diff(left, right, tmp_path)
    assert aligned(right, left) == unchanged_by_diff(right, left, tmp_path)


@needs_diff
@settings(max_examples=60, deadline=None)
@given(left=WORDS, right=WORDS)
def test_alignment_equals_diff_on_short_lines(left, right, tmp_path_factory):
    assert aligned(left, right) == unchanged_by_diff(left, right, tmp_path_factory.getbasetemp())


def test_diff_shortcuts_do_show_on_the_long_lines():
    losses = [longest_common(*long_lines(seed)) - len(aligned(*long_lines(seed))) for seed in range(0, 40)]
    assert max(losses) > 0
    assert min(losses) == 0


@given(WORDS, WORDS)
def test_short_lines_get_a_longest_common_subsequence(left, right):
    # A word is dropped only behind more than five counterparts, which these lines hardly have.
    if max(Counter(left + right).values(), default=0) <= 5:
        assert len(aligned_positions(left, right)) == longest_common(left, right)


@given(WORDS)
def test_equal_lines_align_in_full(words):
    assert sorted(aligned_positions(words, words)) == list(range(len(words)))


@given(WORDS, WORDS)
def test_aligned_words_are_a_common_subsequence(left, right):
    kept = [left[position] for position in sorted(aligned_positions(left, right))]
    remaining = iter(right)
    assert all(word in remaining for word in kept)


def test_lines_without_a_common_word_do_not_align():
    assert aligned_positions(["a", "b"], ["c"]) == []
    assert aligned_positions([], ["c"]) == []
