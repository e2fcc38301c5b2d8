"""What is no JUnit report, or none that can be believed: ``UNUSABLE`` with words of the reason."""

from __future__ import annotations

import gzip

from tests.support.junit_files import F, P, case, suite

_ENTITIES = '<!DOCTYPE testsuites [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
_LAUGHS = (
    '<!DOCTYPE testsuites [<!ENTITY l0 "ha">'
    + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    + "]>"
)

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
    "control-character": (suite(case("x", "\x1b[31m")), "character that XML forbids (27)"),
    "null-reference": (suite(case("&#0;")), "character that XML forbids (0)"),
    "escape-reference": (suite(case("&#27;")), "character that XML forbids (27), as colours are"),
    "control-in-attribute": (suite(case("\x01")), "character that XML forbids"),
    "control-in-cdata": (suite(case("x", "<![CDATA[\x1b]]>")), "character that XML forbids"),
    "null": (suite(case("x", "\0")), "character that XML forbids"),
    "u-ffff": (suite(case("x", "\uffff")), "character that XML forbids"),
    "surrogate-reference": (suite(case("&#xD83D;")), "character that XML forbids"),
    "xml-1.1": ('<?xml version="1.1"?>' + suite(case("&#1;")), "character that XML forbids (1)"),
    "half-of-a-pair-as-utf-8": (suite(case("\ud83d")).encode("utf-8", "surrogatepass"), "bytes"),
    "double-bom": ("\ufeff\ufeff" + suite(P), "line 1: it is not well-formed"),
    "less-than-in-attribute": (suite(case("a<b")), "not well-formed"),
    "cdata-end-in-text": (suite(case("x", "]]>")), "not well-formed"),
    "tags-crossed": ("<testsuites><testsuite></testsuites></testsuite>", "not well-formed"),
    "two-colons-in-a-name": (suite(P, case("x", "<a:b:failure/>")), "`a:b:failure`"),
    "a-name-that-begins-with-a-colon": (suite(P, case("x", "<:failure/>")), "`:failure`"),
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
    "billion-laughs": (_LAUGHS + suite(case("x", "&l9;")), "DOCTYPE"),
    "quadratic-blow-up": (
        f'<!DOCTYPE testsuites [<!ENTITY a "{"a" * 50_000}">]>' + suite(case("x", "&a;" * 50_000)),
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
    "huge-comment": (suite(P, f"<!--{'y' * 11_000_000}-->"), "longer than 10 MB"),
    "gzip": (gzip.compress(suite(P).encode(), mtime=0), "compressed (gzip)"),
    "zip": (b"PK\x03\x04" + b"x" * 40, "compressed (a zip file)"),
    "shift-jis": (
        ('<?xml version="1.0" encoding="Shift_JIS"?>' + suite(F)).encode("shift-jis"),
        "`Shift_JIS` is not supported",
    ),
    "utf-7": ('<?xml version="1.0" encoding="UTF-7"?>' + suite(P), "`UTF-7` is not supported"),
    "no-encoding": ('<?xml version="1.0" encoding=""?>' + suite(P), "not well-formed"),
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
    "xunit-v2": (
        "<assemblies><assembly/></assemblies>",
        "it is an xUnit.net v2 report; write JUnit with `dotnet test --logger junit`",
    ),
    "xunit-v1": ("<assembly/>", "it is an xUnit.net report; write JUnit with `dotnet test"),
    "nunit-3": (
        '<test-run id="2"/>',
        "it is an NUnit 3 report; write JUnit with `dotnet test --logger junit`",
    ),
    "nunit-part": ("<test-suite/>", "it is a part of an NUnit report; write JUnit with"),
    "nunit-2": ("<test-results/>", "it is an NUnit 2 report; convert it with"),
    "trx": (
        '<TestRun xmlns="http://microsoft.com/schemas/x"/>',
        "it is a TRX report; write JUnit with `dotnet test --logger junit`",
    ),
    "testng": ("<testng-results/>", "junitreports/"),
    "html": ("<!DOCTYPE html><html><br></html>", "HTML page"),
    "xhtml": ("<html/>", "HTML page"),
    "checkstyle": ("<checkstyle/>", "about style"),
    "cobertura": ("<coverage/>", "coverage report"),
}
