"""What a report says by the rules, worked out the slow way: a whole tree, from another parser.

The reader makes one pass over lxml's events and takes short cuts; this makes a tree with expat and
walks it again for every question. Where both agree on anything hypothesis thinks of, the short cuts
are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

RED = {"failure": "failed", "error": "errored", "rerunfailure": "failed", "rerunerror": "failed"}
SKIPS = {"skipped", "disabled", "ignored"}
FLAKY = {"flakyfailure", "flakyerror"}
SAID = {"failed": "failed", "error": "errored", "disabled": "skipped", "notrun": "skipped"}
WORST = ("passed", "skipped", "failed", "errored")


@dataclass
class Node:
    """An element with its local name."""

    name: str
    attrib: Mapping[str, str]
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def lower(self) -> str:
        return self.name.lower()

    def below(self) -> Iterator[Node]:
        """This element and all below it, in the order of the report."""
        yield self
        for child in self.children:
            yield from child.below()

    @property
    def is_case(self) -> bool:
        return self.name == "testcase"

    @property
    def is_suite(self) -> bool:
        """A root, or what stands in a suite and is no case, result or output."""
        if self.parent is None:
            return True
        if self.is_case:
            return False
        if self.parent.is_case:
            return self.name in ("testsuite", "testsuites")
        quoted = ("system-out", "system-err", "properties", "property", "failure", "error")
        return self.parent.is_suite and self.lower not in quoted


@dataclass(frozen=True)
class Expected:
    """Verdict and totals of testcase elements; ids in one of three sets each."""

    verdict: str
    totals: tuple[int, ...]
    flaky: int
    passed: frozenset[str]
    skipped: frozenset[str]
    red: frozenset[str]


def parse(data: bytes) -> Node:
    """The tree. Raises :class:`xml.parsers.expat.ExpatError`."""
    parser = expat.ParserCreate()
    top: list[Node] = []
    stack: list[Node] = []

    def start(tag: str, attrib: dict[str, str]) -> None:
        plain = {key: value for key, value in attrib.items() if ":" not in key}
        node = Node(tag.rpartition(":")[2], plain, stack[-1] if stack else None)
        (stack[-1].children if stack else top).append(node)
        stack.append(node)

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: stack.pop()
    parser.Parse(data, True)
    return top[0]


def status(case: Node) -> str:
    """Worst of the direct results; without one what attributes say; a bare rerun failed."""
    results = [child.lower for child in case.children]
    found = [RED[result] for result in results if result in ("failure", "error")]
    found += ["skipped" for result in results if result in SKIPS]
    if not found:
        found = [SAID.get(case.attrib.get("status", "").strip().lower(), "passed")]
    if any(result.startswith("rerun") and result in RED for result in results):
        found.append("failed")
    return max(found, key=WORST.index)


def itemised(case: Node) -> int:
    """Results that a suite may have counted as failed or errored."""
    results = [child.lower for child in case.children]
    red = sum(result in ("failure", "error") for result in results)
    flaky = sum(result in FLAKY for result in results)
    return max(red, int(status(case) in ("failed", "errored"))) + flaky


def test_id(case: Node) -> str:
    """``<classname>::<name>``, with the case's or the nearest suite's file where that is needed."""
    name, classname = case.attrib.get("name", ""), case.attrib.get("classname", "")
    file = case.attrib.get("file", "")
    above = case.parent
    while above and not file:
        file = above.attrib.get("file", "") if above.is_suite else ""
        above = above.parent
    alone = f"{classname}::{name}"
    return f"{file}::{alone}" if file and classname in ("", name) else alone


def on_suites(top: Node) -> list[Node]:
    """Failures and errors outside every testcase."""
    return [
        node
        for node in top.below()
        if node.parent and node.parent.is_suite and node.lower in ("failure", "error")
    ]


def counts_more(suite: Node) -> bool:
    """Does the suite declare more failures and errors than are written out below it?"""
    below = list(suite.below())
    written = sum(itemised(node) for node in below if node.is_case) + len(on_suites(suite))
    declared = [suite.attrib.get(key, "").strip() for key in ("failures", "errors")]
    return sum(int(text) for text in declared if text.isdecimal() and text.isascii()) > written


def expect(data: bytes) -> Expected:
    """What the reader must make of a well-formed report. Raises ``ExpatError``."""
    top = parse(data)
    cases = [node for node in top.below() if node.is_case]
    by_id: dict[str, str] = {}
    for case in cases:
        test = test_id(case)
        by_id[test] = max(by_id.get(test, "passed"), status(case), key=WORST.index)
    counted = [status(case) for case in cases]
    outside = bool(on_suites(top)) or any(
        counts_more(node) for node in top.below() if node.is_suite
    )
    nameless = any(
        "name" not in case.attrib and "classname" not in case.attrib and status(case) == "passed"
        for case in cases
    )
    verdict = "passing" if "passed" in counted and not nameless else "unusable"
    if outside or {"failed", "errored"} & set(counted):
        verdict = "failing"
    if top.name not in ("testsuite", "testsuites"):
        verdict = "unusable"
    return Expected(
        verdict,
        (len(cases), *map(counted.count, ("passed", "failed", "errored", "skipped"))),
        sum(
            status(case) == "passed" and any(child.lower in FLAKY for child in case.children)
            for case in cases
        ),
        *(
            frozenset(test for test, worst in by_id.items() if worst in words)
            for words in (["passed"], ["skipped"], ["failed", "errored"])
        ),
    )
