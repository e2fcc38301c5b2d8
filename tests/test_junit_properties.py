"""Whatever a report is made of: read by the rules, never a crash, never green by mistake."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from xml.parsers.expat import ExpatError
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from navci.evidence.junit import read_reports
from navci.evidence.junit_ids import Namer
from navci.evidence.junit_reader import read_file
from navci.model import TestReport
from tests.support import junit_oracle
from tests.support.junit_files import F, P, case, suite

MANY = settings(max_examples=200)
CHUNK = 64 * 1024

WORDS = st.sampled_from(["a", "b", "c d", "", "é", "x[1/2]", "t[0x7f00aa11bb22]"])
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)
COUNTS = st.sampled_from(["0", "1", "2", " 1 ", "-1", "1.0", "", "n/a", "１", "9" * 30])  # noqa: RUF001
STATUSES = st.sampled_from(["failed", "Error", "disabled", "notrun", "run", "passed", ""])
FILES = st.sampled_from(["t/a.py", "b.js"])
RESULTS = st.sampled_from(
    [
        *("failure", "error", "skipped", "disabled", "flakyFailure", "flakyError"),
        *("rerunFailure", "rerunError", "Failure", "ERROR", "warning"),
    ]
)
QUOTED = st.sampled_from(["system-out", "system-err", "properties", "stackTrace"])
MARKUP = st.sampled_from(
    [
        *("<!-- <failure/> -->", "<![CDATA[</testcase><failure/>]]>", "<?x <failure/> ?>"),
        *("&lt;failure/&gt;", "\n  ", "&#10;", "]]&gt;"),
    ]
)


@dataclass(frozen=True)
class Element:
    """A tag, its attributes, and markup and elements below it."""

    tag: str
    attrib: tuple[tuple[str, str], ...]
    inside: tuple[Element | str, ...] = ()

    def xml(self) -> str:
        inside = "".join(x if isinstance(x, str) else x.xml() for x in self.inside)
        attrib = "".join(f" {key}={quoteattr(value)}" for key, value in self.attrib)
        return f"<{self.tag}{attrib}>{inside}</{self.tag}>"

    def with_one_more(self, place: int, element: Element) -> tuple[Element, int]:
        """``element`` put in at the ``place``-th of all places below, and the places left over."""
        inside: list[Element | str] = []
        for child in self.inside:
            if place == 0:
                inside.append(element)
            place -= 1
            if not isinstance(child, str):
                child, place = child.with_one_more(place, element)
            inside.append(child)
        if place == 0:
            inside.append(element)
        return replace(self, inside=tuple(inside)), place - 1

    def places(self) -> int:
        """How many places for one more element there are."""
        return 1 + sum(1 if isinstance(x, str) else 1 + x.places() for x in self.inside)


def attributes(**values: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[tuple[str, str], ...]]:
    return st.fixed_dictionaries({}, optional=values).map(lambda drawn: tuple(drawn.items()))


PREFIXES = st.sampled_from(["", "", "", "v:"])


@st.composite
def quoted(draw: st.DrawFn, tags: st.SearchStrategy[str], depth: int) -> Element:
    """A result or output: text, markup, and elements that look like more."""
    inside = st.one_of(TEXT.map(escape), MARKUP)
    if depth:
        inside |= st.one_of(elements(depth - 1), cases(depth - 1))
    attrib = draw(attributes(message=TEXT, type=TEXT))
    return Element(draw(PREFIXES) + draw(tags), attrib, tuple(draw(st.lists(inside, max_size=2))))


@st.composite
def cases(draw: st.DrawFn, depth: int) -> Element:
    attrib = attributes(
        name=WORDS, classname=WORDS, status=STATUSES, file=FILES, time=COUNTS, owner=TEXT
    )
    inside = quoted(RESULTS, depth) | quoted(QUOTED, depth) | MARKUP
    if depth:
        inside |= elements(depth - 1)
    chosen = draw(attrib)
    return Element(draw(PREFIXES) + "testcase", chosen, tuple(draw(st.lists(inside, max_size=2))))


@st.composite
def elements(draw: st.DrawFn, depth: int) -> Element:
    """A suite, or something else around cases."""
    attrib = attributes(
        name=WORDS, tests=COUNTS, failures=COUNTS, errors=COUNTS, skipped=COUNTS, file=FILES
    )
    inside = cases(depth) | cases(depth) | MARKUP
    if depth:
        inside |= elements(depth - 1) | quoted(QUOTED, depth - 1)
    inside |= quoted(st.sampled_from(["failure", "error", "properties"]), 0)
    tag = draw(PREFIXES) + draw(st.sampled_from(["testsuite", "testsuite", "testsuites", "group"]))
    return Element(tag, draw(attrib), tuple(draw(st.lists(inside, max_size=4))))


@st.composite
def reports(draw: st.DrawFn) -> Element:
    """A report; a third of them all of cases without a failure, many the same."""
    green = st.builds(lambda name: Element("testcase", (("classname", "k"), ("name", name))), WORDS)
    top = draw(elements(2))
    inside = draw(st.lists(green, max_size=6)) if draw(st.integers(0, 2)) == 0 else top.inside
    spaces = (("xmlns:v", "urn:v"), *draw(st.sampled_from([(), (("xmlns", "urn:x"),)])))
    tag = draw(st.sampled_from(["testsuites", "testsuite"]))
    return Element(tag, (*spaces, *top.attrib), tuple(inside))


@st.composite
def encoded(draw: st.DrawFn, tree: st.SearchStrategy[Element]) -> bytes:
    text = draw(st.sampled_from(["", "\r\n", "<!-- <testcase/> -->"])) + draw(tree).xml() + "\n"
    encoding = draw(st.sampled_from(["", "UTF-8", "utf-8-sig", "UTF-16", "ascii"]))
    if not encoding:
        return text.lstrip().encode()
    said = encoding.removesuffix("-sig")
    head = f'<?xml version="1.0" encoding="{said}"?>'
    return (head + text).encode(encoding, "xmlcharrefreplace")


def read(folder: Path, data: bytes) -> TestReport:
    path = folder / "report.xml"
    path.write_bytes(data)
    return read_reports([path], folder)


def told(report: TestReport) -> tuple[str, tuple[int, ...], int]:
    t = report.totals
    return report.verdict, (t.tests, t.passed, t.failed, t.errored, t.skipped), t.flaky


def lxml_reads(data: bytes) -> bool:
    """Does libxml2 find nothing wrong with it, but for namespaces?"""
    parser = etree.XMLParser(recover=True, resolve_entities=False)
    try:
        etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return False
    return all(error.domain_name == "NAMESPACE" for error in parser.error_log)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@MANY
@given(data=encoded(reports()))
def test_the_reader_and_the_slow_way_agree(folder: Path, data: bytes) -> None:
    report, expected = read(folder, data), junit_oracle.expect(data)
    assert told(report) == (expected.verdict, expected.totals, expected.flaky), report.reasons
    assert bool(report.reasons) == (report.verdict != "passing")
    if not report.unloaded:  # a module takes the place of its test
        assert report.red.keys() == expected.red
    assert report.passed == expected.passed
    assert report.skipped == expected.skipped


@MANY
@given(
    tree=reports(),
    place=st.integers(0, 10_000),
    red=st.sampled_from(["failure", "error", "rerunFailure", "v:Error"]),
    beside=st.sampled_from(["", "skipped", "flakyFailure", "system-out"]),
    name=WORDS,
)
def test_no_failure_anywhere_passes(
    folder: Path, tree: Element, place: int, red: str, beside: str, name: str
) -> None:
    results = tuple(Element(tag, ()) for tag in (beside, red) if tag)
    failing = Element("testcase", (("name", name), ("classname", "k")), results)
    tree, _ = tree.with_one_more(place % tree.places(), failing)
    tree = replace(tree, inside=(*tree.inside, P, P))
    report = read(folder, tree.xml().encode())
    assert report.verdict == "failing" and report.red
    assert report.totals.failed + report.totals.errored


@MANY
@given(
    data=encoded(reports()),
    place=st.integers(0, 10_000),
    length=st.integers(0, 12),
    noise=st.binary(max_size=6)
    | st.sampled_from(
        [b"<", b">", b"/>", b'"', b"&", b"<failure/>", b"</testcase>", b"<!--", b":"]
    ),
)
def test_damage_passes_only_where_the_slow_way_passes_too(
    folder: Path, data: bytes, place: int, length: int, noise: bytes
) -> None:
    place %= len(data)
    data = data[:place] + noise + data[place + length :]
    report = read(folder, data)
    try:
        expected = junit_oracle.expect(data)
    except (ExpatError, LookupError, ValueError):
        # Expat knows fewer letters for names than the fifth edition of XML, and other encodings.
        assert report.verdict == "unusable" or lxml_reads(data)
    else:
        assert report.verdict in (expected.verdict, "unusable")


@given(noise=st.binary(max_size=200), place=st.integers(0, 400))
def test_no_bytes_crash_it(folder: Path, noise: bytes, place: int) -> None:
    good = suite(P, F).encode()
    assert read(folder, good[:place] + noise + good[place:]).verdict != "passing"


@given(data=encoded(reports()))
def test_with_or_without_names_it_counts_the_same(folder: Path, data: bytes) -> None:
    path = folder / "report.xml"
    path.write_bytes(data)
    named, counted = (read_file(path, Namer(folder), names=kept)[0] for kept in (True, False))
    assert named and counted
    one, other = named.settle(), counted.settle()
    assert (one.again, one.most) == (other.again, other.most)
    assert (named.cases, named.counts, named.flaky) == (
        counted.cases,
        counted.counts,
        counted.flaky,
    )
    assert (named.red, named.unloaded) == (counted.red, counted.unloaded)
    assert (named.failures, named.doubts) == (counted.failures, counted.doubts)
    assert len(named.oddities) == len(counted.oddities)  # names of repeated tests are told or not


@given(data=reports(), offset=st.integers(0, 2000))
def test_it_does_not_matter_where_a_piece_ends(folder: Path, data: Element, offset: int) -> None:
    xml = data.xml()
    before = f"<!--{'x' * (CHUNK - offset % (len(xml) + 1))}-->"
    whole, cut = read(folder, xml.encode()), read(folder, (before + xml).encode())
    assert replace(cut, digests={}) == replace(whole, digests={})


# Ends of suites and of the root in places where they end nothing.
MEDIUM = suite(
    P,
    *(case(f"t{n}", more='time="0.1"') for n in range(20)),
    case("é\U0001d4d0 &lt;/testsuites&gt;", "<system-out>a\r\nb</system-out><system-err/>"),
    case("x", "<system-out><![CDATA[</testsuite></testsuites>\n]]></system-out>"),
    case("y", "<!-- </testsuite></testsuites> --><skipped message='later'>&#10;</skipped>"),
    case("z", "<properties><property name='a' value='&quot;'/></properties>"),
    case("w", "<flakyFailure message='1st'><stackTrace>at x</stackTrace></flakyFailure>"),
    "<?p </testsuites> ?>",
    f"<testsuite name='inner' tests='1'>{case('v')}</testsuite>",
    "<system-out>the end</system-out>",
)


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [("utf-8", ""), ("utf-8", "UTF-8"), ("utf-8-sig", ""), ("utf-16", "UTF-16")],
)
def test_cut_at_any_byte_it_proves_nothing(folder: Path, encoding: str, declared: str) -> None:
    head = f'<?xml version="1.0" encoding="{declared}"?>\n' if declared else ""
    path = folder / "report.xml"
    path.write_bytes((head + MEDIUM).encode(encoding))
    assert read_reports([path], folder).verdict == "passing"
    for length in reversed(range(path.stat().st_size)):
        os.truncate(path, length)
        report = read_reports([path], folder)
        assert (report.verdict, report.totals.tests) == ("unusable", 0), length
        assert "it ends too early" in report.reasons[0] or length < 80, (length, report.reasons)


def test_cut_where_a_piece_ends_it_proves_nothing(folder: Path) -> None:
    path = folder / "report.xml"
    path.write_text(suite(*(case(f"t{n}") for n in range(5_000))))
    assert read_reports([path], folder).verdict == "passing"
    for end in (3 * CHUNK, 2 * CHUNK, CHUNK):
        for length in reversed(range(end - 40, end + 40)):
            os.truncate(path, length)
            report = read_reports([path], folder)
            assert (report.verdict, report.totals.tests) == ("unusable", 0), length
            assert "it ends too early" in report.reasons[0]
