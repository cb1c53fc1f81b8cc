"""The environment that templates of task files run in: no files, no attributes of Python, no texts or times without bound.

Jinja's sandbox keeps a template away from everything but its values; what it does not bound is memory, which one
multiplication can fill, and time, which two loops can. So everything that makes a text or number longer than its parts is
checked before it is made, and whatever can be done again and again (an item of a loop, a call, a filter) looks at the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

LARGEST_TEXT = 1_000_000
"""Characters that a template may add to its values, and the largest number that may be a width or a count."""
LONGEST_S = 5.0
"""Processor time that one text may take; an honest one takes less than a thousandth of it."""
_LARGEST_BITS = 10_000
"""Of a whole number."""
_LARGEST_VALUE = 10 * LARGEST_TEXT
_LONGEST_SOURCE = 100_000
_EACH = "_each"
_SHOWN = 10**300
"""Larger whole numbers are no floating-point numbers, and too long to be read."""
_ITEM = 100
"""Characters that an item of a list counts as: about the memory that it takes."""


class TemplateEnvironment(ImmutableSandboxedEnvironment):
    """Jinja's immutable sandbox with strict names and bounded texts, without a loader."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True, finalize=_checked_value
        )
        del self.globals["lipsum"], self.filters["format"]
        self.filters = {name: self._checked(apply) for name, apply in self.filters.items()}
        self.filters["replace"] = _replaced
        self.filters["join"] = _with_checked_parts(self.filters["join"])
        self.filters[_EACH] = self._each
        self.begin()

    def begin(self) -> None:
        """Begin a new text: from now on its time is counted."""
        self._deadline = time.thread_time() + LONGEST_S

    def _look_at_the_clock(self) -> None:
        if time.thread_time() > self._deadline:
            raise SecurityError(f"it computes for more than {LONGEST_S:g} s; loop over less")

    def _each(self, items: Iterable[Any]) -> Iterator[Any]:
        """The items of a loop."""
        for item in items:
            self._look_at_the_clock()
            yield item

    def _checked(self, apply: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            self._look_at_the_clock()
            values = (*arguments, *named.values())
            _check_numbers(values)
            for value in values:
                _checked_value(value)
            return apply(*arguments, **named)

        return _marked_like(apply, checked)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401
        """Compute an operation whose result cannot be much larger than its operands.

        Raises:
            SecurityError: It would be.
        """
        if operator == "**":
            _check_power(left, right)
        elif operator == "%" and isinstance(left, str):
            raise SecurityError("texts are not formatted by % here; use ~ or |join")
        elif operator == "+" and isinstance(left, Sized) and isinstance(right, Sized):
            _check_length(_size(left) + _size(right))
        elif operator == "*":
            _check_product(left, right)
        return super().call_binop(context, operator, left, right)

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Call what is safe to call; numbers that could be widths are bounded, and so are texts that are put together.

        Raises:
            SecurityError: It is not safe.
        """
        __self._look_at_the_clock()
        _check_numbers((*args, *kwargs.values()))
        if isinstance(__obj, LoopContext) and args:  # A recursive loop.
            args = (__self._each(args[0]), *args[1:])
        owner, name = getattr(__obj, "__self__", None), getattr(__obj, "__name__", "")
        if isinstance(owner, str) and name == "join" and args:
            args = (_checked_list(args[0], len(owner)), *args[1:])
        if isinstance(owner, str) and name == "replace":
            return _replaced(owner, *args, **kwargs)
        return super().call(__context, __obj, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:  # noqa: ANN401
        """Refuse `str.format`, whose widths no check of ours sees; other values pass.

        Raises:
            SecurityError: The value is such a method.
        """
        if super().wrap_str_format(value) is not None:
            raise SecurityError("texts are not formatted here; use ~ or |join")
        return None

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        if len(source) > _LONGEST_SOURCE:
            raise SecurityError(f"a template of {len(source)} characters; expected at most {_LONGEST_SOURCE}")
        tree: nodes.Template = _WithChecks().visit(super()._parse(source, name, filename))
        return tree


class _WithChecks(NodeTransformer):
    """Makes ``a ~ b`` the filter `join`, whose length is checked, and counts the items of loops."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        counted = nodes.Filter(node.iter, _EACH, [], [], None, None, lineno=node.lineno)
        assert node.environment is not None
        node.iter = counted.set_environment(node.environment)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        listed = nodes.List(node.nodes, lineno=node.lineno)
        joined = nodes.Filter(listed, "join", [], [], None, None, lineno=node.lineno)
        assert node.environment is not None
        return joined.set_environment(node.environment)


def _replaced(text: str, old: str, new: str, count: int = -1) -> str:
    found = str(text).count(old) if count < 0 else min(count, str(text).count(old))
    _check_length(len(text) + found * (len(new) - len(old)))
    return str(text).replace(old, new, count)


def _with_checked_parts(apply: Callable[..., Any]) -> Callable[..., Any]:
    def checked(evaluation: Any, parts: Iterable[Any], d: str = "", attribute: Any = None) -> Any:  # noqa: ANN401
        return apply(evaluation, _checked_list(parts, len(str(d))), d, attribute)

    return _marked_like(apply, checked)


def _marked_like(original: Callable[..., Any], wrapper: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the mark by which Jinja knows what to pass first."""
    mark = getattr(original, "jinja_pass_arg", None)
    if mark is not None:
        wrapper.jinja_pass_arg = mark  # type: ignore[attr-defined]
    return wrapper


def _checked_list(parts: Iterable[Any], separator: int) -> list[Any]:
    found, length = [], 0
    for part in parts:
        length += separator + _size(part)
        _check_length(length)
        found.append(part)
    return found


def _checked_value(value: Any) -> Any:  # noqa: ANN401
    _check_length(_size(value))
    return value


def _size(value: object) -> int:
    """Characters that a value has about as text; lists may hold one list many times, so that counting stops at the limit."""
    total, waiting = 0, [value]
    while waiting and total <= _LARGEST_VALUE:
        item = waiting.pop()
        total += _ITEM + (len(item) if isinstance(item, str) else 0)
        if isinstance(item, dict):
            waiting += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            waiting += item
    return total


def _check_numbers(values: Iterable[object]) -> None:
    for value in values:
        if isinstance(value, int | float) and abs(value) > LARGEST_TEXT:
            shown = f"{value:.6g}" if abs(value) < _SHOWN else "that is computed"
            raise SecurityError(f"the number {shown} is too large; expected at most {LARGEST_TEXT}")


def _check_product(left: object, right: object) -> None:
    for repeated, count in ((left, right), (right, left)):
        if isinstance(repeated, Sized) and isinstance(count, int):
            _check_length((len(repeated) if isinstance(repeated, str) else _size(repeated)) * count)
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())


def _check_power(base: object, exponent: object) -> None:
    if isinstance(base, int) and isinstance(exponent, int):
        _check_bits(base.bit_length() * abs(exponent))


def _check_bits(bits: int) -> None:
    if bits > _LARGEST_BITS:
        raise SecurityError(f"a number of more than {_LARGEST_BITS} bits is too large")


def _check_length(length: int) -> None:
    if length > _LARGEST_VALUE:
        raise SecurityError(f"a text or list as long as {length} characters; expected at most {_LARGEST_VALUE}")
