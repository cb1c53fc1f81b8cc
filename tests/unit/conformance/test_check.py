"""Conformance files of others: a malformed case is one line, and a case passes only for the right reason."""

import json

import pytest

from evalkit.conformance import check_case, read_cases, read_folder
from evalkit.conformance.case import Case
from evalkit.errors import DataError, InvalidInputError

CASE = {
    "id": "one",
    "metric": "bleu",
    "params": {},
    "predictions": ["the cat sat on the mat"],
    "references": [["the cat sat on the mat"]],
    "expected": {"score": 100.0},
    "tolerance": 1e-6,
    "source": "by hand",
    "tags": [],
    "note": "",
}


def case(**changes) -> Case:
    return Case(**{**CASE, "tags": (), **changes})


@pytest.fixture
def problem(tmp_path):
    """A function that writes one line and gives the error after path and line."""

    def make(line: str) -> str:
        path = tmp_path / "x.jsonl"
        path.write_text(line + "\n")
        with pytest.raises(DataError) as error:
            list(read_cases(path))
        message = str(error.value)
        assert message.startswith(f"{path}:1: ")
        assert "\n" not in message
        return message.removeprefix(f"{path}:1: ")

    return make


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("id", 3, "id is 3; expected a text"),
        ("metric", ["bleu"], "metric is ['bleu']; expected a text"),
        ("metric", "blue", "unknown metric 'blue'; did you mean 'bleu'?"),
        ("params", [], "params is []; expected a table"),
        ("predictions", "the cat", "predictions is 'the cat'; expected a list"),
        ("references", None, "references is None; expected a list"),
        ("expected", 3, "expected is 3; expected a table"),
        ("expected", None, "expected is None; expected a table"),
        ("expected", {}, "expected is {}; expected named values"),
        ("expected", {"error": "KeyError"}, "expected is {'error': 'KeyError'}; an error stands alone and is one of"),
        ("expected", {"error": ["ValueError"]}, "expected is {'error': ['ValueError']}; an error stands alone"),
        ("expected", {"error": "ValueError", "score": 1}, "expected is {'error': 'ValueError', 'score': 1}; an error"),
        ("tolerance", "x", "tolerance is 'x'; expected a finite number"),
        ("tolerance", None, "tolerance is None; expected a finite number"),
        ("tolerance", -1, "tolerance is -1; expected a number from 0"),
        ("tags", 3, "tags is 3; expected a list, each item a text"),
        ("tags", None, "tags is None; expected a list, each item a text"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(problem, field, value, expected):
    assert problem(json.dumps({**CASE, field: value})).startswith(expected)


def test_deep_json_is_one_line(problem):
    assert problem("[" * 100_000) == "JSON that is nested too deeply; expected a case"


def test_files_without_a_case_are_not_a_success(tmp_path):
    (tmp_path / "x.jsonl").write_text("\n\n")
    with pytest.raises(InvalidInputError, match=r"holds no case in its 1 \*\.jsonl files"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"metric": "perplexity"}, "raised KeyError: 'kind'"),
        ({"params": {"tokenise": "zh"}}, "raised TypeError: "),
        ({"metric": "perplexity", "params": {"kind": "rolling_windows"}}, "raised KeyError: 'prefix_token'"),
    ],
)
def test_an_exception_of_a_metric_fails_its_case_alone(changes, reason):
    outcome = check_case(case(**changes))
    assert outcome.status == "failed"
    assert outcome.reason.startswith(reason)


def test_only_a_refusal_of_evalkit_is_the_expected_error():
    refused = {"predictions": [3], "expected": {"error": "TypeError"}}
    assert check_case(case(**refused)).status == "passed"
    mistaken = check_case(case(params={"tokenise": "zh"}, expected={"error": "TypeError"}))
    assert (mistaken.status, mistaken.reason[:17]) == ("failed", "raised TypeError:")


def test_a_right_case_passes():
    assert check_case(case()).status == "passed"
