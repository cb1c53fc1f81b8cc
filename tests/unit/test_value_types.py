"""Types of values that users wrote."""

import pytest

from evalkit.metrics.registry import METRICS
from evalkit.spec import Files, Hub
from evalkit.value_types import field_types, fits, shown, type_name


@pytest.mark.parametrize("kind", [Files, Hub, *METRICS.values()])
def test_the_type_of_every_setting_that_a_task_file_can_hold_is_known_and_has_a_name(kind):
    for declared in field_types(kind).values():
        assert "typing" not in type_name(declared)
        fits("a text", declared)


@pytest.mark.parametrize(
    ("value", "declared"),
    [
        ("yes", bool),
        (1, bool),
        (True, int),
        (1.5, int),
        (True, float),
        (float("inf"), float),
        ("1", float),
        ("ab", tuple[str, ...]),
        (["a", 1], tuple[str, ...]),
        (3, str | None),
        (10**400, float),
        (10**400, int),
        (0, str),
    ],
)
def test_a_value_of_another_type_does_not_fit(value, declared):
    assert not fits(value, declared)


def test_long_values_are_cut_in_messages():
    assert shown("x" * 1000) == "'" + "x" * 59 + "..."
    assert shown(True) == "true"
    assert shown(1 << 100_000) == "a value too large to show"
