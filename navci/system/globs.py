"""The one glob matcher: protected paths, docs, what a check may write, reports."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import zip_longest


@lru_cache(maxsize=256)
def segments(glob: str) -> tuple[str, ...]:
    """The glob's parts between slashes, without a leading ``./``; a last ``**`` needs a name."""
    named = [part for part in glob.split("/") if part not in ("", ".")]
    if glob.endswith("/"):
        named.append("**")
    parts = [part for part, after in zip_longest(named, named[1:]) if (part, after) != ("**", "**")]
    if parts[-1:] == ["**"]:
        parts.append("*")
    return tuple(parts)


def match_glob(path: str, glob: str) -> bool:
    """Does ``glob`` name the file ``path``? Both relative to the same folder, ``/`` between parts.

    - ``*``, ``?`` and ``[…]`` stay within a part and match hidden names too; ``[*]`` is a star;
    - ``**`` as a whole part is any number of folders, none included: ``**/*.md`` also matches a
      top-level file; ``docs/**`` and ``docs/`` are everything below ``docs``;
    - the whole path is matched: ``Makefile`` is the one at the top, ``**/Makefile`` any;
    - case matters, everywhere.

    Time is bounded by the product of their lengths: the parts are walked as a set of states, and
    :mod:`fnmatch` does not go back over earlier stars.
    """
    wanted = segments(glob)
    if not wanted:
        return False
    states = _open(wanted, {0})
    for part in path.split("/"):
        reached: set[int] = set()
        for state in states:
            if state == len(wanted):
                continue
            if wanted[state] == "**":
                reached.add(state)
            elif fnmatchcase(part, wanted[state]):
                reached.add(state + 1)
        states = _open(wanted, reached)
    return len(wanted) in states


def _open(wanted: tuple[str, ...], states: set[int]) -> set[int]:
    """The states reachable without reading a part: ``**`` may stand for no folder at all."""
    found = set(states)
    for state in states:
        while state < len(wanted) and wanted[state] == "**":
            state += 1
            found.add(state)
    return found
