"""Parsers on broken files, in short: benchmarks/fuzzing.py does it for minutes."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.parsers import PARSERS

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
