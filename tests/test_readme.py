"""The README says what the code does: its generated parts are made again and compared.

``python -m tests.test_readme`` rewrites them.
"""

from __future__ import annotations

import re
from pathlib import Path

from navci.model import ENDS, FailOn

README = Path(__file__).parents[1] / "README.md"
_PART = re.compile(r"(<!-- ends: [^\n]* -->\n)(.*?)(<!-- /ends -->)", re.DOTALL)


def ends_table() -> str:
    """The table of ends, from the code."""
    rows = ["| outcome | exit | marker | red | what to do next |", "|---|---|---|---|---|"]
    for end, rule in ENDS.items():
        red = " / ".join("yes" if when in rule.red else "no" for when in list(FailOn)[:2])
        marker = rule.marker.value if rule.marker else "none"
        resumable = ", resumable" if rule.resumable else ""
        rows.append(
            f"| `{end}` | {rule.exit_code} | {marker}{resumable} | {red} | {rule.next_step} |"
        )
    return "\n".join(rows) + "\n"


def with_generated_parts(text: str) -> str:
    """``text`` with its generated parts made anew."""
    return _PART.sub(lambda match: f"{match[1]}{ends_table()}{match[3]}", text)


def test_generated_parts_are_up_to_date() -> None:
    text = README.read_text(encoding="utf-8")
    assert _PART.search(text)
    assert with_generated_parts(text) == text, "run: python -m tests.test_readme"


if __name__ == "__main__":
    README.write_text(with_generated_parts(README.read_text(encoding="utf-8")), encoding="utf-8")
