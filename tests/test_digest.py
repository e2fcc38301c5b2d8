"""``navci digest``: the markers of a night in one summary, also of jobs that died."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from navci.errors import ConfigError
from navci.marker import write_marker
from navci.model import End, Task, Usage
from navci.queue.decide import Past
from navci.queue.digest import Digest, digest, markdown, tasks_of_matrix
from tests.support.navci_run import run_navci
from tests.support.night import Place, commands_in
from tests.support.reports import make_report
from tests.support.repos import make_repo

PULL = "https://github.com/octo/demo/pull/41"


def artifact(
    folder: Path, number: int, end: End | None, title: str = "A task", **more: Any
) -> Path:
    """What download-artifact leaves of one job."""
    report = make_report(end, task=Task(f"issue-{number}", title, ""), **more)
    place = folder / f"loop-{number}-{len(list(folder.glob('*')))}"
    write_marker(report, place)
    (place / "report.json").write_text('{"other": 1}')
    return place


def told(found: Digest) -> dict[str, str]:
    return {
        one.task: "died" if one.died else one.end.value if one.end else "" for one in found.tasks
    }


def test_a_night(tmp_path: Path) -> None:
    with Place.start(tmp_path) as place:
        night = tmp_path / "artifacts"
        night.mkdir()
        artifact(night, 1, End.COMPLETE, pull_request_url=PULL, spent=Usage(1.5, 1000))
        artifact(night, 2, End.STAGNATED, "Make | it `so`", spent=Usage(0.25, None))
        artifact(night, 3, None)
        artifact(night, 4, End.RATE_LIMITED)
        place.journal(5, place.ago(hours=2))
        place.journal(6, place.ago(hours=2), end=End.DECLINED)
        matrix = json.dumps({"include": [{"issue": n} for n in (1, 2, 3, 4, 5, 6, 7)]})
        result = place.run("digest", str(night), "--json", NAVCI_DIGEST_MATRIX=matrix)
        assert result.exit_code == 0, result.said
        found = json.loads(result.stdout)
        assert [(t["task"], t["outcome"], t["died"]) for t in found["tasks"]] == [
            ("issue-1", "complete", False),
            ("issue-2", "stagnated", False),
            ("issue-3", None, True),
            ("issue-4", "rate_limited", False),
            ("issue-5", None, True),
            ("issue-6", "declined", False),
            ("issue-7", None, True),
        ]
        assert found["complete"] == 1
        assert found["cost_usd"] == pytest.approx(1.5 + 0.25 * 3)
        people = {one["task"] for one in found["tasks"] if one["person"]}
        assert people == {"issue-1", "issue-2", "issue-6", "issue-7"}
        assert {t["task"] for t in found["tasks"] if t["later"]} == {
            "issue-3", "issue-4", "issue-5"
        }  # fmt: skip
        summary = result.summary
        assert "## Last night: 1 of 7 complete" in summary
        assert f"| #1 | A task | ✅ complete | 3 | $1.50, 1,000 tokens | [#41]({PULL}) |" in summary
        assert "| #2 | Make \\| it \\`so\\` | ❌ stagnated | 3 | $0.25 | - |" in summary
        assert "| #3 | A task | ⏳ died |" in summary
        assert "- #7: no trace of it; its job did not begin, or was lost" in summary


def test_without_a_repository_only_markers_tell(tmp_path: Path) -> None:
    night, elsewhere = tmp_path / "artifacts", tmp_path / "empty"
    for folder in (night, elsewhere):
        folder.mkdir()
    artifact(night, 1, End.COMPLETE)
    repo = make_repo(tmp_path / "demo", {"a": "b"})
    result = run_navci(
        repo, "digest", "--matrix", '{"include":[{"issue":2}]}', "--json",
        cwd=elsewhere, env={"NAVCI_DIGEST_FOLDERS": str(night)},
    )  # fmt: skip
    assert result.exit_code == 0
    assert "the journals were not looked at" in result.said
    assert [one["task"] for one in json.loads(result.stdout)["tasks"]] == ["issue-2", "issue-1"]


def test_the_last_word_of_a_task_counts(tmp_path: Path) -> None:
    early = make_report(End.STAGNATED).updated
    artifact(tmp_path, 1, End.STAGNATED)
    artifact(tmp_path, 1, End.COMPLETE, updated=early.replace(hour=early.hour + 1))
    artifact(tmp_path, 2, None)
    artifact(tmp_path, 2, End.DECLINED)
    artifact(tmp_path, 3, End.DECLINED)
    artifact(tmp_path, 3, None, updated=early.replace(hour=early.hour + 1))
    assert told(digest([tmp_path], [])) == {
        "issue-1": "complete",
        "issue-2": "declined",
        "issue-3": "died",
    }


def test_files_that_are_no_markers(tmp_path: Path) -> None:
    good = artifact(tmp_path, 1, End.COMPLETE)
    (good / "broken.json").write_text('{"schema": "navci.marker", ')
    (good / "forged.json").write_text(
        next(good.glob("*complete.json"))
        .read_text()
        .replace('"complete": true', '"complete": false')
    )
    (good / "huge.json").write_bytes(b" " * (17 << 20))
    (tmp_path / "link.json").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "pipe.json")
    found = digest([tmp_path], [])
    assert told(found) == {"issue-1": "complete"}
    assert len(found.notes) == 4
    assert all(str(tmp_path) not in note for note in found.notes)


@pytest.mark.parametrize("text", ["[]", "{", '{"include":[{"issue":"$(id)"}]}', "7", "[" * 99999])
def test_matrices_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="--matrix is not the output"):
        tasks_of_matrix(text)


def test_an_empty_night(tmp_path: Path) -> None:
    assert tasks_of_matrix("") == tasks_of_matrix('{"include":[]}') == []
    assert "No issue had a run." in markdown(digest([tmp_path], []))
    with pytest.raises(ConfigError, match="there is no folder"):
        digest([tmp_path / "nowhere"], [])


def test_a_journal_that_cannot_be_read() -> None:
    found = digest([], ["issue-1"], lambda _: Past(problem="append 12 is | not <b>JSON</b>"))
    assert "its journal cannot be read: append 12 is" in markdown(found)
    assert "<b>" not in markdown(found).replace("\\<b", "")


HOSTILE = (
    "::set-output name=matrix::x\n::add-mask::a",
    "##[error]x %0A::error::y",
    "@octo/team #1 GH-2 https://evil.example/ www.evil.example",
    "<img src=x onerror=alert(1)> <details><summary>x",
    "| a | b |\n|---|---|\n\n# heading\n> quote",
    "`` ` ``` $(id) ${{ secrets.X }} \u202eright to left\u0000",
    "[x](javascript:alert(1)) ![x](http://evil.example/x.png)",
    "x" * 100_000,
)


@pytest.mark.parametrize("title", HOSTILE)
def test_hostile_words_stay_words(tmp_path: Path, title: str) -> None:
    """In the digest, in the queue's table, and in the trigger's answer."""
    with Place.start(tmp_path) as place:
        night = tmp_path / "artifacts"
        night.mkdir()
        artifact(night, 1, End.STAGNATED, title or "x", reason=title, pull_request_url=title[:90])
        number = place.issue(title[:256].replace("\0", ""), title)
        place.issue(title[:256].replace("\0", ""), title, by="tria")
        texts = [
            place.run("digest", str(night)),
            place.run("queue"),
            place.run(
                "trigger", event="repository_dispatch",
                payload={"client_payload": {"issue": number, "command": title},
                         "sender": {"login": title, "type": title}},
            ),
        ]  # fmt: skip
        for result in texts:
            assert result.exit_code == 0, result.said
            assert set(commands_in(result.stdout)) <= {"notice", "warning", "error"}
            assert "set-output" not in commands_in(result.said)
            assert set(result.outputs) <= {
                "matrix", "count", "max-parallel", "should-run", "why", "issue", "command", "note"
            }  # fmt: skip
            look_at(result.summary)
        assert json.loads(texts[1].outputs["matrix"]) == {"include": [{"issue": number}]}
        assert texts[2].outputs["should-run"] == "false"
        assert "\n" not in texts[2].outputs["why"]


def look_at(summary: str) -> None:
    """The summary as GitHub renders it: no HTML, no link, no mention but navci's own."""
    tokens = MarkdownIt("commonmark").enable("table").parse(summary)
    assert not [token for token in tokens if token.type == "html_block"]
    assert {token.tag for token in tokens if token.type == "heading_open"} <= {"h2", "h3"}
    for row in (token for token in tokens if token.type == "tr_open"):
        assert row.map is not None
    parts = [part for token in tokens for part in token.children or ()]
    assert not {part.type for part in parts} & {"html_inline", "link_open", "image"}
    shown = "".join(part.content for part in parts if part.type == "text")
    assert "@octo" not in shown
    assert "https://" not in shown
    assert "\u202e" not in summary


def test_as_many_rows_as_a_page_holds(tmp_path: Path) -> None:
    found = digest([], [f"issue-{number}" for number in range(1, 1001)])
    text = markdown(found)
    assert "… and 700 more." in text
    assert len(text.encode()) < 200_000
    assert found.cost_usd is None
    assert "Together: not known." in text
    assert not replace(found.tasks[0], end=End.COMPLETE).complete, "it died"
