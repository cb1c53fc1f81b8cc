"""The report as one HTML page that needs no network, and files of samples beside it where they are many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import jinja2
from markupsafe import Markup

from evalkit import __version__
from evalkit.report.html.assets import own_script, policy, styles, table_library
from evalkit.report.html.figures import Figure, figures
from evalkit.report.html.overview import overview
from evalkit.report.html.payload import payload, to_json
from evalkit.report.html.samples import Block, PageSamples
from evalkit.report.html.visible import breakable, comment, visible
from evalkit.report.model import Report

INSIDE_BYTES = 4_000_000
"""How much of the samples the page itself holds; the pages whose samples do not fit into the rest have them beside it."""


@dataclass(frozen=True, slots=True)
class File:
    """One file of the page."""

    name: str
    """Path relative to the folder of the page."""
    content: bytes


def render_html(
    report: Report, name: str, samples: Mapping[str, PageSamples] | None = None, inside_bytes: int = INSIDE_BYTES
) -> Iterator[File]:
    """Write the page.

    Args:
        report: The report.
        name: File name of the page; the folder of samples beside it is called after it.
        samples: Key of each task page to its samples, as they were gathered while the report was built.
        inside_bytes: How much of the samples the page may hold.

    Yields:
        Files of samples, if there are any, one at a time; then the page.

    Raises:
        MissingResourceError: The table library, or what draws figures, is not installed.
    """
    library, drawn = table_library(), figures(report)
    folder = f"{name.rsplit('.', 1)[0]}_samples"
    inside: list[Block] = []
    manifests: dict[str, Any] = {}
    room = inside_bytes
    for key, found in (samples or {}).items():
        fits = found.size_bytes <= room
        manifests[key] = {**found.manifest, "folder": None if fits else folder}
        if fits:
            inside += found.blocks
            room -= found.size_bytes
        else:
            yield from (_beside(folder, block) for block in found.blocks)
    has_files = any(manifest["folder"] for manifest in manifests.values())
    scripts = [library, own_script()]
    table = overview(report)
    html = _template().render(
        report=report,
        title=visible(report.settings.title),
        version=__version__,
        policy=Markup(policy(scripts, has_files)),
        styles=Markup(styles()),
        scripts=[Markup(script) for script in scripts],
        table=table,
        signs={value.sign for row in table.rows for value in row.values if value.text},
        pages=report.tasks,
        figures=[Figure(figure.key, Markup(figure.svg)) for figure in drawn],
        blocks=inside,
        data=Markup(to_json(payload(report, manifests))),
    )
    # A lone surrogate, which UTF-8 cannot hold, becomes the JSON escape of the same character.
    yield File(name, html.encode("utf-8", "backslashreplace"))


def _beside(folder: str, block: Block) -> File:
    return File(
        f"{folder}/{block.key}.js", f'evalkitSamples("{block.key}","{block.digest}","{block.data}");\n'.encode("ascii")
    )


def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evalkit.report.html"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters.update(visible=visible, breakable=breakable, comment=comment)
    return environment.get_template("page.html.j2")
