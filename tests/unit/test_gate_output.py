"""Markdown and JUnit: whatever data and outputs say, the file stays what it is."""

import re
from xml.etree import ElementTree

import pytest

from evalkit.comparison.loaded import load_run
from evalkit.comparison.wording import interval, markdown, number, p_value, plain_json, xml
from evalkit.gate import judge
from evalkit.gating.gate_text import result_markdown, result_text
from evalkit.gating.junit import result_junit
from evalkit.gating.policy import Check, Policy
from evalkit.metrics.squad import SquadV1
from tests.stored import keep_run

NASTY = [
    "a | b", "`code` ``` fence", "]]> & <script>alert(1)</script>", "\x00\x07\x1b[31mred", "line\nbreak\r\n# heading",
    "![image](https://example.org/x.png)", "</details>", "@everyone #1 ~~x~~ $x$", "\ud800 lone", "\ufffe\uffff", "| --- |",
    "中文｜",
]  # fmt: skip

ATTRIBUTES = {
    "testsuites": {"name": str, "tests": int, "failures": int, "errors": int, "time": float},
    "testsuite": {"name": str, "tests": int, "failures": int, "errors": int, "skipped": int, "time": float},
    "testcase": {"name": str, "classname": str, "time": float},
    "failure": {"message": str, "type": str},
    "error": {"message": str, "type": str},
    "skipped": {"message": str},
    "system-out": {},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"testcase"},
    "testcase": {"failure", "error", "skipped", "system-out"},
}
"""The parts of the JUnit schema of Jenkins and GitLab that the file uses: required attributes with types, allowed children."""


def check_schema(element):
    known = ATTRIBUTES[element.tag]
    assert set(element.attrib) == set(known)
    for name, kind in known.items():
        kind(element.attrib[name])
    for child in element:
        assert child.tag in CHILDREN[element.tag]
        check_schema(child)


@pytest.fixture
def result(tmp_path):
    """A gate over outputs, ids, models and tasks with every mark that a format could trip over."""
    references = [["right"]] * len(NASTY) + [["other"]] * 40
    good = ["right"] * len(NASTY) + ["other"] * 40
    bad = [*NASTY, *["other"] * 40]
    ids = [f"{place}{text}".encode("utf-8", "replace").decode() for place, text in enumerate(NASTY)]
    ids += [f"e{place}" for place in range(40)]
    tasks = ["toy | <b>", "toy2"]
    runs = {
        side: [
            load_run(
                keep_run(
                    tmp_path / f"{side}{place}", SquadV1(), outputs, references, name=side, ids=ids, task={"name": task}
                )
            )
            for place, task in enumerate(tasks)
        ]
        for side, outputs in (("base", good), ("cand", bad))
    }
    broken = load_run(
        keep_run(tmp_path / "x", SquadV1(), good[1:], references[1:], name="cand", ids=ids[1:], task={"name": "toy2"})
    )
    checks = (
        Check(task=tasks[0], metric="squad_v1", value="f1", margin=1.0),
        Check(task=tasks[0], metric="squad_v1", value="exact_match", margin=1.0, role="secondary"),
        Check(task="toy2", margin=1.0),
        Check(task="nowhere\x00]]>", margin=1.0),
    )
    return judge(runs["base"], [runs["cand"][0], broken], Policy(checks=checks, resamples=1000))


def test_junit_follows_the_schema_and_counts_right(result):
    root = ElementTree.fromstring(result_junit(result))
    check_schema(root)
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "2",
    }
    assert [suite.get("tests") for suite in root] == ["2", "1", "1"]
    assert root.find("testsuite/testcase/failure").get("type") == "regressed"
    assert root.find("testsuite/testcase/failure").text.startswith("regressed: worse by")


def test_junit_has_only_characters_that_xml_may_have(result):
    text = result_junit(result)
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", text)
    assert "<script>" not in text


def test_inconclusive_is_skipped_or_fails_as_the_policy_says(tmp_path):
    outputs = {"b": ["x"] * 30 + ["y"] * 10, "c": ["y"] * 4 + ["x"] * 26 + ["x"] * 3 + ["y"] * 7}
    runs = [load_run(keep_run(tmp_path, SquadV1(), outputs[name], [["x"]] * 40, name=name)) for name in "bc"]
    for mode, element in (("pass", "skipped"), ("fail", "failure")):
        policy = Policy(checks=(Check(task="toy", margin=1.0),), resamples=1000, on_inconclusive=mode)
        root = ElementTree.fromstring(result_junit(judge(runs[:1], runs[1:], policy)))
        check_schema(root)
        assert root.find(f"testsuite/testcase/{element}") is not None


def test_markdown_tables_keep_their_columns_and_text_does_nothing(result):
    text = result_markdown(result)
    tables = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    columns = {line.count("|") for line in tables}
    assert columns == {8, 5}
    body = text.replace("<details><summary>samples that moved it most</summary>", "").replace("</details>", "")
    assert not re.search(r"[<`@$~\x00-\x09\x0b-\x1f]", body)
    assert "](http" not in body
    assert text.count("<details>") == text.count("</details>") == 2


def test_the_terminal_gets_no_control_characters(result):
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", result_text(result))


@pytest.mark.parametrize("text", NASTY)
def test_markdown_shows_a_text_as_it_is(text):
    from html import unescape

    kept = [c if c.isprintable() else " " if c in "\n\r\t" else f"\\x{ord(c):02x}" for c in xml(text)]
    assert unescape(markdown(text)) == " ".join("".join(kept).split())


def test_numbers_are_written_as_their_field_prints_them():
    assert number(12.345, 100) == "12.35"
    assert number(0.12345, 1, signed=True) == "+0.1235"
    assert number(-0.00001, 1, signed=True) == "0.0000"
    assert number(None, 1) == "-"
    assert interval(-1.0, 2.0, 100) == "[-1.00, +2.00]"
    assert interval(None, 2.0, 100) == "-"
    assert (p_value(0.00001), p_value(0.5), p_value(None)) == ("<0.0001", "0.5000", "-")
    assert plain_json({"a": (1 / 3, [2, None, "x"])}) == {"a": [0.3333333333, [2, None, "x"]]}
