"""Text from tokens that arrive one at a time."""

from collections.abc import Callable, Sequence

_INCOMPLETE = "\ufffd"


class TextStream:
    """Turns tokens into text as they arrive, and holds back a character whose bytes are not all there yet.

    The parts joined are what decoding all tokens at once gives.

    Args:
        decode: Turns ids into text.
    """

    def __init__(self, decode: Callable[[Sequence[int]], str]) -> None:
        self._decode = decode
        self._window: list[int] = []
        # The window opens with tokens that are out already: what a token reads as can depend on its left neighbour.
        self._out = 0

    def _pending(self) -> str:
        known = self._decode(self._window[: self._out])
        return self._decode(self._window)[len(known) :]

    def push(self, token_id: int) -> str:
        """Take one more token.

        Returns:
            The text that is now certain; '' while a character is incomplete.
        """
        self._window.append(token_id)
        text = self._pending()
        if not text or text.endswith(_INCOMPLETE):
            return ""
        self._window = self._window[self._out :]
        self._out = len(self._window)
        return text

    def finish(self) -> str:
        """Give what is left: replacement characters where bytes are missing.

        Returns:
            The rest of the text, often ''.
        """
        text = self._pending()
        self._window, self._out = [], 0
        return text
