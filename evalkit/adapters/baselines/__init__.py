"""Trivial systems that every leaderboard needs, by name.

Listing them imports no numpy and no scikit-learn; a baseline does so when it prepares for a task.
"""

from collections.abc import Mapping

from evalkit.adapters.baselines.base import Baseline
from evalkit.adapters.baselines.copying import Copy
from evalkit.adapters.baselines.empty import Empty
from evalkit.adapters.baselines.lead import Lead
from evalkit.adapters.baselines.majority import Majority
from evalkit.adapters.baselines.max_match import MaxMatch
from evalkit.adapters.baselines.ngram import Ngram
from evalkit.adapters.baselines.tfidf import Tfidf
from evalkit.errors import UnknownNameError

BASELINES: Mapping[str, type[Baseline]] = {
    "empty": Empty,
    "copy": Copy,
    "lead-3": Lead,
    "majority": Majority,
    "max-match": MaxMatch,
    "ngram": Ngram,
    "tfidf": Tfidf,
}


def open_baseline(name: str) -> Baseline:
    """Make the baseline of a name.

    Raises:
        UnknownNameError: There is no such baseline.
    """
    if name not in BASELINES:
        raise UnknownNameError("baseline", name, BASELINES)
    return BASELINES[name]()


__all__ = ["BASELINES", "Baseline", "open_baseline"]
