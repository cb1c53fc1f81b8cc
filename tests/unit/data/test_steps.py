import subprocess
import sys

import pytest

SHARES = {"train": 0.7, "dev": 0.1, "test": 0.2}


@pytest.fixture
def pairs(write):
    return write("t.tsv", "".join(f"sentence {number % 900}\t译文{number}\n" for number in range(1200)))


def split_rows(read, pairs, split, shares=SHARES, **options):
    columns = ["source", "references"]
    return read("tsv", pairs, columns=columns, split_by="source", split_shares=shares, split=split, **options)


def test_splits_share_no_value_and_together_hold_every_row(read, pairs):
    parts = {split: split_rows(read, pairs, split) for split in SHARES}
    sources = {split: {located.row["source"] for located in rows} for split, rows in parts.items()}
    assert sum(map(len, parts.values())) == 1200
    assert sum(map(len, sources.values())) == 900
    for split, share in SHARES.items():
        assert len(sources[split]) / 900 == pytest.approx(share, abs=0.05)


def test_splits_do_not_depend_on_the_order_of_shares(read, pairs):
    turned = dict(reversed(SHARES.items()))
    assert split_rows(read, pairs, "dev") == split_rows(read, pairs, "dev", turned)


def test_splits_are_those_of_sha256_in_every_process(read, pairs):
    program = (
        "import hashlib\n"
        "for n in range(900):\n"
        "    text = f'sentence {n}'\n"
        "    point = int(hashlib.sha256(text.encode()).hexdigest()[:12], 16) / 16**12\n"
        "    if 0.1 <= point < 0.1 + 0.2: print(text)\n"
    )
    expected = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert {located.row["source"] for located in split_rows(read, pairs, "test")} == set(expected.splitlines())


def test_grouping_gives_several_references_in_order_of_first_sight(write, read):
    content = "mr,ref\nb,1\na,2\nb,3\na,4\nb,5\n"
    rows = read("csv", write("t", content), fields={"source": "mr", "references": "ref"}, group_by="source")
    assert [(located.row["source"], located.row["references"], located.line) for located in rows] == [
        ("b", ["1", "3", "5"], 2),
        ("a", ["2", "4"], 3),
    ]


def test_grouping_joins_lists_and_keeps_the_other_fields_of_the_first_row(write, read):
    lines = '{"source": "a", "references": ["x"], "id": 1}\n{"source": "a", "references": ["y", "z"], "id": 2}\n'
    rows = read("jsonl", write("t", lines), group_by="source")
    assert [located.row for located in rows] == [{"source": "a", "references": ["x", "y", "z"], "id": 1}]


def test_grouping_comes_after_splitting(read, pairs):
    rows = split_rows(read, pairs, "test", group_by="source")
    assert len(rows) == len({located.row["source"] for located in rows})
    assert {len(located.row["references"]) for located in rows} == {1, 2}


def test_numbers_become_names_and_tags_iob2(write, read):
    lines = '{"tags": [1, 1, 0], "label": 2}\n{"tags": ["O"], "label": null, "more": 1}\n'
    rows = read("jsonl", write("t", lines), names=["O", "I-X", "I-Y"], scheme="IOB1")
    assert [located.row for located in rows] == [
        {"tags": ["B-X", "I-X", "O"], "label": "I-Y"},
        {"tags": ["O"], "label": None, "more": 1},
    ]


def test_splits_in_order_follow_one_another_and_together_are_the_file(write, read):
    path = write("t.tsv", "".join(f"sentence {number}\n" for number in range(11)))
    parts = {
        split: [
            located.line
            for located in read("tsv", path, columns=["source"], split_in_order=True, split_shares=SHARES, split=split)
        ]
        for split in SHARES
    }
    # 0.7 * 11 = 7.7 and 0.8 * 11 = 8.8 rows, rounded
    assert parts == {"train": [*range(1, 9)], "dev": [9], "test": [10, 11]}


def test_constants_fill_fields_that_rows_lack(write, read):
    rows = read("jsonl", write("t", '{"summary": "s"}\n'), fields={"references": "summary"}, constants={"document": ""})
    assert [located.row for located in rows] == [{"summary": "s", "references": "s", "document": ""}]


def test_values_become_others(write, read):
    rows = read("tsv", write("t", "text\tlabel\na\t1\nb\t0\n"), values={"label": {"0": "bad", "1": "good"}})
    assert [located.row["label"] for located in rows] == ["good", "bad"]


def test_join_makes_one_text_of_a_list(write, read):
    lines = '{"document": ["One.", "Two."], "references": ["r"]}\n{"document": "Three.", "references": ["r"]}\n'
    rows = read("jsonl", write("t", lines), join={"document": " "})
    assert [located.row["document"] for located in rows] == ["One. Two.", "Three."]
    assert rows[0].row["references"] == ["r"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"split_by": "source"},
            "option 'split_shares' is {}; expected shares above 0 that add up to 1",
        ),
        (
            {"split_by": "source", "split_shares": {"test": 0.5, "train": 0.4}},
            "option 'split_shares' is {'test': 0.5, 'train': 0.4}; expected shares above 0 that add up to 1",
        ),
        (
            {"split_by": "source", "split_shares": {"test": 1.5, "train": -0.5}},
            "option 'split_shares' is {'test': 1.5, 'train': -0.5}; expected shares above 0 that add up to 1",
        ),
        (
            {"split_by": "source", "split_shares": {"test": "all"}},
            "option 'split_shares' is {'test': 'all'}; expected a table of split and share",
        ),
        (
            {"split_by": "source", "split_shares": {"test": 0.5, "train": 0.5}, "split": "tests"},
            "unknown split 'tests'; did you mean 'test'? known: test, train",
        ),
        ({"split_shares": {"test": 1}, "split": "test"}, "option 'split_by' is missing; expected the name of a field"),
        (
            {"split_by": "src", "split_shares": {"test": 1}, "split": "test"},
            "t:1: no field 'src' for option 'split_by'; found 'source', 'count'",
        ),
        ({"group_by": "count"}, "t:1: field 'count' is 3; expected a text for option 'group_by'"),
        ({"scheme": "IO"}, "t:1: field 'tags' is missing; expected a list of texts for option 'scheme'"),
        ({"names": "O"}, "option 'names' is 'O'; expected a list of texts"),
        ({"group_by": 3}, "option 'group_by' is 3; expected a text"),
        (
            {"split_by": "source", "split_in_order": True, "split_shares": {"test": 1}, "split": "test"},
            "options 'split_by' and 'split_in_order' are both given; expected one of them",
        ),
        (
            {"split_in_order": True, "split_shares": {"train": 0.5, "test": 0.5}, "split": "dev"},
            "unknown split 'dev'; known: train, test",
        ),
        ({"split_in_order": 1, "split_shares": {"test": 1}}, "option 'split_in_order' is 1; expected true or false"),
        (
            {"constants": {"source": ""}},
            "t:1: the row has a field 'source'; expected none, for option 'constants' fills it",
        ),
        ({"constants": {"document": 1}}, "option 'constants' is {'document': 1}; expected a table of field and text"),
        ({"values": {"source": {"b": "c"}}}, "t:1: field 'source' is 'a'; expected one of 'b'"),
        ({"values": {"count": {"3": "c"}}}, "t:1: field 'count' is 3; expected a text for option 'values'"),
        (
            {"values": {"source": "c"}},
            "option 'values' is {'source': 'c'}; expected a table of field and table of texts",
        ),
        ({"join": {"count": " "}}, "t:1: field 'count' is 3; expected a list of texts to join"),
        ({"join": {"text": " "}}, "t:1: no field 'text' for option 'join'; found 'source', 'count'"),
        ({"join": "source"}, "option 'join' is 'source'; expected a table of field and separator"),
        ({"join": {"source": 1}}, "option 'join' is {'source': 1}; expected a table of field and separator"),
    ],
)
def test_complaints(write, read, complaint, options, expected):
    path = write("t", '{"source": "a", "count": 3}\n')
    assert complaint(read, "jsonl", path, **options) == expected
