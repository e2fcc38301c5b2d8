"""Text for people and agents lives in ``navci/templates``; this renders it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def _environment() -> Environment:
    # Imported late: jinja2 is a third of the start-up time of commands that render nothing.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(  # noqa: S701 - Markdown and prompts, not HTML; values are neutralised by report
        loader=PackageLoader("navci", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        cache_size=-1,
    )


def preload() -> None:
    """Read every template now: an agent that can write to our installation finds it in memory."""
    environment = _environment()
    for name in environment.list_templates(extensions=["j2"]):
        environment.get_template(name)


def render(name: str, **values: object) -> str:
    """The template ``name`` (a path below ``navci/templates``) filled with ``values``.

    Raises :class:`jinja2.UndefinedError` for a value the template names and the caller forgot.
    """
    return _environment().get_template(name).render(**values)
