import os
import random
import shutil
import subprocess
import sys
import zipfile
from itertools import chain

import nltk
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit import wordnet
from evalkit.errors import DataError, MissingResourceError

PARTS = ("noun", "verb", "adj", "adv")
LICENCE = "  1 Some licence.  \n  2 WordNet {version} Copyright 2006 by Princeton University.  \n"
WORDS = [
    "geese",
    "better",
    "ran",
    "wolves",
    "men",
    "ladies",
    "bitterer",
    "galore",
    "best",
    "us",
    "1",
    "ing",
    "s",
    "",
    "quick",
]
SUFFIXES = ["", "s", "es", "ses", "ves", "ies", "men", "er", "est", "ed", "ing", "ings", "sses", "x", "é"]


def nltk_synonyms(reader, word):
    names = chain.from_iterable(synset.lemma_names() for synset in reader.synsets(word))
    return frozenset(name for name in names if "_" not in name)


@pytest.fixture(scope="module")
def ours():
    try:
        return wordnet.Synonyms(wordnet.locate())
    except MissingResourceError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def lemmas(nltk_wordnet):
    return sorted(nltk_wordnet.all_lemma_names())


def write_small_wordnet(folder, version="3.0"):
    """A WordNet of one noun synset {sofa, couch, studio_couch} and nothing else."""
    folder.mkdir(parents=True)
    licence = LICENCE.format(version=version)
    offset = f"{len(licence):08}"
    for part in PARTS:
        (folder / f"{part}.exc").write_text("\n" if part != "noun" else "sofae sofa\n")
        for kind in ("index", "data"):
            (folder / f"{kind}.{part}").write_text(licence)
    with (folder / "data.noun").open("a") as data:
        data.write(f"{offset} 06 n 03 sofa 0 couch 0 studio_couch 1 000 | a seat  \n")
    with (folder / "index.noun").open("a") as index:
        for lemma in ("couch", "sofa", "studio_couch"):
            index.write(f"{lemma} n 1 0 1 0 {offset}  \n")
    return folder


@pytest.fixture
def nowhere(monkeypatch):
    """No WordNet is anywhere."""
    monkeypatch.delenv(wordnet.VARIABLE, raising=False)
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(wordnet, "_SYSTEM_FOLDERS", ())


@pytest.mark.parametrize("word", WORDS)
def test_synonyms_of_odd_words_are_those_of_nltk(nltk_wordnet, ours, word):
    assert ours[word] == nltk_synonyms(nltk_wordnet, word)


def test_synonyms_of_a_sample_of_lemmas_are_those_of_nltk(nltk_wordnet, ours, lemmas):
    for lemma in random.Random(3).sample(lemmas, 1500):
        assert ours[lemma] == nltk_synonyms(nltk_wordnet, lemma), lemma


@pytest.mark.slow
def test_synonyms_of_every_lemma_are_those_of_nltk(nltk_wordnet, ours, lemmas):
    assert len(lemmas) == 147_306
    assert [lemma for lemma in lemmas if ours[lemma] != nltk_synonyms(nltk_wordnet, lemma)] == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_inflected_forms_are_resolved_as_nltk_does(nltk_wordnet, ours, lemmas, data):
    lemma = lemmas[data.draw(st.integers(0, len(lemmas) - 1))]
    cut = data.draw(st.integers(0, 3))
    word = lemma[: len(lemma) - cut] + data.draw(st.sampled_from(SUFFIXES))
    word = data.draw(st.sampled_from([word, word.upper(), word.title()]))
    assert ours[word] == nltk_synonyms(nltk_wordnet, word)


def test_repeated_rules_detach_until_a_form_is_known(tmp_path):
    source = wordnet.WordNetSource(write_small_wordnet(tmp_path / "wn"), "3.0", "test")
    once, repeated = wordnet.Synonyms(source), wordnet.Synonyms(source, repeats_rules=True)
    assert once["sofas"] == repeated["sofas"] == {"sofa", "couch"}
    assert once["sofass"] == frozenset()
    assert repeated["sofass"] == {"sofa", "couch"}
    assert repeated["unknown"] == frozenset()


@pytest.mark.parametrize(
    ("word", "names"),
    [
        ("sofa", {"sofa", "couch"}),
        ("SOFAE", {"sofa", "couch"}),
        ("studio_couch", {"sofa", "couch"}),
        ("seat", set()),
        ("", set()),
    ],
)
def test_names_of_several_words_are_left_out(tmp_path, word, names):
    source = wordnet.WordNetSource(write_small_wordnet(tmp_path / "wn"), "3.0", "test")
    assert wordnet.Synonyms(source)[word] == names


def test_the_named_folder_comes_first(tmp_path, monkeypatch):
    folder = write_small_wordnet(tmp_path / "named")
    monkeypatch.setenv(wordnet.VARIABLE, str(folder))
    assert wordnet.locate() == wordnet.WordNetSource(folder, "3.0", wordnet.VARIABLE)


def test_nltk_data_comes_before_the_system_folder(tmp_path, monkeypatch, nowhere):
    inside = write_small_wordnet(tmp_path / "nltk_data" / "corpora" / "wordnet")
    system = write_small_wordnet(tmp_path / "system")
    monkeypatch.setattr(wordnet, "_SYSTEM_FOLDERS", (str(system),))
    assert wordnet.locate().path == system
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    assert wordnet.locate() == wordnet.WordNetSource(inside, "3.0", "nltk data")
    assert wordnet.status() == f"WordNet 3.0 in {inside} (nltk data)"


def test_folders_of_nltk_are_known_without_importing_it():
    code = "from evalkit.wordnet import nltk_folders as f; a = f(); import nltk.data; print(a == nltk.data.path == f())"
    environment = {**os.environ, "NLTK_DATA": os.pathsep.join(["~/one", "/two"])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == "True"


def test_nltk_zip_archives_are_read_in_place(tmp_path, monkeypatch, nowhere):
    folder = write_small_wordnet(tmp_path / "wordnet")
    (tmp_path / "nltk_data" / "corpora").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "nltk_data" / "corpora" / "wordnet.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"wordnet/{file.name}")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    source = wordnet.locate()
    assert source.path.name == "wordnet.zip"
    assert wordnet.Synonyms(source)["couch"] == {"sofa", "couch"}


def test_other_versions_are_passed_over_and_named(tmp_path, monkeypatch, nowhere):
    write_small_wordnet(tmp_path / "nltk_data" / "corpora" / "wordnet", version="3.1")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    with pytest.raises(MissingResourceError, match=r"found version 3\.1 in .*apt-get install wordnet-base"):
        wordnet.locate()


def test_a_named_folder_of_another_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(wordnet.VARIABLE, str(write_small_wordnet(tmp_path / "wn", version="3.1")))
    with pytest.raises(MissingResourceError, match=r"expected version 3\.0"):
        wordnet.locate()


def test_a_named_folder_without_the_files_is_refused(tmp_path, monkeypatch):
    folder = write_small_wordnet(tmp_path / "wn")
    (folder / "data.verb").unlink()
    monkeypatch.setenv(wordnet.VARIABLE, str(folder))
    with pytest.raises(MissingResourceError, match=r"lacks data\.verb; expected WordNet 3\.0"):
        wordnet.locate()


def test_a_missing_wordnet_is_reported_with_what_to_do(nowhere):
    with pytest.raises(MissingResourceError, match=r"nltk.downloader wordnet.*EVALKIT_WORDNET_DIR"):
        wordnet.locate()
    assert wordnet.status().startswith("WordNet 3.0 was not found; run `apt-get")


def test_fetching_downloads_only_what_is_missing(tmp_path, monkeypatch, nowhere):
    asked = []

    def download(name, quiet):
        asked.append(name)
        write_small_wordnet(tmp_path / "nltk_data" / "corpora" / "wordnet")
        return True

    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    monkeypatch.setattr(nltk, "download", download)
    assert wordnet.fetch() == wordnet.fetch()
    assert asked == ["wordnet"]


def test_a_failed_download_is_an_error(monkeypatch, nowhere):
    monkeypatch.setattr(nltk, "download", lambda name, quiet: False)
    with pytest.raises(MissingResourceError, match="could not download"):
        wordnet.fetch()


def test_a_damaged_data_file_is_reported(tmp_path):
    folder = write_small_wordnet(tmp_path / "wn")
    text = (folder / "data.noun").read_text()
    (folder / "data.noun").write_text(" " + text)
    with pytest.raises(DataError, match=r"data\.noun has no synset at byte"):
        wordnet.Synonyms(wordnet.WordNetSource(folder, "3.0", "test"))["sofa"]


def test_a_file_that_vanished_is_reported(tmp_path):
    folder = write_small_wordnet(tmp_path / "wn")
    synonyms = wordnet.Synonyms(wordnet.WordNetSource(folder, "3.0", "test"))
    shutil.rmtree(folder)
    with pytest.raises(DataError, match=r"cannot read data\.noun"):
        synonyms["sofa"]


def test_rules_follow_the_installed_nltk(tmp_path, monkeypatch):
    source = wordnet.WordNetSource(write_small_wordnet(tmp_path / "wn"), "3.0", "test")
    for release, names in [("3.8.1", {"sofa", "couch"}), ("3.9", set()), ("3.10.4", set())]:
        monkeypatch.setattr(wordnet, "installed_nltk", lambda release=release: release)
        wordnet.synonyms.cache_clear()
        assert wordnet.synonyms(source)["sofass"] == names
    wordnet.synonyms.cache_clear()
