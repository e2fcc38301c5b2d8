"""navci.tickets.github: the pull request is opened once, and its text renewed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from navci.errors import TrackerError
from navci.tickets.github import GitHub
from navci.tickets.github_answers import Pull
from tests.support.github_hub import BOT, Hub

HEAD = "navci/issue-7"


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with Hub.start(tmp_path) as hub:
        hub.branch(HEAD)
        hub.branch("navci/issue-71")
        yield hub


def opened(github: GitHub, title: str = "Fix it", *, draft: bool = True) -> Pull:
    return github.pull(HEAD, "main", title, "what and why", draft=draft)


@pytest.mark.parametrize("draft", [True, False])
def test_a_pull_request_is_opened(hub: Hub, draft: bool) -> None:
    pull = opened(hub.github(), draft=draft)
    assert pull == Pull(1, f"{hub.fake.server_url}/octo/demo/pull/1", draft, opened=True)
    made = hub.repo.pulls[1]
    assert (made.head, made.base, made.title, made.body) == (HEAD, "main", "Fix it", "what and why")
    assert made.draft is draft
    assert hub.asked() == ["GET /pulls", "POST /pulls"]


def test_the_next_run_renews_its_text(hub: Hub) -> None:
    first = opened(hub.github())
    again = opened(hub.github(), "Fix it better", draft=False)
    assert again == Pull(first.number, first.url, True, opened=False), "a draft stays one"
    assert [pull.title for pull in hub.repo.pulls.values()] == ["Fix it better"]
    assert hub.count() == 4


def test_others_are_not_touched(hub: Hub) -> None:
    hub.branch("next")
    hub.repo.add_pull("navci/issue-71", title="other head")
    hub.repo.add_pull(HEAD, "next", title="other base")
    assert opened(hub.github()).number == 3
    assert [pull.title for pull in hub.repo.pulls.values()] == [
        "other head",
        "other base",
        "Fix it",
    ]


def test_one_that_a_person_closed_stays_closed(hub: Hub) -> None:
    first = opened(hub.github())
    hub.repo.close(first.number, by="mona")
    second = opened(hub.github())
    assert second.opened
    assert second.number != first.number
    assert hub.repo.pulls[first.number].state == "closed"


def test_one_that_a_person_made_is_taken_over(hub: Hub) -> None:
    hub.repo.add_pull(HEAD, by="mona", title="mine")
    assert not opened(hub.github()).opened
    assert hub.repo.pulls[1].title == "Fix it"


def test_one_that_appears_between_looking_and_opening(hub: Hub) -> None:
    hub.repo.add_pull(HEAD, title="just now")
    hub.fake.fail("GET", r"/pulls$", body=[])
    assert opened(hub.github()) == Pull(
        1, f"{hub.fake.server_url}/octo/demo/pull/1", False, opened=False
    )
    assert hub.asked() == ["GET /pulls", "POST /pulls", "GET /pulls", "PATCH /pulls/1"]


def test_where_there_are_no_drafts(hub: Hub) -> None:
    hub.repo.drafts_supported = False
    assert not opened(hub.github(), draft=True).draft
    assert len(hub.repo.pulls) == 1


def _nothing_new(hub: Hub) -> None:
    hub.repo.git.set_ref(f"refs/heads/{HEAD}", hub.repo.git.branch("main") or "")


def _not_pushed(hub: Hub) -> None:
    hub.repo.git.delete_ref(f"refs/heads/{HEAD}")


def _no_base(hub: Hub) -> None:
    hub.branch("trunk")
    hub.repo.git.delete_ref("refs/heads/main")


def _not_by_actions(hub: Hub) -> None:
    hub.repo.actions_may_open_pulls = False


def _no_permission(hub: Hub) -> None:
    hub.fake.token("ghs_good", login=BOT, can={"issues", "contents"})


@pytest.mark.parametrize(
    ("become", "kind", "says"),
    [
        (_nothing_new, "refused", "nothing that its base does not have"),
        (_not_pushed, "refused", "the branch is not on GitHub"),
        (_no_base, "refused", "name another with `base`"),
        (_not_by_actions, "permission", "Settings, Actions, General, Workflow permissions"),
        (_no_permission, "permission", "`permissions: pull-requests: write`"),
    ],
)
def test_pull_requests_that_cannot_be(
    hub: Hub, become: Callable[[Hub], None], kind: str, says: str
) -> None:
    become(hub)
    with pytest.raises(TrackerError) as caught:
        opened(hub.github())
    assert caught.value.kind == kind
    assert says in str(caught.value)
    assert str(caught.value).startswith("could not open a pull request for navci/issue-7: ")
    assert not hub.repo.pulls
