"""The next tokens of an answer that stands apart from its prompt: a repetition is one within the answer."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from evalkit.adapters.engine.beams import BeamChooser, Beams
from evalkit.adapters.engine.choosing import Chooser, Running, Single, TokenChooser, seen_tokens
from evalkit.adapters.engine.stops import TextTokenizer
from evalkit.requests import Decoding


class TargetTokenChooser(TokenChooser):
    """Chooses as `TokenChooser` does; its repetition penalty is for the start token and the answer's own tokens.

    Args:
        decoding: How.
        tokenizer: Turns tokens into text, and knows the end token.
        start_id: The token that every target begins with.
    """

    def __init__(self, decoding: Decoding, tokenizer: TextTokenizer, start_id: int) -> None:
        super().__init__(decoding, tokenizer)
        self._start_id, self._is_penalised = start_id, decoding.repetition_penalty != 1.0

    def choose(self, running: Sequence[Running], logits: Tensor) -> tuple[list[int], None]:
        """Continue every prompt by one token; see `Chooser.choose`."""
        for one in running if self._is_penalised else ():
            if isinstance(one, Single) and one.seen is None:
                one.seen = seen_tokens([self._start_id], logits)
        return super().choose(running, logits)


class TargetBeamChooser(BeamChooser):
    """Chooses as `BeamChooser` does; its repetition penalty is for the start token and the answer's own tokens.

    Args:
        decoding: How many beams, and the length penalty.
        tokenizer: Turns tokens into text, and knows the end token.
        start_id: The token that every target begins with.
    """

    def __init__(self, decoding: Decoding, tokenizer: TextTokenizer, start_id: int) -> None:
        super().__init__(decoding, tokenizer)
        self._start_id, self._is_penalised = start_id, decoding.repetition_penalty != 1.0

    def choose(self, running: Sequence[Running], logits: Tensor) -> tuple[list[int], list[int]]:
        """Continue every beam by one token; see `Chooser.choose`."""
        for one in running if self._is_penalised else ():
            if isinstance(one, Beams) and one.seen is None:
                one.seen = seen_tokens([self._start_id], logits).repeat(self.rows, 1)
        return super().choose(running, logits)


def choose_targets(decoding: Decoding, tokenizer: TextTokenizer, start_id: int) -> Chooser:
    """Make what decides an encoder-decoder's tokens.

    Args:
        decoding: How.
        tokenizer: Turns tokens into text, and knows the end token.
        start_id: The token that every target begins with.
    """
    if decoding.beams > 1:
        return TargetBeamChooser(decoding, tokenizer, start_id)
    return TargetTokenChooser(decoding, tokenizer, start_id)
