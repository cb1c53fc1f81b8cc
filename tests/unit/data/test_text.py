import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.data.text import find_file, open_text, read_text
from evalkit.errors import DataError


def lines(path, **options):
    return [line for _, line in open_text(path, **options)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\nb\n", ["a", "b"]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\r\nb", ["a", "b"]),
        ("a\r\rb\r", ["a", "", "b"]),
        ("a\n\nb\n\n", ["a", "", "b", ""]),
        ("\n", [""]),
        ("a\rb\nc\r\n", ["a\rb", "c"]),
        ("a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\n", ["a\u2028b\u2029c\x85d\x0be\x0cf\x1cg"]),
        ("\ufeffa\n\ufeffb\n", ["a", "\ufeffb"]),
        (" a \t\n\u3000b\xa0\n", [" a \t", "\u3000b\xa0"]),
    ],
)
def test_only_a_line_feed_ends_a_line(write, content, expected):
    assert lines(write("t.txt", content)) == expected
    assert lines(write("u.txt.gz", content)) == expected


def test_lines_are_numbered_from_one(write):
    assert list(open_text(write("t.txt", "a\nb\n"))) == [(1, "a"), (2, "b")]


@given(st.text(alphabet="ab\r\n\u2028\x85字", min_size=1))
def test_kept_ends_joined_give_the_file(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "joined.txt"
    path.write_bytes(text.encode())
    assert "".join(lines(path, keep_ends=True)) == text == read_text(path)


@given(st.lists(st.text(alphabet="ab \t\u2028\x85\x0b字"), min_size=1))
def test_as_many_lines_as_line_feeds(tmp_path_factory, segments):
    path = tmp_path_factory.getbasetemp() / "segments.txt"
    path.write_bytes("".join(f"{segment}\n" for segment in segments).encode())
    assert lines(path) == segments


def test_gzip_is_recognised_by_content_not_by_name(write, tmp_path):
    misnamed = tmp_path / "plain-name.txt"
    misnamed.write_bytes(gzip.compress("字\n".encode()))
    assert lines(misnamed) == ["字"]
    (tmp_path / "misnamed.txt.gz").write_text("plain\n")
    assert lines(tmp_path / "misnamed.txt.gz") == ["plain"]


def test_gzip_of_several_members_is_one_text(tmp_path):
    (tmp_path / "t.gz").write_bytes(gzip.compress(b"a\n") + gzip.compress(b"b\n"))
    assert lines(tmp_path / "t.gz") == ["a", "b"]


def test_a_compressed_file_stands_in_for_a_missing_plain_one(write, tmp_path):
    compressed = write("t.txt.gz", "a\n")
    assert find_file(tmp_path / "t.txt") == compressed
    assert lines(tmp_path / "t.txt") == ["a"]
    plain = write("t.txt", "b\n")
    assert find_file(tmp_path / "t.txt") == plain


def test_read_text_keeps_line_ends_and_drops_the_mark(write):
    assert read_text(write("t.txt", "\ufeffa\r\n\rb\n")) == "a\r\n\rb\n"


def test_lines_are_streamed(write):
    stream = open_text(write("t.txt", b"good\n\xff\n"))
    assert next(stream) == (1, "good")
    with pytest.raises(DataError):
        next(stream)


@pytest.mark.parametrize("call", [open_text, read_text])
class TestComplaints:
    def test_bad_utf8_has_line_and_byte(self, call, write, complaint):
        path = write("t.txt", "字a\nb".encode() + b"\xe5\xad\n")
        assert complaint(call, path) == "t.txt:2: byte 6 (0xe5) is not UTF-8; expected UTF-8 text, plain or in gzip"

    def test_utf16_is_named(self, call, write, complaint):
        path = write("t.txt", "字\n".encode("utf-16"))
        assert complaint(call, path) == (
            "t.txt: the text is UTF-16; expected UTF-8: convert it, e.g. with iconv -f UTF-16 -t UTF-8"
        )

    def test_truncated_gzip(self, call, write, tmp_path, complaint):
        raw = write("t.gz", "".join(f"line {number}\n" for number in range(999))).read_bytes()
        (tmp_path / "t.gz").write_bytes(raw[:-100])
        assert complaint(call, tmp_path / "t.gz") == "t.gz: the gzip data ends too early; fetch the file again"

    def test_corrupt_gzip(self, call, write, tmp_path, complaint):
        raw = bytearray(write("t.gz", "one line\n" * 99).read_bytes())
        raw[-8] ^= 1
        (tmp_path / "t.gz").write_bytes(raw)
        assert complaint(call, tmp_path / "t.gz").startswith("t.gz: broken gzip data (CRC check failed")
        raw[14] ^= 255
        (tmp_path / "t.gz").write_bytes(raw)
        assert complaint(call, tmp_path / "t.gz").startswith("t.gz: broken gzip data (")

    def test_folder(self, call, tmp_path, complaint):
        (tmp_path / "folder").mkdir()
        assert complaint(call, tmp_path / "folder") == "folder: this is a folder; expected a file"

    def test_missing_file_with_the_nearest_name(self, call, write, tmp_path, complaint):
        write("test.src.txt", "a\n")
        assert complaint(call, tmp_path / "test.scr.txt") == (
            "test.scr.txt: no such file; did you mean 'test.src.txt'?"
        )

    def test_missing_file_with_nothing_near(self, call, tmp_path, complaint):
        assert complaint(call, tmp_path / "x.txt") == "x.txt: no such file; check the path"

    def test_dangling_link(self, call, tmp_path, complaint):
        (tmp_path / "x.txt").symlink_to("gone.txt")
        assert complaint(call, tmp_path / "x.txt") == (
            "x.txt: this link leads to 'gone.txt', which is not there; mend the link or give another file"
        )

    def test_pipe(self, call, tmp_path, complaint):
        os.mkfifo(tmp_path / "pipe")
        assert complaint(call, tmp_path / "pipe").startswith("pipe: this is a pipe, which can be read only once")

    def test_missing_folder(self, call, tmp_path, complaint):
        assert complaint(call, tmp_path / "a" / "b" / "x.txt") == "a/b/x.txt: no such file; '.' has no folder 'a'"

    def test_permission_denied(self, call, write, complaint, monkeypatch):
        def refuse(self, *args, **keywords):
            raise PermissionError(13, "Permission denied")

        path = write("t.txt", "a\n")
        monkeypatch.setattr(Path, "open", refuse)
        assert complaint(call, path) == (
            "t.txt: cannot be opened: Permission denied; check the path and its permissions"
        )

    @pytest.mark.parametrize("name", ["t.txt", "t.txt.gz"])
    def test_empty_file(self, call, write, complaint, name):
        assert complaint(call, write(name, "")) == f"{name}: the file is empty; expected text"
