"""`evalkit scaling count`: exact parameters and training compute of a checkpoint or a shape."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from evalkit.commands.scaling_verbs.inputs import pairs
from evalkit.commands.scaling_verbs.output import check_output, emit, output_options
from evalkit.errors import DataError, InvalidInputError
from evalkit.scaling.tables import Outcome, Table, Value

_NAMES: Mapping[str, str] = {
    "total": "all parameters",
    "embedding": "embeddings: tokens, positions, untied head",
    "non_embedding": "without embeddings",
    "non_embedding_with_head": "without embeddings, with the head's matrix",
}


@click.command(name="count")
@click.argument("checkpoints", nargs=-1, metavar="[CHECKPOINT ...]")
@click.option("--family", metavar="NAME", help="gpt, decoder, bert, t5 or gopher, for a shape without a checkpoint.")
@click.option(
    "--shape", multiple=True, metavar="FIELD=VALUE", help="A field of config.json, e.g. width=768; repeatable."
)
@click.option("--length", type=int, metavar="N", help="Tokens of a sequence.  [default: the longest]")
@click.option("--target-length", type=int, metavar="N", help="Tokens of a T5's target.  [default: as the source]")
@click.option("--tokens", type=float, metavar="D", help="Training tokens, for the compute of a whole training.")
@output_options
def command(checkpoints: tuple[str, ...], family: str | None, shape: tuple[str, ...], **flags: Any) -> None:  # noqa: ANN401
    """Count parameters with the embedding split, and floating-point operations beside 6ND.

    \b
    Example:
      evalkit scaling count checkpoints/gpt-mini-lm --tokens 1e9
      evalkit scaling count --family gpt --shape vocab_size=50257 --shape max_length=1024 --shape width=768 \\
        --shape layers=12 --shape heads=12 --shape ff_width=3072
    """
    output = {name: flags.pop(name) for name in ("form", "out", "as_json")}
    check_output(**output)
    shapes = [_read_shape(place) for place in checkpoints]
    if (family is None) != (not shape):
        raise InvalidInputError("--family and --shape go together; expected both, or a checkpoint folder")
    if family is not None:
        shapes.append(
            (family, family, {key: _value(key, text) for key, text in pairs("--shape", shape, "width=768").items()})
        )
    if not shapes:
        raise InvalidInputError("nothing to count; expected checkpoint folders, or --family with --shape")
    emit(_outcome(shapes, **flags), **output)


def _read_shape(place: str) -> tuple[str, str, dict[str, Any]]:
    """Name, family and shape of a checkpoint folder.

    Raises:
        DataError: It is none of ours.
    """
    from evalkit.json_files import read_object

    path = Path(place) / "config.json"
    settings = read_object(path)
    family, shape = settings.get("family"), settings.get("model")
    if not isinstance(family, str) or not isinstance(shape, dict):
        raise DataError(path, "no checkpoint of evalkit's own layout; count another one by --family and --shape")
    head = {"head": "masked_lm" if settings.get("head") == "masked_lm" else "trunk"} if family == "bert" else {}
    return Path(place).resolve().name, family, {**shape, **head}


def _value(key: str, text: str) -> int | bool | str:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if key == "head":
        return text
    try:
        return int(text)
    except ValueError as error:
        raise InvalidInputError(f"--shape {key}={text}; expected a whole number, or true or false") from error


def _outcome(
    shapes: list[tuple[str, str, dict[str, Any]]], length: int | None, target_length: int | None, tokens: float | None
) -> Outcome:
    from evalkit.scaling.columns import require_number

    trained = None if tokens is None else require_number("--tokens", tokens)
    documents = [_counted(*shape, length, target_length, trained) for shape in shapes]
    parameters = tuple((_NAMES[key], *(one["parameters"][key] for one in documents)) for key in _NAMES)
    names = tuple(str(one["name"]) for one in documents)
    rows: list[tuple[Value, ...]] = [
        ("sequence length", *(one["length"] for one in documents)),
        ("forward FLOPs a token", *(one["forward_flops_per_token"] for one in documents)),
        ("training FLOPs a token", *(one["train_flops_per_token"] for one in documents)),
        ("over 6N without embeddings", *(one["ratio_to_6n"]["non_embedding"] for one in documents)),
        ("over 6N with the head", *(one["ratio_to_6n"]["non_embedding_with_head"] for one in documents)),
        ("over 6N of all parameters", *(one["ratio_to_6n"]["total"] for one in documents)),
    ]
    if trained is not None:
        rows.append((f"training FLOPs for {trained:g} tokens", *(one["train_flops"] for one in documents)))
    return Outcome(
        {"models": documents},
        (Table("Parameters", ("count", *names), parameters), Table("Compute", ("count", *names), tuple(rows))),
    )


def _counted(
    name: str, family: str, shape: dict[str, Any], length: int | None, target_length: int | None, tokens: float | None
) -> dict[str, Any]:
    from evalkit.scaling.flops import count_flops, count_parameters

    counts = count_parameters(family, shape)
    longest = shape.get("max_length") if length is None else length
    if not isinstance(longest, int):
        raise InvalidInputError(
            "--length is missing; expected the tokens of a sequence, for the shape has no max_length"
        )
    flops = count_flops(family, shape, longest, target_length=target_length)
    train = flops.train / flops.tokens
    parameters = {key: getattr(counts, key) for key in _NAMES}
    return {
        "name": name,
        "family": family,
        "shape": shape,
        "parameters": parameters,
        "length": flops.tokens,
        "forward_flops": flops.forward,
        "forward_flops_per_token": flops.forward / flops.tokens,
        "train_flops_per_token": train,
        "train_flops": None if tokens is None else flops.training(tokens),
        "ratio_to_6n": {key: train / (6.0 * value) for key, value in parameters.items() if value},
    }
