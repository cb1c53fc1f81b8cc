"""BLEU, chrF and TER give the values of sacrebleu, on the shipped cases and on the published ones."""

import os
from pathlib import Path

import pytest

from evalkit.conformance.check import SKIPPED, check_case, read_cases, shipped_folder
from evalkit.conformance.mt import EVALUATORS

PUBLISHED = os.environ.get("EVALKIT_GOLDEN_DIR")


def cases(folder, names):
    read = [case for name in names for case in read_cases(Path(folder, f"{name}.jsonl"))]
    return [case for case in read if case.metric in EVALUATORS]


def assert_passes(case):
    outcome = check_case(case)
    if outcome.status == SKIPPED:
        pytest.skip(outcome.reason)
    assert outcome.reason == ""


@pytest.mark.parametrize("case", cases(shipped_folder(), ["bleu", "chrf", "ter"]), ids=lambda case: case.id)
def test_shipped_case_gives_the_official_value(case):
    assert_passes(case)


@pytest.mark.real
@pytest.mark.skipif(PUBLISHED is None, reason="EVALKIT_GOLDEN_DIR is not set")
@pytest.mark.parametrize(
    "case",
    cases(PUBLISHED, ["bleu", "chrf", "ter", "bugs"]) if PUBLISHED else [],
    ids=lambda case: case.id,
)
def test_published_case_gives_the_official_value(case):
    assert_passes(case)
