"""Reading one JUnit report: what can be parsed, and what is refused with which words (R0, R1).

A report is read once, in pieces, from a regular file that is opened without following links.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
from pathlib import Path
from typing import IO

from lxml import etree

from navci.evidence.junit_ids import Namer
from navci.evidence.junit_tally import Tally
from navci.evidence.junit_target import Refused, ReportTarget, WrongRoot
from navci.system import neutral

_CHUNK = 64 * 1024  # what is parsed at once stays in the cache
_QUIET_LIMIT = 10 * 1000 * 1000

# Encodings libxml2 reads the same way everywhere; a multi-byte one can hide markup.
_ENCODINGS = re.compile(
    r"utf-?8|(?:us-)?ascii|iso-?8859-?\d{1,2}|latin-?1|(?:windows-|cp)125\d|utf-?16(?:le|be)?",
    re.IGNORECASE,
)
_DECLARED = re.compile(r"""^\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"'>]*)["']""")
_COMPRESSED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "a zip file", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_PLACE = re.compile(r",? *\bline \d+, column \d+\s*$")
_NUMBER = re.compile(r"\b(?:value |Char )(0x[0-9A-F]+|\d+)\b")
_FORBIDDEN = (etree.ErrorTypes.ERR_INVALID_CHAR, etree.ErrorTypes.ERR_CDATA_NOT_FINISHED)
_CUT = "it ends too early: it was cut off while being written"

_DOTNET = "write JUnit with `dotnet test --logger junit` (package JunitXml.TestLogger)"

# Roots of what people hand in for JUnit, with what to do instead.
_OTHER_FORMATS = {
    "assemblies": f"an xUnit.net v2 report; {_DOTNET}, or with xUnit's runner `-junit junit.xml`",
    "assembly": f"an xUnit.net report; {_DOTNET}",
    "test-run": f"an NUnit 3 report; {_DOTNET}, or with nunit3-console "
    "`--result=junit.xml;transform=nunit3-junit.xslt`",
    "test-suite": f"a part of an NUnit report; {_DOTNET}",
    "test-results": "an NUnit 2 report; convert it with the nunit-to-junit stylesheet",
    "TestRun": f"a TRX report; {_DOTNET}",
    "testng-results": "a TestNG report; name the files of its junitreports/ folder instead",
    "html": "an HTML page; look whether an error page was saved instead of the report",
    "checkstyle": "a Checkstyle report about style, not about tests; remove it from `junit:`",
    "coverage": "a coverage report; remove it from `junit:`",
    "report": "a JaCoCo report about coverage; remove it from `junit:`",
    "robot": "Robot Framework's own output; write JUnit with `robot --xunit junit.xml`",
    "Site": "CTest's own report; write JUnit with `ctest --output-junit junit.xml`",
    "Catch2TestRun": "Catch2's own report; write JUnit with `--reporter junit`",
    "Catch": "Catch's own report; write JUnit with `--reporter junit`",
    "TestLog": "a Boost.Test log; write JUnit with `--log_format=JUNIT`",
    "testExecutions": "SonarQube's generic format; write JUnit instead",
    "testcase": "a single testcase; put it inside a <testsuite>",
}


def read_file(path: Path, namer: Namer, *, names: bool) -> tuple[Tally | None, str, str]:
    """The report's tally, or ``None`` and the problem; in the middle the file's SHA-256.

    Without ``names`` passed tests are only counted, and there is no SHA-256: what a million tests
    come to, as quickly as can be.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return None, "", _cannot_open(error)
    if not stat.S_ISREG(mode := os.fstat(handle).st_mode):
        os.close(handle)
        return None, "", f"it is no regular file but {_kind(mode)}; a report must be one"
    with os.fdopen(handle, "rb", buffering=0) as stream:
        source = _Source(stream, hashlib.sha256() if names else None)
        try:
            tally, problem = _parse(source, ReportTarget(namer, names=names))
            digest = source.digest()
        except OSError as error:
            return None, "", f"it cannot be read ({error.strerror})"
    return tally, digest, problem


class _Source:
    """The bytes of a report in pieces, hashed as they are read if anyone asks for it."""

    def __init__(self, stream: IO[bytes], hashing: hashlib._Hash | None) -> None:
        self._stream = stream
        self._hashing = hashing

    def read(self) -> bytes:
        chunk = self._stream.read(_CHUNK)
        if self._hashing:
            self._hashing.update(chunk)
        return chunk

    def digest(self) -> str:
        """SHA-256 of the whole file, also where reading stopped early; empty if nobody asked."""
        if not self._hashing:
            return ""
        while self.read():
            pass
        return self._hashing.hexdigest()


def _cannot_open(error: OSError) -> str:
    match error.errno:
        case errno.ELOOP:
            return "it is a symbolic link; a report must be a regular file, name that"
        case errno.ENOENT | errno.ENOTDIR:
            return "it does not exist"
        case errno.ENXIO:
            return "it is no regular file but a socket; a report must be one"
        case errno.EACCES | errno.EPERM:
            return "it must not be read (permission denied); give the user who runs navci the right"
        case _:
            return f"it cannot be opened ({error.strerror})"


def _kind(mode: int) -> str:
    for is_kind, name in (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if is_kind(mode):
            return name
    return "a device"


def _parse(source: _Source, target: ReportTarget) -> tuple[Tally | None, str]:
    parser = etree.XMLParser(
        target=target,  # type: ignore[arg-type] # the stubs want what lxml does not
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=True,  # our own limits are tighter, and say what is wrong
        remove_comments=True,
        remove_pis=True,
    )
    chunk = source.read()
    head = chunk[:1024]
    quiet = tags = 0
    complete = False
    try:
        _refuse_head(chunk)
        while chunk:
            parser.feed(chunk)
            before, tags = tags, target.catch_up()
            quiet = 0 if tags > before else quiet + len(chunk)
            if quiet > _QUIET_LIMIT:
                raise Refused("one text or attribute in it is longer than 10 MB")
            chunk = source.read()
        complete = True
        parser.close()
    except WrongRoot as error:
        # Whoever cuts a file in the middle of a name makes another name.
        return None, _CUT if complete else _wrong_root(error.root)
    except Refused as error:
        return None, str(error)
    except etree.XMLSyntaxError as error:
        return None, _not_xml(error, head, complete)
    except Exception as error:  # whatever a parser makes of hostile bytes, it is no evidence
        return None, f"it cannot be parsed ({type(error).__name__}: {neutral.one_line(str(error))})"
    return target.tally, ""


def _refuse_head(chunk: bytes) -> None:
    """Refuse what libxml2 would read, but others would read differently or not at all."""
    if len(chunk) < _CHUNK and not chunk.strip(b"\0 \t\r\n\xef\xbb\xbf"):
        raise Refused("it is empty; the run that should have written it broke off")
    for magic, what in _COMPRESSED.items():
        if chunk.startswith(magic):
            raise Refused(f"it is compressed ({what}); write it uncompressed")
    wide = ""
    if chunk.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff", b"<\0\0\0", b"\0\0\0<")):
        raise Refused("it is UTF-32; write it as UTF-8")
    if chunk.startswith((b"\xff\xfe", b"<\0")):
        wide = "utf-16-le"
    elif chunk.startswith((b"\xfe\xff", b"\0<")):
        wide = "utf-16-be"
    text = chunk[:1024].decode(wide or "latin-1", "replace").lstrip("\ufeffï»¿")
    declared = match[1] if (match := _DECLARED.match(text)) else ""
    if declared and not _ENCODINGS.fullmatch(declared):
        shown = neutral.one_line(declared, 40)
        raise Refused(f"its encoding `{shown}` is not supported; write it as UTF-8")
    if bool(wide) != declared.lower().startswith(("utf-16", "utf16")) and (wide == "" or declared):
        said = neutral.one_line(declared, 40)
        raise Refused(f"it says its encoding is `{said}`, and it is not; write it as UTF-8")


def _wrong_root(root: str) -> str:
    if known := _OTHER_FORMATS.get(root):
        return f"it is {known}"
    return f"its root element is <{neutral.one_line(root, 60)}>, not <testsuites> or <testsuite>"


def _not_xml(error: etree.XMLSyntaxError, head: bytes, complete: bool) -> str:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not head.startswith((b"\xff\xfe", b"\xfe\xff", b"\0")) and not start.startswith(b"<"):
        begins = neutral.one_line(start[:60].decode("utf-8", "replace"), 40)
        return f"it is not XML; it begins with `{begins}`"
    message = neutral.one_line(_PLACE.sub("", error.msg or ""), 200)
    if message.startswith("Extra content"):
        return "more follows after the end of its root element"
    if complete:  # all of it was read without a complaint, and then something was missing
        return _CUT
    if message.startswith("Invalid bytes"):
        return "it holds bytes that are not in its encoding"
    if getattr(error, "code", 0) in _FORBIDDEN:
        number = f" ({match[1]})" if (match := _NUMBER.search(message)) else ""
        return (
            f"line {error.lineno}: it holds a character that XML forbids{number}, as colours are; "
            "turn them off where the tests write their report (NO_COLOR=1)"
        )
    return f"line {error.lineno}: it is not well-formed XML ({message})"
