"""The shape of a playbook's steps: which kinds there are, and what each may hold.

A description completes the sentence "allowed: …".
"""

from __future__ import annotations

import base64
import binascii
import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from navci.model import AgentErrorKind
from navci.system.clock import parse_duration

_PATH = "a path, as text"
_TEXT = "text, in quotes where it could be read as a number or as true or false"
_SECONDS = "0 or more seconds, or a duration like 90s, 60m or 5h"

Step = dict[str, Any]


def _seconds(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


def _base64(value: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error as problem:
        raise ValueError(f"not base64: {problem}") from None
    return value


Text = Annotated[str, StringConstraints(min_length=1)]
Seconds = Annotated[float, BeforeValidator(_seconds), Field(ge=0, allow_inf_nan=False)]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Write(_Fields):
    path: Text = Field(description=_PATH)
    text: str | None = Field(None, description=_TEXT)
    bytes: Annotated[str, AfterValidator(_base64)] | None = Field(None, description="base64")
    mode: Annotated[str, StringConstraints(pattern=r"^[0-7]{3,4}$")] | None = Field(
        None, description="an octal mode in quotes, like '755'"
    )
    append: bool = Field(False, description="true or false")

    @model_validator(mode="after")
    def _one_content(self) -> _Write:
        if (self.text is None) == (self.bytes is None):
            raise ValueError("give either `text` or `bytes`, which is base64")
        return self


class _Patch(_Fields):
    path: Text = Field(description=_PATH)
    find: Text = Field(description=_TEXT)
    replace: str = Field(description=_TEXT)


class _Run(_Fields):
    command: Text = Field(description="a bash line, as text")
    must_succeed: bool = Field(False, description="true or false")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: object) -> object:
        return {"command": value} if isinstance(value, str) else value


class _Usage(_Fields):
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="a number, 0 or more"
    )
    tokens: Annotated[int, Field(ge=0)] | None = Field(
        None, description="a whole number, 0 or more"
    )


class _Error(_Fields):
    kind: AgentErrorKind = Field(description=", ".join(AgentErrorKind))
    message: str = Field("the playbook says so", description=_TEXT)
    resets_in: Seconds | None = Field(None, description=_SECONDS)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of step: ``allowed`` is what may stand behind its name, ``fields`` are its keys."""

    adapter: TypeAdapter[Any]
    allowed: str
    fields: type[BaseModel] | None = None

    @classmethod
    def of(cls, fields: type[BaseModel], allowed: str = "") -> Kind:
        """A kind with a mapping; ``allowed`` is its short form, where it has one."""
        mapping = f"a mapping of {', '.join(fields.model_fields)}"
        return cls(TypeAdapter(fields), f"{allowed}, or {mapping}" if allowed else mapping, fields)


KINDS: Mapping[str, Kind] = {
    "read": Kind(TypeAdapter(Text), _PATH),
    "say": Kind(TypeAdapter(str), _TEXT),
    "write": Kind.of(_Write),
    "patch": Kind.of(_Patch),
    "delete": Kind(TypeAdapter(Text), _PATH),
    "run": Kind.of(_Run, "a bash line, as text"),
    "sleep": Kind(TypeAdapter(Seconds), _SECONDS),
    "usage": Kind.of(_Usage),
    "error": Kind.of(_Error),
    "fail": Kind(
        TypeAdapter(Annotated[int, Field(ge=1, le=255)]),
        "an exit code, a whole number from 1 to 255",
    ),
    "signal": Kind(
        TypeAdapter(dict[str, JsonValue]),
        "a mapping of text to what JSON can hold, like {type: exit, success: true, reason: done}",
    ),
}


def check_step(step: object, where: str) -> Step | list[str]:
    """The step with its values checked and its short forms written out, or what is wrong."""
    if not isinstance(step, dict) or len(step) != 1:
        return [f"{where} must be one `kind: value`; kinds: {', '.join(KINDS)}"]
    ((name, value),) = step.items()
    if name not in KINDS:
        return [f"{where}: unknown step `{name}`; {_meant(str(name), KINDS)}"]
    kind = KINDS[name]
    try:
        checked = kind.adapter.validate_python(value)
    except ValidationError as problem:
        wrong = (dict(error) for error in problem.errors(include_url=False))
        return list(dict.fromkeys(_complaints(kind, wrong, f"{where} ({name})")))
    return {name: kind.adapter.dump_python(checked, mode="json", exclude_none=True)}


def _complaints(kind: Kind, wrong: Iterator[dict[str, Any]], where: str) -> Iterator[str]:
    """A sentence for each problem, in the words of the shape and never in pydantic's."""
    fields = kind.fields.model_fields if kind.fields else {}
    for error in wrong:
        key = str(error["loc"][0]) if fields and error["loc"] else ""
        place = f"{where}, {key}" if key else where
        # Of a mapping with any keys, the value that is wrong is somewhere in it.
        verb = "holds" if error["loc"] and not fields else "is"
        shown = f"{verb} {_show(error['input'])}"
        match error["type"]:
            case _ if key and key not in fields:
                yield f"{place} is unknown; {_meant(key, fields)}"
            case "missing":
                yield f"{place} is missing; allowed: {fields[key].description}"
            case "value_error":
                yield f"{place} {shown}: {error['ctx']['error']}"
            case _:
                allowed = fields[key].description if key else kind.allowed
                yield f"{place} {shown}; allowed: {allowed}"


def _meant(name: str, known: Mapping[str, object]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    return f"{hint}allowed: {', '.join(known)}"


def _show(value: object) -> str:
    """A value of YAML as JSON, which people can tell from the words around it."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):  # a key that is a list, an anchor inside itself
        text = repr(value)
    text = text.encode(errors="replace").decode()
    return text if len(text) <= 80 else f"{text[:79]}…"
