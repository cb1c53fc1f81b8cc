"""Run conformance cases and say which passed, failed or had to be skipped."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from evalkit.conformance.case import Case
from evalkit.conformance.evaluators import EVALUATORS
from evalkit.data.text import open_text
from evalkit.errors import DataError, EvalkitError, InvalidInputError, MissingResourceError, UnknownNameError
from evalkit.value_types import check_types, shown

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
_REFUSALS = ("ValueError", "TypeError")
"""What an error case may expect."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case."""

    id: str
    metric: str
    status: str
    """``passed``, ``failed`` or ``skipped``."""
    reason: str = ""
    """Why it failed or was skipped; '' if it passed."""


def shipped_folder() -> Path:
    """The folder of the cases that come with the package."""
    return Path(str(files("evalkit.conformance") / "cases"))


def read_folder(folder: Path) -> list[Case]:
    """Read the cases of every ``*.jsonl`` file of a folder, files in alphabetical order.

    Raises:
        InvalidInputError: The folder is not there, or holds no such file or no case.
        DataError: A file is not in the conformance format.
    """
    if not folder.is_dir():
        raise InvalidInputError(f"{folder} is not a folder; expected a folder of conformance files (*.jsonl)")
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        raise InvalidInputError(f"{folder} holds no *.jsonl file; expected conformance files, see docs/conformance.md")
    cases = [case for path in paths for case in read_cases(path)]
    if not cases:
        raise InvalidInputError(f"{folder} holds no case in its {len(paths)} *.jsonl files; expected one a line")
    return cases


def read_cases(path: Path) -> Iterator[Case]:
    """Read the cases of one file.

    Raises:
        DataError: A line is not JSON, or its fields are not those of a case or have another type.
    """
    known = [field.name for field in fields(Case)]
    for number, line in open_text(path):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except RecursionError as error:
            raise DataError(path, "JSON that is nested too deeply; expected a case", number) from error
        except ValueError as error:
            raise DataError(path, f"not JSON: {error}", number) from error
        if not isinstance(row, dict) or set(row) != set(known):
            found = sorted(row) if isinstance(row, dict) else type(row).__name__
            raise DataError(path, f"found {found}; expected an object with the fields {known}", number)
        try:
            _check_case_fields(row)
        except InvalidInputError as error:
            raise DataError(path, str(error), number) from error
        yield Case(**{**row, "tags": tuple(row["tags"])})


def _check_case_fields(row: Mapping[str, Any]) -> None:
    check_types("", row, Case)
    if row["metric"] not in EVALUATORS:
        raise UnknownNameError("metric", row["metric"], EVALUATORS)
    if row["tolerance"] < 0:
        raise InvalidInputError(f"tolerance is {row['tolerance']}; expected a number from 0")
    expected = row["expected"]
    if not expected:
        raise InvalidInputError('expected is {}; expected named values, or {"error": "ValueError"}')
    if "error" in expected and (len(expected) > 1 or expected["error"] not in _REFUSALS):
        raise InvalidInputError(
            f"expected is {shown(expected)}; an error stands alone and is one of {', '.join(_REFUSALS)}"
        )


def check_case(case: Case) -> Outcome:
    """Compute one case and compare it with the reference values.

    Only evalkit's own errors are the refusal that an error case expects: any other exception is a mistake, in the case or in
    the metric, and fails the case.
    """
    wanted_error = case.expected.get("error")
    try:
        got = EVALUATORS[case.metric](case)
    except MissingResourceError as error:
        return Outcome(case.id, case.metric, SKIPPED, str(error))
    except Exception as error:  # whatever a metric raises on inputs of any shape
        kinds = {kind.__name__ for kind in type(error).__mro__}
        if isinstance(error, EvalkitError) and wanted_error in kinds:
            return Outcome(case.id, case.metric, PASSED)
        reason = " ".join(str(error).split())
        return Outcome(case.id, case.metric, FAILED, f"raised {type(error).__name__}: {reason:.300}")
    if wanted_error is not None:
        return Outcome(case.id, case.metric, FAILED, f"gave values where {wanted_error} was expected")
    problems = list(differences(got, case.expected, case.tolerance, case))
    if problems:
        return Outcome(case.id, case.metric, FAILED, "; ".join(problems[:3]))
    return Outcome(case.id, case.metric, PASSED)


def differences(got: Mapping[str, Any], wanted: Mapping[str, Any], tolerance: float, case: Case) -> Iterator[str]:
    """Where computed values differ from the reference values by more than the tolerance, as one text each."""
    loose = {name for name in wanted if is_undetermined(name, case)}
    for name, value in wanted.items():
        if name in loose:
            continue
        if name not in got:
            yield f"{name} is missing"
        else:
            bound = 0.005 if name.endswith("_2dp") else tolerance
            yield from _compare(name, got[name], value, bound)


def is_undetermined(name: str, case: Case) -> bool:
    """Whether the reference's value depends on a choice that its definition leaves open.

    Where several longest alignments of two word lists exist, the SIGHAN script's recall of known and unknown words is that
    of the one that GNU diff happens to take.
    """
    return "alignment-tie" in case.tags and name in ("oov_recall", "iv_recall", "printed")


def _compare(place: str, got: object, wanted: object, tolerance: float) -> Iterator[str]:
    if isinstance(wanted, Mapping):
        if not isinstance(got, Mapping):
            yield f"{place} is {got!r}, expected a mapping"
            return
        for name, value in wanted.items():
            if name in got:
                yield from _compare(f"{place}.{name}", got[name], value, tolerance)
            else:
                yield f"{place}.{name} is missing"
    elif isinstance(wanted, list):
        yield from _compare_lists(place, got, wanted, tolerance)
    elif not _equal(got, wanted, tolerance):
        yield f"{place} is {got!r}, expected {wanted!r}"


def _compare_lists(place: str, got: object, wanted: list[Any], tolerance: float) -> Iterator[str]:
    items = list(got) if isinstance(got, Iterable) and not isinstance(got, str | bytes) else None
    if items is None or len(items) != len(wanted):
        yield f"{place} is {got!r:.60}, expected {wanted!r:.60}"
        return
    for index, (left, right) in enumerate(zip(items, wanted, strict=True)):
        yield from _compare(f"{place}[{index}]", left, right, tolerance)


def _equal(got: object, wanted: object, tolerance: float) -> bool:
    if isinstance(wanted, float) and isinstance(got, int | float):
        return math.isclose(got, wanted, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(wanted, int) and not isinstance(wanted, bool) and isinstance(got, float):
        return got == wanted or math.isclose(got, wanted, rel_tol=tolerance, abs_tol=tolerance)
    return got == wanted
