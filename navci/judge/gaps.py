"""What is not true yet (DESIGN §4, gaps): ids that stay the same from run to run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from navci.model import Baseline, CheckFacts, Gaps

# Parts of a test's name that differ between two runs of the same test. In this order, because a
# temporary path may hold any of the others, and no replacement makes an earlier pattern match.
_VOLATILE: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"(?<![\w.>-])/(?:private/)?(?:tmp|var/tmp|var/folders)/[^\s'\"\])},;:>]+"),
        "<tmp>",
    ),
    (re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"), "<uuid>"),
    (
        re.compile(
            r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", re.ASCII
        ),
        "<time>",
    ),
    # Short constants (`0xff`) are parameters, long ones are addresses.
    (re.compile(r"0x[0-9a-fA-F]{6,}"), "<address>"),
    (
        re.compile(
            r"(?<![\w.>])(localhost|\d{1,3}(?:\.\d{1,3}){3}|\[::1?\]):\d{2,5}(?!\d)", re.ASCII
        ),
        r"\1:<port>",
    ),
    (re.compile(r"(?i)(?<![a-z>])(port[ =:_-]?)\d{4,5}(?!\d)", re.ASCII), r"\1<port>"),
)


def normalise(test_id: str) -> str:
    """A test's id without addresses, UUIDs, ISO times, temporary paths and ports."""
    for pattern, placeholder in _VOLATILE:
        test_id = pattern.sub(placeholder, test_id)
    return test_id


def derive(
    baseline: Baseline | None,
    checks: Sequence[CheckFacts],
    guards: Collection[str] = (),
    errors: Collection[str] = (),
    acceptance: Collection[str] = (),
    *,
    originals: Collection[str] = (),
    tolerated: Collection[str] = (),
) -> Gaps:
    """The gaps of one iteration's measurements; ``acceptance``: the items failed or missing.

    ``check:<id>`` for a red check, for a check in ``errors`` (it could not be measured) and for
    one of the baseline that brought no facts; ``test:<id>`` for a red test and for one of the
    baseline that did not pass; ``test:<module>`` for a module that did not load, in place of its
    tests, so that breaking an import is never a smaller set than the red tests it hides, nor the
    red tests behind it a larger one; ``check:<id>:report`` in the same place for a whole check
    whose reports are not usable; ``guard:<path>`` for every path in ``guards``;
    ``original:<test>`` for every name in ``originals``. Tests in ``tolerated`` are no gaps.
    """
    found = {f"check:{name}" for name in errors} | {f"guard:{path}" for path in guards}
    found |= {f"original:{name}" for name in originals}
    if baseline is not None:
        known = {facts.check for facts in baseline.checks} | set(baseline.must_pass)
        found |= {f"check:{name}" for name in known - {facts.check for facts in checks}}
    for facts in checks:
        if not facts.passed:
            found.add(f"check:{facts.check}")
            if facts.blind:
                found.add(f"check:{facts.check}:report")
        must_pass = baseline.must_pass.get(facts.check, frozenset()) if baseline else frozenset()
        if tolerated:
            facts = replace(facts, red=facts.red.difference(tolerated))
            must_pass = must_pass.difference(tolerated)
        found |= {f"test:{test}" for test in _tests(facts, must_pass)}
    return Gaps(acc=frozenset(acceptance), chk=frozenset(found))


def _tests(facts: CheckFacts, must_pass: frozenset[str]) -> Iterator[str]:
    unloaded = {_dotted(module) for module in facts.unloaded if _dotted(module)}
    yield from (normalise(module) for module in facts.unloaded)
    yield from (normalise(test) for test in facts.red if not _belongs(test, unloaded))
    lost = [test for test in must_pass - facts.passing if not _belongs(test, unloaded)]
    if lost:
        # Counted, because tests that differ in a volatile part only share one normalised id.
        new = Counter(normalise(test) for test in facts.passing - must_pass)
        for test, times in Counter(normalise(test) for test in lost).items():
            if new[test] < times:
                yield test


def _belongs(test: str, unloaded: Collection[str]) -> bool:
    """Whether a test, by its class name or file, is one of a module that did not load."""
    if not unloaded:  # the common case, for each of many tests
        return False
    parts = {_dotted(part) for part in test.split("::")}
    return any(
        part == module or part.startswith(f"{module}.") for part in parts for module in unloaded
    )


def _dotted(name: str) -> str:
    """``tests/test_a.py`` and ``tests.test_a`` are one module, whichever way a report names it."""
    return name.removesuffix(".py").replace("/", ".").strip(".")


def ordered(gaps: Gaps) -> tuple[str, ...]:
    """All gap ids as people read them: acceptance items first, then checks, guards, tests."""
    return (*sorted(gaps.acc), *sorted(gaps.chk))


def summary(gaps: Gaps) -> str:
    """``3 gaps, first check:tests``; for sentences."""
    if not gaps:
        return "no gaps"
    names = ordered(gaps)
    return f"{len(names)} gap{'s' if len(names) > 1 else ''}, first {one_line(names[0], 120)}"


def one_line(text: str, limit: int = 300) -> str:
    """``text`` on one line of at most ``limit`` characters, only printable ones."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
