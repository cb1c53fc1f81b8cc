"""The special tokens around texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The special tokens that a model wants around one text, and around and between two."""

    before: tuple[int, ...] = ()
    """Ids before a text that stands alone."""
    after: tuple[int, ...] = ()
    """Ids after it."""
    pair_before: tuple[int, ...] = ()
    """Ids before the first of two texts."""
    pair_between: tuple[int, ...] = ()
    """Ids between the two."""
    pair_after: tuple[int, ...] = ()
    """Ids after the second."""
    second_segment: int = 0
    """Segment id of the second text and of what stands after it; the first text has 0."""

    def single(self, ids: Sequence[int]) -> list[int]:
        """Put one text into its frame."""
        return [*self.before, *ids, *self.after]

    def pair(self, first: Sequence[int], second: Sequence[int]) -> tuple[list[int], list[int]]:
        """Put two texts into their frame.

        Returns:
            The ids and the segment of each.
        """
        head = [*self.pair_before, *first, *self.pair_between]
        tail = [*second, *self.pair_after]
        return head + tail, [0] * len(head) + [self.second_segment] * len(tail)


def read_frame(processor: Mapping[str, Any] | None) -> Frame | None:
    """Read the special tokens out of a post-processor of a `tokenizer.json`.

    Args:
        processor: The post-processor's JSON; None where there is none.

    Returns:
        The frame, or None where it adds no tokens.
    """
    if processor is None:
        return None
    kind = processor["type"]
    if kind == "Sequence":
        return next((frame for part in processor["processors"] if (frame := read_frame(part))), None)
    if kind in ("BertProcessing", "RobertaProcessing"):
        cls_id, sep_id = (processor["cls"][1],), (processor["sep"][1],)
        between = sep_id if kind == "BertProcessing" else sep_id * 2
        second = int(kind == "BertProcessing")
        return Frame(
            before=cls_id,
            after=sep_id,
            pair_before=cls_id,
            pair_between=between,
            pair_after=sep_id,
            second_segment=second,
        )
    return _read_template(processor) if kind == "TemplateProcessing" else None


def _read_template(processor: Mapping[str, Any]) -> Frame:
    ids = {name: tuple(token["ids"]) for name, token in processor["special_tokens"].items()}
    before, after = _around(processor["single"], ids)
    pair_before, pair_between, pair_after = _around(processor["pair"], ids)
    second = next(part["Sequence"] for part in processor["pair"] if part.get("Sequence", {}).get("id") == "B")
    return Frame(
        before=before,
        after=after,
        pair_before=pair_before,
        pair_between=pair_between,
        pair_after=pair_after,
        second_segment=second["type_id"],
    )


def _around(template: Iterable[Mapping[str, Any]], ids: Mapping[str, tuple[int, ...]]) -> list[tuple[int, ...]]:
    """List what stands before, between and after the texts of a template."""
    gaps: list[tuple[int, ...]] = [()]
    for part in template:
        if "SpecialToken" in part:
            gaps[-1] += ids[part["SpecialToken"]["id"]]
        else:
            gaps.append(())
    return gaps
