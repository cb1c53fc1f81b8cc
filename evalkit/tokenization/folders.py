"""Tokenizers of checkpoint folders: ours, and those that transformers writes, in each of its layouts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.errors import DataError, InvalidInputError, MissingResourceError
from evalkit.json_files import parse_object, read_object, read_text
from evalkit.tokenization.sentencepiece import (
    CONTROL,
    UNIGRAM,
    UNKNOWN,
    USER_DEFINED,
    SentencePieceModel,
    read_sentencepiece,
)
from evalkit.tokenization.tokenizer import ROLES, Tokenizer

if TYPE_CHECKING:
    import tokenizers

Settings = Mapping[str, Any]
Layout = tuple["tokenizers.Tokenizer", Mapping[str, str]]
"""A tokenizer, and the special tokens that it has where no file names them."""

_VOCABULARY_BYTES = 512 * 1024 * 1024
_SENTINELS = 100

_GPT2 = {"bos": "<|endoftext|>", "eos": "<|endoftext|>", "unk": "<|endoftext|>"}
_ROBERTA = {
    "bos": "<s>", "eos": "</s>", "pad": "<pad>", "unk": "<unk>", "mask": "<mask>", "cls": "<s>", "sep": "</s>",
}  # fmt: skip
_BERT = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_GENERIC = ("PreTrainedTokenizerFast", "TokenizersBackend")
"""Classes of transformers that have no special tokens but those that are named."""
_T5 = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}


def _settings(folder: Path, name: str) -> Settings:
    return read_object(folder / name) if (folder / name).is_file() else {}


def _named(settings: Settings) -> dict[str, str]:
    """Read the special tokens that `special_tokens_map.json` or `tokenizer_config.json` names."""
    found = {}
    for role in ROLES:
        token = settings.get(f"{role}_token")
        if isinstance(token, Mapping):
            token = token.get("content")
        if isinstance(token, str):
            found[role] = token
    return found


def _numbered(config: Settings, backend: tokenizers.Tokenizer) -> dict[str, str]:
    """Read the special tokens whose ids the model's own `config.json` has."""
    found = {}
    for role in ROLES:
        number = config.get(f"{role}_token_id")
        if isinstance(number, int) and number >= 0 and (token := backend.id_to_token(number)) is not None:
            found[role] = token
    return found


def _from_json(folder: Path, settings: Settings, config: Settings) -> Layout:
    import tokenizers

    path = folder / "tokenizer.json"
    text = read_text(path, _VOCABULARY_BYTES)
    parse_object(text, path)
    try:
        backend = tokenizers.Tokenizer.from_str(text)
    except Exception as error:  # the library raises plain Exception
        raise DataError(path, f"not a tokenizer of the tokenizers library: {error}") from error
    if settings.get("tokenizer_class") in _GENERIC:
        return backend, {}
    special = {token.content for token in backend.get_added_tokens_decoder().values() if token.special}
    known = next((names for names in (_ROBERTA, _BERT, _T5, _GPT2) if special.issuperset(names.values())), {})
    return backend, known


def _is_roberta(settings: Settings, config: Settings) -> bool:
    named = str(settings.get("tokenizer_class") or config.get("model_type") or "")
    return "roberta" in named.lower()


def _from_merges(folder: Path, settings: Settings, config: Settings) -> Layout:
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, processors

    vocabulary = read_object(folder / "vocab.json", _VOCABULARY_BYTES)
    lines = read_text(folder / "merges.txt", _VOCABULARY_BYTES).split("\n")
    merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
    if wrong := next((merge for merge in merges if len(merge) != 2), None):
        raise DataError(folder / "merges.txt", f"expected two parts a line, found {' '.join(wrong)[:60]!r}")
    if wrong_id := next((item for item in vocabulary.items() if not isinstance(item[1], int)), None):
        raise DataError(folder / "vocab.json", f"expected a number for each token, found {wrong_id!r}")
    try:
        backend = tokenizers.Tokenizer(models.BPE(vocabulary, [(merge[0], merge[1]) for merge in merges]))
    except Exception as error:  # the library raises plain Exception
        raise DataError(folder / "merges.txt", f"does not fit vocab.json: {error}") from error
    prefix = bool(settings.get("add_prefix_space", False))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    backend.decoder = decoders.ByteLevel()
    if not _is_roberta(settings, config):
        return backend, _GPT2
    roles = _ROBERTA | _named(settings)
    ends = [(roles[role], _id_of(backend, roles[role], folder / "vocab.json")) for role in ("sep", "cls")]
    backend.post_processor = processors.RobertaProcessing(ends[0], ends[1], add_prefix_space=prefix)
    return backend, _ROBERTA


def _id_of(backend: tokenizers.Tokenizer, token: str, path: Path) -> int:
    found = backend.token_to_id(token)
    if found is None:
        raise DataError(path, f"has no token {token!r}, which this model's texts are framed with")
    return found


def _from_vocabulary(folder: Path, settings: Settings, config: Settings) -> Layout:
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

    path = folder / "vocab.txt"
    names = [line.removesuffix("\r") for line in read_text(path, _VOCABULARY_BYTES).removesuffix("\n").split("\n")]
    vocabulary = {name: index for index, name in enumerate(names)}
    roles = _BERT | _named(settings)
    backend = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=roles["unk"]))
    backend.normalizer = normalizers.BertNormalizer(
        lowercase=bool(settings.get("do_lower_case", True)),
        handle_chinese_chars=bool(settings.get("tokenize_chinese_chars", True)),
        strip_accents=settings.get("strip_accents"),
    )
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    cls, sep = roles["cls"], roles["sep"]
    backend.post_processor = processors.TemplateProcessing(
        single=[cls, "$A", sep],
        pair=[cls, "$A", sep, "$B:1", f"{sep}:1"],
        special_tokens=[(cls, _id_of(backend, cls, path)), (sep, _id_of(backend, sep, path))],
    )
    return backend, _BERT


def _from_sentencepiece(folder: Path, settings: Settings, config: Settings) -> Layout:
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

    path = folder / "spiece.model"
    model = read_sentencepiece(path)
    unknown = [index for index, piece in enumerate(model.pieces) if piece.kind == UNKNOWN]
    if model.model_type != UNIGRAM or not model.adds_prefix or len(unknown) != 1:
        raise DataError(path, "only Unigram models with a blank before the text are read; add a tokenizer.json")
    vocabulary = [(piece.text, piece.score) for piece in model.pieces]
    count = int(settings.get("extra_ids", _SENTINELS))
    vocabulary += [(f"<extra_id_{number}>", 0.0) for number in reversed(range(count))]
    try:
        backend = tokenizers.Tokenizer(models.Unigram(vocabulary, unk_id=unknown[0]))
        if model.character_map:
            backend.normalizer = normalizers.Precompiled(model.character_map)
    except Exception as error:  # the library raises plain Exception
        raise DataError(path, f"cannot be used by the tokenizers library: {error}") from error
    blanks = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), blanks])
    backend.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    eos = (_T5 | _named(settings))["eos"]
    backend.post_processor = processors.TemplateProcessing(
        single=["$A", eos], pair=["$A", eos, "$B", eos], special_tokens=[(eos, _id_of(backend, eos, path))]
    )
    _add_pieces(backend, model, count)
    return backend, _T5


def _add_pieces(backend: tokenizers.Tokenizer, model: SentencePieceModel, sentinels: int) -> None:
    """Mark control pieces and sentinels as special, and user-defined pieces as whole."""
    import tokenizers

    control = [piece.text for piece in model.pieces if piece.kind in (CONTROL, UNKNOWN)]
    control += [f"<extra_id_{number}>" for number in range(sentinels)]
    backend.add_special_tokens([tokenizers.AddedToken(name, special=True, normalized=False) for name in control])
    backend.add_tokens(
        [tokenizers.AddedToken(piece.text, normalized=False) for piece in model.pieces if piece.kind == USER_DEFINED]
    )


_LAYOUTS: tuple[tuple[tuple[str, ...], Callable[[Path, Settings, Settings], Layout]], ...] = (
    (("tokenizer.json",), _from_json),
    (("vocab.json", "merges.txt"), _from_merges),
    (("vocab.txt",), _from_vocabulary),
    (("spiece.model",), _from_sentencepiece),
)
"""Files of a layout and its reader; the first layout whose files are all there is read."""


def _added(folder: Path, settings: Settings) -> dict[int, tuple[str, bool]]:
    """List the tokens that were added to a vocabulary later: id to text, and whether it is special."""
    added = {number: (token, False) for token, number in _settings(folder, "added_tokens.json").items()}
    decoder = settings.get("added_tokens_decoder")
    for number, token in (decoder if isinstance(decoder, Mapping) else {}).items():
        added[int(number)] = (token["content"], bool(token.get("special")))
    return dict(sorted(added.items()))


def _add(backend: tokenizers.Tokenizer, folder: Path, settings: Settings) -> None:
    import tokenizers

    try:
        added = _added(folder, settings)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(folder, f"its list of added tokens cannot be read: {error!r}") from error
    for number, (text, is_special) in added.items():
        backend.add_tokens([tokenizers.AddedToken(text, special=is_special, normalized=False)])
        if backend.token_to_id(text) != number:
            raise DataError(folder, f"the added token {text!r} should have id {number}; add a tokenizer.json")


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read the tokenizer of a checkpoint folder.

    Read are, in this order: `tokenizer.json`; `vocab.json` with `merges.txt` (GPT-2, RoBERTa); `vocab.txt` (BERT);
    `spiece.model` (T5). Special tokens come from `tokenizer_config.json`, `special_tokens_map.json` and `config.json`; a
    token that they name and the vocabulary lacks is left out, since the model has no embedding for it.

    Args:
        folder: The folder.

    Raises:
        MissingResourceError: The folder has no such file.
        DataError: A file cannot be used.
    """
    try:
        return _load(folder)
    except UnicodeEncodeError as error:
        raise DataError(folder, f"a token of it holds half a character: {error.object!r:.60}; mend the file") from error


def _load(folder: Path) -> Tokenizer:
    settings = dict(_settings(folder, "special_tokens_map.json")) | dict(_settings(folder, "tokenizer_config.json"))
    config = _settings(folder, "config.json")
    for files, read in _LAYOUTS:
        if all((folder / name).is_file() for name in files):
            backend, known = read(folder, settings, config)
            break
    else:
        wanted = "; ".join(" with ".join(files) for files, _ in _LAYOUTS)
        raise MissingResourceError(f"{folder} has no tokenizer, expected one of: {wanted}")
    if files != ("tokenizer.json",):
        _add(backend, folder, settings)
    roles = {**known, **_numbered(config, backend), **_named(settings)}
    roles = {role: token for role, token in roles.items() if backend.token_to_id(token) is not None}
    if files != ("tokenizer.json",):
        _mark_special(backend, roles)
    try:
        return Tokenizer(backend, roles)
    except InvalidInputError as error:
        raise DataError(folder, str(error)) from error


def _mark_special(backend: tokenizers.Tokenizer, roles: Mapping[str, str]) -> None:
    import tokenizers

    names = sorted(set(roles.values()), key=lambda name: backend.token_to_id(name) or 0)
    backend.add_special_tokens(
        # A blank before RoBERTa's mask belongs to the mask.
        [tokenizers.AddedToken(name, lstrip=name == "<mask>", normalized=False, special=True) for name in names]
    )


def save_tokenizer(folder: Path, tokenizer: Tokenizer) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`, which transformers reads too.

    Args:
        folder: An existing folder.
        tokenizer: The tokenizer.
    """
    settings = {f"{role}_token": token for role, token in tokenizer.special_tokens.items()}
    settings |= {"tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer.json").write_text(tokenizer.to_json(), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps(settings, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
    )
