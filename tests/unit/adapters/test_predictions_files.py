import gzip
import hashlib
import io
import pickle
import zipfile
from pathlib import Path

import pytest

from evalkit.adapters import open_adapter
from evalkit.adapters.predictions import short_name
from evalkit.errors import DataError, MissingResourceError

ROWS = [("a", {"source": "eins"})]


def zipped():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("weights", "x" * 100)
    return stream.getvalue()


EXPECTED_TEXT = 'expected text, e.g. JSON lines with "id" and "prediction"'
BINARIES = {
    "pickle": (
        pickle.dumps({"a": "one"}),
        f": this is a pickle, which could run code when it is read; {EXPECTED_TEXT}",
    ),
    "compressed pickle": (
        gzip.compress(pickle.dumps({"a": "one"})),
        f": this is a pickle, which could run code when it is read; {EXPECTED_TEXT}",
    ),
    "zip": (zipped(), f": this is a zip archive; {EXPECTED_TEXT}"),
    "parquet": (b"PAR1\x15\x04", f": this is a Parquet file; {EXPECTED_TEXT}"),
    "zeros": (b"one\x00two\n", f": this is a binary file; {EXPECTED_TEXT}"),
    "UTF-16": (
        "one\n".encode("utf-16"),
        ": the text is UTF-16; expected UTF-8: convert it, e.g. with iconv -f UTF-16 -t UTF-8",
    ),
}


@pytest.mark.parametrize(("content", "expected"), BINARIES.values(), ids=BINARIES)
def test_what_is_not_text_is_refused(write, make_context, content, expected):
    path = write("out.txt", content)
    with pytest.raises(DataError) as error:
        open_adapter("predictions", str(path)).prepare(make_context("mt", "generate", ROWS))
    assert str(error.value).removeprefix(str(path)) == expected


@pytest.mark.parametrize("content", [gzip.compress(b"one\n" * 999)[:-9], b"\x1f\x8bxyz", b"caf\xe9\n"])
def test_broken_text_is_refused_with_its_place(write, make_context, content):
    path = write("out.txt", content)
    with pytest.raises(DataError, match=r"out\.txt"):
        open_adapter("predictions", str(path)).prepare(make_context("mt", "generate", ROWS))


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="this is a folder; expected one file of predictions"):
        open_adapter("predictions", str(tmp_path))


def test_only_blank_lines_have_no_predictions(write, make_context):
    with pytest.raises(DataError, match="2 lines for 1 examples"):
        open_adapter("predictions", str(write("out.txt", "\n\n"))).prepare(make_context("mt", "generate", ROWS))


def test_log_probabilities_are_read_from_json_lines_only(write, make_context):
    with pytest.raises(DataError, match=r"not JSON: the first line is '-1\.5'; expected JSON lines, each an object"):
        open_adapter("predictions", str(write("out.txt", "-1.5\n"))).prepare(make_context("lm", "rolling", ROWS))


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("news2022.en-zh.hyp.Online-A.zh.gz", "news2022.en-zh.hyp.Online-A.zh"),
        ("v1.1_logistic_regression.json.gz", "v1.1_logistic_regression"),
        ("newstest2017.C-3MA.4959.en-de.txt.gz", "newstest2017.C-3MA.4959.en-de"),
        ("out.JSONL", "out"),
        ("test_fmm.utf8", "test_fmm"),
        ("system", "system"),
        (".txt", ".txt"),
    ],
)
def test_the_name_of_a_file_loses_only_what_says_its_format(file, name):
    assert short_name(Path("folder") / file) == name


def test_the_record_names_the_file_and_the_digest_of_its_bytes(write):
    path = write("out.en.txt", "one\n")
    info = open_adapter("predictions", str(path)).info
    assert (info.ref, info.name, info.family, info.parameters) == (f"predictions:{path}", "out.en", "predictions", None)
    assert info.digest == hashlib.sha256(b"one\n").hexdigest()[:16]


def test_a_file_is_found_without_its_gz(write):
    path = write("out.en.txt.gz", "one\n")
    assert open_adapter("predictions", str(path).removesuffix(".gz")).info.name == "out.en"


def test_predictions_never_open_the_training_split_or_the_word_list(write, make_context):
    context = make_context("mt", "generate", ROWS)
    with pytest.raises(MissingResourceError):
        context.training()
    assert open_adapter("predictions", str(write("out.txt", "one\n"))).prepare(context) == ()


def test_predictions_answer_everything_but_scores(write):
    assert open_adapter("predictions", str(write("o", "x"))).supports == {
        "generate",
        "rolling",
        "label",
        "span",
        "classify",
    }
