"""The vocabulary files of the package as rows."""

from __future__ import annotations

from functools import cache


def read(name: str) -> str:
    """Return the text of a data file of the package."""
    from importlib.resources import files

    return (files("evalkit_tasks") / "data" / name).read_text(encoding="utf-8")


@cache
def sections(name: str) -> dict[str, list[list[str]]]:
    """Read a table whose lines starting with ``@`` name the section of the lines below them.

    Returns:
        Section name to rows of tab-separated cells, in the order of the file; rows above any heading are in section ''.
    """
    found: dict[str, list[list[str]]] = {}
    current: list[list[str]] = found.setdefault("", [])
    for line in read(name).splitlines():
        if line.startswith("@"):
            current = found.setdefault(line[1:], [])
        elif line and not line.startswith("#"):
            current.append(line.split("\t"))
    return found
