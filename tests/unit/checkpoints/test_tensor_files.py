import contextlib
import json
import struct

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from evalkit.checkpoints.tensor_files import INDEX, SINGLE, TensorReader, folder_places, tensor_places
from evalkit.errors import DataError


def raw(header, data: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(shape, offsets, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


SAMPLE = {
    "matrix": torch.randn(3, 5),
    "half": torch.randn(7).to(torch.bfloat16),
    "ids": torch.arange(4)[None],
    "flags": torch.tensor([True, False]),
    "one": torch.tensor(2.5, dtype=torch.float64),
    "none": torch.zeros(0, 4),
}


def test_tensors_are_those_that_safetensors_reads(tmp_path):
    save_file(SAMPLE, tmp_path / SINGLE, metadata={"format": "pt"})
    theirs = load_file(tmp_path / SINGLE)
    with TensorReader(tensor_places(tmp_path / SINGLE), "cpu") as reader:
        assert set(reader) == set(theirs)
        for name, tensor in theirs.items():
            assert reader[name].dtype == tensor.dtype
            assert torch.equal(reader[name], tensor)


def test_only_floating_point_tensors_change_their_type(tmp_path):
    save_file(SAMPLE, tmp_path / SINGLE)
    with TensorReader(tensor_places(tmp_path / SINGLE), "cpu", torch.float16) as reader:
        types = [reader[name].dtype for name in ("matrix", "half", "ids", "flags")]
    assert types == [torch.float16, torch.float16, torch.int64, torch.bool]


def digest_of(folder):
    with TensorReader(folder_places(folder), "cpu") as reader:
        for name in reader:
            reader[name]
        return reader.digest()


def write_shards(folder, tensors, groups):
    folder.mkdir()
    weight_map = {}
    for number, names in enumerate(groups):
        save_file({name: tensors[name] for name in names}, folder / f"part-{number}.safetensors")
        weight_map |= dict.fromkeys(names, f"part-{number}.safetensors")
    (folder / INDEX).write_text(json.dumps({"weight_map": weight_map}))


def test_digest_does_not_depend_on_files_and_does_on_names_types_shapes_and_values(tmp_path):
    (tmp_path / "one").mkdir()
    save_file(SAMPLE, tmp_path / "one" / SINGLE)
    names = list(SAMPLE)
    write_shards(tmp_path / "two", SAMPLE, [names[3:], names[:3]])
    first = digest_of(tmp_path / "one")
    assert digest_of(tmp_path / "two") == first
    changes = [
        {"matrix": SAMPLE["matrix"].view(5, 3)},
        {"ids": SAMPLE["ids"].view(torch.float64)},
        {"one": SAMPLE["one"] + 1},
        {"other": torch.zeros(1)},
    ]
    for number, change in enumerate(changes):
        (tmp_path / str(number)).mkdir()
        save_file(SAMPLE | change, tmp_path / str(number) / SINGLE)
        assert digest_of(tmp_path / str(number)) != first


def test_digest_needs_all_tensors(tmp_path):
    save_file(SAMPLE, tmp_path / SINGLE)
    with (
        TensorReader(tensor_places(tmp_path / SINGLE), "cpu") as reader,
        pytest.raises(RuntimeError, match="was not read"),
    ):
        reader.digest()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "too few"),
        (b"\0" * 7, "too few"),
        (raw({}, length=1 << 40), "claims 1099511627776 bytes"),
        (raw({}, length=3), "claims 3 bytes"),
        (raw(b"{}", b"", 2)[:-1], "claims 2 bytes"),
        (raw(b"\xff\xfe"), "not JSON"),
        (raw(b"[" * 90_000), "not JSON"),
        (raw([]), "not a JSON object"),
        (raw(b'{"a": {}, "a": {}}'), "occurs twice"),
        (raw({"a": []}), "entry of tensor 'a' is broken"),
        (raw({"a": {"dtype": "F32", "shape": [1]}}), "broken"),
        (raw({"a": entry([-1], [0, 4])}, b"0000"), "broken"),
        (raw({"a": entry([1.0], [0, 4])}, b"0000"), "broken"),
        (raw({"a": entry([True], [0, 4])}, b"0000"), "broken"),
        (raw({"a": entry([1] * 9, [0, 4])}, b"0000"), "broken"),
        (raw({"a": entry([1], [0, 4], "F8_E5M2")}, b"0000"), "type 'F8_E5M2', expected one of"),
        (raw({"a": entry([1], [0, 4], ["F32"])}, b"0000"), "broken"),
        (raw({"a": entry([1 << 60], [0, 4])}, b"0000"), "needs 4611686018427387904 bytes"),
        (raw({"a": entry([1 << 60, 0], [0, 0])}), "needs 0 bytes"),
        (raw({"a": entry([2], [0, 4])}, b"0000"), "needs 8 bytes"),
        (raw({"a": entry([1], [4, 0])}, b"0000"), "needs 4 bytes"),
        (raw({"a": entry([1], [4, 8])}, b"00000000"), "begins at byte"),
        (raw({"a": entry([2], [0, 8]), "b": entry([1], [4, 8])}, b"0" * 8), "begins at byte"),
        (raw({"a": entry([2], [0, 8])}, b"0" * 4), "cut short"),
        (raw({"a": entry([1], [0, 4])}, b"0" * 8), "added to"),
    ],
)
def test_broken_headers_are_refused_before_memory_is_asked_for(tmp_path, content, problem):
    path = tmp_path / SINGLE
    path.write_bytes(content)
    with pytest.raises(DataError, match=problem) as caught:
        tensor_places(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_file_with_changed_bytes_is_read_or_refused_but_never_crashes(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp() / "changed"
    folder.mkdir(exist_ok=True)
    save_file(SAMPLE, folder / SINGLE)
    content = bytearray((folder / SINGLE).read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (folder / SINGLE).write_bytes(content)
    with contextlib.suppress(DataError):
        digest_of(folder)


@pytest.mark.parametrize(
    ("weight_map", "problem"),
    [
        (None, "no weight_map"),
        ({}, "no weight_map"),
        ({"a": "../a.safetensors"}, "same folder"),
        ({"a": "/etc/a.safetensors"}, "same folder"),
        ({"a": "..\\a.safetensors"}, "same folder"),
        ({"a": "part.bin"}, "same folder"),
        ({"a": 3}, "same folder"),
        ({"matrix": "gone.safetensors"}, "cannot be read"),
        (
            {**dict.fromkeys(SAMPLE, "part.safetensors"), "extra": "part.safetensors"},
            "lack 1 tensors of the index: extra",
        ),
        ({"matrix": "part.safetensors"}, "the index says None"),
    ],
)
def test_an_index_that_leaves_the_folder_or_disagrees_is_refused(tmp_path, weight_map, problem):
    save_file(SAMPLE, tmp_path / "part.safetensors")
    (tmp_path / INDEX).write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(DataError, match=problem):
        folder_places(tmp_path)
