"""What is written about GitHub is so: reasons from the code, workflows that are some.

``python -m tests.test_github_docs`` writes the table of reasons anew.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

from navci.queue.refusals import REFUSALS, Refusal
from navci.settings_shape import GitHubBlock
from tests.test_lint import SCRIPTS
from tests.test_workflows import CALLED, PERMISSIONS, TOP, action, called

PAGE = TOP / ".github" / "docs" / "github.md"
README = TOP / "README.md"
_REFUSALS = re.compile(r"(<!-- refusals, .*-->\n\|.*\n\|.*\n)((?:\|.*\n)*)(<!-- /refusals -->)")


def with_reasons(text: str) -> str:
    """``text`` with the table of reasons made anew."""
    rows = "".join(f"| `{one}` | {what} | {todo} |\n" for one, (what, todo) in REFUSALS.items())
    return _REFUSALS.sub(lambda part: part[1] + rows + part[3], text)


def yaml_of(page: Path) -> list[str]:
    tokens = MarkdownIt("commonmark").parse(page.read_text("utf-8"))
    return [token.content for token in tokens if token.type == "fence" and token.info == "yaml"]


def test_every_reason_is_explained() -> None:
    text = PAGE.read_text("utf-8")
    assert with_reasons(text) == text, "run: python -m tests.test_github_docs"
    assert REFUSALS.keys() == set(Refusal)
    assert text.count("\n| `no-write-access` |") == 1


@pytest.mark.parametrize("page", [README, PAGE], ids=lambda page: page.name)
def test_workflows_to_paste_are_workflows(tmp_path: Path, page: Path) -> None:
    (shown,) = (block for block in yaml_of(page) if "jobs:" in block)
    (tmp_path / "shown.yml").write_text(shown, "utf-8")
    done = subprocess.run(
        [SCRIPTS / "check-jsonschema", "--builtin-schema", "vendor.github-workflows", "shown.yml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    (job,) = yaml.safe_load(shown)["jobs"].values()
    assert job["permissions"] == PERMISSIONS["nightly", "night"]
    if "uses" in job:
        name = job["uses"].partition("/workflows/")[2].partition(".yml@")[0]
        assert job["with"].keys() <= called(name)["inputs"].keys()
        assert job["secrets"].keys() <= called(name)["secrets"].keys()
    else:
        (step,) = (step for step in job["steps"] if "navci" in step.get("uses", ""))
        assert step["with"].keys() <= action()["inputs"].keys()


def test_inputs_secrets_labels_and_permissions_are_all_there() -> None:
    text = PAGE.read_text("utf-8")
    for name in CALLED:
        for told in (*called(name)["inputs"], *called(name)["secrets"]):
            assert f"`{told}`" in text or told in ("issue", "ask-first"), told
    for key, field in GitHubBlock.model_fields.items():
        if key.startswith("label"):
            assert f"| `{field.default}` |" in text, key
    for given in {scope for scopes in PERMISSIONS.values() for scope in scopes}:
        assert f"| `{given}: write` |" in text


def test_the_readme_leads_there() -> None:
    assert ".github/docs/github.md" in README.read_text("utf-8")


if __name__ == "__main__":
    PAGE.write_text(with_reasons(PAGE.read_text("utf-8")), "utf-8")
