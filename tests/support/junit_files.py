"""JUnit reports for tests: one for every oddity that real tools and hostile hands produce.

Each is written from scratch after what the tools named write. ``REPORTS`` are read, ``UNUSABLE``
are refused with the words given.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """A report, its verdict, ``tests/passed/failed/errored/skipped``, and words of its reasons."""

    verdict: str
    totals: tuple[int, int, int, int, int]
    xml: str | bytes
    says: str = ""

    @property
    def data(self) -> bytes:
        return self.xml if isinstance(self.xml, bytes) else self.xml.encode()


P = '<testcase classname="c" name="p"/>'
F = '<testcase classname="c" name="f"><failure message="m">t</failure></testcase>'


def suite(*cases: str, attributes: str = 'name="s"') -> str:
    """A report with one suite."""
    return f"<testsuites><testsuite {attributes}>{''.join(cases)}</testsuite></testsuites>"


def case(name: str, inside: str = "", classname: str = "c", more: str = "") -> str:
    """A testcase element."""
    return f'<testcase classname="{classname}" name="{name}" {more}>{inside}</testcase>'


def _ok(*xml: str, n: int = 1, skipped: int = 0) -> Sample:
    return Sample("passing", (n, n - skipped, 0, 0, skipped), suite(*xml))


def _red(xml: str, n: int, failed: int = 1, errored: int = 0, skipped: int = 0) -> Sample:
    passed = n - failed - errored - skipped
    return Sample("failing", (n, passed, failed, errored, skipped), xml)


REPORTS: dict[str, Sample] = {
    "one-pass": _ok(P),
    "root-testsuite": Sample("passing", (1, 1, 0, 0, 0), f'<testsuite name="s">{P}</testsuite>'),
    "no-declaration-no-attributes": Sample(
        "passing", (1, 1, 0, 0, 0), f"<testsuites><testsuite>{P}</testsuite></testsuites>"
    ),
    "nested-suites": Sample(
        "passing",
        (3, 3, 0, 0, 0),
        suite(P, f"<testsuite>{case('q')}<testsuite>{case('r')}</testsuite></testsuite>"),
    ),
    "case-under-root": _red(f"<testsuites>{P}{F}</testsuites>", 2),
    "case-in-case": _red(suite(case("outer", F)), 2),
    "case-in-output": _red(suite(case("outer", f"<system-out>{F}</system-out>")), 2),
    "unknown-wrapper": _red(f"<testsuites><group>{F}</group>{P}</testsuites>", 2),
    "testsuites-in-testsuite": _red(suite(P, f"<testsuites>{F}</testsuites>"), 2),
    "default-namespace": _red(
        f'<testsuites xmlns="urn:x"><testsuite>{F}</testsuite></testsuites>', 1
    ),
    "prefixed": _red(
        '<j:testsuites xmlns:j="urn:x"><j:testsuite><j:testcase name="f" classname="c">'
        "<j:failure/></j:testcase></j:testsuite></j:testsuites>",
        1,
    ),
    "failure-and-error": _red(suite(case("x", "<failure/><error/>")), 1, 0, 1),
    "error-then-skipped": _red(suite(P, case("x", "<error/><skipped/>")), 2, 0, 1),
    "skipped-and-failure": _red(suite(P, case("x", "<skipped type='todo'/><failure/>")), 2),
    "capital-failure": _red(suite(P, case("x", "<Failure/>")), 2),
    "many-failures-in-one": _red(suite(P, case("x", "<failure/>" * 3)), 2),
    "quoted-failure-in-output": _ok(case("x", "<system-out><failure/></system-out>")),
    "quoted-failure-in-properties": _ok(
        case("x", "<properties><property name='failure'><failure/></property></properties>")
    ),
    "failure-in-comment": _ok("<!-- " + F + " -->", P),
    "xslt-instruction": Sample(
        "passing", (1, 1, 0, 0, 0), "<?xml-stylesheet href='x.xsl'?>" + suite(P)
    ),
    "skipped": _ok(P, case("s", "<skipped/>"), n=2, skipped=1),
    "xfail-is-skipped": _ok(P, case("s", "<skipped type='pytest.xfail'/>"), n=2, skipped=1),
    "disabled-element": _ok(P, case("s", "<disabled/>"), n=2, skipped=1),
    "warning-element": _ok(case("w", "<warning>w</warning>")),
    "status-failed": _red(suite(P, case("x", more='status="failed"')), 2),
    "status-error": _red(suite(P, case("x", more='status="errored"')), 2, 0, 1),
    "status-disabled": _ok(P, case("x", more='status="disabled"'), n=2, skipped=1),
    "status-notrun": _ok(P, case("x", more='status="notrun"'), n=2, skipped=1),
    "result-suppressed": _ok(P, case("x", more='status="run" result="suppressed"'), n=2, skipped=1),
    "status-failed-although-skipped-words": _red(
        suite(P, case("x", more='status="failed" result="suppressed"')), 2
    ),
    "flaky": _ok(case("x", "<flakyFailure message='1'/><flakyError/>")),
    "flaky-counted-by-suite": Sample(
        "passing",
        (1, 1, 0, 0, 0),
        suite(case("x", "<flakyFailure/>"), attributes='name="s" failures="1"'),
    ),
    "flaky-and-failure": _red(suite(case("x", "<flakyFailure/><failure/>")), 1),
    "rerun-without-failure": _red(suite(P, case("x", "<rerunFailure/>")), 2),
    "rerun-error-only": _red(suite(P, case("x", "<rerunError/>")), 2),
    "error-on-suite": Sample(
        "failing", (1, 1, 0, 0, 0), suite(P, "<error message='boom'/>"), "suite `s`: boom"
    ),
    "failure-on-root": Sample(
        "failing", (1, 1, 0, 0, 0), f"<testsuites>{P}<failure>late</failure></testsuites>", "late"
    ),
    "declared-failure-not-written": Sample(
        "failing",
        (1, 1, 0, 0, 0),
        suite(P, attributes='name="s" tests="2" failures="1"'),
        "counts 1 failed or errored and 0 are written out",
    ),
    "declared-on-inner-suite-only": Sample(
        "failing",
        (2, 1, 1, 0, 0),
        f'<testsuites><testsuite errors="1">{P}</testsuite><testsuite>{F}</testsuite></testsuites>',
        "counts 1 failed or errored and 0",
    ),
    "build-error-on-root": Sample(
        "failing", (0, 0, 0, 0, 0), '<testsuites tests="0" errors="1"></testsuites>', "counts 1"
    ),
    "declared-zero-cases-fail": _red(suite(P, F, attributes='failures="0" errors="0"'), 2),
    "totals-are-nonsense": Sample(
        "passing",
        (1, 1, 0, 0, 0),
        suite(P, attributes=f'failures="n/a" errors="NaN" tests="{"9" * 5000}" skipped="-1"'),
    ),
    "totals-empty-negative-float": Sample(
        "passing", (1, 1, 0, 0, 0), suite(P, attributes='failures="" errors="-3" tests="1.0"')
    ),
    "times-are-nonsense": Sample(
        "passing",
        (5, 5, 0, 0, 0),
        suite(
            *(
                case(f"t{n}", more=f'time="{t}"')
                for n, t in enumerate(("0.5s", "PT1S", "1\u202f234,5", "NaN", "1,234.5"))
            ),
            attributes='time="n/a"',
        ),
    ),
    "duplicates-one-fails": _red(suite(case("x"), case("x", "<failure/>"), case("x")), 3),
    "nameless-failure": _red(suite("<testcase><failure/></testcase>", P), 2),
    "cut-short": Sample(
        "unusable", (2, 2, 0, 0, 0), suite(P, '<testcase time="0.0"/>'), "the run was cut short"
    ),
    "no-cases": Sample("unusable", (0, 0, 0, 0, 0), suite(), "nothing ran"),
    "empty-root": Sample("unusable", (0, 0, 0, 0, 0), "<testsuites/>", "nothing ran"),
    "all-skipped": Sample(
        "unusable", (1, 0, 0, 0, 1), suite(case("s", "<skipped/>")), "no test passed"
    ),
    "bom": Sample("passing", (1, 1, 0, 0, 0), b"\xef\xbb\xbf" + suite(P).encode()),
    "utf-16-bom": Sample(
        "failing",
        (1, 0, 1, 0, 0),
        ('<?xml version="1.0" encoding="UTF-16"?>' + suite(F)).encode("utf-16"),
    ),
    "utf-16-without-declaration": Sample("passing", (1, 1, 0, 0, 0), suite(P).encode("utf-16")),
    "latin-1-declared": Sample(
        "failing",
        (1, 0, 1, 0, 0),
        ('<?xml version="1.0" encoding="ISO-8859-1"?>' + suite(case("é", "<failure/>"))).encode(
            "latin-1"
        ),
    ),
    "single-quotes": Sample(
        "passing",
        (1, 1, 0, 0, 0),
        "<?xml version='1.0' encoding='utf-8'?>\n<testsuites\n><testsuite\n name='s'>"
        + P
        + "</testsuite></testsuites>\n\n",
    ),
    "deep": Sample(
        "passing",
        (1, 1, 0, 0, 0),
        "<testsuites>" + "<g>" * 190 + P + "</g>" * 190 + "</testsuites>",
    ),
    "nine-megabytes-of-text": _red(suite(P, case("x", f"<failure>{'y' * 9_000_000}</failure>")), 2),
    "foreign-attributes": Sample(
        "passing",
        (1, 1, 0, 0, 0),
        suite(
            P,
            attributes='xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
            'xsi:noNamespaceSchemaLocation="x.xsd" flakes="2" assertions="1"',
        ),
    ),
}

_ENTITIES = '<!DOCTYPE testsuites [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>'

UNUSABLE: dict[str, tuple[str | bytes, str]] = {
    "empty": (b"", "it is empty"),
    "white": (b"\xef\xbb\xbf \n\t", "it is empty"),
    "zeros": (b"\0" * 64, "it is empty"),
    "text": ("3 passed in 0.01s", "it is not XML; it begins with `3 passed in"),
    "json": ('{"tests": 1}', "it is not XML"),
    "log-line-first": ("warning: x\n" + suite(P), "it is not XML"),
    "cut-in-tag": (suite(P, case("q"))[:-30], "it ends too early"),
    "cut-in-attribute": ('<testsuites><testsuite name="s', "it ends too early"),
    "cut-in-cdata": ("<testsuites><testsuite><![CDATA[x", "it ends too early"),
    "cut-after-passes": ("<testsuites><testsuite>" + P * 3, "it ends too early"),
    "text-after": (suite(P) + "done", "more follows after"),
    "two-documents": (suite(P) + suite(F), "more follows after"),
    "bad-utf-8": ('<testsuites><testsuite name="\xe9"/></testsuites>'.encode("latin-1"), "bytes"),
    "control-character": (suite(case("x", "\x1b[31m")), "not well-formed"),
    "null-reference": (suite(case("&#0;")), "not well-formed"),
    "escape-reference": (suite(case("&#27;")), "not well-formed"),
    "bare-ampersand": (suite(case("a & b")), "not well-formed"),
    "undeclared-entity": (suite(case("&nbsp;")), "not well-formed"),
    "duplicate-attribute": (suite('<testcase name="a" name="b"/>'), "not well-formed"),
    "entities": (_ENTITIES + suite(case("x", "&b;")), "DOCTYPE"),
    "entity-hides-failure": (
        '<!DOCTYPE testsuites [<!ENTITY f "<failure/>">]>' + suite(case("x", "&f;")),
        "DOCTYPE",
    ),
    "external-entity": (
        '<!DOCTYPE testsuites [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + suite(case("x", "&x;")),
        "DOCTYPE",
    ),
    "parameter-entity": (
        '<!DOCTYPE testsuites [<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;]>' + suite(P),
        "DOCTYPE",
    ),
    "doctype-system": ('<!DOCTYPE testsuites SYSTEM "junit.dtd">' + suite(P), "DOCTYPE"),
    "too-deep": (
        "<testsuites>" + "<g>" * 300 + P + "</g>" * 300 + "</testsuites>",
        "nested deeper",
    ),
    "huge-text": (suite(case("x", "y" * 11_000_000)), "longer than 10 MB"),
    "huge-cdata": (suite(case("x", f"<![CDATA[{'y' * 11_000_000}]]>")), "longer than 10 MB"),
    "huge-attribute": (suite(case("y" * 11_000_000)), "longer than 10 MB"),
    "gzip": (gzip.compress(suite(P).encode(), mtime=0), "compressed (gzip)"),
    "zip": (b"PK\x03\x04" + b"x" * 40, "compressed (a zip file)"),
    "shift-jis": (
        ('<?xml version="1.0" encoding="Shift_JIS"?>' + suite(F)).encode("shift-jis"),
        "`Shift_JIS` is not supported",
    ),
    "utf-7": ('<?xml version="1.0" encoding="UTF-7"?>' + suite(P), "`UTF-7` is not supported"),
    "unknown-encoding": ('<?xml version="1.0" encoding="x-none"?>' + suite(P), "not supported"),
    "utf-16-said-to-be-utf-8": (
        ('<?xml version="1.0" encoding="UTF-8"?>' + suite(P)).encode("utf-16"),
        "it says its encoding is `UTF-8`, and it is not",
    ),
    "utf-8-said-to-be-utf-16": (
        '<?xml version="1.0" encoding="UTF-16"?>' + suite(P),
        "it says its encoding is `UTF-16`, and it is not",
    ),
    "utf-32": (suite(P).encode("utf-32"), "UTF-32"),
    "capital-root": ("<TestSuites/>", "its root element is <TestSuites>"),
    "testcase-root": (P, "put it inside a <testsuite>"),
    "xunit-v2": ("<assemblies><assembly/></assemblies>", "xUnit.net v2"),
    "nunit-3": ('<test-run id="2"/>', "NUnit 3"),
    "nunit-2": ("<test-results/>", "NUnit 2"),
    "trx": ('<TestRun xmlns="http://microsoft.com/schemas/x"/>', "TRX"),
    "testng": ("<testng-results/>", "junitreports/"),
    "html": ("<!DOCTYPE html><html><br></html>", "HTML page"),
    "xhtml": ("<html/>", "HTML page"),
    "checkstyle": ("<checkstyle/>", "about style"),
    "cobertura": ("<coverage/>", "coverage report"),
}
