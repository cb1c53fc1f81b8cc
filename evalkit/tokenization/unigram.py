"""Trains the pieces of a Unigram language model, the same ones every time.

The library's own trainer sums in a random order, so its pieces differ from run to run; this one sums in a fixed order.

Letters in shapes: W fragments of one length n, L longest piece, N characters of all fragments, P pieces.

References:
    Kudo (2018), "Subword Regularization: Improving Neural Network Translation Models with Multiple Subword
    Candidates", section 3.2: the model, expectation maximisation, and pruning by loss.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NOTHING = -1
_KEPT_SHARE = 0.75
_MARGIN = 1.1
"""Pieces kept until the last pruning, as a multiple of those wanted: the rounds between prunings drop some too."""
_ROUNDS = 2
_LEAST_COUNT = 0.5
"""Expected count below which a piece is dropped, and to which a character is lifted, since characters have to stay."""


@dataclass(frozen=True)
class _Corpus:
    """Fragments, and the piece that stands at each place."""

    groups: tuple[tuple[Ints, Floats], ...]
    """For each length n: positions of the characters `(W, n)`, and how often each fragment occurs `(W,)`."""
    places: Ints
    """`(N, L)`: index of the piece of l + 1 characters that begins at a position, or -1."""
    pieces: tuple[str, ...]
    """The pieces, characters among them."""
    first: Ints
    """`(P,)`: a position where each piece occurs."""


def _codes(fragments: list[str]) -> Ints:
    joined = "".join(fragments).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(joined, dtype="<u4").astype(np.int64)


def _numbered(keys: Ints, valid: NDArray[np.bool_], weights: Floats, least: float) -> tuple[Ints, Ints, Floats]:
    """Number the keys that weigh enough.

    Returns:
        A number for each place or -1, a place for each number, the weight of each number.
    """
    where = np.flatnonzero(valid)
    _, first, inverse = np.unique(keys[where], return_index=True, return_inverse=True)
    totals = np.bincount(inverse, weights=weights[where], minlength=len(first))
    is_kept = totals >= least
    numbers = np.full(len(first), _NOTHING, dtype=np.int64)
    numbers[is_kept] = np.arange(int(is_kept.sum()))
    placed = np.full(len(keys), _NOTHING, dtype=np.int64)
    placed[where] = numbers[inverse]
    return placed, where[first[is_kept]].astype(np.int64), totals[is_kept].astype(np.float64)


def _seed(fragments: Mapping[str, int], longest: int) -> tuple[_Corpus, Floats]:
    """Take all characters, and all longer strings that occur twice or more, as pieces, with their counts."""
    texts = sorted(fragments, key=lambda text: (len(text), text))
    lengths = np.array([len(text) for text in texts])
    counts = np.array([fragments[text] for text in texts], dtype=np.float64)
    codes = _codes(texts)
    weights = np.repeat(counts, lengths)
    rest = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(codes))
    columns: list[Ints] = []
    firsts: list[Ints] = []
    totals: list[Floats] = []
    names: list[str] = []
    before = np.zeros(len(codes), dtype=np.int64)
    characters = np.zeros(len(codes), dtype=np.int64)
    for length in range(1, longest + 1):
        if length == 1:
            placed, first, total = _numbered(codes, rest > 0, weights, 0.0)
            characters = placed
        else:
            last = np.roll(characters, 1 - length)
            keys = before * (int(characters.max()) + 1) + last
            placed, first, total = _numbered(keys, (rest >= length) & (before >= 0), weights, 2.0)
        columns.append(np.where(placed >= 0, placed + len(names), _NOTHING))
        firsts.append(first)
        totals.append(total)
        names += [codes[index : index + length].astype("<u4").tobytes().decode("utf-32-le") for index in first]
        before = placed
    starts = np.cumsum(lengths) - lengths
    groups = tuple(
        (starts[lengths == n][:, None] + np.arange(n), counts[lengths == n]) for n in np.unique(lengths).tolist()
    )
    corpus = _Corpus(groups, np.stack(columns, axis=1), tuple(names), np.concatenate(firsts))
    return corpus, np.concatenate(totals)


def _kept(corpus: _Corpus, keep: Ints) -> _Corpus:
    """Keep some pieces, in the order given."""
    numbers = np.full(len(corpus.pieces) + 1, _NOTHING, dtype=np.int64)
    numbers[keep] = np.arange(len(keep))
    pieces = tuple(corpus.pieces[index] for index in keep.tolist())
    return _Corpus(corpus.groups, numbers[corpus.places], pieces, corpus.first[keep])


def _edges(places: Ints, scores: Floats, positions: Ints) -> Floats:
    """Look up `(W, n, L)` scores of the pieces that begin at each position; -inf where there is none."""
    edges: Floats = np.append(scores, -np.inf)[places[positions]]
    return edges


def _forward(edges: Floats) -> Floats:
    """Sum, in log space, over all ways to reach each boundary `(W, n + 1)`."""
    width, n, longest = edges.shape
    reached = np.zeros((width, n + 1))
    for end in range(1, n + 1):
        ways = [reached[:, end - size] + edges[:, end - size, size - 1] for size in range(1, min(longest, end) + 1)]
        reached[:, end] = np.logaddexp.reduce(np.stack(ways), axis=0)
    return reached


def _backward(edges: Floats) -> Floats:
    """Sum, in log space, over all ways from each boundary to the end `(W, n + 1)`."""
    width, n, longest = edges.shape
    left = np.zeros((width, n + 1))
    for start in range(n - 1, -1, -1):
        ways = [left[:, start + size] + edges[:, start, size - 1] for size in range(1, min(longest, n - start) + 1)]
        left[:, start] = np.logaddexp.reduce(np.stack(ways), axis=0)
    return left


def _expected_counts(corpus: _Corpus, scores: Floats) -> Floats:
    """Count each piece over all segmentations, weighted by their probabilities `(P,)`."""
    counts = np.zeros(len(scores) + 1)
    longest = corpus.places.shape[1]
    for positions, weights in corpus.groups:
        edges = _edges(corpus.places, scores, positions)
        forward, backward = _forward(edges), _backward(edges)
        n = positions.shape[1]
        for size in range(1, min(longest, n) + 1):
            starts = n - size + 1
            ways = forward[:, :starts] + edges[:, :starts, size - 1] + backward[:, size:]
            share = np.exp(ways - forward[:, -1:]) * weights[:, None]
            found = corpus.places[positions[:, :starts], size - 1]
            counts += np.bincount(found.ravel() % len(counts), weights=share.ravel(), minlength=len(counts))
    return counts[:-1]


def _maximised(corpus: _Corpus, scores: Floats, *, may_drop: bool) -> tuple[_Corpus, Floats, Floats]:
    """Do one round of expectation maximisation.

    Returns:
        The corpus with the pieces that remain, their scores and their expected counts.
    """
    counts = _expected_counts(corpus, scores)
    is_character = np.array([len(piece) == 1 for piece in corpus.pieces])
    counts = np.where(is_character | (not may_drop), np.maximum(counts, _LEAST_COUNT), counts)
    keep = np.flatnonzero(counts >= _LEAST_COUNT)
    counts = counts[keep]
    return _kept(corpus, keep), np.log(counts / counts.sum()), counts


def _losses(corpus: _Corpus, scores: Floats, counts: Floats) -> Floats:
    """Estimate how much less likely the text gets without each piece `(P,)`; infinite for characters."""
    lengths = np.array([len(piece) for piece in corpus.pieces])
    losses = np.full(len(scores), np.inf)
    for length in range(2, corpus.places.shape[1] + 1):
        chosen = np.flatnonzero(lengths == length)
        if not len(chosen):
            continue
        edges = _edges(corpus.places, scores, corpus.first[chosen][:, None] + np.arange(length))
        edges[:, 0, length - 1] = -np.inf
        losses[chosen] = counts[chosen] * (scores[chosen] - _forward(edges)[:, -1])
    return losses


def _pruned(corpus: _Corpus, scores: Floats, counts: Floats, size: int) -> tuple[_Corpus, Floats, Floats]:
    """Keep the pieces that are needed most; the piece itself decides between equals."""
    losses, pieces = _losses(corpus, scores, counts).tolist(), corpus.pieces
    ranked = sorted(range(len(pieces)), key=lambda index: (-losses[index], pieces[index]))
    keep = np.array(sorted(ranked[:size]))
    return _kept(corpus, keep), scores[keep], counts[keep]


def unigram_pieces(fragments: Mapping[str, int], size: int, longest: int) -> list[tuple[str, float]]:
    """Find the pieces under which a text is most likely.

    Args:
        fragments: Strings that no piece may reach across, with how often each occurs.
        size: Number of pieces wanted; fewer come back where the text has not so many repeated strings.
        longest: Longest piece in characters.

    Returns:
        Pieces with natural-log probabilities, likeliest first. All characters are among them, however many there are.
    """
    corpus, counts = _seed(fragments, longest)
    scores = np.log(counts / counts.sum())
    target = max(size, sum(len(piece) == 1 for piece in corpus.pieces))
    while True:
        for _ in range(_ROUNDS):
            corpus, scores, counts = _maximised(corpus, scores, may_drop=True)
        remaining = max(int(target * _MARGIN), int(len(scores) * _KEPT_SHARE))
        if remaining >= len(scores):
            break
        corpus, scores, counts = _pruned(corpus, scores, counts, remaining)
    corpus, scores, counts = _pruned(corpus, scores, counts, target)
    corpus, scores, _ = _maximised(corpus, scores, may_drop=False)
    # Rounded, so that the last bits of a processor's logarithm do not decide the order.
    rounded = [(piece, round(float(score), 6)) for piece, score in zip(corpus.pieces, scores, strict=True)]
    return sorted(rounded, key=lambda item: (-item[1], item[0]))
