"""A stop that comes at a certain moment, for tests of what is interrupted."""

from evalkit.stopping import Stop


class StopAfter(Stop):
    """Asks to stop once it was looked at so many times."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self._left = looks

    @property
    def is_asked(self) -> bool:
        self._left -= 1
        return self._left < 0
