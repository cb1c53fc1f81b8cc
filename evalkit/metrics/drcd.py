"""DRCD by its authors' convention: SQuAD 1.1 over characters, with eight full-width marks deleted as well."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from evalkit.metrics.qa import AnswerMetric, Compare, Normalized, bag_comparison
from evalkit.metrics.squad import without_articles

_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation + "《》？，。、；："))


def normalize(text: str) -> Normalized:
    """Lowercase, delete marks, cut English articles and surplus spaces; every character left is a token, spaces too.

    >>> normalize("《老屋》 A").text
    '老屋'
    """
    words = without_articles(text.lower().translate(_PUNCTUATION)).split()
    characters = " ".join(words)
    return Normalized(characters, characters, frozenset(characters))


@dataclass(frozen=True, kw_only=True)
class Drcd(AnswerMetric):
    """Exact match and character F1 of DRCD, in percent.

    Others score DRCD with CMRC 2018's script, which gives different numbers: that is `Cmrc2018`.

    References:
        Shao et al. 2018, "DRCD: a Chinese Machine Reading Comprehension Dataset"; the authors describe their scorer in
        issue 6 of DRCKnowledgeTeam/DRCD.
    """

    name = "drcd"
    kinds = ("qa",)
    reference = "SQuAD evaluate-v1.1.py with the changes of DRCKnowledgeTeam/DRCD issue 6"

    def comparison(self) -> Compare:
        """Compare normalised texts, and bags of their characters."""
        return bag_comparison(normalize)

    def signature(self, references: Sequence[Sequence[str]] | None = None) -> str:
        """Name the script; it has no settings."""
        return "metric:drcd|script:evaluate-v1.1+drcd6"
