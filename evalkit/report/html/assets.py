"""Style and script of the page: our own small files, and DataTables as the itables package brings it.

The page has no bundler. Our scripts are modules that import one another by file name, which inline scripts cannot do;
`own_script` makes a function of each that returns what the file exports, in the order of `SCRIPTS`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib import resources
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from evalkit.errors import MissingResourceError

STYLES: tuple[str, ...] = ("base.css", "tables.css", "overview.css", "task.css", "samples.css", "print.css")
"""Style sheets, in the order in which later ones override earlier ones."""

SCRIPTS: tuple[str, ...] = (
    "dom.js",
    "data.js",
    "route.js",
    "tables.js",
    "detail.js",
    "overview.js",
    "forest.js",
    "pairs.js",
    "slices.js",
    "diff.js",
    "spans.js",
    "chunks.js",
    "browse.js",
    "example.js",
    "samples.js",
    "runs.js",
    "task.js",
    "main.js",
)
"""Our scripts, each after those that it needs."""

_EXPORT = re.compile(r"export\s*\{[^{}]*?([\w$]+) as default[^{}]*\};?")
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";$', re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|const|class) (\w+)", re.MULTILINE)
_EXPORT_WORD = re.compile(r"^export (?=(?:async )?(?:function|const|class) )", re.MULTILINE)


def table_library() -> str:
    """The script of DataTables, which leaves it in ``globalThis.DataTable``.

    Raises:
        MissingResourceError: itables is not installed, or is a release that packs it in another way.
    """
    try:
        package = distribution("itables")
    except PackageNotFoundError as error:
        raise MissingResourceError(
            "the HTML report needs the package itables, which brings the table library; pip install itables, or write"
            " .md, .csv, .tex or .json"
        ) from error
    path = Path(str(package.locate_file("itables/html/dt_bundle.js")))
    try:
        script = path.read_text(encoding="utf-8")
    except OSError as error:
        raise _other_release(package.version) from error
    # Inline modules cannot import one another, so that the default export goes where our script finds it.
    script, found = _EXPORT.subn(lambda match: f"globalThis.DataTable={match[1]};", script)
    if found != 1 or "</script" in script.lower():
        raise _other_release(package.version)
    return script


def _other_release(version: str) -> MissingResourceError:
    return MissingResourceError(
        f"itables {version} does not hold its table library where it is expected (itables/html/dt_bundle.js with one"
        " default export); install another release: pip install 'itables>=2.6,<3'"
    )


def styles() -> str:
    """All our style sheets as one."""
    return "".join(_read(name) for name in STYLES)


def own_script(names: Sequence[str] = SCRIPTS) -> str:
    """Our scripts as one, or some of them with those that they need before them."""
    return "const modules = {};\n" + "".join(_as_function(name, _read(name)) for name in names)


def _as_function(name: str, source: str) -> str:
    body = _EXPORT_WORD.sub("", _IMPORT.sub(r'const \1 = modules["\2"];', source))
    return f'modules["{name}"] = (() => {{\n{body}return {{ {", ".join(_EXPORTED.findall(source))} }};\n}})();\n'


def policy(scripts: Sequence[str], has_chunks: bool) -> str:
    """The page's content security policy: these scripts and nothing else run, and nothing is fetched.

    Args:
        scripts: The text of every inline script.
        has_chunks: Whether files of samples beside the page may be loaded.
    """
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in scripts]
    # Firefox takes 'self' for web servers only; files lie under file:.
    beside = ["'self'", "file:"] if has_chunks else []
    return (
        f"default-src 'none'; script-src {' '.join([*hashes, *beside])}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _read(name: str) -> str:
    return resources.files("evalkit.report.html").joinpath("static", name).read_text(encoding="utf-8")
