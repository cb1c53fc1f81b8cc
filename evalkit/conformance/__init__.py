"""Conformance: does this installation compute what the reference scorers computed?

Cases are JSON lines of inputs, settings and reference values (docs/conformance.md). The package ships its own; any folder of
files in the same format can be checked.
"""

from evalkit.conformance.check import Outcome, check_case, read_cases, read_folder, shipped_folder
from evalkit.conformance.evaluators import EVALUATORS

__all__ = ["EVALUATORS", "Outcome", "check_case", "read_cases", "read_folder", "shipped_folder"]
