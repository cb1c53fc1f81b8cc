"""Gate results as a JUnit file, which every CI system shows: a test suite a task, a test case a check.

regressed is a failure, not comparable and incomplete are errors, inconclusive is skipped or, where the policy says so, a failure.
There is no time and no host in it: equal results are equal files.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from evalkit.comparison.wording import clip, xml
from evalkit.gate import Finding, GateResult, Verdict
from evalkit.gating.gate_text import reason
from evalkit.gating.policy import FAIL

_ELEMENTS = {
    Verdict.REGRESSED: "failure",
    Verdict.NOT_COMPARABLE: "error",
    Verdict.INCOMPLETE: "error",
    Verdict.INCONCLUSIVE: "skipped",
}


def result_junit(result: GateResult) -> str:
    """Write the XML document."""
    root = ElementTree.Element("testsuites", name="evalkit gate")
    by_task: dict[str, list[Finding]] = {}
    for finding in result.findings:
        by_task.setdefault(finding.check.task, []).append(finding)
    for task, findings in by_task.items():
        suite = ElementTree.SubElement(root, "testsuite", name=xml(task))
        for finding in findings:
            _case(suite, finding, result)
        _count(suite, [suite])
    _count(root, list(root))
    ElementTree.indent(root)
    text: str = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case(suite: ElementTree.Element, finding: Finding, result: GateResult) -> None:
    classname = xml(f"evalkit.gate.{finding.check.task}")
    case = ElementTree.SubElement(suite, "testcase", name=xml(finding.name), classname=classname, time="0")
    said = xml(f"{finding.verdict}: {reason(finding, result.policy)}")
    element = _ELEMENTS.get(finding.verdict)
    if element is None or not finding.is_primary:
        output = ElementTree.SubElement(case, "system-out")
        output.text = said if element is None else f"warning only, {said}"
        return
    if element == "skipped" and result.policy.on_inconclusive == FAIL:
        element = "failure"
    outcome = ElementTree.SubElement(case, element, message=said)
    if element != "skipped":
        outcome.set("type", finding.verdict.replace(" ", "-"))
        outcome.text = xml("\n".join([said, *_changes(finding)]))


def _changes(finding: Finding) -> list[str]:
    return [
        f"{change.id}: {change.effect:+.4g}\n  baseline: {clip(change.first)}\n  candidate: {clip(change.second)}"
        for change in finding.changed
    ]


def _count(element: ElementTree.Element, suites: Sequence[ElementTree.Element]) -> None:
    for name, path in (("tests", "testcase"), ("failures", "testcase/failure"), ("errors", "testcase/error")):
        element.set(name, str(sum(len(suite.findall(path)) for suite in suites)))
    if element.tag == "testsuite":
        element.set("skipped", str(len(element.findall("testcase/skipped"))))
    element.set("time", "0")
