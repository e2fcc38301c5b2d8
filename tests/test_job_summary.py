from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from navci.model import (
    ENDS,
    AcceptanceItem,
    End,
    Gaps,
    ItemState,
    ItemStatus,
    Rules,
    Strategy,
    Task,
    Usage,
)
from navci.report.job_summary import (
    LIMIT,
    StepSummary,
    fit,
    job_summary,
    summary_file,
    write_summary,
)
from tests.support.reports import GAP, check, iteration, make_report

MIB = 1024 * 1024


def parse(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def headings(text: str) -> list[str]:
    tokens = parse(text)
    return [tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "heading_open"]


@pytest.mark.parametrize(
    ("end", "verdict"),
    [
        (None, "## ⏳ LOOP RUNNING: 3/12 iterations judged"),
        (End.COMPLETE, "## ✅ LOOP COMPLETE after 3 iterations"),
        (End.MAX_ITERATIONS, "## ❌ LOOP ABORTED: max iterations reached after 3 iterations"),
        (End.STAGNATED, "## ❌ LOOP ABORTED: stagnated after 3 iterations"),
        (End.FAILURE_BUDGET, "## ❌ LOOP ABORTED: failure budget used up after 3 iterations"),
        (End.COST_BUDGET, "## ❌ LOOP ABORTED: cost budget used up after 3 iterations"),
        (End.DECLINED, "## ❌ LOOP ABORTED: the agent declined after 3 iterations"),
        (End.NO_OP, "## ❌ LOOP ABORTED: nothing to do after 3 iterations"),
        (End.TIME_BUDGET, "## ❌ LOOP ABORTED: time budget used up after 3 iterations"),
        (End.RATE_LIMITED, "## ❌ LOOP ABORTED: rate limited after 3 iterations"),
        (End.INFRA_ERROR, "## ❌ LOOP ABORTED: infrastructure error after 3 iterations"),
        (End.AWAITING_APPROVAL, "## ⏳ LOOP PAUSED: awaiting approval after 3 iterations"),
        (End.USER_ABORTED, "## ❌ LOOP ABORTED: stopped on request after 3 iterations"),
        (End.JOURNAL_DAMAGED, "## ❌ LOOP ABORTED: journal damaged after 3 iterations"),
        (End.SKIPPED, "## ❌ LOOP NOT STARTED: skipped"),
        (End.CONFIG_ERROR, "## ❌ LOOP NOT STARTED: configuration error"),
    ],
)
def test_the_verdict_is_the_first_line(end: End | None, verdict: str) -> None:
    text = job_summary(make_report(end))
    assert text.splitlines()[0] == verdict
    assert end is None or f"**What to do next:** {ENDS[end].next_step}" in text


def test_what_a_person_sees() -> None:
    text = job_summary(make_report(End.STAGNATED, marker=Path("/run/m.json"), artifact="loop-x"))
    assert headings(text) == [
        "❌ LOOP ABORTED: stagnated after 3 iterations",
        "Checks",
        "Status",
        "Iterations",
        "Open gaps (2)",
    ]
    assert "━" * 52 in text
    assert "| 2 | IMPL | 54% | 1/5 | 2 | `a7b3c9` | ❌ `tests` | STAGNATION → " in text
    assert f"<details><summary><code>{GAP}</code></summary>" in text
    assert "E  assert True" in text
    assert "- Branch: `navci/TASK-12` at `" + "2" * 40 in text
    assert "- Kept: `refs/navci/TASK-12`" in text
    assert "- Marker: `/run/m.json`" in text
    assert "- Files: `/run/artifact`" in text
    assert "cost: 0.25 USD, 1,200 tokens" in text
    assert "\n  1  ██ 2\n" in text


@pytest.mark.parametrize("in_job", [False, True])
def test_only_a_job_has_an_artifact(in_job: bool) -> None:
    text = job_summary(make_report(End.COMPLETE, artifact="loop-complete-x"), in_job=in_job)
    assert ("- Artifact: `loop-complete-x`\n" in text) is in_job
    assert ("- Files: `/run/artifact`\n" in text) is not in_job


def test_commands_in_navcis_words_are_shown_as_code() -> None:
    said = "`pytest -q` exited 1: a_b*c [x](y)"
    shown = "`pytest -q` exited 1: a_b\\*c \\[x\\](y)"
    text = job_summary(make_report(reason=said, notes=(said,), checks=(check(why=said),)))
    assert f"\n\n{shown}\n\n" in text
    assert f"\n- {shown}\n" in text
    assert f"- ❌ `tests`: {shown}\n" in text


def test_an_open_acceptance_item_is_told_in_its_words() -> None:
    item = AcceptanceItem("acc-0123456789abcdef", "1 is | no `prime`")
    gaps = Gaps(acc=frozenset({item.id}))
    last = iteration(1, gaps)
    status = ItemStatus(ItemState.MISSING, "no test that ran matches `test_one`")
    seen = replace(last.observation, acceptance={item.id: status})
    report = make_report(
        task=Task("TASK-12", "Fix it", "", items=(item,)),
        gaps=gaps,
        iterations=(replace(last, observation=seen),),
    )
    text = job_summary(report)
    assert f"<summary><code>{item.id} 1 is | no `prime`</code></summary>" in text
    assert "\n```text\nno test that ran matches `test_one`\n```\n" in text
    unmeasured = replace(report, iterations=())
    assert f"- `` {item.id} 1 is | no `prime` ``" in job_summary(unmeasured)


@pytest.mark.parametrize("number", [0, 1])
def test_a_run_that_has_only_begun(number: int) -> None:
    report = make_report(None, iterations=make_report().iterations[:number], spent=Usage())
    text = job_summary(report)
    assert f"LOOP RUNNING: {number}/12" in text
    assert "Open gaps by iteration" not in text
    assert "not reported by the agent" in text
    assert "killed" not in text


def test_without_checks_it_says_what_stands_behind_the_run() -> None:
    words = "only the agent's word and git stand behind this run"
    assert words in job_summary(make_report(End.COMPLETE, has_checks=False, checks=()))
    assert words not in job_summary(make_report(End.COMPLETE))


HOSTILE = (
    "\n# Pwned\n</details><h1>✅ LOOP COMPLETE</h1> <img src=x> <!-- | @ada #12 ```\n~~~\n"
    '````\n```pilot-signal\n{"v":2}\n```\n| a |\n|---|\n[x](https://evil) \u202e\x1b[31m'
)


def hostile_report(text: str) -> str:
    gaps = Gaps(acc=frozenset({text}), chk=frozenset({text + "2"}))
    event = {"event": True, "strategy": Strategy.RADICAL}
    return job_summary(
        make_report(
            End.DECLINED,
            task=Task(f"TASK-1{text}", text, text),
            reason=text,
            notes=(text, text),
            branch=text,
            base_branch=text,
            kept_refs=(text,),
            artifact=text,
            gaps=gaps,
            excerpts={text: text},
            checks=(check(name=text, why=text),),
            iterations=(
                iteration(1, gaps, next_action=text, state_hash="a7b3c9"),
                iteration(2, gaps, **event),
            ),
        )
    )


@settings(deadline=None, max_examples=40)
@given(
    st.one_of(st.just(HOSTILE), st.text("`~<>#|*_[]()!\\-=\n\r\t @x/&", min_size=1, max_size=40))
)
@example("`` ` `` <b> `x` *y* `")
def test_hostile_text_makes_no_structure(text: str) -> None:
    tokens = parse(hostile_report(text))
    assert sum(token.type == "heading_open" for token in tokens) == 6
    assert sum(token.type == "tr_open" for token in tokens) == 3
    assert sum(token.type == "td_open" for token in tokens) == 16
    blocks = [token.content for token in tokens if token.type == "html_block"]
    assert len(blocks) in (0, 2)
    for block in blocks:
        assert re.sub(r"<code>[^<>]*</code>", "", block).strip() in (
            "<details><summary></summary>",
            "</details>",
        )
    kinds = {child.type for token in tokens for child in token.children or ()}
    assert not kinds & {"html_inline", "link_open", "image", "em_open", "s_open"}


def test_hostile_text_is_still_readable() -> None:
    text = hostile_report(HOSTILE)
    assert "Pwned" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_secrets_are_masked() -> None:
    report = make_report(excerpts={GAP: "sk-very-secret"}, secrets=("sk-very-secret",))
    assert "sk-very-secret" not in job_summary(report)


def test_it_is_never_over_its_limit() -> None:
    """Multi-byte text, thousands of gaps with long excerpts, a hundred iterations."""
    gaps = Gaps(chk=frozenset(f"test:日本::{'é' * 200}{n}" for n in range(3000)))
    report = make_report(
        End.MAX_ITERATIONS,
        gaps=gaps,
        excerpts=dict.fromkeys(gaps.chk, "火" * 400 + "\n" + "🔥\n" * 4000),
        iterations=tuple(iteration(n, gaps) for n in range(1, 300)),
        notes=("語" * 1000,) * 200,
        rules=Rules(max_iterations=300),
    )
    text = job_summary(report)
    assert len(text.encode()) <= LIMIT
    assert text.startswith("## ❌ LOOP ABORTED: max iterations reached")
    assert "The first 199 iterations are not shown." in text
    assert "more: the marker lists them" in text or "Cut here: " in text


BIG = "verdict\n\n" + "".join(
    f"<details><summary>{n}</summary>\n\n````text\n"
    + "日本語 `x` ```\n" * 40
    + "````\n\n</details>\n\n"
    for n in range(30)
)


@given(st.integers(600, len(BIG.encode()) + 10))
def test_a_cut_closes_what_is_open_and_says_how_much(limit: int) -> None:
    text = fit(BIG, limit)
    assert len(text.encode()) <= limit
    assert text.startswith("verdict\n")
    tokens = parse(text + "\n# next step's heading\n")
    assert sum(token.type == "heading_open" for token in tokens) == 1
    html = "".join(token.content for token in tokens if token.type == "html_block")
    assert html.count("<details>") == html.count("</details>")
    assert text == BIG or "**Cut here: " in text


# --- the step's file ------------------------------------------------------------------------


def test_our_part_is_rewritten_and_what_was_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("# of the step before us")
    env = {"GITHUB_STEP_SUMMARY": str(path)}
    assert write_summary("one, and long\n", env) is None
    assert write_summary("two\n", env) is None
    assert path.read_text() == "# of the step before us\ntwo\n"


def test_what_was_there_counts(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("x\n" * 300_000)
    summary = StepSummary(str(path))
    assert summary.write("ours\n" + "語\n" * 220_000) is None
    assert path.stat().st_size < MIB
    assert "Cut here" in path.read_text()[-200:]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    path = tmp_path / "summary.md"
    path.write_text("")
    link = tmp_path / "link"
    link.symlink_to(path)
    assert StepSummary(str(link)).write("x\n") is None
    assert link.is_symlink()
    assert path.read_text() == "x\n"


@pytest.mark.parametrize(
    ("where", "note"),
    [
        pytest.param(None, None, id="unset"),
        pytest.param("", None, id="empty"),
        pytest.param("new.md", None, id="not there yet"),
        pytest.param("no/such/folder.md", "its folder does not exist", id="nowhere"),
        pytest.param(".", "not a file", id="a folder"),
        pytest.param("/dev/stdout", "not a file", id="a device"),
        pytest.param("full.md", "used up", id="full already"),
    ],
)
def test_a_file_that_is_none_is_a_note(where: str | None, note: str | None, tmp_path: Path) -> None:
    (tmp_path / "full.md").write_text("x" * MIB)
    env = {} if where is None else {"GITHUB_STEP_SUMMARY": where and str(tmp_path / where)}
    said = write_summary("x\n", env)
    assert (said is None) if note is None else (said is not None and note in said)
    written = tmp_path / where if where and note is None else None
    assert summary_file(env) == written
    assert written is None or written.is_file()


def test_a_file_that_was_not_written_yet_is_no_place_to_name(tmp_path: Path) -> None:
    assert summary_file({"GITHUB_STEP_SUMMARY": str(tmp_path / "later.md")}) is None
