"""WordNet 3.0: where it lies on this machine, and the synonyms of a word exactly as nltk's reader gives them.

nltk's own reader needs seconds before the first word and objects for each sense; METEOR asks only which single words share a
synset with a word. This one reads the index once and the synsets that are asked for.

References:
    Fellbaum, C. (ed.) (1998). WordNet: An electronic lexical database. File formats: wndb(5WN), morphy(7WN).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evalkit.errors import DataError, MissingResourceError

VERSION = "3.0"
"""The only version accepted: METEOR's values depend on it."""
VARIABLE = "EVALKIT_WORDNET_DIR"
"""Environment variable that names the folder to use."""

_PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")
_FILES = tuple(f"{kind}.{part}" for kind in ("index", "data") for part in _PARTS_OF_SPEECH) + tuple(
    f"{part}.exc" for part in _PARTS_OF_SPEECH
)
_SYSTEM_FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/local/WordNet-3.0/dict")
_LICENCE_BYTES = 2048
_HOW_TO_GET = (
    "run `apt-get install wordnet-base` or `python -m nltk.downloader wordnet`,"
    f" or set {VARIABLE} to a folder with its index.*, data.* and *.exc files"
)
# Endings that morphy(7WN) detaches, with what takes their place; nltk adds the noun rule for -ves.
_DETACHMENTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
        ("ves", "f"),
    ),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("er", "e"), ("est", ""), ("est", "e")),
    "adv": (),
}


@dataclass(frozen=True, slots=True)
class WordNetSource:
    """A copy of WordNet."""

    path: Path
    """The folder, or nltk's zip archive of it."""
    version: str
    """As the licence at the head of its files says."""
    origin: str
    """Where the search found it, e.g. ``nltk data``."""

    def read(self, name: str) -> bytes:
        """Read one of its files, e.g. ``index.noun``.

        Raises:
            DataError: The file is missing or cannot be read.
        """
        from zipfile import BadZipFile, ZipFile

        try:
            if self.path.suffix != ".zip":
                return (self.path / name).read_bytes()
            with ZipFile(self.path) as archive:
                return archive.read(f"wordnet/{name}")
        except (OSError, KeyError, BadZipFile) as error:
            raise DataError(self.path, f"cannot read {name} of WordNet ({error}); {_HOW_TO_GET}") from error


def locate() -> WordNetSource:
    """Find WordNet 3.0: EVALKIT_WORDNET_DIR, else nltk's data folders, else the system's folders.

    Raises:
        MissingResourceError: There is none, or the named folder is something else.
    """
    named = os.environ.get(VARIABLE)
    if named:
        source = _examine(Path(named), VARIABLE)
        if source is None:
            raise MissingResourceError(
                f"{VARIABLE} names {named!r}, which lacks {', '.join(_missing(Path(named)))}; expected WordNet {VERSION}"
            )
        if source.version != VERSION:
            raise MissingResourceError(
                f"{VARIABLE} names {named!r}, which holds WordNet {source.version}; expected version {VERSION}"
            )
        return source
    found = [source for path, origin in _candidates() if (source := _examine(path, origin))]
    for source in found:
        if source.version == VERSION:
            return source
    others = "".join(f"; found version {source.version} in {source.path}" for source in found)
    raise MissingResourceError(f"WordNet {VERSION} was not found{others}; {_HOW_TO_GET}")


def status() -> str:
    """Say in one line where WordNet was found, or what to do; never raises."""
    try:
        source = locate()
    except MissingResourceError as error:
        return str(error)
    return f"WordNet {source.version} in {source.path} ({source.origin})"


def fetch() -> WordNetSource:
    """Download WordNet with nltk's downloader into nltk's data folder, unless it is here already.

    Raises:
        MissingResourceError: The download failed.
    """
    try:
        return locate()
    except MissingResourceError as error:
        import nltk

        if not nltk.download("wordnet", quiet=True):
            raise MissingResourceError(f"nltk could not download WordNet; {_HOW_TO_GET}") from error
    return locate()


class Synonyms(dict[str, frozenset[str]]):
    """Word to the single-word lemma names of all its synsets, filled on demand; unknown words have none.

    Equal to the names without ``_`` among the lemmas of ``nltk.corpus.wordnet.synsets(word)``. Names keep their case.

    Args:
        source: The copy of WordNet to read.
        repeats_rules: Whether endings are detached again and again until a form is found, as nltk did before 3.9.
    """

    def __init__(self, source: WordNetSource, *, repeats_rules: bool = False) -> None:
        super().__init__()
        self._source = source
        self._repeats_rules = repeats_rules
        self._index = {part: _read_index(source, part) for part in _PARTS_OF_SPEECH}
        self._exceptions = {part: _read_exceptions(source, part) for part in _PARTS_OF_SPEECH}
        self._data: dict[str, bytes] = {}

    def __missing__(self, word: str) -> frozenset[str]:
        names = frozenset(name for part in _PARTS_OF_SPEECH for name in self._names(word.lower(), part))
        self[word] = names
        return names

    def _names(self, word: str, part: str) -> Iterator[str]:
        index = self._index[part]
        for form in self._base_forms(word, part):
            fields = index[form].split()
            n_synsets = int(fields[1])
            for offset in fields[-n_synsets:]:
                yield from self._lemmas(part, offset)

    def _base_forms(self, word: str, part: str) -> list[str]:
        """The word and what it may be a form of, as far as the index has them."""
        index = self._index[part]
        irregular = self._exceptions[part].get(word)
        forms = _detach([word], part) if irregular is None else irregular
        known = [form for form in dict.fromkeys([word, *forms]) if form in index]
        while self._repeats_rules and irregular is None and forms and not known:
            forms = _detach(forms, part)
            known = [form for form in dict.fromkeys(forms) if form in index]
        return known

    def _lemmas(self, part: str, offset: str) -> Iterator[str]:
        """Single-word names of a synset, given by its byte offset in the data file."""
        if part not in self._data:
            self._data[part] = self._source.read(f"data.{part}")
        data, start = self._data[part], int(offset)
        line = data[start : data.find(b"|", start)].decode()
        if not line.startswith(offset):
            raise DataError(
                self._source.path, f"data.{part} has no synset at byte {start}; install WordNet {VERSION} anew"
            )
        fields = line.split(" ")
        n_words = int(fields[3], 16)
        for name in fields[4 : 4 + 2 * n_words : 2]:
            if "_" not in name:
                # Adjectives may carry their syntactic position, as in galore(ip).
                yield name.partition("(")[0]


@cache
def synonyms(source: WordNetSource) -> Synonyms:
    """Open the one table of synonyms of a copy of WordNet, which this process shares."""
    return Synonyms(source, repeats_rules=nltk_release() < (3, 9))


def installed_nltk() -> str:
    """Look up the version of the installed nltk without importing it."""
    from importlib.metadata import version

    return version("nltk")


def nltk_release() -> tuple[int, ...]:
    """Major and minor number of the installed nltk."""
    return tuple(map(int, re.findall(r"\d+", installed_nltk())[:2]))


def nltk_folders() -> list[str]:
    """The folders that nltk searches for data, in its order; nltk itself, slow to import, is not needed for this."""
    loaded = sys.modules.get("nltk.data")
    if loaded is not None:
        return list(loaded.path)
    named = [os.path.expanduser(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    of_python = [
        os.path.join(sys.prefix, *parts) for parts in (("nltk_data",), ("share", "nltk_data"), ("lib", "nltk_data"))
    ]
    of_system = [f"/usr{part}/nltk_data" for part in ("/share", "/local/share", "/lib", "/local/lib")]
    return [*named, os.path.expanduser("~/nltk_data"), *of_python, *of_system]


def _candidates() -> Iterator[tuple[Path, str]]:
    for folder in nltk_folders():
        yield Path(folder) / "corpora" / "wordnet", "nltk data"
        yield Path(folder) / "corpora" / "wordnet.zip", "nltk data"
    for folder in _SYSTEM_FOLDERS:
        yield Path(folder), "system"


def _examine(path: Path, origin: str) -> WordNetSource | None:
    """Tell which version lies at a path; None where the files are not there."""
    if _missing(path):
        return None
    head = WordNetSource(path, "", origin).read("index.adv")[:_LICENCE_BYTES]
    stated = re.search(rb"WordNet (\d+(?:\.\d+)*) Copyright", head)
    return WordNetSource(path, stated[1].decode() if stated else "unknown", origin)


def _missing(path: Path) -> list[str]:
    if path.suffix != ".zip":
        return [name for name in _FILES if not (path / name).is_file()]
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(path) as archive:
            names = set(archive.namelist())
    except (OSError, BadZipFile):
        names = set()
    return [name for name in _FILES if f"wordnet/{name}" not in names]


def _read_index(source: WordNetSource, part: str) -> dict[str, str]:
    """Map each lemma to the rest of its line; lines of the licence begin with a space."""
    lines = source.read(f"index.{part}").decode().split("\n")
    return dict(line.split(" ", 1) for line in lines if line and line[0] != " ")


def _read_exceptions(source: WordNetSource, part: str) -> dict[str, list[str]]:
    entries = [line.split() for line in source.read(f"{part}.exc").decode().splitlines()]
    return {entry[0]: entry[1:] for entry in entries if entry}


def _detach(forms: list[str], part: str) -> list[str]:
    return [form[: -len(end)] + new for form in forms for end, new in _DETACHMENTS[part] if form.endswith(end)]
