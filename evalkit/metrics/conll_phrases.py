"""Phrases as conlleval.pl counts them, for a whole corpus at once.

The script walks through gold and predicted tags together and holds one flag: whether the phrase it is in has been right so far.
Here each position is asked whether it sets or clears that flag, and the latest such position decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evalkit.metrics.chunking import BoolArray, IntArray, Parse, TagPair, neighbours, parse_all, tabulate

_ALPHABET = "OBIE.[]?"


@dataclass(frozen=True, slots=True)
class Phrases:
    """What conlleval.pl counts.

    Attributes:
        types: Names of the T types.
        counts: Shape (n, T, 3): right, predicted and gold phrases of each sentence.
        correct_tokens: Shape (n,): tokens with equal prefix and type.
    """

    types: tuple[str, ...]
    counts: IntArray
    correct_tokens: IntArray


def parse_conlleval(raw: bool) -> Parse:
    """Read tags as the script does: the text before the first hyphen and the text behind it.

    The type ``0`` is lost, because it is false in Perl.
    """

    def parse(tag: str) -> tuple[str, str]:
        if raw and tag != "O":
            prefix, label = "B", tag
        else:
            prefix, _, label = tag.partition("-")
        return prefix, "" if label == "0" else label

    return parse


def _ends(prev: str, cur: str, same: bool) -> bool:
    if prev in "[]" or prev + cur in ("BB", "BO", "IB", "IO", "EE", "EI", "EO"):
        return True
    return prev not in "O." and not same


def _starts(prev: str, cur: str, same: bool) -> bool:
    if cur in "[]" or prev + cur in ("BB", "IB", "OB", "OI", "EE", "EI", "OE"):
        return True
    return cur not in "O." and not same


def count_phrases(pair: TagPair, raw: bool) -> Phrases:
    """Count right, predicted and gold phrases of each type in each sentence."""
    parse = parse_conlleval(raw)
    parsed = parse_all(pair.tags, _ALPHABET, parse)
    # Code 0 is O, whose type is '': what the script holds in front of the first line.
    first = ("O", int(parsed.types[0]))
    gold_pairs, pred_pairs = (neighbours(codes, parsed, _ALPHABET, first) for codes in (pair.gold, pair.pred))
    start_table, end_table = tabulate(_ALPHABET, _starts), tabulate(_ALPHABET, _ends)
    gold_starts, pred_starts = start_table[gold_pairs], start_table[pred_pairs]
    gold_types, pred_types = parsed.types[pair.gold], parsed.types[pair.pred]
    agree = gold_types == pred_types
    right = _closed_right(
        begun=gold_starts & pred_starts & agree,
        gold_ends=end_table[gold_pairs],
        pred_ends=end_table[pred_pairs],
        agree=agree,
    )
    width = len(parsed.names)
    counted = [
        np.bincount(pair.sentence[where] * width + types[where], minlength=pair.count * width)
        for where, types in (
            (right - 1, gold_types),
            (np.flatnonzero(pred_starts), pred_types),
            (np.flatnonzero(gold_starts), gold_types),
        )
    ]
    meanings = {meaning: code for code, meaning in enumerate(dict.fromkeys(map(parse, pair.tags)))}
    meaning_of = np.array([meanings[parse(tag)] for tag in pair.tags])
    equal = pair.inside & (meaning_of[pair.gold] == meaning_of[pair.pred])
    return Phrases(parsed.names, np.stack(counted, axis=-1).reshape(pair.count, width, 3), pair.by_sentence(equal))


def _closed_right(begun: BoolArray, gold_ends: BoolArray, pred_ends: BoolArray, agree: BoolArray) -> IntArray:
    """Positions behind the phrases that are right; the end of the corpus closes a phrase that is still open."""
    agreed_before = np.concatenate(([True], agree[:-1]))
    closing = gold_ends & pred_ends & agreed_before
    clearing = closing | (gold_ends != pred_ends) | ~agree
    places = np.arange(len(begun))
    latest_begun = np.maximum.accumulate(np.where(begun, places, -1))
    latest_cleared = np.maximum.accumulate(np.where(clearing & ~begun, places, -1))
    still_right = latest_begun > latest_cleared
    right_before = np.concatenate(([False], still_right[:-1]))
    closed = np.flatnonzero(closing & right_before)
    return np.append(closed, len(begun)) if still_right[-1] else closed
