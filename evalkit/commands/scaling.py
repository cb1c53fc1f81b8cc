"""`evalkit scaling`: fits over model sizes, and how far they can be trusted; each verb in a file of its own."""

from __future__ import annotations

from importlib import import_module

import click

from evalkit.errors import UnknownNameError

VERBS = ("fit", "predict", "optimal", "isoflop", "backtest", "plan", "plot", "arms", "count", "ladder")
"""All verbs, in the order of the help."""


class ScalingVerbs(click.Group):
    """A group whose commands are imported only when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one verb."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"evalkit.commands.scaling_verbs.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which one is nearest."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise UnknownNameError("verb of scaling", args[0], VERBS)
        return super().resolve_command(ctx, args)


@click.command(name="scaling", cls=ScalingVerbs)
def command() -> None:
    """Fit scaling laws, predict larger models, and say how far that can be trusted.

    Points are a CSV file with one training run a row, or stored runs of checkpoints. Laws, losses, intervals and warnings are
    explained in docs/scaling.md.

    \b
    Example:
      evalkit scaling fit runs.csv --column N=params --column D=tokens --save fit.json
      evalkit scaling optimal fit.json --compute 1e21
      evalkit scaling plot fit.json --out figures
    """
