"""Tables that cannot be used are refused by column, row and value; those that can be doubted are warned of."""

import numpy as np
import pytest

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.points import PointSettings, make_points
from evalkit.scaling.units import convert

N, D, LOSS = [1e6, 1e7, 1e8], [1e8, 1e9, 1e9], [4.0, 3.0, 2.5]
GOOD = {"N": N, "D": D, "loss": LOSS}
NAN, INF = float("nan"), float("inf")

REFUSED = [
    ("no rows", {"N": [], "D": [], "loss": []}, "the table has no rows"),
    ("no loss", {"N": N, "D": D}, "no column 'loss'"),
    ("no predictor", {"loss": LOSS}, "none of the columns 'N'"),
    ("missing value", {**GOOD, "loss": [4.0, None, 2.5]}, "column 'loss', row 2: found nan"),
    ("NaN", {**GOOD, "N": [1e6, NAN, NAN]}, "column 'N', rows 2, 3: found nan"),
    ("infinity", {**GOOD, "D": [1e8, INF, 1e9]}, "column 'D', row 2: found inf"),
    ("huge whole number", {**GOOD, "N": [1, 10**400, 3]}, "column 'N', row 2: found inf"),
    ("zero size", {**GOOD, "N": [1e6, 0.0, 1e8]}, "column 'N', row 2: found 0.0"),
    ("negative tokens", {**GOOD, "D": [1e8, 1e9, -5.0]}, "column 'D', row 3: found -5.0"),
    ("negative compute", {"C": [1e18, -1e18], "loss": [4.0, 3.0]}, "column 'C', row 2: found -1e.18"),
    ("negative loss", {**GOOD, "loss": [4.0, -3.0, 2.5]}, "column 'loss', row 2: found -3.0"),
    ("text loss", {**GOOD, "loss": ["4.0", "3.0", "2.5"]}, r"column 'loss', row 1: found '4.0' \(text\)"),
    ("boolean loss", {**GOOD, "loss": [True, False, True]}, r"row 1: found True \(true or false\)"),
    ("boolean array", {**GOOD, "loss": np.array([True, False, True])}, r"found True \(true or false\)"),
    ("complex", {**GOOD, "N": [1e6, 1j, 1e8]}, r"column 'N', row 2: found 1j \(a complex number\)"),
    ("complex array", {**GOOD, "N": np.array([1e6, 1j, 1e8])}, "a complex number"),
    ("object", {**GOOD, "N": [1e6, object(), 1e8]}, r"column 'N', row 2: found <object"),
    ("table in a column", {**GOOD, "N": np.ones((3, 2))}, r"column 'N' has shape \(3, 2\)"),
    ("unequal lengths", {**GOOD, "D": [1e8, 1e9]}, "column 'D' has 2 rows and 'loss' has 3"),
    ("more unique than seen", {**GOOD, "U": [1e8, 2e9, 1e9]}, r"column 'U', row 2: found 2000000000.0"),
    ("unique without seen", {"N": N, "loss": LOSS, "U": D}, "column 'U' .* without 'D'"),
    ("compute far from 6ND", {**GOOD, "C": [6e14, 6e16, 1e17]}, "column 'C', row 3: found 1e\\+17"),
    ("negative weight", {**GOOD, "weights": [1.0, -1.0, 1.0]}, "column 'weights', row 2: found -1.0"),
    ("no weight at all", {**GOOD, "weights": [0.0, 0.0, 0.0]}, "column 'weights' is 0 in every row"),
    ("mixed units", {**GOOD, "loss_unit": ["nats/token", "bpb", "bpb"]}, "column 'loss_unit', rows 2, 3: found 'bpb'"),
    ("mixed tokenizers", {**GOOD, "tokenizer": ["a", "a", "b"]}, "column 'tokenizer', row 3: found 'b' beside 'a'"),
    ("mixed counts", {**GOOD, "size_counting": ["all", "all", "no embeddings"]}, "column 'size_counting', row 3"),
    ("one run, two values", {**GOOD, "run": ["x", "x", "y"]}, "row 2: run 'x' has 3.0 here and 4.0 in row 1"),
    ("unnamed run", {**GOOD, "run": ["x", "", "y"]}, "column 'run', row 2: found ''"),
    ("flags that are none", {**GOOD, "final": [1, 0, 1]}, "column 'final' holds int64"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_a_table_that_cannot_be_used_is_refused_by_column_row_and_value(columns, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        make_points(columns)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "name"),
    [({**GOOD, "n_params": N}, "column 'n_params'"), ({**GOOD, "loss_unit": "nat"}, "unit of loss 'nat'")],
)
def test_unknown_names_are_refused_with_the_known_ones(columns, name):
    with pytest.raises(UnknownNameError, match=f"unknown {name}.*known: "):
        make_points(columns)


def codes(columns, **settings) -> set[str]:
    return {warning.code for warning in make_points(columns, PointSettings(**settings)).warnings}


WARNED = [
    ("integers", {**GOOD, "N": [10**6, 10**7, 10**8]}, {}, "integer-cast"),
    ("integer array", {**GOOD, "N": np.array([10, 20, 30])}, {}, "integer-cast"),
    ("rows left out", {**GOOD, "loss": [4.0, NAN, 2.5]}, {"dropna": True}, "rows-dropped"),
    ("equal rows", {"N": N + N, "D": D + D, "loss": LOSS + LOSS}, {}, "identical-rows"),
    ("D from C", {"N": N, "C": [6e14, 6e16, 6e17], "loss": LOSS}, {}, "derived-column"),
    ("two sources", {**GOOD, "loss_source": ["held-out", "train", "train"]}, {}, "mixed-loss-source"),
    ("converted", {**GOOD, "loss_unit": "bits/token"}, {"loss_unit": "nats/token"}, "loss-converted"),
]


@pytest.mark.parametrize(("columns", "settings", "code"), [c[1:] for c in WARNED], ids=[c[0] for c in WARNED])
def test_a_table_that_can_be_doubted_is_warned_of(columns, settings, code):
    assert codes(columns, **settings) == {code}


def test_good_columns_of_floats_are_taken_without_a_word():
    assert codes({**GOOD, "seed": [1, 2, 3], "run": ["a", "b", "c"]}) == set()


def test_6nd_of_whole_numbers_does_not_wrap_around():
    points = make_points({"N": [10**11, 10**10], "D": [10**13, 10**12], "loss": [2.0, 3.0]})
    assert points.C.tolist() == [6e24, 6e22]
    assert points.C.dtype == np.float64


@pytest.mark.parametrize(
    ("given", "missing", "expected"),
    [
        ({"N": [1e6], "D": [1e8]}, "C", 6e14),
        ({"N": [1e6], "C": [6e14]}, "D", 1e8),
        ({"D": [1e8], "C": [6e14]}, "N", 1e6),
    ],
)
def test_the_third_of_size_tokens_and_compute_follows_from_the_others(given, missing, expected):
    assert getattr(make_points({**given, "loss": [3.0]}), missing).tolist() == [expected]


def test_compute_that_was_counted_another_way_is_taken_when_it_says_how():
    points = make_points({**GOOD, "C": [1e15, 1e17, 1e18]}, PointSettings(flops="with attention"))
    assert points.C.tolist() == [1e15, 1e17, 1e18]
    assert points.flops_counting == "with attention"


def test_rows_with_missing_values_are_left_out_when_asked_and_keep_their_names_in_messages():
    table = {"N": [NAN, 1e7, 0.0], "loss": [4.0, 3.0, 2.0]}
    with pytest.raises(InvalidInputError, match=r"column 'N', row 4: found 0\.0"):
        make_points(table, PointSettings(dropna=True, first_row=2))
    assert len(make_points({**table, "N": [NAN, 1e7, 1e8]}, PointSettings(dropna=True))) == 2


def test_losses_of_several_units_become_one_on_request():
    table = {"N": [1e6, 1e7], "loss": [np.log(2.0), 1.0], "loss_unit": ["nats/token", "bits/token"]}
    points = make_points(table, PointSettings(loss_unit="bits/token"))
    assert points.loss == pytest.approx([1.0, 1.0])
    assert points.loss_unit == "bits/token"


def test_tokens_become_bytes_only_with_the_bytes_of_a_token():
    table = {"N": [1e6], "loss": [2.0], "loss_unit": "nats/token"}
    with pytest.raises(InvalidInputError, match="bytes_per_token"):
        make_points(table, PointSettings(loss_unit="bpb"))
    points = make_points({**table, "bytes_per_token": [4.0]}, PointSettings(loss_unit="bpb"))
    assert points.loss == pytest.approx([2.0 / 4.0 / np.log(2.0)])
    assert convert(points.loss, "bpb", "nats/token", np.array([4.0])) == pytest.approx([2.0])


def test_losses_per_byte_may_come_from_several_tokenizers():
    points = make_points({**GOOD, "loss_unit": "bpb", "tokenizer": ["a", "b", "b"]})
    assert points.tokenizer is None


def test_taking_rows_takes_them_from_every_column():
    points = make_points({**GOOD, "run": ["a", "b", "c"], "cluster": ["x", "y", "y"], "weights": [1.0, 2.0, 3.0]})
    part = points.take(np.array([False, True, True]))
    assert (part.run, part.cluster) == (("b", "c"), ("y", "y"))
    assert part.weights.tolist() == [2.0, 3.0]
    assert points.take(np.array([2, 0])).N.tolist() == [1e8, 1e6]


def test_points_cannot_be_changed():
    points = make_points(GOOD)
    with pytest.raises(ValueError, match="read-only"):
        points.N[0] = 1.0


def test_the_callers_arrays_stay_writeable():
    sizes = np.array(N)
    make_points({**GOOD, "N": sizes})
    sizes[0] = 2e6
