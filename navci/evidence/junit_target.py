"""One pass over a JUnit report: an lxml parser target that never holds more than one testcase.

The rules (R1 to R10) are those a decade of consumers' bug reports taught: testcases count wherever
they stand, results count only as direct children, declared totals are never believed when they are
good news and always when they are bad news.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from junitparser.junitparser import Result

from navci.evidence.junit_ids import Namer, unloaded_module
from navci.evidence.junit_occurrences import Status
from navci.evidence.junit_results import (
    RESULTS,
    acceptance_ids,
    excerpt,
    read_case,
    worst_words,
)
from navci.evidence.junit_tally import Tally
from navci.system import neutral

DEPTH_LIMIT = 200
_TEXT_LIMIT = 64 * 1024

_OUTPUT = frozenset({"system-out", "system-err", "properties", "property"})
_COUNT = re.compile(r"\s*\d{1,15}\s*")
_ROOTS = ("testsuites", "testsuite")


class Refused(Exception):
    """The report cannot be used; the message says why."""


class WrongRoot(Refused):
    """Well-formed, but no JUnit report. ``root`` is the local name of its root element."""

    def __init__(self, root: str) -> None:
        self.root = root
        super().__init__(root)


class _Suite:
    """A suite, or any wrapper around suites, with what was itemised before it began."""

    __slots__ = ("attrib", "cases", "itemised", "name")

    def __init__(self, name: str, attrib: Mapping[str, str], cases: int, itemised: int) -> None:
        self.name = name
        self.attrib = attrib
        self.cases = cases
        self.itemised = itemised


class _Case:
    """A testcase. ``results`` are its direct result children."""

    __slots__ = ("acceptance", "attrib", "results")

    def __init__(self, attrib: Mapping[str, str]) -> None:
        self.attrib = attrib
        self.results: list[Result] = []
        self.acceptance: tuple[str, ...] = ()


class _Properties:
    """The properties of ``case``; of what is in there only one property's value counts."""

    __slots__ = ("case",)

    def __init__(self, case: _Case) -> None:
        self.case = case


class _Result:
    """A result child of a testcase or a suite, while its text arrives."""

    __slots__ = ("result",)

    def __init__(self, result: Result) -> None:
        self.result = result


class _Opaque:
    """Output, properties, what is inside a result: quoted text, where no result counts."""

    __slots__ = ()


_OPAQUE = _Opaque()
_Frame = _Suite | _Case | _Properties | _Result | _Opaque


class ReportTarget:
    """Fills ``tally`` from the events of one report. Raises :class:`Refused` out of the parser.

    After an exception the tally holds part of a report and must be thrown away (R0). A testcase
    without children, which most are, takes the short way: it never gets a frame, and waits in
    ``_leaves`` to be counted with others, which takes half the time.
    """

    def __init__(self, namer: Namer, *, names: bool) -> None:
        self.tally = Tally.empty(names=names)
        self._names = names
        self._namer = namer
        self._tags = 0
        self._stack: list[_Frame] = []
        self._in_suite = False
        self._leaves: list[Mapping[str, str]] = []
        self._in_leaf = False  # the last of them has begun and not ended
        self._text: list[str] = []
        self._open: _Result | None = None  # whose text it is
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
            stack.append(_Case(self._leaves.pop()))
        if self._leaves:
            self._count_leaves()
        name = tag if tag[0] != "{" else tag.rpartition("}")[2]
        if not stack and name not in _ROOTS:
            raise WrongRoot(name)
        if len(stack) >= DEPTH_LIMIT:
            raise Refused(f"its elements are nested deeper than {DEPTH_LIMIT}")
        if name == "testcase":
            self._end_text()
            stack.append(_Case(attrib))
            self._in_suite = False
        else:
            frame = self._frame(name, attrib)
            self._in_suite = isinstance(frame, _Suite) and len(stack) < DEPTH_LIMIT - 1
            stack.append(frame)

    def end(self, tag: str) -> None:
        """The innermost element ends."""
        if self._in_leaf:
            self._in_leaf = False
            self._in_suite = True
            return
        if self._leaves:
            self._count_leaves()
        stack = self._stack
        frame = stack.pop()
        match frame:
            case _Case():
                self._end_case(frame)
            case _Suite():
                self._end_suite(frame)
            case _Result():
                if frame is self._open:
                    self._end_text()
                if isinstance(parent := stack[-1], _Suite):
                    self._suite_failure(parent, frame.result)
        self._in_suite = bool(stack) and isinstance(stack[-1], _Suite)

    def close(self) -> None:
        """The report is complete."""

    def _count_leaves(self) -> None:
        """Nothing but attributes: passed, unless they say more than who the test is."""
        passed: list[str] = []
        for attrib in self._leaves:
            if (
                "status" not in attrib
                and "result" not in attrib
                and (name := attrib.get("name"))
                and (classname := attrib.get("classname"))
                and name != classname
            ):
                passed.append(f"{classname}::{name}")
            else:
                self._end_case(_Case(attrib))
        self._leaves.clear()
        self.tally.passed(self._namer.plain_ids(passed))

    def _frame(self, name: str, attrib: Mapping[str, str]) -> _Frame:
        parent = self._stack[-1] if self._stack else None
        lower = name.lower()
        match parent:
            case _Case():
                if lower == "properties" and self._names:
                    return _Properties(parent)
                if lower not in RESULTS:
                    if lower == "warning":
                        self.tally.odd("a <warning> in a testcase decides nothing")
                    return _OPAQUE
                result = self._result(lower, attrib)
                parent.results.append(result.result)
                return result
            case _Properties():
                if lower == "property" and attrib.get("name") == "acceptance":
                    parent.case.acceptance += acceptance_ids(attrib.get("value", ""))
                return _OPAQUE
            case _Result() | _Opaque():
                return _OPAQUE
        if lower in _OUTPUT:
            return _OPAQUE
        if parent is not None and lower in ("error", "failure"):
            return self._result(lower, attrib)
        return _Suite(name, attrib, self.tally.cases, self._itemised)

    def _result(self, name: str, attrib: Mapping[str, str]) -> _Result:
        message = attrib.get("message")
        self._end_text()
        self._open = result = _Result(RESULTS[name](message and message[:_TEXT_LIMIT]))
        return result

    def _end_text(self) -> None:
        if self._open:
            self._open.result.text = "".join(self._text)[:_TEXT_LIMIT]
            self._open = None
        self._text.clear()

    def _end_case(self, case: _Case) -> None:
        attrib = case.attrib
        name, classname = attrib.get("name"), attrib.get("classname")
        file = ""
        if not classname or classname == name:
            file = attrib.get("file") or self._suite_file()
        test = self._namer.test_id(classname or "", name or "", file)
        outcome = read_case(attrib, case.results)
        self._itemised += outcome.itemised
        if outcome.flaky:
            self.tally.flaky += 1
            self.tally.odd(f"flaky, passed when rerun: {neutral.one_line(test, 200)}")
        status = outcome.status
        if name is None and classname is None and status is Status.PASSED:
            self.tally.doubt("a testcase has neither a name nor a result: the run was cut short")
        self.tally.add(test, status)
        if status >= Status.FAILED:
            self._explain(case, test)
        self.tally.accept(case.acceptance, test)

    def _explain(self, case: _Case, test: str) -> None:
        message, text = worst_words(case.results)
        if module := unloaded_module(case.attrib, message):
            if "/" in module:
                module = self._namer.file(module)
            self.tally.unloaded[test] = self._namer.stable(module)
            case.acceptance = ()  # the module is no test of anything
        if self.tally.wants_excerpt(test):
            self.tally.red[test] = excerpt(case.attrib, message, text, self._namer)

    def _suite_failure(self, suite: _Suite, result: Result) -> None:
        self._itemised += 1
        message, text = worst_words([result])
        said = neutral.one_line(message or text, 200) or "without a word"
        name = suite.attrib.get("name") or ""
        where = f"suite `{neutral.one_line(name, 100)}`" if name else f"<{suite.name}>"
        self.tally.fail(
            f"<{type(result).__name__.lower()}> outside any testcase, on {where}: {said}"
        )

    def _end_suite(self, suite: _Suite) -> None:
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
            return int(text or 0)
        self.tally.odd(f'{key}="{neutral.one_line(text, 40)}" is no number; it is ignored')
        return 0

    def _suite_file(self) -> str:
        for frame in reversed(self._stack):
            if isinstance(frame, _Suite) and (file := frame.attrib.get("file")):
                return file
        return ""
