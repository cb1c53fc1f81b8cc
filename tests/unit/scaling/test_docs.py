"""docs/scaling.md knows every law, loss, method, verb and warning, and its commands have flags that exist."""

import re
import shlex
from pathlib import Path

import click
import pytest

from evalkit.commands.scaling import VERBS, command
from evalkit.scaling.fitting import METHODS
from evalkit.scaling.laws import LAWS
from evalkit.scaling.link_solver import FORMS
from evalkit.scaling.losses import LOSSES
from evalkit.scaling.warnings import CODES

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "scaling.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("names", [CODES, LAWS, LOSSES, [name for name in METHODS if name != "auto"], FORMS])
def test_every_name_is_explained(names):
    shown = set(re.findall(r"`([\w-]+)", TEXT))
    assert set(names) <= shown, set(names) - shown


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_shown_with_flags_that_it_has(verb):
    lines = re.findall(rf"evalkit scaling {verb}\b[^`\n]*", TEXT)
    assert lines
    known = {
        flag
        for parameter in command.get_command(click.Context(command), verb).params
        for flag in (*parameter.opts, *parameter.secondary_opts)
    }
    for line in lines:
        flags = [part for part in shlex.split(line) if part.startswith("--")]
        assert set(flags) <= known, line
