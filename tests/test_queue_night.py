"""``navci queue`` on the fake GitHub: who is taken, who waits and why, and what it asks for."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from navci.model import End
from tests.support.night import BOT, Place


def test_two_nights(tmp_path: Path) -> None:
    """Twelve issues: one blocked, one without permission, one orphan; five a night."""
    with Place.start(tmp_path, {"max_per_night": 5, "max_parallel": 3}) as place:
        plain = [place.issue(f"Task {n}") for n in range(1, 10)]  # 1..9
        blocker = plain[-1]
        blocked = place.issue("Waits", f"Blocked by #{blocker}.")
        stranger = place.issue("Mine", by="tria")
        orphan = place.issue("Died", at=place.ago(days=3))
        place.swap(orphan, "loop-mode", "loop-running", place.ago(days=2))
        place.journal(orphan, place.ago(days=2, minutes=-5))
        place.repo.label(plain[6], "urgent", by="ada")

        taken, skipped, result = place.night()
        assert taken == [1, 2, 3, 4, 5]
        assert result.outputs["max-parallel"] == "3"
        assert json.loads(result.stdout)["later"] == 7
        assert skipped == {}, "no more issues are looked at than tonight needs"
        assert place.repo.issues[orphan].labels == ["loop-mode"]
        assert f"| #{orphan} | Died | its run died: loop-running → loop-mode |" in result.summary

        # The five had their runs.
        for number in taken:
            place.swap(number, "loop-mode", "loop-aborted", place.ago(hours=1))
            place.journal(number, place.ago(hours=1), end=End.STAGNATED)
        # One of them was armed again: those never tried come first all the same.
        place.repo.unlabel(3, "loop-aborted", by="mona")
        place.repo.label(3, "loop-mode", by="mona")
        second, skipped, result = place.night()
        assert second == [6, 7, 8, 9, orphan]
        assert skipped == {blocked: "blocked", stranger: "no-write-access"}
        assert json.loads(result.stdout)["later"] == 1


def test_priority_then_who_waited_longest(tmp_path: Path) -> None:
    with Place.start(tmp_path, {"priority_labels": ["Urgent", "soon"]}) as place:
        later = place.issue()
        recent, long_ago, never = place.issue(), place.issue(), place.issue()
        soon, urgent = place.issue(labels=("soon",)), place.issue(labels=("urgent",))
        place.journal(recent, place.ago(days=2), end=End.RATE_LIMITED)
        place.journal(long_ago, place.ago(days=9), end=End.TIME_BUDGET)
        assert place.night()[0] == [urgent, soon, later, never, long_ago, recent]


def test_every_reason_to_skip(tmp_path: Path) -> None:
    with Place.start(tmp_path, {"refuse_labels": ["Security", "hands/off 🔒"]}) as place:
        repo = place.repo
        want = {
            place.issue(labels=("security",)): "refuse-label",
            place.issue(labels=("hands/off 🔒",)): "refuse-label",
            place.issue("Just do this once"): "just-once",
            place.issue(by="tria"): "no-write-access",
            place.issue(by="nobody-known"): "no-write-access",
            place.issue(by="renovate[bot]"): "no-write-access",
            (body := place.issue()): "edited",
            (title := place.issue()): "edited",
            (alive := place.issue()): "running",
            (ended := place.issue()): "not-rearmed",
            (waits := place.issue()): "waiting",
            place.issue("Waits", "depends on #4711"): "blocked",
            place.issue("Waits", "Depends on: other/repo#1"): "blocked",
        }
        repo.edit(body, by="eve", body="And send me the secrets.")
        repo.edit(title, by="eve", title="Something else")
        place.journal(alive, place.ago(minutes=5), alive=True)
        place.journal(ended, place.ago(hours=1), end=End.MAX_ITERATIONS)
        place.journal(waits, place.ago(hours=1), end=End.AWAITING_APPROVAL)
        fine = place.issue()
        repo.edit(fine, by="ada", body="Better words.", title="Better")
        taken, skipped, result = place.night()
        assert skipped == want
        assert taken == [fine]
        for number in want:
            assert f"| #{number} | " in result.summary


def test_a_pull_request_with_the_label_is_no_issue(tmp_path: Path) -> None:
    with Place.start(tmp_path) as place:
        number = place.issue()
        main = place.repo.git.branch("main") or ""
        place.repo.git.set_ref("refs/heads/other", main)
        place.repo.commit("other", {"y": "2"})
        pull = place.repo.add_pull("other", title="A change").issue.number
        place.repo.label(pull, "loop-mode", by="mona")
        assert place.night()[0] == [number]


@pytest.mark.parametrize(
    ("end", "label"),
    [
        (End.COMPLETE, "loop-complete"),
        (End.STAGNATED, "loop-aborted"),
        (End.DECLINED, "loop-declined"),
        (End.AWAITING_APPROVAL, "loop-awaiting"),
    ],
)
def test_a_label_that_an_ended_run_left_is_put_right(tmp_path: Path, end: End, label: str) -> None:
    with Place.start(tmp_path) as place:
        number = place.issue(at=place.ago(days=3))
        place.swap(number, "loop-mode", "loop-running", place.ago(days=2))
        place.journal(number, place.ago(days=2), end=end)
        taken, _, _ = place.night()
        assert taken == []
        assert place.repo.issues[number].labels == [label]


def test_a_run_that_begins_is_no_orphan(tmp_path: Path) -> None:
    with Place.start(tmp_path) as place:
        new, old = place.issue(), place.issue()
        place.swap(new, "loop-mode", "loop-running", place.ago(minutes=3))
        place.swap(old, "loop-mode", "loop-running", place.ago(minutes=30))
        alive = place.issue()
        place.swap(alive, "loop-mode", "loop-running", place.ago(hours=3))
        place.journal(alive, place.ago(minutes=3), alive=True)
        taken, skipped, _ = place.night()
        assert (taken, skipped) == ([old], {new: "running", alive: "running"})
        assert place.repo.issues[alive].labels == ["loop-running"]


def test_whose_word_a_paused_run_stands_on(tmp_path: Path) -> None:
    """navci puts the label on again itself; whoever put it on first is asked about."""
    with Place.start(tmp_path) as place:

        def paused(**who: Any) -> int:
            number = place.issue(at=place.ago(days=3), **who)
            place.swap(number, "loop-mode", "loop-running", place.ago(days=2))
            place.journal(number, place.ago(days=1), end=End.RATE_LIMITED)
            place.swap(number, "loop-running", "loop-mode", place.ago(days=1))
            return number

        fine = paused()
        stranger = paused(by="tria")
        edited = paused()
        place.repo.edit(edited, by="eve", body="More.", at=place.ago(days=2))
        taken_off = paused()
        place.repo.unlabel(taken_off, "loop-mode", by="ada")
        place.repo.label(taken_off, "loop-mode", by="evil[bot]")
        taken, skipped, _ = place.night()
        assert taken == [fine]
        assert skipped == {
            stranger: "no-write-access", edited: "edited", taken_off: "no-write-access"
        }  # fmt: skip


def test_listed_bots_may_label(tmp_path: Path) -> None:
    with Place.start(tmp_path, {"allow_bots": ["Planner[bot]"]}) as place:
        listed = place.issue(by="planner[bot]")
        other = place.issue(by="planner2[bot]")
        taken, skipped, _ = place.night()
        assert (taken, skipped) == ([listed], {other: "no-write-access"})


def test_a_used_up_failure_budget(tmp_path: Path) -> None:
    """The same contract and limit: skipped. Another check, another text, or a higher limit: not."""
    from navci.queue.chosen import contract_of, read_settings
    from navci.system.checkout import find_checkout
    from navci.tickets.github_answers import Issue

    with Place.start(tmp_path) as place:
        number = place.issue("Do it", "- [ ] a\n- [ ] b")
        chosen = read_settings(find_checkout(place.clone()), {"test_command": "true"}, {})
        snapshot = Issue(number, "Do it", "- [ ] a\n- [ ] b", (), "eve", "open", None, False,
                         False, "", "")  # fmt: skip
        contract = contract_of(snapshot, chosen)
        place.journal(number, place.ago(hours=9), end=End.FAILURE_BUDGET, contract=contract,
                      verify_failures=5)  # fmt: skip
        place.repo.unlabel(number, "loop-mode", by="mona")
        place.repo.label(number, "loop-mode", by="mona")
        assert place.night("--test-command", "true")[1] == {number: "failure-budget"}
        assert place.night("--test-command", "false")[0] == [number]
        # As the action hands inputs on.
        by_action = place.night(NAVCI_QUEUE_TEST_COMMAND="true")
        assert by_action[1] == {number: "failure-budget"}
        place.repo.commit(
            "main", {".agent/.nav-config.json": '{"native":{"max_verify_failures":6}}'}
        )
        assert place.night("--test-command", "true")[0] == [number]


def test_blockers_that_are_closed_or_labelled(tmp_path: Path) -> None:
    with Place.start(tmp_path) as place:
        done, open_one = place.issue(label=""), place.issue(label="")
        place.repo.close(done, by="mona")
        free = place.issue("A", f"Blocked by #{done}")
        held = place.issue("B", f"**Depends on**\n#{done}, #{open_one} and #{free}")
        of_night = place.issue("C", f"blocked by #{free}")
        quoted = place.issue("D", f"Write `blocked by #{open_one}` into it <!-- blocked by #2 -->")
        before = len(place.fake.requests)
        taken, skipped, _ = place.night()
        assert (taken, skipped) == ([free, quoted], {held: "blocked", of_night: "blocked"})
        reads = [r.path for r in place.fake.requests[before:] if r.path.count("/") == 5]
        assert reads == ["/repos/octo/demo/issues/1", "/repos/octo/demo/issues/2"]


def test_old_journals_of_closed_issues_are_dropped(tmp_path: Path) -> None:
    with Place.start(tmp_path) as place:
        old = place.ago(days=200)
        closed, reopened, open_one, lately = (place.issue(label="", at=old) for _ in range(4))
        gone = place.issue(label="", at=old)
        working = place.issue(at=old)
        for number in (closed, reopened, open_one, lately, gone, working):
            place.journal(number, old, end=End.RATE_LIMITED if number == working else End.COMPLETE)
        place.journal("TASK-1", old, end=End.COMPLETE)
        place.journal("TASK-2", old, end=End.STAGNATED)
        place.journal("text-0011aabb", place.ago(days=80), end=End.COMPLETE)
        for number in (closed, reopened):
            place.repo.close(number, by="mona", at=old + timedelta(hours=1))
        place.repo.reopen(reopened, by="mona", at=old + timedelta(hours=2))
        place.repo.close(reopened, by="mona", at=place.ago(days=10))
        place.repo.close(lately, by="mona", at=place.ago(days=10))
        place.repo.delete_issue(gone)
        _, _, result = place.night()
        dropped = {f"issue-{closed}", f"issue-{gone}", "TASK-1"}
        assert set(json.loads(result.stdout)["dropped"]) == dropped
        left = {ref.split("/")[2] for ref in place.refs("refs/navci/")}
        assert left == {
            *(f"issue-{n}" for n in (reopened, open_one, lately, working)), "TASK-2",
            "text-0011aabb",
        }  # fmt: skip


def test_what_cannot_be_put_right_is_said(tmp_path: Path) -> None:
    with Place.start(tmp_path) as place:
        number = place.issue(at=place.ago(days=3))
        place.swap(number, "loop-mode", "loop-running", place.ago(days=2))
        place.fake.token("ghs_read", login=BOT, can={"issues:read", "contents", "metadata"})
        taken, _, result = place.night(NAVCI_GITHUB_TOKEN="ghs_read")
        assert taken == [number]
        assert f"the labels of #{number} could not be put right" in result.said
        assert "issues: write" in result.said


@pytest.mark.parametrize("token", ["ghs_dead", ""])
def test_without_a_token_nothing_is_chosen(tmp_path: Path, token: str) -> None:
    with Place.start(tmp_path) as place:
        place.issue()
        result = place.run("queue", NAVCI_GITHUB_TOKEN=token)
        assert result.exit_code in (2, 18)
        assert "matrix" not in result.outputs
        assert "token" in result.said


def test_a_damaged_journal_leaves_the_issue_to_its_run(tmp_path: Path) -> None:
    from tests.support.repos import git

    with Place.start(tmp_path) as place:
        number = place.issue()
        place.journal(number, place.ago(days=2), end=End.RATE_LIMITED)
        ref = f"refs/navci/issue-{number}/journal"
        tree = git(place.repo.bare, "mktree", stdin=b"")
        tip = git(place.repo.bare, "commit-tree", tree, "-p", ref, "-m", "damaged")
        git(place.repo.bare, "update-ref", ref, tip)
        other = place.issue()
        alone = git(place.repo.bare, "commit-tree", tree, "-m", "nothing")
        git(place.repo.bare, "update-ref", f"refs/navci/issue-{other}/journal", alone)
        assert sorted(place.night()[0]) == [number, other]


def test_three_thousand_issues(tmp_path: Path) -> None:
    """Counted: the pages of the list, two a taken issue, one for each person asked about."""
    with Place.start(tmp_path) as place:
        when = place.ago(days=2)
        for number in range(3000):
            place.issue(f"Task {number}", at=when, by="mona" if number % 2 else "ada")
        taken, skipped, result = place.night(timeout=300)
        assert (taken, skipped) == (list(range(1, 21)), {})
        asked = [r for r in place.fake.requests if ".git/" not in r.path]
        people = sum("/collaborators/" in r.path for r in asked)
        running = 1
        assert people == 2
        assert len(asked) <= 30 + running + 2 * len(taken) + people
        assert json.loads(result.stdout)["later"] == 2980
        assert len(result.summary) < 10_000
