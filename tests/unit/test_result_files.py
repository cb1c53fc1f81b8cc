"""Files of results: whole or as they were before."""

import os
import resource
from contextlib import contextmanager
from pathlib import Path

import pytest

from evalkit.errors import InvalidInputError
from evalkit.result_files import write_result


@contextmanager
def full_disk():
    """No file of this process may hold a byte more; no longer than the test needs it, since its runner writes files too."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_folders_are_made_and_half_characters_escaped(tmp_path):
    write_result(tmp_path / "a" / "b.md", "x \ud83d 字")
    assert (tmp_path / "a" / "b.md").read_bytes() == "x \\ud83d 字".encode()


@pytest.mark.parametrize("before", [{}, {"r.md": b"older"}])
def test_a_disk_without_room_leaves_what_was_there(tmp_path, before):
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)
    said = r"cannot write .*: File too large; choose another file"
    with full_disk(), pytest.raises(InvalidInputError, match=said):
        write_result(tmp_path / "r.md", b"new")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_file_keeps_its_permissions_and_a_new_one_follows_the_umask(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("x")
    old.chmod(0o640)
    before = os.umask(0o027)
    try:
        write_result(old, "y")
        write_result(new, "y")
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (old, new)] == [0o640, 0o640]


def test_behind_a_link_the_file_is_written_and_the_link_stays(tmp_path):
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "file").write_text("x")
    write_result(tmp_path / "link", "y")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "y"


def test_a_device_is_written_to(tmp_path):
    write_result("/dev/null", "x")
    assert not Path("/dev/null").is_file()
    with pytest.raises(InvalidInputError, match=r"cannot write '/dev/full': No space left on device"):
        write_result("/dev/full", "x")


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "loop/x", ""])
def test_a_name_that_cannot_be_is_an_error_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    with pytest.raises(InvalidInputError, match="cannot write"):
        write_result(name, "x")
    assert os.listdir(tmp_path) == ["loop"]
