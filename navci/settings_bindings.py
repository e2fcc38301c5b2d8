"""How a binding is written: ``test=<selector>``, ``check=<id>`` or ``id=<id>``.

The same words bind an acceptance item on its own line, in parentheses, and in the settings'
``acceptance_map``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from navci.model import Binding, BindingKind

HOW = "`test=<selector>`, `check=<id>` or `id=<id>`"
_ID = re.compile(r"[A-Za-z][A-Za-z0-9._-]{2,63}")
_SELECTOR_LIMIT = 1024


def read_binding(text: str) -> Binding:
    """The binding that ``text`` writes; a value may stand in backticks.

    Raises :class:`ValueError` with what is wrong.
    """
    word, equals, value = text.strip().strip("`").partition("=")
    value = " ".join(value.strip().strip("`").split())
    kind = next((kind for kind in BindingKind if kind == word.strip()), None)
    if not equals or kind is None:
        raise ValueError(f"a binding is written {HOW}")
    if not value:
        raise ValueError(f"nothing stands behind `{kind}=`")
    if kind is BindingKind.ID and not _ID.fullmatch(value):
        raise ValueError(
            "an id has 3 to 64 characters, a letter first, then letters, digits, `.`, `_` and `-`"
        )
    if kind is BindingKind.TEST and not value.strip("*.:/ "):
        raise ValueError("a selector names tests; this one would be all there are")
    if len(value) > _SELECTOR_LIMIT:
        raise ValueError(f"it is longer than {_SELECTOR_LIMIT:,} characters")
    return Binding(kind, value)


def read_table(value: object) -> object:
    """``acceptance_map`` as bindings by item; what is no table is left to the shape."""
    if not isinstance(value, Mapping):
        return value
    return {item: tuple(_listed(item, written)) for item, written in value.items()}


def _listed(item: object, written: object) -> Iterable[Binding]:
    texts = [written] if isinstance(written, str) else written
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) for one in texts):
        raise ValueError(f"`{item}` has no binding: {HOW}, or a list of them")
    for text in texts:
        try:
            yield read_binding(text)
        except ValueError as error:
            raise ValueError(f"`{item}`, {error}") from None


def unknown_checks(bindings: Iterable[Binding], checks: Iterable[str]) -> tuple[str, ...]:
    """The checks that ``bindings`` name and that there are not."""
    known = set(checks)
    named = (one.value for one in bindings if one.kind is BindingKind.CHECK)
    return tuple(dict.fromkeys(name for name in named if name not in known))
