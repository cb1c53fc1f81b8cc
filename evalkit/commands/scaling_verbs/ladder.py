"""`evalkit scaling ladder`: train a ladder of small models, fit it, and see how far it would have told the largest."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evalkit.commands.scaling_verbs.output import check_output, emit, output_options
from evalkit.errors import InvalidInputError
from evalkit.result_files import write_result
from evalkit.scaling.tables import markdown, render

if TYPE_CHECKING:
    from evalkit.ladder.report import Truth
    from evalkit.ladder.work import Course
    from evalkit.scaling import Points
    from evalkit.scaling.tables import Outcome

_MINI = "mini_lm"


@click.command(name="ladder")
@click.option("--preset", default="cpu", show_default=True, help="smoke, cpu or gpu.")
@click.option("--text", metavar="FILE", help="Train on this text file instead of the embedded mini_lm.")
@click.option(
    "--folder", default="checkpoints/ladder", show_default=True, metavar="DIR", help="Where checkpoints and runs go."
)
@click.option("--report", metavar="FILE", help="Write the report, .md; the figure goes beside it as .svg and .png.")
@click.option("--resamples", type=int, default=1000, show_default=True, help="Resamples of the intervals.")
@output_options
def command(preset: str, text: str | None, folder: str, report: str | None, resamples: int, **output: Any) -> None:  # noqa: ANN401
    """Train sizes and lengths of one small GPT, fit laws to them, and predict the largest from the others.

    On mini_lm the true entropy is known, and the fitted irreducible loss is held against it. The same command goes on where it
    was stopped.

    \b
    Example:
      evalkit scaling ladder --preset cpu --report reports/ladder.md
      evalkit scaling ladder --preset smoke --text book.txt
    """
    check_output(output["form"], output["out"], output["as_json"], report)
    from evalkit.ladder.presets import preset_named
    from evalkit.ladder.work import climb

    chosen = preset_named(preset)
    if report is not None and Path(report).suffix != ".md":
        raise InvalidInputError(f"--report {report!r}; expected a name that ends in .md")
    course = _course(chosen, text, Path(folder))
    began = time.monotonic()
    folders = climb(course)
    if (spent := time.monotonic() - began) > 1:
        click.echo(f"evalkit: {len(folders)} rungs in {spent:.0f} s", err=True)
    points = _points(folders)
    truth = None if text else _truth(folders[0], points.loss_unit)
    outcome = _outcome(points, truth, resamples)
    write_result(Path(folder) / "ladder.json", render(outcome, "json"))
    if report is not None:
        _write_report(report, course, outcome, _figures(points, truth))
    emit(outcome, **output)


def _course(preset: Any, text: str | None, folder: Path) -> Course:  # noqa: ANN401
    from evalkit.catalog import tasks
    from evalkit.ladder.text import text_course
    from evalkit.ladder.work import Course

    def say(line: str) -> None:
        click.echo(f"evalkit: {line}", err=True)

    if text is not None:
        return text_course(preset, Path(text), folder, say)
    version = tasks()[_MINI].version
    return Course(
        preset=preset,
        folder=folder,
        task=_MINI,
        version=version,
        about=f"{_MINI} version {version}.",
        train=(f"data.size={preset.texts}",),
        score=("--size", str(preset.test_texts)),
        say=say,
    )


def _points(folders: list[str]) -> Points:
    from evalkit.scaling.points import PointSettings, make_points
    from evalkit.scaling.run_points import FLOPS, RunOptions, run_columns

    return make_points(run_columns(folders, RunOptions(unit="nats/byte")), PointSettings(flops=FLOPS))


def _truth(folder: str, unit: str) -> Truth:
    """What a perfect model would lose on the texts of a run."""
    from evalkit.catalog import source_logprob, tasks
    from evalkit.ladder.report import Truth, true_loss
    from evalkit.store import read_samples

    logprob, generated = source_logprob(_MINI), tasks()[_MINI].generated
    assert logprob is not None
    assert generated is not None
    assert generated.facts is not None
    texts = [str(sample["references"][0]) for sample in read_samples(folder)]
    return Truth(
        entropy=float(generated.facts()["entropy_nats_per_character"]), on_texts=true_loss(texts, logprob, unit)
    )


def _outcome(points: Points, truth: Truth | None, resamples: int) -> Outcome:
    from evalkit.ladder.report import fit_ladder, ladder_outcome, leave_largest_out

    fits = fit_ladder(points, resamples)
    return ladder_outcome(points, fits, leave_largest_out(points), truth)


def _figures(points: Points, truth: Truth | None) -> dict[str, bytes]:
    """The joint law over its axes without the shortest trainings, and the loss of a perfect model where that is known."""
    from evalkit.ladder.report import parts
    from evalkit.scaling.figures.canvas import FORMATS, to_bytes
    from evalkit.scaling.figures.law import draw_law
    from evalkit.scaling.fitting import Intervals, fit_leniently

    floor = None if truth is None else ("a perfect model", truth.on_texts)
    *_, longer = parts(points).values()
    figure = draw_law(fit_leniently(longer, "chinchilla", intervals=Intervals()), floor=floor)
    return {form: to_bytes(figure, form) for form in FORMATS}


def _write_report(report: str, course: Course, outcome: Outcome, figures: dict[str, bytes]) -> None:
    """Write the report with its figure beside it."""
    place = Path(report)
    for form, content in figures.items():
        write_result(place.with_suffix(f".{form}"), content)
    is_mini = course.task == _MINI
    source, flags = ("the embedded mini_lm", "") if is_mini else ("a text file", " --text FILE")
    preset = course.preset
    head = (
        f"<!-- evalkit scaling ladder --preset {preset.name}{flags} --report {report} -->\n"
        f"# A ladder of small GPTs on {source}\n\n"
        f"{preset.layers} layers, heads of {preset.head_width}, {preset.batch_tokens} tokens a step, one pass over the data,"
        f" a cosine to a tenth of the rate {preset.lr_times_width:g} / width.{' ' if preset.note else ''}{preset.note}\n"
        f"{course.about}\n"
        "N is without embeddings, C counts attention and head too."
        " The figure shows the joint law without the shortest trainings.\n\n"
        f"![loss over size, tokens and compute]({place.stem}.svg)\n\n"
    )
    write_result(report, head + markdown(outcome))
