"""Files of at most 400 lines, functions of at most 60; exceptions are listed with their reason and may only shrink."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("evalkit", "tasks", "models", "benchmarks")

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

LONG_FILES: dict[str, tuple[int, str]] = {}
"""Path to its number of lines and the reason."""

LONG_FUNCTIONS: dict[str, tuple[int, str]] = {}
"""``path:function`` to its number of lines and the reason."""

FILES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_file_is_short_enough(path: Path):
    name = str(path.relative_to(ROOT))
    limit = LONG_FILES.get(name, (MAX_FILE_LINES, ""))[0]
    assert len(path.read_text(encoding="utf-8").splitlines()) <= limit


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_functions_are_short_enough(path: Path):
    name = path.relative_to(ROOT)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            limit = LONG_FUNCTIONS.get(f"{name}:{node.name}", (MAX_FUNCTION_LINES, ""))[0]
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            assert lines <= limit, f"{name}:{node.lineno} {node.name} has {lines} lines"


def test_exceptions_are_still_needed():
    for name, (lines, _) in LONG_FILES.items():
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) > MAX_FILE_LINES, (
            f"{name} ({lines}) is short now"
        )
