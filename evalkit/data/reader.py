"""What a file format is: a function from paths to rows, with its options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.data.fields import mapped
from evalkit.data.located import Located
from evalkit.data.options import check_names
from evalkit.data.steps import STEPS, apply_steps


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A file format under a name."""

    name: str
    """Name in the ``format`` of a task's files."""
    summary: str
    """What such a file looks like, one line."""
    records: Callable[[Sequence[Path], Mapping[str, Any]], Iterator[Located]]
    """Called with the paths of one split and the options; gives records under the names of the file."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of the format, with what each means; those of `evalkit.data.steps.STEPS` go with every format."""

    def read(
        self, paths: Sequence[Path], fields: Mapping[str, str], options: Mapping[str, Any], split: str | None = None
    ) -> Iterator[Located]:
        """Read the rows of one split, in the order of the files.

        Args:
            paths: Files of the split.
            fields: Field of the task kind to column or key of the file, where the two differ.
            options: Settings of the format and of the steps after it.
            split: Which split is read; needed where the option ``split_by`` divides one file into splits.

        Raises:
            UnknownNameError: An option is not known.
            InvalidInputError: An option has a wrong value.
            DataError: While rows are read: a file cannot be read as what it should be; names path and line.
        """
        check_names(options, [*self.options, *STEPS], f"format {self.name!r}")
        rows = self.records(paths, options)
        if fields:
            rows = (mapped(located, fields) for located in rows)
        return apply_steps(rows, options, split)
