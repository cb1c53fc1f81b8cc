"""Fixtures of the unit tests: nltk's own WordNet reader as the reference for ours."""

import warnings

import pytest

from evalkit.errors import MissingResourceError
from evalkit.wordnet import locate

# Lexicographer files in the order of lexnames(5WN): name and syntactic category.
_NOUNS = (
    "Tops act animal artifact attribute body cognition communication event feeling food group location motive object person"
    " phenomenon plant possession process quantity relation shape state substance time"
)
_VERBS = (
    "body change cognition communication competition consumption contact creation emotion motion perception possession"
    " social stative weather"
)
_LEXNAMES = [
    ("adj.all", 3),
    ("adj.pert", 3),
    ("adv.all", 4),
    *((f"noun.{name}", 1) for name in _NOUNS.split()),
    *((f"verb.{name}", 2) for name in _VERBS.split()),
    ("adj.ppl", 3),
]


@pytest.fixture(scope="session")
def nltk_wordnet(tmp_path_factory):
    """nltk's reader on a copy of the WordNet of this machine, completed by the files that only nltk asks for."""
    import nltk.data
    from nltk.corpus.reader import WordNetCorpusReader

    try:
        source = locate()
    except MissingResourceError as missing:
        pytest.skip(str(missing))
    root = tmp_path_factory.mktemp("nltk_data")
    folder = root / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for part in ("noun", "verb", "adj", "adv"):
        for name in (f"index.{part}", f"data.{part}", f"{part}.exc"):
            (folder / name).write_bytes(source.read(name))
    (folder / "index.sense").write_bytes(b"")
    lines = [f"{number:02}\t{name}\t{category}\n" for number, (name, category) in enumerate(_LEXNAMES)]
    (folder / "lexnames").write_text("".join(lines), encoding="ascii")
    # nltk reads only below the folders of its search path.
    nltk.data.path.append(str(root))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield WordNetCorpusReader(str(folder), None)
    nltk.data.path.remove(str(root))


@pytest.fixture
def tiny_memory(monkeypatch):
    """As if a handful of examples were too many for memory: they go to disk, and everything is done in several blocks."""
    monkeypatch.setattr("evalkit.spool.KEPT_IN_MEMORY", 3)
    monkeypatch.setattr("evalkit.spool._BLOCK", 2)
    monkeypatch.setattr("evalkit.data.seen.KEPT_IN_MEMORY", 3)
    monkeypatch.setattr("evalkit.adapters.prediction_files.collected.KEPT_IN_MEMORY", 3)
    monkeypatch.setattr("evalkit.tabulating.BLOCK", 4)
    monkeypatch.setattr("evalkit.asking.TOGETHER", 5)
