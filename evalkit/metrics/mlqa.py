"""MLQA: exact match and F1 with each language's punctuation, articles and segmentation."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalkit.errors import UnknownNameError
from evalkit.metrics.qa import AnswerMetric, Compare, Normalized, bag_comparison

_ARTICLES: Mapping[str, str | None] = {
    "en": r"\b(?:a|an|the)\b",
    "es": r"\b(?:un|una|unos|unas|el|la|los|las)\b",
    "hi": None,
    "vi": r"\b(?:của|là|cái|chiếc|những)\b",
    "de": r"\b(?:ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    # The official pattern meant the article at the start of a word; as written it matches inside words as well.
    "ar": "ال",
    "zh": None,
}

_CHINESE_TOKEN = re.compile(r"[\u4e00-\u9fa5]|[^\s\u4e00-\u9fa5]+")


class _WithoutPunctuation(dict[int, int | None]):
    """A table for `str.translate` that looks a character's category up when it is first met."""

    def __missing__(self, code: int) -> int | None:
        character = chr(code)
        is_mark = unicodedata.category(character).startswith("P") or character in string.punctuation
        self[code] = None if is_mark else code
        return self[code]


_PUNCTUATION = _WithoutPunctuation()


@dataclass(frozen=True, kw_only=True)
class Mlqa(AnswerMetric):
    """Exact match and F1 of MLQA in one language, in percent.

    Which characters are punctuation follows the Unicode tables of the running Python, as in the official script.

    References:
        Lewis et al. 2020, "MLQA: Evaluating Cross-lingual Extractive Question Answering", section 4.
    """

    name = "mlqa"
    kinds = ("qa",)
    reference = "MLQA mlqa_evaluation_v1.py"

    lang: str
    """Language of the answers: en, es, hi, vi, de, ar or zh."""

    def __post_init__(self) -> None:
        if self.lang not in _ARTICLES:
            raise UnknownNameError("MLQA language", self.lang, _ARTICLES)

    def comparison(self) -> Compare:
        """Compare normalised texts, and bags of their words; for Chinese, of characters and words between them."""
        return bag_comparison(self.normalize)

    def normalize(self, text: str) -> Normalized:
        """Lowercase, delete punctuation, cut the language's articles, and split.

        >>> Mlqa(lang="zh").normalize("在1998年。").text
        '在 1998 年'
        """
        kept = text.lower().translate(_PUNCTUATION)
        articles = _ARTICLES[self.lang]
        if articles is not None:
            kept = re.sub(articles, " ", kept)
        tokens = _CHINESE_TOKEN.findall(kept) if self.lang == "zh" else kept.split()
        return Normalized(" ".join(tokens), tokens, frozenset(tokens))

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Name the script and the language."""
        return f"metric:mlqa|script:mlqa_evaluation_v1|lang:{self.lang}"
