"""Tables of runs: columns by name, rows by condition, and every bad cell named with its line."""

import math

import pytest

from evalkit.errors import DataError, InvalidInputError, UnknownNameError
from evalkit.scaling.csv_points import point_columns, read_table
from evalkit.scaling.points import make_points

TEXT = """model,N,D,loss,outlier
a,1e6,2e7,4.5,False
b,2000000,4e7,4.0,True

c,4e6,,3.6,False
"""


def write(folder, text, name="runs.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_columns_of_the_fields_names_are_found_and_others_are_named(tmp_path):
    table = read_table(write(tmp_path, "params,D,bpb,seed\n1e6,2e7,1.5,0\n2e6,4e7,1.4,1\n"))
    columns = point_columns(table, {"N": "params", "loss": "bpb"})
    assert columns == {"N": [1e6, 2e6], "D": [2e7, 4e7], "loss": [1.5, 1.4], "seed": ["0", "1"]}
    assert make_points(columns).C.tolist() == [1.2e14, 4.8e14]


def test_a_column_of_a_fields_name_can_be_left_alone(tmp_path):
    table = read_table(write(tmp_path, "N,loss,run\n1e6,1.5,a\n2e6,1.4,a\n"))
    assert set(point_columns(table, {"run": ""})) == {"N", "loss"}


def test_empty_cells_are_missing_and_blank_lines_are_none(tmp_path):
    table = read_table(write(tmp_path, TEXT))
    assert table.lines == (2, 3, 5)
    assert math.isnan(table.numbers("D")[2])


@pytest.mark.parametrize(
    ("condition", "models"),
    [
        ("outlier=False", ["a", "c"]),
        ("outlier == True", ["b"]),
        ("N>=2e6", ["b", "c"]),
        ("N<2e6", ["a"]),
        ("N=2e6", ["b"]),
        ("model!=b", ["a", "c"]),
        ("loss<=4", ["b", "c"]),
        ("loss>4", ["a"]),
    ],
)
def test_rows_are_chosen_by_number_or_text(tmp_path, condition, models):
    assert read_table(write(tmp_path, TEXT)).where([condition]).column("model") == models


def test_a_loss_of_0_or_less_is_named_with_its_line_whatever_rows_were_chosen(tmp_path):
    table = read_table(write(tmp_path, "N,loss\n1,2\n\n2,-3.5\n")).where(["N>1"])
    with pytest.raises(DataError, match=r":4: column 'loss' has -3.5; expected a number above 0"):
        point_columns(table, {})


def test_all_conditions_have_to_hold(tmp_path):
    assert read_table(write(tmp_path, TEXT)).where(["N>1e6", "outlier=False"]).column("model") == ["c"]


def test_tabs_byte_order_mark_windows_line_ends_and_quotes_are_read(tmp_path):
    tabs = read_table(write(tmp_path, b"\xef\xbb\xbfN\tloss\r\n1\t2\r\n", "runs.tsv"))
    assert (tabs.header, tabs.rows) == (("N", "loss"), (("1", "2"),))
    quoted = read_table(write(tmp_path, 'run,N\n"a, ""b""\nc",1\nd,2\n'))
    assert quoted.rows == (('a, "b"\nc', "1"), ("d", "2"))
    assert quoted.lines == (2, 4)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_says_what_separates(tmp_path, delimiter):
    text = "N,loss,run\n1e6,2.5,a\n".replace(",", delimiter)
    assert read_table(write(tmp_path, text)).rows == (("1e6", "2.5", "a"),)


def test_true_and_false_are_read_in_their_usual_spellings(tmp_path):
    table = read_table(write(tmp_path, "N,loss,final\n1,2,TRUE\n2,1,0\n"))
    assert point_columns(table, {})["final"] == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the table is empty"),
        ("N,loss\n", "the table is empty"),
        ("N,N\n1,2\n", ":1: two columns are named 'N'; rename one"),
        ("N,loss\n1\n", ":2: 1 cells; expected 2 as in the header"),
        ('N,loss\n1,"2\n', "not CSV: unexpected end of data"),
        (b"N,loss\n\xff,2\n", "not UTF-8"),
    ],
)
def test_files_that_are_no_tables_are_refused(tmp_path, text, message):
    with pytest.raises(DataError) as caught:
        read_table(write(tmp_path, text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("6B", "column 'N' has '6B'; expected a number"),
        ("1,000", "column 'N' has '1,000'; expected a number, without thousands separators"),
        ("1_000", "column 'N' has '1_000'; expected a number, without thousands separators"),
        ("True", "column 'N' has 'True'; expected a number"),
    ],
)
def test_cells_that_are_no_numbers_are_named_with_their_line(tmp_path, cell, message):
    table = read_table(write(tmp_path, f'N,loss\n1,2\n"{cell}",2\n'))
    with pytest.raises(DataError) as caught:
        point_columns(table, {})
    assert message in str(caught.value)
    assert ":3: " in str(caught.value)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda table: table.where(["loss"]), InvalidInputError, "condition 'loss'; expected e.g. N>=1e6"),
        (lambda table: table.where(["losss>1"]), UnknownNameError, "unknown column 'losss'; did you mean 'loss'?"),
        (lambda table: table.where(["N>1e9"]), InvalidInputError, "no row of 3 with N>1e9"),
        (lambda table: point_columns(table, {"M": "N"}), UnknownNameError, "unknown field of a point 'M'"),
        (lambda table: point_columns(table, {"loss": "bpb"}), UnknownNameError, "unknown column 'bpb'"),
        (lambda table: table.flags("model"), DataError, ":2: column 'model' has 'a'; expected true or false"),
    ],
)
def test_names_and_conditions_that_mean_nothing_are_refused(tmp_path, call, error, message):
    with pytest.raises(error) as caught:
        call(read_table(write(tmp_path, TEXT)))
    assert message in str(caught.value)


@pytest.mark.parametrize(("name", "found"), [("none.csv", "is not there"), ("", "is a folder")])
def test_places_without_a_file_are_refused(tmp_path, name, found):
    with pytest.raises(DataError, match=found):
        read_table(tmp_path / name)
