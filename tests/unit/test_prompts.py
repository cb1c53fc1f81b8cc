"""Prompts: shots before the example, never the example itself, templates in a sandbox."""

import time

import pytest

from evalkit.errors import InvalidInputError
from evalkit.kinds import KINDS
from evalkit.prompts import choose_shots, render, shots_for
from evalkit.requests import Example
from evalkit.spec import Generated, TaskSpec


def task(**changes) -> TaskSpec:
    settings = {"kind": "mt", "language": "en", "source_language": "zh", **changes}
    base = TaskSpec(
        name="toy",
        version=1,
        summary="",
        paper="",
        licence="",
        generated=Generated(rows=lambda split, size, seed: [], sizes={"test": 1}),
        **settings,
    )
    return KINDS[base.kind].complete(base)


def pairs(count: int) -> list[Example]:
    return [Example(id=str(i), inputs={"source": f"源{i}"}, references=(f"text {i}",)) for i in range(count)]


def test_a_prompt_is_instruction_then_solved_shots_then_the_open_example():
    first, second, third = pairs(3)
    assert render(task(), third, (first, second)) == (
        "Translate from Chinese to English.\n\n"
        "Chinese: 源0\nEnglish: text 0\n\n"
        "Chinese: 源1\nEnglish: text 1\n\n"
        "Chinese: 源2\nEnglish:"
    )


def test_shots_are_drawn_by_seed_and_leave_the_scored_example_out():
    pool = pairs(6)
    chosen = choose_shots(pool, 5, seed=1)
    assert chosen == choose_shots(pool, 5, seed=1)
    assert chosen != choose_shots(pool, 5, seed=2)
    for row in pool:
        shots = shots_for(row, chosen, 5)
        assert len(shots) == 5
        assert row not in shots


def test_an_example_is_left_out_only_where_both_id_and_inputs_are_its_own():
    """Train and test splits may both number their rows from 1."""
    pool = pairs(4)
    other = Example(id="0", inputs={"source": "别的"}, references=("other",))
    chosen = choose_shots(pool, 3, seed=0)
    assert shots_for(other, chosen, 3) == chosen[:3]


def test_more_shots_than_examples_are_refused():
    with pytest.raises(InvalidInputError, match="3 shots asked for, but only 3 examples"):
        choose_shots(pairs(3), 3, seed=0)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ sauce }}", "'sauce' is undefined"),
        ("{{ source", "unexpected end of template"),
        ("{{ source.__class__.__mro__ }}", "unsafe"),
        ("{{ references.append('x') }}", "has no attribute 'append'"),
    ],
)
def test_a_template_that_fails_or_reaches_out_of_the_sandbox_is_one_clear_error(template, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        render(task(prompt=template), pairs(1)[0])
    assert "it may use: references, source" in str(caught.value)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ 1 / 0 }}", "ZeroDivisionError: division by zero"),
        ("{{ source + 1 }}", "TypeError: can only concatenate str"),
        ("{{ source.upper(1) }}", "TypeError: "),
        ("{{ range(1000000000)|list }}", "the number 1e\\+09 is too large"),
        ("{{ range(200000)|list }}", "OverflowError: Range too big"),
        ("{{ 'a' * 10**12 }}", "a text or list as long as 1000000000000 characters"),
        ("{{ 10**9 * ['a'] }}", "a text or list as long as 201000000000"),
        ("{{ 'a' * 2000000 }}", "its text is longer than 1000002 characters"),
        ("{{ 9**(9**9) }}", "too large"),
        ("{{ '%999999999d' % 1 }}", "not formatted by %"),
        ("{{ '{:999999999}'.format(1) }}", "not formatted"),
        ("{{ 'a'.ljust(10**9) }}", "the number 1e\\+09 is too large"),
        ("{% set ns = namespace(x=9) %}{% for i in range(40) %}{% set ns.x = ns.x * ns.x %}{% endfor %}", "10000 bits"),
        ("{{ range(9 ** 2000) }}", "the number that is computed is too large"),
        ("{# " + "x" * 100_000 + " #}", "expected at most 100000"),
        ("{{ 'a'|center(10**9) }}", "the number 1e\\+09 is too large"),
        ("{{ '%999999999d'|format(1) }}", "No filter named 'format'"),
        (
            "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
            "a text or list as long as",
        ),
        (
            "{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}",
            "a text or list as long as",
        ),
        (
            "{% set n = namespace(x='aa') %}{% for i in range(60) %}{% set n.x = n.x|replace('a','aa') %}{% endfor %}",
            "as long as",
        ),
        (
            "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = [n.x, n.x]|join %}{% endfor %}",
            "a text or list as long as",
        ),
        ("{% for i in range(100000) %}{{ source * 100 }}{% endfor %}", "its text is longer than 1000002 characters"),
        (
            "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
            "as long as",
        ),
        (
            "{% set n = namespace(x='a') %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x|string }}",
            "as l",
        ),
        (
            "{% set n = namespace(x=['a']) %}{% for i in range(60) %}{% set n.x = [n.x, n.x]|sum(start=[]) %}{% endfor %}",
            "as l",
        ),
        ("{{ [['a'] * 9999] * 9999 }}", "a text or list as long as"),
        ("{% include 'x' %}", "no loader"),
        ("{% import 'os' as os %}", "no loader"),
        ("{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}", "RecursionError: "),
        ("{{ " + "(" * 3000 + ")" * 3000 + " }}", "RecursionError: |too many"),
        ("{{ lipsum(9) }}", "'lipsum' is undefined"),
    ],
)
def test_whatever_a_template_does_wrong_is_one_line_that_names_it(template, message):
    with pytest.raises(InvalidInputError, match=message) as caught:
        render(task(prompt=template), pairs(1)[0])
    assert "\n" not in str(caught.value)
    assert "task 'toy': prompt template" in str(caught.value)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ source ~ '/' ~ 7 ~ '/' ~ references[0] }}", "源0/7/text 0"),
        ("{{ ['a', source]|join(', ') }}", "a, 源0"),
        ("{{ references|join('|') }}{{ ', '.join(['x', 'y']) }}", "text 0x, y"),
        ("{{ source|replace('源', 's') }}{{ source.replace('0', '1') }}", "s0源1"),
        ("{{ 7 % 4 }}{{ 2 ** 10 }}{{ 'ab' * 2 }}{{ 1 + 2 }}", "31024abab3"),
        ("{{ 'x'|center(3) }}{{ 'ab\nc'|indent(2) }}{{ source.ljust(4) }}|", " x ab\n  c源0  |"),
        ("{% for pair in [1, 2, 3]|batch(2) %}{{ pair }}{% endfor %}", "[1, 2][3]"),
    ],
)
def test_what_templates_need_still_works(template, expected):
    assert render(task(prompt=template, instruction=" "), pairs(1)[0]).endswith(expected)


def test_text_of_the_data_is_not_run_as_a_template():
    row = Example(id="1", inputs={"source": "{{ 7 * 7 }} {% for x in y %}"}, references=("x",))
    assert "{{ 7 * 7 }} {% for x in y %}" in render(task(), row)


NESTED = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    "template",
    [
        NESTED,
        "{% macro a() %}{% for x in range(3) %}{{ a() }}{% endfor %}{% endmacro %}{{ a() }}",
        "{% macro a(n) %}{% if n %}{{ a(n - 1) }}{{ a(n - 1) }}{% endif %}{% endmacro %}{{ a(100) }}",
        "{% for x in [1, 2] recursive %}{% if loop.depth < 100 %}{{ loop([1, 2]) }}{% endif %}{% endfor %}",
        "{% for x in range(9) recursive %}{% if loop.depth < 6 %}{{ loop(range(99999)) }}{% endif %}{% endfor %}",
        "{% for i in range(99999) %}{% set y = range(99999)|sort %}{% endfor %}",
        "{% set a = 'a' * 9000000 %}{% for i in range(99999) %}{% if a == a[1:] %}{% endif %}{% endfor %}",
        "{% set c = cycler(1) %}{% for i in range(99999) %}{% for j in range(99999) if c.next() > 1 %}{% endfor %}{% endfor %}",
    ],
)
def test_a_template_that_computes_for_ever_is_stopped(monkeypatch, template):
    monkeypatch.setattr("evalkit.sandbox.LONGEST_S", 0.05)
    started = time.thread_time()
    with pytest.raises(
        InvalidInputError, match=r"it computes for more than 0\.05 s; loop over less|maximum recursion depth"
    ):
        render(task(prompt=template), pairs(1)[0])
    assert time.thread_time() - started < 5


def test_the_time_of_a_template_is_that_of_one_text(monkeypatch):
    monkeypatch.setattr("evalkit.sandbox.LONGEST_S", 0.2)
    looping = task(prompt="{% for i in range(20000) %}{% endfor %}x")
    started = time.thread_time()
    while time.thread_time() - started < 0.5:
        assert render(looping, pairs(1)[0]).endswith("x")


def test_loops_still_know_where_they_are():
    template = (
        "{% for i in range(4) if i != 1 %}{{ loop.index }}/{{ loop.length }}{{ ',' if not loop.last }}{% else %}none{% endfor %}"
        "{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{% for x in [] %}{% else %}none{% endfor %}"
        "{% for x in [[1, [2]], [3]] recursive %}{{ loop(x) if x is iterable else x }}{% endfor %}"
    )
    assert render(task(prompt=template, instruction=""), pairs(1)[0]).endswith("1/3,2/3,3/3a1none123")
