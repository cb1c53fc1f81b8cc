"""The command line: one verb a job, each verb in a file of its own below `evalkit.commands`.

Results go to stdout, progress and warnings to stderr. A problem that the user can mend is one line on stderr and exit code 2;
every other outcome has its code in `EvalkitError` and below.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import click

from evalkit import __version__
from evalkit.errors import EvalkitError, UnknownNameError

COMMANDS = (
    "run",
    "sweep",
    "compare",
    "gate",
    "baseline",
    "report",
    "list",
    "show",
    "validate",
    "train",
    "scaling",
    "cache",
    "doctor",
)
"""All verbs, in the order of the help."""

EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
TRACEBACK_VARIABLE = "EVALKIT_TRACEBACK"


class Verbs(click.Group):
    """A group whose commands are imported only when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of one verb."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"evalkit.commands.{cmd_name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or say which one is nearest."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownNameError("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)


def dashes(name: str) -> str:
    """Flags may be written with underscores; click hands their names over without the leading dashes."""
    return name.replace("_", "-")


@click.command(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": dashes, "max_content_width": 100},
    epilog="Exit codes: 0 fine; 1 regressed or failed; 2 wrong use or invalid input; 3 inconclusive; "
    "4 not comparable; 5 incomplete; 70 internal error; 130 interrupted.",
)
@click.version_option(__version__, prog_name="evalkit", message="%(prog)s %(version)s")
def cli() -> None:
    """Evaluate GPT, BERT and T5 models in English and Chinese.

    \b
    Example:
      evalkit run --task mini_cws --model baseline:max-match
      evalkit run --task wnut17 --model predictions:tags.conll --data-dir data
    """


class ForgivingStream(io.TextIOWrapper):
    """A stream whose reader may go away, or a log whose disk may fill, without an end to the work.

    Args:
        stream: The stream that is written to.
        forgiven: Errors of writing that are passed over; what was to be written is lost.
    """

    def __init__(self, stream: io.TextIOWrapper, *forgiven: type[Exception]) -> None:
        super().__init__(stream.buffer, stream.encoding, "backslashreplace", line_buffering=stream.line_buffering)
        self._forgiven = forgiven

    def write(self, text: str, /) -> int:
        """Write a text."""
        with suppress(*self._forgiven):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is buffered."""
        with suppress(*self._forgiven):
            super().flush()


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    # Of results that nobody reads to their end (`evalkit list tasks | head`) the exit code is still true; what cannot be
    # told must not end a run of a night. Both are None where they were closed.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout = ForgivingStream(sys.stdout, BrokenPipeError)
    if isinstance(sys.stderr, io.TextIOWrapper):
        # A signal that comes while a line is written writes one itself, which Python refuses with a RuntimeError.
        sys.stderr = ForgivingStream(sys.stderr, OSError, RuntimeError)
    sys.exit(run_cli(arguments))


def run_cli(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding shows what it cannot write as escapes.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        result: Any = cli.main(args=arguments, prog_name="evalkit", standalone_mode=False)
    except (click.ClickException, click.Abort, KeyboardInterrupt) as error:
        return _misuse(error)
    except Exception as error:
        return _failure(error)
    return result if isinstance(result, int) else 0


def _misuse(error: BaseException) -> int:
    """Report what click found wrong, or that the user stopped the command."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message())
        return 0
    if isinstance(error, click.UsageError):
        return _fail(f"{_verb(error)}{error.format_message()}", 2)
    if isinstance(error, click.ClickException):
        return _fail(error.format_message(), 2)
    return _fail("interrupted", EXIT_INTERRUPTED)


def _failure(error: Exception) -> int:
    """Report an error of ours, of the system, or a bug."""
    if isinstance(error, EvalkitError):
        return _fail(str(error), error.exit_code)
    if isinstance(error, OSError):
        return _fail(
            f"the system refused: {error.strerror or error}{f': {error.filename}' if error.filename else ''}", 2
        )
    if os.environ.get(TRACEBACK_VARIABLE):
        raise error
    return _fail(
        f"internal error: {type(error).__name__}: {error};"
        f" this is a bug: please report it with the traceback that {TRACEBACK_VARIABLE}=1 shows",
        EXIT_INTERNAL,
    )


def _fail(message: str, code: int) -> int:
    from evalkit.table import printable

    click.echo(f"evalkit: {printable(_one_line(message))}", err=True)
    return code


def _verb(error: click.UsageError) -> str:
    return f"{error.ctx.info_name}: " if error.ctx and error.ctx.info_name != "evalkit" else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
