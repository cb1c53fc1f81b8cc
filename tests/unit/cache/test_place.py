"""Where the cache lies and how large it may become, by flag and environment."""

from pathlib import Path

import pytest

from evalkit.cache.place import cache_limit_bytes, cache_path, is_shared_system
from evalkit.errors import InvalidInputError

MOUNTS = r"""24 1 0:20 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
25 24 0:30 / /data rw - nfs4 server:/export rw
26 24 0:31 / /data/fast rw shared:2 - xfs /dev/sdb rw
27 24 0:32 / /mnt/with\040space rw - fuse.sshfs user@host: rw
28 24 0:33 / /scratch rw,noatime - lustre 10.0.0.1@tcp:/fs rw
broken line
"""


@pytest.mark.parametrize(
    ("folder", "is_shared"),
    [
        ("/", False),
        ("/home/a", False),
        ("/data", True),
        ("/data/project/.evalkit", True),
        ("/data/fast/project", False),
        ("/database", False),
        ("/mnt/with space/x", True),
        ("/scratch/x", True),
    ],
)
def test_file_systems_of_several_machines_are_told_by_the_table_of_mounts(tmp_path, folder, is_shared):
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)
    assert is_shared_system(Path(folder), str(table)) is is_shared


def test_without_a_table_of_mounts_a_folder_counts_as_this_machines(tmp_path):
    assert is_shared_system(tmp_path, str(tmp_path / "none")) is False


@pytest.mark.parametrize(
    ("text", "size"), [("1000", 1000), ("500MB", 500 * 2**20), ("1.5 GiB", 3 * 2**29), ("2t", 2**41), (" 7k ", 7168)]
)
def test_the_limit_is_read_from_the_environment(monkeypatch, text, size):
    monkeypatch.setenv("EVALKIT_CACHE_LIMIT", text)
    assert cache_limit_bytes() == size


@pytest.mark.parametrize("text", ["", "much", "-1", "1 PB", "1e9"])
def test_a_limit_that_is_no_size_is_refused(monkeypatch, text):
    monkeypatch.setenv("EVALKIT_CACHE_LIMIT", text)
    with pytest.raises(InvalidInputError, match="expected a size such as 500MB or 20GB"):
        cache_limit_bytes()


def test_the_flag_comes_before_the_environment_and_that_before_the_default(monkeypatch):
    monkeypatch.setenv("EVALKIT_CACHE", "/a/b")
    assert cache_path("c") == Path("c")
    assert cache_path(None) == Path("/a/b")
    assert cache_path("off") is None
    monkeypatch.delenv("EVALKIT_CACHE")
    assert cache_path(None) == Path(".evalkit/cache.sqlite")


@pytest.mark.parametrize("given", ["", "  ", "a\0b"])
def test_a_path_that_is_none_is_refused(given):
    with pytest.raises(InvalidInputError, match="names no file"):
        cache_path(given)
