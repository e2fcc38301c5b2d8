"""JUnit reports for tests: one for every oddity that real tools and hostile hands produce.

Each is written from scratch after what the tools named write. ``REPORTS`` are read; those that are
refused are in ``junit_refused``.
"""

from __future__ import annotations

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


_TIMES = (
    *("0.5s", "PT0.5S", "00:00:01.5", "0,5", "1,234.5", "1.234,5", "1\u202f234,5", "1'234.5"),
    *("NaN", "Infinity", "-1", "", "1e400", "n/a"),
)

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
    "sibling-suites-of-one-name": _red(
        f'<testsuites><testsuite name="s">{P}</testsuite><testsuite name="s">{F}</testsuite>'
        "</testsuites>",
        2,
    ),
    "totals-of-every-level-added-up": Sample(
        "passing",
        (2, 2, 0, 0, 0),
        f'<testsuites tests="2"><testsuite tests="2">{P}<testsuite tests="1">{case("q")}'
        "</testsuite></testsuite></testsuites>",
    ),
    "case-under-root": _red(f"<testsuites>{P}{F}</testsuites>", 2),
    "case-in-case": _red(suite(case("outer", F)), 2),
    "case-in-output": _red(suite(case("outer", f"<system-out>{F}</system-out>")), 2),
    "unknown-wrapper": _red(f"<testsuites><group>{F}</group>{P}</testsuites>", 2),
    "testsuites-in-testsuite": _red(suite(P, f"<testsuites>{F}</testsuites>"), 2),
    "suite-in-case-with-a-failure-it-only-counts": Sample(
        "failing",
        (2, 2, 0, 0, 0),
        suite(case("x", f'<testsuite failures="1">{P}</testsuite>')),
        "counts 1 failed or errored and 0 are written out",
    ),
    "suite-in-case-with-an-error": Sample(
        "failing", (1, 1, 0, 0, 0), suite(case("x", "<testsuite><error/></testsuite>")), "<error>"
    ),
    "default-namespace": _red(
        f'<testsuites xmlns="urn:x"><testsuite>{F}</testsuite></testsuites>', 1
    ),
    "prefixed": _red(
        '<j:testsuites xmlns:j="urn:x"><j:testsuite><j:testcase name="f" classname="c">'
        "<j:failure/></j:testcase></j:testsuite></j:testsuites>",
        1,
    ),
    "only-the-failure-has-a-namespace": _red(
        suite(P, case("x", '<v:failure xmlns:v="urn:v" message="m"/>')), 2
    ),
    "prefix-without-a-declaration": _red(suite(P, case("x", "<v:failure/>")), 2),
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
    "xinclude-is-not-followed": _ok(
        '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/hostname"/>', P
    ),
    "skipped": _ok(P, case("s", "<skipped/>"), n=2, skipped=1),
    "xfail-is-skipped": _ok(P, case("s", "<skipped type='pytest.xfail'/>"), n=2, skipped=1),
    "disabled-element": _ok(P, case("s", "<disabled/>"), n=2, skipped=1),
    "warning-element": _ok(case("w", "<warning>w</warning>")),
    "status-failed": _red(suite(P, case("x", more='status="failed"')), 2),
    "status-error": _red(suite(P, case("x", more='status="errored"')), 2, 0, 1),
    "status-timed-out": _red(suite(P, case("x", more='status="Timed-Out"')), 2, 0, 1),
    "result-fail": _red(suite(P, case("x", more='result="Fail"')), 2),
    "status-run": _ok(case("x", more='status="run" result="completed"')),
    "status-success": _ok(case("x", more='status="Success"')),
    "status-inconclusive": _ok(P, case("x", more='status="Inconclusive"'), n=2, skipped=1),
    "status-skip-although-failure": _red(
        suite(P, case("x", "<failure/>", more='status="skip"')), 2
    ),
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
    "flaky-but-said-to-have-failed": _red(
        suite(P, case("x", "<flakyFailure/>", more='status="failed"')), 2
    ),
    "flaky-and-skipped": _ok(P, case("x", "<flakyFailure/><skipped/>"), n=2, skipped=1),
    "surefire-flaky": Sample(
        "passing",
        (2, 2, 0, 0, 0),
        '<testsuite name="com.x.T" tests="2" errors="0" skipped="0" failures="0" flakes="1">'
        "<properties><property name='java.version' value='21'/></properties>"
        '<testcase name="ok" classname="com.x.T" time="1,234.567"/>'
        '<testcase name="flaky" classname="com.x.T" time="0.1"><flakyFailure message="1st"'
        ' type="java.lang.AssertionError"><stackTrace><![CDATA[java.lang.AssertionError: 1st]]>'
        "</stackTrace><system-out>x</system-out></flakyFailure></testcase></testsuite>",
    ),
    "surefire-rerun-failed-again": _red(
        '<testsuite name="com.x.T" tests="1" failures="1"><testcase name="a" classname="com.x.T">'
        '<failure message="1st">1st</failure><rerunFailure message="2nd"><stackTrace>2nd'
        "</stackTrace></rerunFailure></testcase></testsuite>",
        1,
    ),
    "nextest-flaky": Sample(
        "passing",
        (1, 1, 0, 0, 0),
        '<testsuites name="nextest-run" tests="1" failures="0" errors="0" uuid="6f1c" '
        'timestamp="2026-01-02T03:04:05.678+00:00" time="0.2"><testsuite name="krate" tests="1" '
        'disabled="0" errors="0" failures="0"><testcase name="tests::flaky" classname="krate" '
        'time="0.1"><flakyFailure timestamp="2026-01-02T03:04:05.700+00:00" time="0.1" message="m" '
        'type="test failure">thread panicked<system-out>o</system-out></flakyFailure></testcase>'
        "</testsuite></testsuites>",
    ),
    "nextest-failed-all-tries": _red(
        '<testsuites name="nextest-run"><testsuite name="krate" failures="1"><testcase '
        'name="tests::bad" classname="krate"><failure type="test failure">p</failure><rerunFailure '
        'type="test failure">p</rerunFailure></testcase></testsuite></testsuites>',
        1,
    ),
    "pytest-rerunfailures-passes-in-the-end": Sample(
        "passing", (3, 3, 0, 0, 0), suite(case("x") * 3, attributes='tests="1" failures="0"')
    ),
    "pytest-rerunfailures-fails-in-the-end": _red(
        suite(case("x") * 2, case("x", "<failure/>"), attributes='tests="1" failures="1"'), 3
    ),
    "gotestsum-passes-when-rerun": _red(suite(case("x", "<failure/>"), case("x"), case("y")), 3),
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
        (len(_TIMES), len(_TIMES), 0, 0, 0),
        suite(
            *(case(f"t{n}", more=f'time="{time}"') for n, time in enumerate(_TIMES)),
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
    "bom-and-declaration": Sample(
        "passing",
        (1, 1, 0, 0, 0),
        ('\ufeff<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n' + suite(P)).encode(),
    ),
    "windows-1252-declared": Sample(
        "failing",
        (1, 0, 1, 0, 0),
        (
            '<?xml version="1.0" encoding="Windows-1252"?>' + suite(case("\u20ac", "<failure/>"))
        ).encode("cp1252"),
    ),
    "utf-16-big-endian": Sample(
        "passing",
        (1, 1, 0, 0, 0),
        ('\ufeff<?xml version="1.0" encoding="utf-16"?>' + suite(P)).encode("utf-16-be"),
    ),
    "characters-beyond-the-first-plane": _red(suite(P, case("\U0001d4d0", "<failure/>")), 2),
    "everything-escaped": _red(
        suite(
            P, case("&lt;a&gt;&amp;&quot;&#x27;&#10;", "<failure>" + "&lt;" * 9000 + "</failure>")
        ),
        2,
    ),
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
    "attributes-out-of-nowhere": _ok(
        case(
            "x",
            more='id="7" package="p" hostname="h" assertions="1" owner="" v:status="failed" '
            'xmlns:v="urn:v" retries="2" Status="failed" failures="3" line="-1"',
        )
    ),
    "ten-thousand-attributes": _ok(case("x", more=" ".join(f'a{n}="1"' for n in range(10_000)))),
    "properties-and-attachments": _ok(
        case(
            "x",
            '<properties><property name="attachment" value="C:\\a.png"/><property/></properties>'
            "<system-out>[[ATTACHMENT|/a.png]]</system-out><system-out/><system-err>e</system-err>",
        )
    ),
    "thousand-suites": Sample(
        "passing",
        (1000, 1000, 0, 0, 0),
        "<testsuites>"
        + "".join(f"<testsuite>{case(f't{n}')}</testsuite>" for n in range(1000))
        + "</testsuites>",
    ),
}
