"""Characters that cannot be seen or that move other text (controls, bidi overrides, surrogates), as marks that can be read."""

from __future__ import annotations

import re

from markupsafe import Markup

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_JOINTS = re.compile(r"(?<=[_/:.\-])(?=\w)")
_LONG = 24


def visible(text: str) -> str:
    r"""Replace each such character by its code in brackets; the script of the page does the same.

    >>> visible("a\u202eb")
    'a⟨U+202E⟩b'
    """
    return _HIDDEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)


def comment(text: str) -> Markup:
    """Text for an HTML comment, which it cannot end.

    >>> comment("report --out x --><script>")
    Markup('report --out x --&gt;&lt;script&gt;')
    """
    return Markup(text.replace("<", "&lt;").replace(">", "&gt;"))


def breakable(text: str) -> Markup:
    """Escape a name and let it break: after the marks that join its parts, and within parts that are very long.

    >>> breakable("mini_mt<zh")
    Markup('mini_<wbr>mt&lt;zh')
    """
    parts = (part[at : at + _LONG] for part in _JOINTS.split(text) for at in range(0, len(part), _LONG))
    return Markup("<wbr>").join(parts)
