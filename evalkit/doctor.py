"""What an installation has and lacks, with what to do about it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from importlib import metadata

from evalkit import __version__
from evalkit.errors import MissingResourceError

OK, MISSING, OPTIONAL = "ok", "missing", "optional"

_REQUIRED = (
    "numpy",
    "sacrebleu",
    "rouge-score",
    "nltk",
    "scikit-learn",
    "rapidfuzz",
    "jinja2",
    "fsspec",
    "rich",
    "torch",
    "tokenizers",
    "safetensors",
)
_EXTRAS = {
    "datasets": "tasks from the Hugging Face hub: pip install 'evalkit[hub]'",
    "mecab-python3": "BLEU for Japanese: pip install 'evalkit[ja]'",
    "mecab-ko": "BLEU for Korean: pip install 'evalkit[ko]'",
}


def examine() -> list[dict[str, str]]:
    """One finding a line: what was looked at, its status, and the detail."""
    return [
        _finding("evalkit", OK, f"{__version__}, Python {platform.python_version()}, {platform.platform()}"),
        *_packages(),
        *_resources(),
        _device(),
        _data_dir(),
    ]


def fetch_resources() -> Iterator[str]:
    """Fetch WordNet and the sentence splitter through nltk; yields what happened, one line each."""
    from evalkit import punkt, wordnet

    for module, what in ((wordnet, "WordNet"), (punkt, "the sentence splitter punkt_tab")):
        try:
            module.fetch()
            yield f"fetched {what}"
        except MissingResourceError as error:
            yield f"could not fetch {what}: {error}"


def _packages() -> Iterator[dict[str, str]]:
    for name in _REQUIRED:
        version = _version(name)
        yield _finding(name, OK if version else MISSING, version or f"pip install {name}")
    for name, purpose in _EXTRAS.items():
        version = _version(name)
        yield _finding(name, OK if version else OPTIONAL, version or f"not installed; {purpose}")


def _resources() -> Iterator[dict[str, str]]:
    from evalkit import punkt, wordnet

    try:
        source = wordnet.locate()
        yield _finding("WordNet", OK, f"{source.version}, {source.origin}: {source.path}")
    except MissingResourceError as error:
        yield _finding("WordNet", MISSING, str(error))
    try:
        punkt.require_punkt()
        yield _finding("punkt_tab", OK, "English sentence splitter of nltk")
    except MissingResourceError as error:
        yield _finding("punkt_tab", MISSING, str(error))


def _device() -> dict[str, str]:
    """Processors and NVIDIA GPUs, found without importing torch."""
    processors = f"{os.cpu_count()} processors"
    command = shutil.which("nvidia-smi")
    if command is None:
        return _finding("device", OK, f"{processors}, no NVIDIA driver")
    try:
        done = subprocess.run([command, "-L"], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        return _finding("device", MISSING, f"{processors}; nvidia-smi fails: {error}")
    return _finding("device", OK, "; ".join([processors, *done.stdout.strip().splitlines()]))


def _data_dir() -> dict[str, str]:
    folder = os.environ.get("EVALKIT_DATA_DIR")
    if not folder:
        return _finding("data folder", OPTIONAL, "EVALKIT_DATA_DIR is not set; name the folder with --data-dir")
    status = OK if os.path.isdir(folder) else MISSING
    return _finding("data folder", status, folder if status == OK else f"{folder} is not a folder")


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _finding(what: str, status: str, detail: str) -> dict[str, str]:
    return {"what": what, "status": status, "detail": detail}
