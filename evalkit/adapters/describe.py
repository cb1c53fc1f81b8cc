"""The ways to name a model, in words."""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.adapters.baselines import BASELINES


def describe_models() -> Iterator[tuple[str, str]]:
    """Each way to name a model with what it stands for."""
    yield "FOLDER", "a checkpoint, ours or in the layout of transformers: GPT-2, Llama, Qwen2, BERT, RoBERTa, T5, mT5"
    yield "predictions:FILE", "outputs of any system: JSON lines, aligned text, SQuAD JSON, CoNLL columns, TSV"
    yield "openai:MODEL@URL", "a model behind a server with the OpenAI interface"
    yield (
        "hf:PATH",
        "a model in transformers, which has to be installed; slower than a checkpoint folder, for other families",
    )
    for name, baseline in BASELINES.items():
        kinds = ", ".join(baseline.requests)
        yield f"baseline:{name}", f"{baseline.summary} ({kinds})"
    yield "baseline:all", "every baseline that answers the task"
