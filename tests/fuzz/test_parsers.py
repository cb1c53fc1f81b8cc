"""Parsers on broken files, in short: benchmarks/fuzzing.py does it for minutes."""

import copy
import json
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.odd_json import VALUES, places
from tests.fuzz.parsers import PARSERS, RECORD

MARKS = [b"\n", b"\r\n", b"\t", b" ", b"{", b"}", b"[", b"]", b'"', b":", b",", b"=", b"#", b"\0", "字".encode()]
WORDS = [b"null", b"1e999", b"-1", b"NaN", b"\\ud800", b"B-", b"O", b"-DOCSTART-", b"task", b"[[check]]"]
STARTS = [b"\xff\xfe", b"\xef\xbb\xbf", b"\x1f\x8b"]
PIECES = st.sampled_from([*MARKS, *WORDS, *STARTS])


@st.composite
def broken(draw, seeds):
    """A valid file with parts taken out, doubled, moved or replaced."""
    content = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 40)))
        piece = draw(st.one_of(PIECES, st.binary(max_size=6), st.just(content[start:end] * 2), st.just(b"")))
        content = content[:start] + piece + content[end:]
    return content


TENSORS = {
    "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
    "b": {"dtype": "BF16", "shape": [], "data_offsets": [8, 10]},
}
DOCUMENTS = {
    "record": RECORD,
    "samples": json.loads(PARSERS["samples"].seeds[0]),
    "squad": json.loads(PARSERS["squad"].seeds[0]),
    "predictions": {"id": "s1", "prediction": {"logprob_nats": -1.5, "token_count": 2}},
    "safetensors": TENSORS,
}


@st.composite
def odd(draw, document):
    """A document of which some values are others, or gone: what is JSON, but not what was expected."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        holder, key = draw(st.sampled_from(list(places(document)) or [({"": 0}, "")]))
        if draw(st.booleans()) or not draw(st.booleans()):
            holder[key] = copy.deepcopy(draw(st.sampled_from(VALUES)))
        else:
            del holder[key]
    return json.dumps(document, ensure_ascii=draw(st.booleans())).encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("name", DOCUMENTS)
@settings(max_examples=200, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_json_that_is_not_what_was_expected_is_read_or_refused_in_one_line(tmp_path, name, data):
    content = data.draw(odd(DOCUMENTS[name]))
    if name == "samples":
        content += b"\n"  # A last line without an end counts as cut, and is not looked at.
    if name == "safetensors":
        content = struct.pack("<Q", len(content)) + content + bytes(data.draw(st.sampled_from([0, 8, 10, 16])))
    PARSERS[name].survives(content, tmp_path)


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=150, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_broken_file_is_read_or_refused_in_one_line(tmp_path, name, data):
    parser = PARSERS[name]
    parser.survives(data.draw(broken(list(parser.seeds))), tmp_path)


@pytest.mark.parametrize("name", PARSERS)
def test_fuzzing_starts_from_files_that_are_read(tmp_path, name):
    parser = PARSERS[name]
    assert any([parser.survives(seed, tmp_path) for seed in parser.seeds]) or name == "record"
