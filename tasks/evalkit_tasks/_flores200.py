"""What the FLORES-200 tasks have in common: one test set in many languages, any of which can be source or target."""

from __future__ import annotations

from evalkit.spec import Files, Hub, TaskSpec

_CODES = {"de": "deu_Latn", "en": "eng_Latn", "fr": "fra_Latn", "zh": "zho_Hans"}
_NAMES = {"de": "German", "en": "English", "fr": "French", "zh": "Chinese (simplified)"}


def flores200(source: str, target: str) -> TaskSpec:
    """Build the task that translates from one language of FLORES-200 to another.

    Args:
        source: Language of the source, ISO 639-1.
        target: Language of the translation, ISO 639-1.
    """
    source_code, target_code = _CODES[source], _CODES[target]
    return TaskSpec(
        name=f"flores200_{source}_{target}",
        kind="mt",
        version=1,
        summary=f"Translate sentences of Wikipedia projects from {_NAMES[source]} to {_NAMES[target]}.",
        language=target,
        source_language=source,
        paper="NLLB Team et al. (2022). No Language Left Behind: Scaling Human-Centered Machine Translation.",
        licence="CC BY-SA 4.0",
        files=Files(
            format="parallel_text",
            splits={
                "dev": (f"mt/flores200/dev/{source_code}.dev", f"mt/flores200/dev/{target_code}.dev"),
                "test": (f"mt/flores200/devtest/{source_code}.devtest", f"mt/flores200/devtest/{target_code}.devtest"),
            },
        ),
        hub=Hub(
            name="mteb/FloresBitextMining",
            revision="2144d16cc15edd22d4a9237d12bff5f31f5c07fc",
            splits={"dev": "dev", "test": "devtest"},
            fields={"source": source_code, "references": target_code},
            checked="Name, revision, splits and their sizes read in the task file of mteb and in another public project; "
            "column names read in code that loads a copy of the set. Not loaded from here.",
        ),
        shots_split="dev",
    )
