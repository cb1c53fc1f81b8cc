"""What a response depends on, as one digest: no model can be given another model's answers.

A key covers the code that answers and the versions of the packages that compute, the model's own digest (weights, configuration,
tokenizer; of a baseline what it learned from), the type of device and numbers, all settings of generation, what the model knows
about the task, and the whole request. Where answers are drawn at random, the seed and the example belong to it too.

Models that compute requests in batches round by what stands in a batch together. On a CPU the same batches give the same bits,
so there a key also covers the requests that are asked together, and a cached run has the very numbers of one without a cache. On
accelerators nothing promises the same bits twice, and a key covers its request alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib import metadata, util
from pathlib import Path

from evalkit.digests import canonical, digest_json
from evalkit.requests import ModelInfo, ModelSettings, Request, TaskContext

KEY_BYTES = 16

_PACKAGES = ("numpy", "scikit-learn", "tokenizers", "torch", "transformers")
"""Packages whose version can change an answer or its last bits."""

_CODE = ("evalkit/adapters", "evalkit/checkpoints", "evalkit/tokenization", "evalkit/windows.py", "evalkit_models")
"""What turns requests into responses."""


@dataclass(frozen=True, slots=True)
class Keys:
    """Makes the keys of one model on one task.

    Attributes:
        model: Digest of everything but the request.
        is_exact: Whether keys cover what is asked together.
        by_example: Whether equal requests of different examples have different answers.
    """

    model: str
    is_exact: bool
    by_example: bool

    def request(self, request: Request) -> bytes:
        """The key of a request that is asked alone, and what makes two requests equal."""
        fields = {name: getattr(request, name) for name in request.__slots__ if name != "example_id"}
        fields["inputs"] = dict(request.inputs)
        example = request.example_id if self.by_example else None
        return _digest(f"{self.model}\n{request.kind}\n{canonical([example, fields])}")

    def together(self, keys: Sequence[bytes]) -> list[bytes]:
        """The keys of requests that are asked together."""
        if not self.is_exact:
            return list(keys)
        unit = hashlib.sha256(b"".join(keys)).digest()
        return [hashlib.sha256(unit + key).digest()[:KEY_BYTES] for key in keys]


def keys_for(info: ModelInfo, context: TaskContext, neural: ModelSettings | None) -> Keys:
    """The keys of a model on a task.

    Args:
        info: What the adapter says about itself once it is prepared for the task.
        context: What it knows about the task.
        neural: How a neural model is run; None for systems that are none.
    """
    settings = {} if neural is None else asdict(neural)
    decoding = settings.pop("decoding", {})
    is_sampled = decoding.get("temperature", 0.0) > 0
    if not is_sampled:
        decoding = {name: value for name, value in decoding.items() if name != "seed"}
    # How many are computed at once is left out: it changes no answer, and who runs out of memory must be able to go on.
    for name in ("batch_size", "device"):
        settings.pop(name, None)
    is_batched = info.determined_by == "batch"
    model = digest_json(
        {
            "model": info.digest,
            "family": info.family,
            "code": "" if info.determined_by == "service" else code_digest(),
            "packages": package_versions() if is_batched else None,
            "device": info.device_type if is_batched else None,
            "settings": settings,
            "decoding": decoding,
            "task": [context.kind, context.language, context.request_kind],
        }
    )
    return Keys(model=model, is_exact=is_batched and info.device_type == "cpu", by_example=is_sampled)


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Digest of the source that turns requests into responses; a version that someone has to raise would be forgotten."""
    running = hashlib.sha256()
    for part in _CODE:
        package, _, below = part.partition("/")
        spec = util.find_spec(package)
        assert spec is not None
        assert spec.submodule_search_locations is not None
        root = Path(next(iter(spec.submodule_search_locations)))
        place = root / below
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            running.update(f"{package}/{path.relative_to(root).as_posix()}\n".encode())
            running.update(hashlib.sha256(path.read_bytes()).digest())
    return running.hexdigest()[:16]


@lru_cache(maxsize=1)
def package_versions() -> Mapping[str, str]:
    """Versions of the packages that compute."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]
