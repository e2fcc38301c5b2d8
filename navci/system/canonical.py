"""Canonical JSON: the one byte form of a value, for hashes and for what is kept in git."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from pathlib import PurePath


def plain(value: object) -> object:
    """``value`` as JSON types: dataclasses and mappings become objects, sets sorted lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(plain(item) for item in value)  # type: ignore[type-var]
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, PurePath):
        return str(value)
    return value


def canonical(value: object) -> bytes:
    """Sorted keys, no spaces, ASCII escapes: equal values give equal bytes on every machine.

    ASCII escapes also carry the lone surrogates of paths that are not UTF-8.
    """
    text = json.dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def digest(value: object) -> str:
    """SHA-256, in hex, of :func:`canonical`."""
    return hashlib.sha256(canonical(value)).hexdigest()
