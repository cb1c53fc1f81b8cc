"""Who may import whom, read from the source: the dependency rule of docs/architecture.md."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {
    "evalkit": ROOT / "evalkit",
    "evalkit_tasks": ROOT / "tasks" / "evalkit_tasks",
    "evalkit_models": ROOT / "models" / "evalkit_models",
}

MODELS, TASKS = "evalkit_models", "evalkit_tasks"
UPPER = ("evalkit.runner", "evalkit.cli", "evalkit.commands", "evalkit.resolve")

FORBIDDEN = {
    "evalkit_models": ("evalkit", TASKS, "click"),
    "evalkit_tasks": (
        "torch",
        MODELS,
        "evalkit.adapters",
        "evalkit.data",
        "evalkit.stats",
        "evalkit.record",
        "click",
        *UPPER,
    ),
    "evalkit": ("torch", MODELS, TASKS, "click"),
    "evalkit.errors": ("evalkit", "torch", "numpy", TASKS, MODELS, "click"),
    "evalkit.requests": ("evalkit", "torch", "numpy", TASKS, MODELS, "click"),
    "evalkit.metrics": (
        "torch",
        MODELS,
        TASKS,
        "evalkit.spec",
        "evalkit.kinds",
        "evalkit.adapters",
        "evalkit.data",
        "evalkit.record",
        "click",
        *UPPER,
    ),
    "evalkit.stats": (
        "torch",
        MODELS,
        TASKS,
        "evalkit.spec",
        "evalkit.kinds",
        "evalkit.adapters",
        "evalkit.data",
        "evalkit.record",
        "click",
        *UPPER,
    ),
    "evalkit.spec": (
        "torch",
        MODELS,
        TASKS,
        "numpy",
        "evalkit.kinds",
        "evalkit.adapters",
        "evalkit.data",
        "click",
        *UPPER,
    ),
    "evalkit.kinds": (
        "torch",
        MODELS,
        TASKS,
        "numpy",
        "evalkit.adapters",
        "evalkit.data",
        "evalkit.record",
        "click",
        *UPPER,
    ),
    "evalkit.data": ("torch", MODELS, TASKS, "evalkit.adapters", "evalkit.record", "click", *UPPER),
    "evalkit.training": (TASKS, "click", "evalkit.cli", "evalkit.commands"),
    "evalkit.report": ("torch", MODELS, TASKS, "evalkit.spec", "evalkit.kinds", "evalkit.adapters", "click", *UPPER),
    "evalkit.scaling": ("torch", MODELS, TASKS, "evalkit.spec", "evalkit.kinds", "evalkit.adapters", "click", *UPPER),
    "evalkit.sweep": ("torch", MODELS, TASKS, "evalkit.metrics", "evalkit.adapters", "click", *UPPER),
    "evalkit.ranks": (MODELS, TASKS, "evalkit.adapters", "evalkit.metrics", "click", *UPPER),
    "evalkit.cache": ("torch", MODELS, TASKS, "evalkit.metrics", "evalkit.adapters", "click", *UPPER),
    "evalkit.adapters": (
        TASKS,
        "evalkit.spec",
        "evalkit.kinds",
        "evalkit.metrics",
        "evalkit.record",
        "evalkit.stats",
        "click",
        *UPPER,
    ),
    "evalkit.checkpoints": (
        TASKS,
        "evalkit.spec",
        "evalkit.kinds",
        "evalkit.metrics",
        "evalkit.record",
        "evalkit.stats",
        "evalkit.adapters",
        "click",
        *UPPER,
    ),
    "evalkit.runner": (
        "torch",
        MODELS,
        TASKS,
        "evalkit.adapters",
        "evalkit.cli",
        "evalkit.commands",
        "evalkit.resolve",
        "click",
    ),
    "evalkit.record": ("torch", MODELS, TASKS, "evalkit.adapters", "evalkit.store", "click", *UPPER),
    "evalkit.store": ("torch", MODELS, TASKS, "evalkit.adapters", "click", *UPPER),
    **{
        module: ("torch", MODELS, TASKS, "evalkit.adapters", "evalkit.kinds", "evalkit.spec", "click", *UPPER)
        for module in ("evalkit.comparison", "evalkit.compare", "evalkit.gating", "evalkit.gate", "evalkit.baseline")
    },
    "evalkit.catalog": ("torch", MODELS, "evalkit.adapters", "click", *UPPER),
    "evalkit.cli": ("torch", MODELS, TASKS),
    "evalkit.__main__": ("torch", MODELS, TASKS),
    "evalkit.commands": ("torch", MODELS, TASKS),
}
"""Module prefix to prefixes that it must not import; the longest matching module prefix decides."""


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the three packages with its file."""
    for package, folder in SOURCES.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *parts)).removesuffix(".__init__")
            yield name, path


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every import of a file, those inside functions included, as absolute names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} is a relative import"
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def is_below(name: str, prefix: str) -> bool:
    return name == prefix or name.startswith(f"{prefix}.")


def rule_for(module: str) -> tuple[str, ...]:
    prefixes = [prefix for prefix in FORBIDDEN if is_below(module, prefix)]
    return FORBIDDEN[max(prefixes, key=len)]


def violations(module: str, path: Path) -> Iterator[str]:
    for line, name in imports(path):
        for prefix in rule_for(module):
            if is_below(name, prefix):
                yield f"{path.relative_to(ROOT)}:{line} imports {name}"


@pytest.mark.parametrize(("module", "path"), list(modules()), ids=lambda value: value if isinstance(value, str) else "")
def test_module_imports_only_what_its_layer_may(module: str, path: Path):
    assert list(violations(module, path)) == []


def test_a_forbidden_import_is_found_wherever_it_stands(tmp_path: Path):
    file = tmp_path / "x.py"
    file.write_text("def f():\n    from torch.nn import Linear\n    import evalkit.cli\n")
    assert [name for _, name in imports(file)] == ["torch.nn.Linear", "evalkit.cli"]
    assert is_below("torch.nn.Linear", "torch")
    assert not is_below("torchtext", "torch")


HEAVY = ("torch", "datasets", "pandas", "nltk", "numpy", "sklearn", "sacrebleu", "scipy", "rich", "jinja2", "fsspec")


def loaded_by(code: str) -> set[str]:
    """Which heavy modules a fresh interpreter has loaded after some code."""
    program = f"{code}\nimport sys\nprint(*[m for m in {HEAVY!r} if m in sys.modules])"
    environment = {"PYTHONPATH": ":".join(str(ROOT / part) for part in (".", "tasks", "models")), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return set(done.stdout.splitlines()[-1].split()) if done.stdout.strip() else set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["list", "tasks"],
        ["list", "metrics"],
        ["run", "--help"],
        ["list", "models"],
        ["list", "recipes"],
        ["report", "--help"],
    ],
)
def test_help_and_lists_load_nothing_heavy(arguments: list[str]):
    assert loaded_by(f"from evalkit.cli import run_cli\nassert run_cli({arguments!r}) == 0") == set()


def test_the_runner_can_be_imported_without_torch_or_data_libraries():
    assert loaded_by("import evalkit.runner") & {"torch", "datasets", "pandas", "nltk", "sklearn"} == set()
