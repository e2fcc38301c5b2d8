"""navci.tickets.github_comments: one comment that is edited, and comments that are made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from navci.errors import TrackerError
from navci.tickets.github_comments import hidden_line
from tests.support.github_hub import BOT, Hub


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub.start(tmp_path) as hub:
        hub.repo.add_issue("t", "b", "mona")
        yield hub


def bodies(hub: Hub, number: int = 1) -> list[str]:
    return [comment.body for comment in hub.repo.issues[number].comments]


def test_a_comment_is_made_and_then_edited_in_place(hub: Hub) -> None:
    github = hub.github()
    first = github.sticky(1, "status", "iteration 1 🙂\r\n| a |")
    assert bodies(hub) == ["<!-- navci:status -->\niteration 1 🙂\r\n| a |"]
    assert first == f"{hub.fake.server_url}/octo/demo/issues/1#issuecomment-" + first[-10:]
    assert hub.count() == 2
    for number in range(2, 5):
        assert github.sticky(1, "status", f"iteration {number}") == first
    assert bodies(hub) == ["<!-- navci:status -->\niteration 4"]
    assert hub.count() == 5, "one for each edit"


def test_the_next_process_finds_the_comment_again(hub: Hub) -> None:
    for number in range(130):
        hub.repo.comment(1, f"discussion {number}", by="mona")
    first = hub.github().sticky(1, "status", "one")
    assert hub.count() == 3
    assert hub.github().sticky(1, "status", "two") == first
    assert hub.count() == 6
    assert bodies(hub)[130:] == ["<!-- navci:status -->\ntwo"]


def test_each_key_is_a_comment_of_its_own(hub: Hub) -> None:
    github = hub.github()
    github.sticky(1, "status", "s")
    github.say(1, "end/run-1", "first end")
    github.say(1, "end/run-1", "the same end, told again")
    github.say(1, "end/run-2", "second end")
    github.sticky(1, "status", "s2")
    assert [body.partition("\n")[2] for body in bodies(hub)] == ["s2", "first end", "second end"]
    assert hub.count() == 5


def test_issues_are_kept_apart(hub: Hub) -> None:
    hub.repo.add_issue()
    github = hub.github()
    github.say(1, "end", "one")
    github.say(2, "end", "two")
    assert bodies(hub, 2) == ["<!-- navci:end -->\ntwo"]


def test_what_was_said_is_not_said_again_by_the_next_process(hub: Hub) -> None:
    first = hub.github().say(1, "end/run-1", "the end")
    assert hub.github().say(1, "end/run-1", "the end") == first
    assert len(bodies(hub)) == 1


def test_a_strangers_comment_with_our_hidden_line_is_not_ours(hub: Hub) -> None:
    hub.repo.comment(1, "<!-- navci:status -->\nmine!", by="eve")
    hub.repo.comment(1, "<!-- navci:end -->\nshush", by="eve")
    github = hub.github()
    github.sticky(1, "status", "ours")
    github.say(1, "end", "said")
    assert bodies(hub) == [
        "<!-- navci:status -->\nmine!",
        "<!-- navci:end -->\nshush",
        "<!-- navci:status -->\nours",
        "<!-- navci:end -->\nsaid",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "see this:\n<!-- navci:status -->",
        "> <!-- navci:status -->",
        "<!-- navci:status --> and more",
        "<!-- navci:statuses -->",
        "",
    ],
)
def test_a_comment_that_only_quotes_the_line_is_not_ours(hub: Hub, body: str) -> None:
    hub.repo.comment(1, body, by=BOT)
    hub.github().sticky(1, "status", "ours")
    assert bodies(hub) == [body, "<!-- navci:status -->\nours"]


def test_the_oldest_of_several_is_the_one(hub: Hub) -> None:
    for text in ("one", "two"):
        hub.repo.comment(1, f"<!-- navci:status -->\r\n{text}", by=BOT)
    hub.github().sticky(1, "status", "new")
    assert [body.splitlines()[1] for body in bodies(hub)] == ["new", "two"]


def test_a_person_with_write_access_runs_navci_too(hub: Hub) -> None:
    hub.repo.permissions["mona"] = "write"
    hub.fake.token("ghp_mona", login="mona", can={"issues", "contents"})
    for text in ("one", "two"):
        hub.github(token="ghp_mona").sticky(1, "status", text)
    assert bodies(hub) == ["<!-- navci:status -->\ntwo"]


def test_a_comment_that_somebody_deleted_is_made_again(hub: Hub) -> None:
    github = hub.github()
    github.sticky(1, "status", "one")
    hub.repo.remove_comment(hub.repo.issues[1].comments[0])
    github.sticky(1, "status", "two")
    github.sticky(1, "status", "three")
    assert bodies(hub) == ["<!-- navci:status -->\nthree"]


def test_a_text_that_is_too_long(hub: Hub) -> None:
    with pytest.raises(TrackerError, match="longer than GitHub takes") as caught:
        hub.github().say(1, "end", "x" * 300_000)
    assert caught.value.kind == "refused"
    assert bodies(hub) == []


@pytest.mark.parametrize("key", ["", "a b", "a-->", "a--b", "-a", "a\nb", "x" * 101, "é"])
def test_keys_that_cannot_be_hidden(key: str) -> None:
    with pytest.raises(ValueError, match="HTML comment"):
        hidden_line(key)


def test_a_comment_whose_answer_was_lost_twice_is_not_made_twice(hub: Hub) -> None:
    hub.fake.fail("POST", r"/comments$", drop=True, after=True)
    hub.fake.fail("GET", r"/comments$", status=502, skip=1, times=3)
    github = hub.github(deadline=15)
    with pytest.raises(TrackerError) as caught:
        github.sticky(1, "status", "one")
    assert (caught.value.kind, caught.value.unsure) == ("unreachable", True)
    # The same process, later: it looks again instead of trusting what it had read.
    github.sticky(1, "status", "two")
    assert bodies(hub) == ["<!-- navci:status -->\ntwo"]


def test_a_comment_that_nobody_could_look_for_is_looked_for_later(hub: Hub) -> None:
    hub.fake.fail("POST", r"/comments$", drop=True, after=True)
    github = hub.github(deadline=5)
    with pytest.raises(TrackerError) as caught:
        github.sticky(1, "status", "one")
    assert caught.value.unsure
    assert hub.clock.slept == 0, "ten seconds are more than it may wait"
    github.sticky(1, "status", "two")
    assert bodies(hub) == ["<!-- navci:status -->\ntwo"]
