"""Every exchange held against GitHub's own OpenAPI description of its REST API.

The description is checked as JSON Schema with three readings of its own (its known flaws):
a nullable enum allows null although it does not list it; a list of labels may be sent bare, as
its prose says; path parameters that it marks ``x-multi-segment``, and label names, hold slashes.
Beyond the description, nothing may be sent or answered that it does not name: additional
properties are refused wherever it does not allow them explicitly.
"""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft202012Validator, Registry

DATA = Path(__file__).parent.parent / "data" / "github-openapi"

# Answers that any operation may give; the description lists them for few.
EVERYWHERE = frozenset({301, 307, 401, 403, 404, 410, 429})
MULTI_SEGMENT = frozenset({"ref", "branch", "name"})

_SCHEMA_MAPS = ("properties", "patternProperties")
_SCHEMA_LISTS = ("anyOf", "oneOf", "allOf")
_SCHEMAS = ("items", "additionalProperties", "not")


def _date_time(text: str) -> bool:
    # Seconds and Z: what GitHub writes, narrower than the format.
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text, re.ASCII))


def _uri(text: str) -> bool:
    return bool(re.fullmatch(r"[a-z][a-z0-9+.-]*:[!-~]+", text))


_FORMATS = {"date-time": _date_time, "uri": _uri}


def as_json_schema(schema: Mapping[str, Any], closed: bool = True) -> dict[str, Any]:
    """An OpenAPI 3.0 schema as JSON Schema 2020-12; ``closed``: no property it does not name."""
    if "$ref" in schema:
        return {"$ref": "urn:github" + schema["$ref"]}
    made: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _SCHEMA_MAPS:
            made[key] = {name: as_json_schema(part, closed) for name, part in value.items()}
        elif key in _SCHEMA_LISTS:
            # The parts of an allOf complete each other: none of them is closed alone.
            made[key] = [as_json_schema(part, closed and key != "allOf") for part in value]
        elif key in _SCHEMAS and isinstance(value, dict):
            made[key] = as_json_schema(value, closed)
        elif key not in ("nullable", "discriminator"):
            made[key] = value
    if closed and "properties" in made:
        made.setdefault("additionalProperties", False)
    if not schema.get("nullable"):
        return made
    if "enum" in made:
        made["enum"] = [*made["enum"], None]
    if "type" in made:
        made["type"] = [made["type"], "null"]
        return made
    return {"anyOf": [made, {"type": "null"}]}


@dataclass(frozen=True)
class Operation:
    """One method of one path of the description."""

    path: str
    method: str
    query: Mapping[str, Draft202012Validator]
    numbers: frozenset[str]
    needed: frozenset[str]
    body: Draft202012Validator | None
    body_needed: bool
    answers: Mapping[str, Draft202012Validator | None]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def template_pattern(template: str) -> re.Pattern[str]:
    """The regular expression of a path with ``{parameters}``."""

    def group(found: re.Match[str]) -> str:
        name = found[1]
        if name.endswith(("number", "_id")):
            return rf"(?P<{name}>\d+)"
        return rf"(?P<{name}>{'.+' if name in MULTI_SEGMENT else '[^/]+'})"

    return re.compile(re.sub(r"\{(\w+)\}", group, template))


class Contract:
    """The description of one product: ``api.github.com`` or ``ghes-3.17``."""

    def __init__(self, description: Mapping[str, Any]) -> None:
        self._description = description
        schemas = {
            name: as_json_schema(part)
            for name, part in description["components"]["schemas"].items()
        }
        self._registry = Registry([("urn:github", {"components": {"schemas": schemas}})])
        self._operations = [
            (template_pattern(path), self._operation(path, method, said))
            for path, item in description["paths"].items()
            for method, said in item.items()
            if method in ("get", "post", "put", "patch", "delete")
        ]

    @classmethod
    @functools.cache
    def load(cls, product: str) -> Contract:
        """The contract of ``product``, a name in ``tests/data/github-openapi``."""
        return cls(json.loads(gzip.decompress((DATA / f"{product}.json.gz").read_bytes())))

    def _resolved(self, said: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in said:
            found: Any = self._description
            for part in said["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            said = found
        return said

    def _validator(self, schema: Mapping[str, Any]) -> Draft202012Validator:
        return Draft202012Validator(
            as_json_schema(schema),
            registry=self._registry,
            formats=_FORMATS,
            validate_formats=True,
        )

    def _operation(self, path: str, method: str, said: Mapping[str, Any]) -> Operation:
        queries = [
            found
            for found in map(self._resolved, said.get("parameters", ()))
            if found["in"] == "query"
        ]
        body = said.get("requestBody", {})
        schema = body.get("content", {}).get("application/json", {}).get("schema")
        if schema is not None and path.endswith("/labels"):
            bare = [
                part["properties"]["labels"]
                for part in schema.get("oneOf", ())
                if "labels" in part["properties"]
            ]
            schema = {"anyOf": [*schema.get("oneOf", [schema]), *bare]}
        answers = {
            status: self._resolved(answer)
            .get("content", {})
            .get("application/json", {})
            .get("schema")
            for status, answer in said["responses"].items()
        }
        return Operation(
            path=path,
            method=method.upper(),
            query={found["name"]: self._validator(found["schema"]) for found in queries},
            numbers=frozenset(
                found["name"] for found in queries if found["schema"].get("type") == "integer"
            ),
            needed=frozenset(found["name"] for found in queries if found.get("required")),
            body=None if schema is None else self._validator(schema),
            body_needed=bool(body.get("required")),
            answers={
                status: None if schema is None else self._validator(schema)
                for status, schema in answers.items()
            },
        )

    def names(self) -> set[str]:
        """All operations: ``GET /user`` …"""
        return {operation.name for _, operation in self._operations}

    def operation(self, method: str, path: str) -> Operation | None:
        """The operation that ``path`` (no prefix, no query) means, or None."""
        for pattern, operation in self._operations:
            if operation.method == method and pattern.fullmatch(path):
                return operation
        return None

    def request(self, method: str, path: str, query: Mapping[str, str], body: Any) -> list[str]:
        """What is wrong with a request; ``body`` is its JSON or None."""
        operation = self.operation(method, path)
        if operation is None:
            return [f"{method} {path}: no such operation in the description"]
        return [f"{operation.name}: request: {text}" for text in _request(operation, query, body)]

    def answer(self, method: str, path: str, status: int, body: Any) -> list[str]:
        """What is wrong with an answer; ``body`` is its JSON or None."""
        operation = self.operation(method, path)
        if operation is None:
            return []
        return [
            f"{operation.name}: answer {status}: {text}"
            for text in self._answer(operation, status, body)
        ]

    def _answer(self, operation: Operation, status: int, body: Any) -> Iterator[str]:
        if str(status) in operation.answers:
            validator = operation.answers[str(status)]
        elif status not in EVERYWHERE:
            yield "this status is not in the description"
            return
        else:
            validator = None
        if validator is None and status >= 300:
            # Errors have a body, whether the description shows it or not.
            validator = self._validator({"$ref": "#/components/schemas/basic-error"})
        if validator is None:
            if body is not None:
                yield "a body where the description has none"
        else:
            yield from _errors(validator, body)
        # Only its prose says so, and PyGithub reads it as a word.
        if status == 200 and operation.path.endswith("/permission"):
            word = body.get("permission") if isinstance(body, dict) else None
            if word not in ("admin", "write", "read", "none"):
                yield f"permission {word!r} is not a legacy base role"


def _request(operation: Operation, query: Mapping[str, str], body: Any) -> Iterator[str]:
    for name, value in query.items():
        if name not in operation.query:
            yield f"query parameter {name!r} is not in the description"
            continue
        known = int(value) if name in operation.numbers and value.isdigit() else value
        yield from _errors(operation.query[name], known, f"query {name}: ")
    for name in sorted(operation.needed - query.keys()):
        yield f"query parameter {name!r} is missing"
    if body is None:
        if operation.body_needed:
            yield "the body is missing"
    elif operation.body is None:
        yield "a body where the description has none"
    else:
        yield from _errors(operation.body, body)


def _errors(validator: Draft202012Validator, value: Any, where: str = "") -> Iterator[str]:
    for error in validator.iter_errors(value):
        place = "/".join(str(part) for part in error.instance_path) or "(the whole)"
        yield f"{where}{place}: {error.message[:300]}"
