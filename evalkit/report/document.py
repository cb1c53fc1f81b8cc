"""A report as one JSON document, described by `docs/report.schema.json`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from evalkit.comparison.wording import plain_json
from evalkit.report.model import Report


def report_document(report: Report) -> dict[str, Any]:
    """The report as JSON values, the fields of its data classes; numbers with ten digits."""
    document: dict[str, Any] = plain_json(asdict(report))
    return document


def report_json(report: Report) -> str:
    """Write a report as JSON; what is undefined is null."""
    return json.dumps(report_document(report), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
