"""transformers' weights as ours and ours as theirs: renamed, transposed, joined and split by the tables of the names."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

import torch
from torch import Tensor

from evalkit.checkpoints.huggingface_names import FAMILIES, Family, Rule
from evalkit.errors import InvalidInputError, UnknownNameError

_HEAD = "lm_head.weight"
_OLD_TERMS = {"gamma": "weight", "beta": "bias"}
"""Names of a layer norm's parameters in files converted from TensorFlow."""


def _family(name: str) -> Family:
    if name not in FAMILIES:
        raise UnknownNameError("model family", name, FAMILIES)
    return FAMILIES[name]


@cache
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(r"([^.]+)".join(re.escape(part) for part in template.split("{}")))


def _find(name: str, templates: Iterable[str]) -> tuple[int, tuple[str, ...]] | None:
    """Find the first template that a name matches: its index and what stands in its gaps."""
    for index, template in enumerate(templates):
        if match := _pattern(template).fullmatch(name):
            return index, tuple(_OLD_TERMS.get(part, part) for part in match.groups())
    return None


def _our_name(name: str, family: Family) -> tuple[str, int, Rule] | None:
    """Translate one of their names: ours, which of the rule's parts it is, and the rule."""
    bare = name.removeprefix(family.their_prefix)
    prefix = family.our_prefix if bare != name else ""
    for text, rules, before in ((name, family.heads, ""), (bare, family.trunk, prefix)):
        for rule in rules:
            if found := _find(text, rule.theirs):
                return before + rule.ours.format(*found[1]), found[0], rule
    return None


def _without_aliases(tensors: Mapping[str, Tensor], family: Family, tie_head: bool) -> dict[str, str]:
    """List their names, each to the name that its tensor is read by: every tied tensor once, under its first name."""
    names = {name: name for name in tensors}
    for alias, first in family.aliases.items():
        if alias not in names or (alias == _HEAD and not tie_head):
            continue
        if first not in names and (bare := first.removeprefix(family.their_prefix)) in names:
            first = bare
        if first not in names:
            names[first] = alias
        elif not torch.equal(tensors[alias], tensors[first]):
            raise InvalidInputError(
                f"{alias} differs from {first}, expected one tensor under two names; set tie_word_embeddings to false"
            )
        del names[alias]
    return names


def to_ours(tensors: Mapping[str, Tensor], family: str, *, tie_head: bool = True) -> dict[str, Tensor]:
    """Rename, transpose and join transformers' weights into ours.

    Args:
        tensors: Their names to tensors; read by name, so a mapping that loads on access is fine.
        family: One of `FAMILIES`.
        tie_head: Whether the model's head is its token embedding; then a second copy of it is left out.

    Returns:
        Our names to tensors. A name that no rule knows stays as it is, for strict loading to report it.

    Raises:
        UnknownNameError: If there is no such family.
        InvalidInputError: If a part of a joined tensor is missing, or two names of a tied tensor have different values.
    """
    table = _family(family)
    ours: dict[str, Tensor] = {}
    parts: dict[str, dict[int, str]] = {}
    rules: dict[str, Rule] = {}
    for name, source in _without_aliases(tensors, table, tie_head).items():
        if _find(name.removeprefix(table.their_prefix), table.ignored):
            continue
        if (found := _our_name(name, table)) is None:
            ours[name] = tensors[source]
            continue
        target, index, rules[target] = found
        parts.setdefault(target, {})[index] = source
    for target, sources in parts.items():
        rule = rules[target]
        if missing := [rule.theirs[index] for index in range(len(rule.theirs)) if index not in sources]:
            raise InvalidInputError(
                f"{target} needs {len(rule.theirs)} tensors, found {sorted(sources.values())}, missing {missing}"
            )
        joined = [tensors[sources[index]] for index in sorted(sources)]
        tensor = joined[0] if len(joined) == 1 else torch.cat(joined)
        ours[target] = tensor.t().contiguous() if rule.is_transposed else tensor
    if family == "t5" and not tie_head and "output.weight" not in ours and "tokens.weight" in ours:
        # transformers 5 writes an untied model whose two tables are equal as one; it still does not scale its outputs.
        ours["output.weight"] = ours["tokens.weight"].clone()
    return ours


def _their_rule(name: str, table: Family, rules: tuple[Rule, ...]) -> tuple[Rule, str, tuple[str, ...]] | None:
    """Find the rule for one of our names, their prefix and what stands in the template's gaps."""
    bare = name.removeprefix(table.our_prefix)
    is_prefixed = not table.our_prefix or bare != name
    for text, candidates, prefix in ((name, rules, ""), (bare, table.trunk, table.their_prefix if is_prefixed else "")):
        for rule in candidates:
            if found := _find(text, (rule.ours,)):
                return rule, prefix, found[1]
    return None


def _split(name: str, tensor: Tensor, count: int, tensors: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """Split a joined tensor: keys and values have equally many rows, queries as many as the output layer reads."""
    rest = tensor.shape[0]
    sizes: list[int] = []
    if count == 3:
        sizes.append(tensors[f"{name.rpartition('.qkv.')[0]}.out.weight"].shape[1])
        rest -= sizes[0]
    return torch.split(tensor, [*sizes, rest // 2, rest - rest // 2])


def to_huggingface(tensors: Mapping[str, Tensor], family: str) -> dict[str, Tensor]:
    """Split, transpose and rename our weights into transformers'; a tied tensor is written once, as transformers does.

    Args:
        tensors: Our names to tensors, all of a model.
        family: One of `FAMILIES`.

    Returns:
        Their names to tensors, each with its own memory where it was split or transposed.

    Raises:
        UnknownNameError: If there is no such family.
        InvalidInputError: If a name is not one of ours.
    """
    table = _family(family)
    present, first = table.variant
    variant = first if present in tensors else ()
    theirs: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if (found := _their_rule(name, table, variant + table.heads)) is None:
            raise InvalidInputError(f"{name!r} is not a weight of family {family!r}")
        rule, prefix, gaps = found
        names = [prefix + template.format(*gaps) for template in rule.theirs]
        if len(names) > 1:
            pieces = _split(name, tensor, len(names), tensors)
            theirs.update((part, piece.clone()) for part, piece in zip(names, pieces, strict=True))
        else:
            theirs[names[0]] = tensor.t().contiguous() if rule.is_transposed else tensor
        if family == "gpt2" and name.endswith("qkv.weight") and f"{name[: -len('weight')]}bias" not in tensors:
            # transformers' GPT-2 always has this bias; 0 is the same as none.
            theirs[names[0].removesuffix("weight") + "bias"] = tensor.new_zeros(tensor.shape[0])
    return theirs
