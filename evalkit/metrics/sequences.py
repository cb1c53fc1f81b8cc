"""Checks of examples that are sequences: one prediction and one reference, item by item beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.base import check_corpus


def single_references(predictions: Sequence[Any], references: Sequence[Sequence[Any]]) -> list[Any]:
    """Check the corpus and take the one reference of each example.

    Raises:
        InvalidInputError: Lengths differ, the corpus is empty, or an example has no reference or several.
        InvalidTypeError: A bare string stands where a list of references belongs.
    """
    check_corpus(predictions, references)
    for index, several in enumerate(references):
        if len(several) != 1:
            raise InvalidInputError(f"example {index} has {len(several)} references; expected exactly one")
    return [several[0] for several in references]


def check_sequences(examples: Sequence[Any], side: str, items: str) -> None:
    """Refuse examples that are not lists.

    Args:
        examples: One sequence an example.
        side: ``prediction`` or ``reference``, for the message.
        items: What the sequences hold, for the message, e.g. ``tags``.

    Raises:
        InvalidTypeError: An example is a string, None or anything else that is not a sequence.
    """
    for index, example in enumerate(examples):
        if not isinstance(example, list | tuple) and (
            isinstance(example, str | bytes) or not isinstance(example, Sequence)
        ):
            raise InvalidTypeError(f"{side} {index} is {_short(example)}; expected a list of {items}")


def check_same_lengths(predictions: Sequence[Sequence[Any]], golds: Sequence[Sequence[Any]], items: str) -> None:
    """Refuse examples whose two sequences cannot be compared item by item.

    Raises:
        InvalidInputError: The numbers of items of an example differ.
    """
    for index, (prediction, gold) in enumerate(zip(predictions, golds, strict=True)):
        if len(prediction) != len(gold):
            raise InvalidInputError(
                f"example {index}: the numbers of {items} differ, {len(prediction)} predicted and {len(gold)} in the reference;"
                " expected one for each token"
            )


def sequence_pairs(predictions: Sequence[Any], references: Sequence[Sequence[Any]], items: str) -> list[Any]:
    """Check a corpus of sequences whose lengths need not agree, and take the one reference of each example.

    One flat list of tags in place of a list of sequences is the commonest slip, so that what the predictions are is checked
    before how many there are.

    Raises:
        InvalidInputError: As `single_references`.
        InvalidTypeError: As `single_references`, or an example is not a sequence.
    """
    if not isinstance(predictions, str | bytes):
        check_sequences(predictions, "prediction", items)
    golds = single_references(predictions, references)
    check_sequences(golds, "reference", items)
    return golds


def paired_sequences(
    predictions: Sequence[Any], references: Sequence[Sequence[Any]], items: str
) -> tuple[list[Sequence[Any]], list[Sequence[Any]]]:
    """Check a corpus of sequences that go item by item.

    Returns:
        The predictions and the single references, example by example of equal length.

    Raises:
        InvalidInputError: As `single_references`, or the numbers of items of an example differ.
        InvalidTypeError: As `single_references`, or an example is not a sequence.
    """
    golds = sequence_pairs(predictions, references, items)
    check_same_lengths(predictions, golds, items)
    return list(predictions), golds


def different_tags(predictions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> set[str]:
    """Collect the tags that occur in a checked corpus."""
    tags = set().union(*predictions)
    return tags.union(*(sequence for several in references for sequence in several))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
