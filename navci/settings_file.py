"""Reading what is given: the text of the config file and the options, checked by the shape."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError

from navci.errors import ConfigError
from navci.settings_shape import BLOCKS, Block, Check

# Option -> the block its key stands in. `enabled` belongs to two, and is no option.
_OPTIONS = {
    key: name for name, block in BLOCKS.items() for key in block.model_fields if key != "enabled"
}
_B = TypeVar("_B", bound=Block)


class Given:
    """The two places settings come from, and what was found wrong in them.

    ``problems`` and ``warnings`` are sentences; ``refused`` are the keys with a wrong value.
    """

    def __init__(
        self,
        options: Mapping[str, object],
        config_text: str | None,
        *,
        in_actions: bool,
        config_path: str,
    ) -> None:
        self.problems: list[str] = []
        self.refused: set[str] = set()
        self.warnings: list[str] = []
        self.in_actions, self.config_path = in_actions, config_path
        self.options = {
            name.replace("-", "_"): value.strip() if isinstance(value, str) else value
            for name, value in options.items()
            if _is_given(value)
        }
        self.file: dict[str, Any] = {}
        try:
            if config_text is not None:
                self.file, twice = read_json(config_text, config_path)
                self.warnings += [*twice, *_strangers(self.file, config_path)]
                self.problems += _no_objects(self.file, config_path)
        except ConfigError as error:
            self.problems += error.problems

    def block(self, name: str, model: type[_B]) -> _B:
        """A block's values: options over the file over defaults; what is wrong is noted."""
        from_file = self._checked(model, self._file_block(name), self._in_file(name), strict=True)
        from_options = self._checked(
            model,
            {key: value for key, value in self.options.items() if _OPTIONS.get(key) == name},
            self.option,
            strict=False,
        )
        over = {key: getattr(from_options, key) for key in from_options.model_fields_set}
        return from_file.model_copy(update=over)

    def has(self, block: str, key: str) -> bool:
        """Whether somebody gave this setting, rightly or wrongly."""
        return key in self.options or key in self._file_block(block)

    def said_false(self, block: str, key: str) -> bool:
        """Whether a setting was switched off on purpose."""
        in_option = str(self.options.get(key)).lower() in ("false", "no", "0")
        return in_option or (key not in self.options and self._file_block(block).get(key) is False)

    def switch(self, name: str) -> bool:
        """An option that stands in no file."""
        value = self.options.get(name, False)
        known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if str(value).lower() not in known:
            self.problems.append(f"{self.option(name)} is {_show(value)}; allowed: true or false")
        return known.get(str(value).lower(), False)

    def option(self, key: str) -> str:
        """An option as people know it."""
        kebab = key.replace("_", "-")
        return f"the input `{kebab}`" if self.in_actions else f"`--{kebab}`"

    def _in_file(self, block: str) -> Callable[[str], str]:
        return lambda key: f"`{block}.{key}` in `{self.config_path}`"

    def _file_block(self, name: str) -> dict[str, Any]:
        block = self.file.get(name, {})
        return block if isinstance(block, dict) else {}

    def _checked(
        self,
        model: type[_B],
        values: Mapping[str, object],
        where: Callable[[str], str],
        *,
        strict: bool,
    ) -> _B:
        try:
            return model.model_validate(values, strict=strict)
        except ValidationError as error:
            wrong = error.errors(include_url=False)
        self.problems += [_sentence(model, dict(one), where) for one in wrong]
        refused = {str(one["loc"][0]) for one in wrong}
        self.refused |= refused
        rest = {key: value for key, value in values.items() if key not in refused}
        return model.model_validate(rest, strict=strict)


def _is_given(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    return value is not None and value not in ((), [])


def _sentence(model: type[Block], wrong: dict[str, Any], where: Callable[[str], str]) -> str:
    key, *inside = (part for part in wrong["loc"] if part != "[key]")
    path = key + "".join(f"[{p}]" if isinstance(p, int) else f".{_key(p)}" for p in inside)
    field = model.model_fields[key]
    if key == "checks" and len(inside) > 1:
        field = Check.model_fields[str(inside[1])]
    if wrong["type"] == "missing":
        return f"{where(path)} is missing; allowed: {field.description}"
    said = f"{where(path)} is {_show(wrong['input'])}"
    if wrong["type"] == "value_error":
        return f"{said}: {wrong['ctx']['error']}"
    return f"{said}; allowed: {field.description}"


def _show(value: object) -> str:
    if isinstance(value, tuple | list | dict) and not value:
        return json_kind(value)
    text = json.dumps(value, ensure_ascii=False, default=str).encode(errors="replace").decode()
    return text if len(text) <= 80 else f"{text[:79]}…"


# --- keys -----------------------------------------------------------------------------------


def _key(name: str) -> str:
    """A key as it can stand on one line of a log."""
    return name if name.isprintable() else json.dumps(name)


def _no_objects(file: Mapping[str, object], path: str) -> Iterator[str]:
    for name in BLOCKS:
        if name in file and not isinstance(file[name], dict):
            yield f"`{name}` in `{path}` must be an object, `{{…}}`, not {json_kind(file[name])}"


def _strangers(file: Mapping[str, Any], path: str) -> Iterator[str]:
    """Warnings about keys that nobody reads. Most keys at the top are Navigator's own."""
    for name, value in file.items():
        block = BLOCKS.get(name)
        if block is not None and isinstance(value, dict):
            yield from _unknown(name, value, block.model_fields, block.elsewhere, path)
            checks = value.get("checks") if name == "navci" else None
            for check, entry in checks.items() if isinstance(checks, dict) else ():
                if isinstance(entry, dict):
                    inside = f"navci.checks.{_key(check)}"
                    yield from _unknown(inside, entry, Check.model_fields, (), path)
        elif block is None and _OPTIONS.get(name) in ("loop_mode", "native"):
            yield f"`{name}` in `{path}` is ignored at the top; move it into `{_OPTIONS[name]}`"
        elif block is None and (near := difflib.get_close_matches(name, BLOCKS, 1, 0.8)):
            yield f"`{_key(name)}` in `{path}` is unknown and ignored; did you mean `{near[0]}`?"


def _unknown(
    block: str,
    keys: Mapping[str, object],
    known: Mapping[str, object],
    others: Collection[str],
    path: str,
) -> Iterator[str]:
    for key in keys:
        if key not in known and key not in others:
            near = difflib.get_close_matches(key.replace("-", "_"), known, 1, 0.5)
            hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}"
            yield f"`{block}.{_key(key)}` in `{path}` is unknown and ignored; {hint}"


# --- reading the JSON -----------------------------------------------------------------------


def read_json(text: str, path: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The file's object, and warnings about keys that stand twice.

    Raises :class:`ConfigError` with line and column for what is not JSON.
    """
    twice: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        table = dict(items)
        names = [name for name, _ in items]
        twice.extend(name for name in table if names.count(name) > 1)
        return table

    if text.startswith("\ufeff"):
        raise ConfigError(
            f"`{path}` starts with a byte order mark (BOM); save it as UTF-8 without BOM"
        )
    if not text.strip():
        raise ConfigError(f"`{path}` is empty; write `{{}}` into it or delete it")
    try:
        data = json.loads(text, object_pairs_hook=pairs, parse_constant=_no_constant)
        json.dumps(data, ensure_ascii=False).encode()  # half a character could not be shown
    except json.JSONDecodeError as error:
        what = _what_is_wrong(error)
        raise ConfigError(
            f"`{path}` is not valid JSON (line {error.lineno}, column {error.colno}): {what}"
        ) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"`{path}` is not usable JSON: {error}; mend it or delete it") from None
    if not isinstance(data, dict):
        raise ConfigError(f"`{path}` must hold an object, `{{…}}`, not {json_kind(data)}")
    warnings = (
        f"`{_key(name)}` stands twice in one object of `{path}`; the last one counts"
        for name in twice
    )
    return data, tuple(warnings)


def json_kind(value: object) -> str:
    """What JSON calls a value, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list() | tuple():
            return "a list"
        case _:
            return "an object"


def _what_is_wrong(error: json.JSONDecodeError) -> str:
    before, rest = error.doc[: error.pos].rstrip(), error.doc[error.pos :].lstrip()
    if rest.startswith(("//", "/*", "#")):
        return "JSON has no comments; take the comment out"
    # Python 3.13 points at the comma, earlier ones behind it.
    if re.match(r",\s*[}\]]", rest if rest.startswith(",") else before[-1:] + rest):
        return "take the comma before the closing bracket out"
    if rest.startswith("'"):
        return 'text stands in double quotes, "…"'
    return f"{error.msg[:1].lower()}{error.msg[1:]}"


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
