"""One pass over a JUnit report: an lxml parser target that never holds more than one testcase.

The rules (R1 to R10) are those a decade of consumers' bug reports taught: testcases count wherever
they stand, results count only as direct children, declared totals are never believed when they are
good news and always when they are bad news.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from junitparser import Skipped
from junitparser.junitparser import Result

from navci.evidence.junit_frames import (
    OPAQUE,
    Case,
    Frame,
    Opaque,
    Properties,
    ResultText,
    Suite,
)
from navci.evidence.junit_ids import Namer, unloaded_module
from navci.evidence.junit_occurrences import Status
from navci.evidence.junit_results import (
    RESULTS,
    Results,
    excerpt,
    outcome,
    said,
)
from navci.evidence.junit_tally import Tally
from navci.system import neutral

DEPTH_LIMIT = 200
_TEXT_LIMIT = 64 * 1024

_OUTPUT = frozenset({"system-out", "system-err"})
_PROPERTIES = frozenset({"properties", "property"})
_COUNT = re.compile(r"[0-9]+")
_DIGITS = 15  # a longer number is a lie, but one of so many failures is no good news either
_ROOTS = ("testsuites", "testsuite")


class Refused(Exception):
    """The report cannot be used; the message says why."""


class WrongRoot(Refused):
    """Well-formed, but no JUnit report. ``root`` is the local name of its root element."""

    def __init__(self, root: str) -> None:
        self.root = root
        super().__init__(root)


class ReportTarget:
    """Fills ``tally`` from the events of one report. Raises :class:`Refused` out of the parser.

    After an exception the tally holds part of a report and must be thrown away (R0). Testcases
    without a failure, which most are, wait in ``_leaves`` or ``_skips`` and are counted many at a
    time; one without any child never gets a frame. Both make reading several times as quick.
    """

    def __init__(self, namer: Namer, *, names: bool) -> None:
        self.tally = Tally.empty(names=names)
        self._namer = namer
        self._tags = 0
        self._stack: list[Frame] = []
        self._in_suite = False
        self._leaves: list[Mapping[str, str]] = []
        self._skips: list[Mapping[str, str]] = []
        self._in_leaf = False  # the last of _leaves has begun, without a child or its end so far
        # Nothing in these can count, unless it is a testcase.
        self._quiet = _OUTPUT if names else _OUTPUT | _PROPERTIES
        self._text: list[str] = []
        self._open: ResultText | None = None  # whose text it is
        self.data = self._text.append  # no method of ours: called for the space around each tag
        self._itemised = 0  # failures, errors and flaky results written out so far

    def catch_up(self) -> int:
        """Count what waits; the number of tags so far, or of some of them.

        It stands still where a text or an attribute does not end. Text is kept only inside
        results, and not without end.
        """
        text = "".join(self._text)[:_TEXT_LIMIT] if self._open else ""
        self._text[:] = [text]
        last = [self._leaves.pop()] if self._in_leaf else []
        self._count_leaves()
        self._leaves += last
        return self._tags + self.tally.cases + len(last)

    def doctype(self, name: str, _public: str | None, _system: str | None) -> None:
        """A document type can declare entities, and entities can hold or hide results."""
        if name.lower() == "html":
            raise WrongRoot("html")
        raise Refused("it declares a document type (DOCTYPE), which no JUnit report needs")

    def start(self, tag: str, attrib: Mapping[str, str]) -> None:
        """An element begins."""
        if self._in_suite and tag == "testcase":
            self._leaves.append(attrib)
            self._in_suite = False
            self._in_leaf = True
            return
        self._tags += 1
        stack = self._stack
        if self._in_leaf:
            self._in_leaf = False
            stack.append(Case(self._leaves.pop()))
        self._in_suite = False
        if len(stack) >= DEPTH_LIMIT:
            raise Refused(f"its elements are nested deeper than {DEPTH_LIMIT}")
        if tag in self._quiet and stack:
            stack.append(OPAQUE)
            return
        name = tag if tag[0] != "{" else tag.rpartition("}")[2]
        if ":" in name:  # what libxml2 could not take apart
            shown = neutral.one_line(name, 60)
            raise Refused(f"it is not well-formed XML: an element is called `{shown}`")
        if not stack and name not in _ROOTS:
            raise WrongRoot(name)
        if name == "testcase":
            stack.append(Case(attrib))
            return
        frame = self._frame(name, attrib)
        stack.append(frame)
        self._in_suite = type(frame) is Suite and len(stack) < DEPTH_LIMIT

    def end(self, tag: str) -> None:
        """The innermost element ends."""
        if self._in_leaf:
            self._in_leaf = False
            self._in_suite = True
            return
        stack = self._stack
        if type(stack[-1]) is Suite:
            self._count_leaves()  # it may know their file
        frame = stack.pop()
        match frame:
            case Case():
                self._end_case(frame)
            case Suite():
                self._end_suite(frame)
            case ResultText():
                if frame is self._open:
                    self._end_text()
                if isinstance(parent := stack[-1], Suite):
                    self._suite_failure(parent, frame.result)
        self._in_suite = bool(stack) and type(stack[-1]) is Suite

    def close(self) -> None:
        """The report is complete."""

    def _count_leaves(self) -> None:
        """What waits: passed or skipped, unless attributes say something else."""
        if not self._leaves and not self._skips:
            return
        passed: list[Mapping[str, str]] = []
        for attrib in self._leaves:
            nameless = "name" not in attrib and "classname" not in attrib
            if nameless or (("status" in attrib or "result" in attrib) and said(attrib)):
                self._count(Case(attrib))
            else:
                passed.append(attrib)
        self._leaves.clear()
        self.tally.passed(self._ids(passed))
        if self._skips:
            self.tally.skipped(self._ids(self._skips))
            self._skips.clear()

    def _ids(self, cases: list[Mapping[str, str]]) -> list[str]:
        ids = []
        suite_file: str | None = None
        for attrib in cases:
            name, classname = attrib.get("name", ""), attrib.get("classname", "")
            file: str | None = None
            if not classname or classname == name:
                file = attrib.get("file")
                if not file:
                    file = suite_file = self._suite_file() if suite_file is None else suite_file
            test = f"{classname}::{name}"
            ids.append(f"{self._namer.file(file)}::{test}" if file else test)
        return self._namer.whole_ids(ids)

    def _frame(self, name: str, attrib: Mapping[str, str]) -> Frame:
        parent = self._stack[-1] if self._stack else None
        lower = name.lower()
        match parent:
            case Case() if name not in _ROOTS:
                if kind := RESULTS.get(lower):
                    return self._case_result(parent, kind, attrib)
                if lower == "warning":
                    self.tally.odd("a <warning> in a testcase decides nothing")
                return Properties(parent) if lower == "properties" else OPAQUE
            case Properties():
                if lower == "property" and attrib.get("name") == "acceptance":
                    parent.case.accept(attrib.get("value", ""))
                return OPAQUE
            case ResultText() | Opaque():
                return OPAQUE
        if lower in _OUTPUT or lower in _PROPERTIES:
            return OPAQUE
        self._count_leaves()
        if parent is not None and lower in ("error", "failure"):
            return self._begin(RESULTS[lower](_message(attrib)))
        return Suite(name, attrib, self.tally.cases, self._itemised)

    def _case_result(self, case: Case, kind: type[Result], attrib: Mapping[str, str]) -> Frame:
        if kind is Skipped:
            case.skipped = True
            return OPAQUE
        if case.results is None:
            case.results = Results()
        result = case.results.take(kind, _message(attrib))
        return self._begin(result) if result is not None else OPAQUE

    def _begin(self, result: Result) -> ResultText:
        self._end_text()
        self._open = frame = ResultText(result)
        return frame

    def _end_text(self) -> None:
        if self._open:
            self._open.result.text = "".join(self._text)[:_TEXT_LIMIT]
            self._open = None
        self._text.clear()

    def _end_case(self, case: Case) -> None:
        if case.results is None and not case.acceptance:
            (self._skips if case.skipped else self._leaves).append(case.attrib)
            return
        self._count_leaves()  # so that tests stay in the order of the report
        self._count(case)

    def _count(self, case: Case) -> None:
        attrib = case.attrib
        test = self._ids([attrib])[0]
        status, itemised, flaky = outcome(attrib, case.results, skipped=case.skipped)
        self._itemised += itemised
        if flaky:
            self.tally.flaky += 1
            self.tally.odd(f"flaky, passed when rerun: {neutral.one_line(test, 200)}")
        if status is Status.PASSED and "name" not in attrib and "classname" not in attrib:
            self.tally.doubt("a testcase has neither a name nor a result: the run was cut short")
        self.tally.add(test, status)
        if status >= Status.FAILED:
            self._explain(case, test)
        if case.acceptance:
            self.tally.accept(case.acceptance, test)

    def _explain(self, case: Case, test: str) -> None:
        message, text = "", ""
        if case.results and (worst := case.results.worst):
            message, text = worst.message or "", worst.text or ""
        if module := unloaded_module(case.attrib, message):
            if "/" in module:
                module = self._namer.file(module)
            self.tally.unloaded[test] = self._namer.stable(module)
            case.acceptance = ()  # the module is no test of anything
        if self.tally.wants_excerpt(test):
            self.tally.red[test] = excerpt(case.attrib, message, text, self._namer)

    def _suite_failure(self, suite: Suite, result: Result) -> None:
        self._itemised += 1
        words = neutral.one_line(result.message or result.text or "", 200) or "without a word"
        name = suite.attrib.get("name") or ""
        where = f"suite `{neutral.one_line(name, 100)}`" if name else f"<{suite.name}>"
        self.tally.fail(
            f"<{type(result).__name__.lower()}> outside any testcase, on {where}: {words}"
        )

    def _end_suite(self, suite: Suite) -> None:
        attrib = suite.attrib
        if not attrib:
            return
        declared = self._declared(attrib, "failures") + self._declared(attrib, "errors")
        itemised = self._itemised - suite.itemised
        if declared > itemised:
            self.tally.fail(
                f"<{suite.name}> counts {declared} failed or errored and {itemised} are written "
                "out: something failed outside the testcases"
            )
            self._itemised = suite.itemised + declared  # said once, not again by each parent
        tests, cases = self._declared(attrib, "tests"), self.tally.cases - suite.cases
        if tests and tests != cases:
            self.tally.odd(
                f"<{suite.name}> declares {tests} tests and holds {cases} testcases; "
                "the testcases count"
            )

    def _declared(self, attrib: Mapping[str, str], key: str) -> int:
        text = attrib.get(key, "").strip()
        if not text or _COUNT.fullmatch(text):
            return int(text or 0) if len(text) <= _DIGITS else 10**_DIGITS
        self.tally.odd(f'{key}="{neutral.one_line(text, 40)}" is no number; it is ignored')
        return 0

    def _suite_file(self) -> str:
        for frame in reversed(self._stack):
            if isinstance(frame, Suite) and (file := frame.attrib.get("file")):
                return file
        return ""


def _message(attrib: Mapping[str, str]) -> str | None:
    message = attrib.get("message") if attrib else None  # slow where there are no attributes
    return message and message[:_TEXT_LIMIT]
