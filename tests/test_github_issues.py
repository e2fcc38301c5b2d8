"""navci.tickets.github: an issue is read, labelled and closed, and who may ask for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from navci.errors import TrackerError
from navci.tickets.github import GitHub
from navci.tickets.github_answers import Edit, Permission
from tests.support.github_hub import BOT, Hub

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


def test_an_issue(hub: Hub) -> None:
    hub.repo.add_issue("Ümlaut & <b>", "- [ ] one\n\n🙂", "mona", ["loop-mode", "area/ui 🙂"])
    issue = hub.github().issue(1)
    assert (issue.number, issue.title, issue.body) == (1, "Ümlaut & <b>", "- [ ] one\n\n🙂")
    assert (issue.author, issue.state, issue.state_reason) == ("mona", "open", None)
    assert issue.labels == ("loop-mode", "area/ui 🙂")
    assert issue.has_label("Loop-Mode")
    assert not issue.has_label("loop")
    assert not issue.locked
    assert not issue.is_pull
    assert not issue.closed
    assert issue.url == f"{hub.fake.server_url}/octo/demo/issues/1"
    assert issue.node_id.startswith("I_")
    assert hub.count() == 1


def test_an_issue_without_a_body_that_is_closed_and_locked(hub: Hub) -> None:
    hub.repo.add_issue("t", None)
    hub.repo.close(1, by="mona", reason="not_planned")
    hub.repo.lock(1, by="mona")
    issue = hub.github().issue(1)
    assert issue.body == ""
    assert (issue.closed, issue.state_reason, issue.locked) == (True, "not_planned", True)


def test_a_pull_request_is_an_issue_too(hub: Hub) -> None:
    hub.branch("a-change")
    hub.repo.add_pull("a-change")
    assert hub.github().issue(1).is_pull


def _delete(hub: Hub) -> None:
    hub.repo.delete_issue(1)


def _disable(hub: Hub) -> None:
    hub.repo.has_issues = False


def _transfer(hub: Hub) -> None:
    hub.repo.transfer(1, hub.fake.repository("octo/other"), by="mona")


def _rename(hub: Hub) -> None:
    hub.repo.rename("octo/renamed")


def _archive(hub: Hub) -> None:
    hub.repo.archived = True


def _lock(hub: Hub) -> None:
    hub.repo.lock(1, by="mona")


def _discuss(hub: Hub) -> None:
    hub.repo.convert_to_discussion(1, by="mona")


def _nothing(hub: Hub) -> None:
    pass


READ: Callable[[GitHub], object] = lambda github: github.issue(1)  # noqa: E731
CLOSE: Callable[[GitHub], object] = lambda github: github.close(1, "completed")  # noqa: E731
SAY: Callable[[GitHub], object] = lambda github: github.say(1, "end", "hi")  # noqa: E731
LABEL: Callable[[GitHub], object] = lambda github: github.labels(1, add=["x"])  # noqa: E731
LIST: Callable[[GitHub], object] = lambda github: github.labelled("loop-mode")  # noqa: E731


@pytest.mark.parametrize(
    ("become", "call", "kind", "says"),
    [
        pytest.param(_delete, READ, "gone", "deleted, or turned into a discussion", id="deleted"),
        pytest.param(_delete, CLOSE, "gone", "open a new issue", id="closing a deleted one"),
        pytest.param(_delete, SAY, "gone", "deleted", id="commenting on a deleted one"),
        pytest.param(_disable, READ, "gone", "Settings, General, Features", id="no issues"),
        pytest.param(_disable, SAY, "gone", "switched off in octo/demo", id="commenting on none"),
        pytest.param(_transfer, READ, "moved", "transferred", id="reading a transferred one"),
        pytest.param(_transfer, CLOSE, "moved", "transferred", id="closing a transferred one"),
        pytest.param(_transfer, LABEL, "gone", "transferred", id="labelling a transferred one"),
        pytest.param(_rename, READ, "moved", "octo/demo was renamed", id="renamed"),
        pytest.param(_rename, LIST, "moved", "301", id="a renamed list keeps its filter"),
        pytest.param(_rename, CLOSE, "moved", "under the new name", id="closing in a renamed one"),
        pytest.param(_archive, CLOSE, "locked", "octo/demo is archived", id="archived"),
        pytest.param(_archive, SAY, "locked", "unarchive it", id="commenting where archived"),
        pytest.param(_lock, SAY, "locked", "unlock it", id="locked"),
        pytest.param(_discuss, SAY, "locked", "became a discussion", id="a discussion"),
        pytest.param(_nothing, lambda github: github.issue(99), "gone", "404", id="never was"),
    ],
)
def test_an_issue_that_is_not_what_it_was(
    hub: Hub,
    become: Callable[[Hub], None],
    call: Callable[[GitHub], object],
    kind: str,
    says: str,
) -> None:
    hub.repo.add_issue("t", "b", labels=["loop-mode"])
    become(hub)
    with pytest.raises(TrackerError) as caught:
        call(hub.github())
    assert (caught.value.kind, caught.value.passing) == (kind, False)
    assert says in str(caught.value)
    for issue in hub.repo.issues.values():
        assert issue.state == ("closed" if become is _discuss else "open")
        assert issue.comments == []
        assert issue.labels == ["loop-mode"]


# --- what happened --------------------------------------------------------------------------


def test_the_timeline(hub: Hub) -> None:
    hub.repo.add_issue("old", "b", "mona", ["bug"])
    hub.repo.label(1, "loop-mode", by="octocat")
    hub.repo.edit(1, title="new", by="eve")
    hub.repo.comment(1, "hello", by="mona")
    hub.repo.unlabel(1, "bug", by="octocat")
    hub.repo.close(1, by="mona")
    happened = hub.github().timeline(1)
    assert [(each.kind, each.actor, each.label, each.title) for each in happened] == [
        ("labeled", "mona", "bug", None),
        ("labeled", "octocat", "loop-mode", None),
        ("renamed", "eve", None, "new"),
        ("commented", "mona", None, None),
        ("unlabeled", "octocat", "bug", None),
        ("closed", "mona", None, None),
    ]
    assert all(each.at is not None and each.at.tzinfo is not None for each in happened)
    assert hub.count() == 1


def test_a_long_timeline_is_read_to_its_end(hub: Hub) -> None:
    hub.repo.add_issue()
    for number in range(230):
        hub.repo.label(1, f"l{number}", by="mona")
    assert [each.label for each in hub.github().timeline(1)] == [f"l{n}" for n in range(230)]
    assert hub.count() == 3


def test_edits_are_known_newest_first(hub: Hub) -> None:
    hub.repo.add_issue("t", "one", "mona", at=MARCH)
    github = hub.github()
    assert github.edited(1) is None
    hub.repo.edit(1, body="two", by="eve", at=MARCH.replace(day=2))
    hub.repo.edit(1, body="three", by="mona", at=MARCH.replace(day=3))
    assert github.edited(1) == Edit(MARCH.replace(day=3), "mona")
    assert github.edits(1) == (
        Edit(MARCH.replace(day=3), "mona"),
        Edit(MARCH.replace(day=2), "eve"),
    ), "eve's is not hidden behind the later one"
    hub.repo.edit(1, body="four", by=BOT, at=MARCH.replace(day=4))
    assert github.edited(1) == Edit(MARCH.replace(day=4), BOT)
    assert hub.count() == 4


# --- who ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("role", "level", "writes"),
    [
        ("admin", Permission.ADMIN, True),
        ("maintain", Permission.WRITE, True),
        ("write", Permission.WRITE, True),
        ("triage", Permission.READ, False),
        ("read", Permission.READ, False),
        ("none", Permission.NONE, False),
    ],
)
def test_permissions(hub: Hub, role: str, level: Permission, writes: bool) -> None:
    hub.repo.permissions["mona"] = role
    github = hub.github()
    assert github.permission("mona") is level
    assert level.writes is writes
    assert github.permission("MONA") is level
    assert hub.count() == 1, "asked once"


@pytest.mark.parametrize("private", [False, True])
def test_a_stranger_may_read_what_is_public(hub: Hub, private: bool) -> None:
    hub.repo.private = private
    hub.fake.users.add("eve")
    expected = Permission.NONE if private else Permission.READ
    assert hub.github().permission("eve") is expected


@pytest.mark.parametrize("login", ["nobody-at-all", BOT, "", "../../../issues/1", "a b?x=1"])
def test_who_is_no_user_may_nothing(hub: Hub, login: str) -> None:
    assert hub.github().permission(login) is Permission.NONE
    assert hub.asked() in ([], [f"GET /collaborators/{login}/permission"])


def test_a_token_that_may_not_ask(hub: Hub) -> None:
    hub.fake.token("reader", login="mona", can={"issues", "metadata"})
    hub.repo.permissions["mona"] = "read"
    with pytest.raises(TrackerError, match="only a token with write access") as caught:
        hub.github(token="reader").permission("eve")
    assert caught.value.kind == "permission"


def test_a_token_that_is_wrong(hub: Hub) -> None:
    with pytest.raises(TrackerError, match="expired") as caught:
        hub.github(token="ghs_of_yesterday").issue(1)
    assert caught.value.kind == "auth"


def test_a_token_that_may_only_read(hub: Hub) -> None:
    hub.fake.token("reads", login=BOT, can={"issues:read", "metadata"})
    hub.repo.add_issue()
    github = hub.github(token="reads")
    assert github.issue(1).number == 1
    for call in (CLOSE, SAY, LABEL):
        with pytest.raises(TrackerError, match="`permissions: issues: write`") as caught:
            call(github)
        assert caught.value.kind == "permission"


# --- labels ---------------------------------------------------------------------------------


def test_labels_are_put_on_and_taken_off(hub: Hub) -> None:
    hub.repo.add_issue(labels=["loop-mode", "bug"])
    hub.github().labels(1, add=["loop-running"], remove=["loop-mode", "loop-aborted"])
    assert hub.repo.issues[1].labels == ["bug", "loop-running"]
    assert hub.asked() == ["POST /issues/1/labels", "DELETE /issues/1/labels/loop-mode"]


@pytest.mark.parametrize("name", ["area/loop mode", "🙂 later", "a%2Fb", "é+?#&", "..."])
def test_labels_of_any_name(hub: Hub, name: str) -> None:
    hub.repo.add_issue(labels=["other"])
    github = hub.github()
    github.labels(1, add=[name])
    assert hub.repo.issues[1].labels == ["other", name]
    assert [issue.number for issue in github.labelled(name)] == [1]
    github.labels(1, remove=[name])
    assert hub.repo.issues[1].labels == ["other"]


def test_a_label_that_is_a_step_in_a_path(hub: Hub) -> None:
    hub.repo.add_issue(labels=[".."])
    with pytest.raises(TrackerError, match="by hand"):
        hub.github().labels(1, remove=[".."])
    assert hub.count() == 0


def test_labels_do_not_differ_by_case(hub: Hub) -> None:
    hub.repo.add_issue(labels=["Loop-Mode"])
    github = hub.github()
    github.labels(1, add=["LOOP-RUNNING"], remove=["loop-mode", "loop-running"])
    assert hub.repo.issues[1].labels == ["LOOP-RUNNING"]
    assert hub.count() == 2


def test_labels_that_are_as_they_should_be(hub: Hub) -> None:
    hub.repo.add_issue(labels=["loop-running"])
    github = hub.github()
    github.labels(1, add=["loop-running"], remove=["loop-mode"])
    github.labels(1, remove=["loop-mode"])
    github.labels(1)
    assert hub.repo.issues[1].labels == ["loop-running"]
    assert hub.count() == 2


def test_a_label_that_cannot_be(hub: Hub) -> None:
    hub.repo.add_issue()
    with pytest.raises(TrackerError, match="name is too long") as caught:
        hub.github().labels(1, add=["x" * 51])
    assert caught.value.kind == "refused"


def test_labelled(hub: Hub) -> None:
    for title in ("first", "second", "closed", "unlabelled", "third"):
        hub.repo.add_issue(title, labels=[] if title == "unlabelled" else ["Loop-Mode", "bug"])
    hub.repo.close(3, by="mona")
    hub.branch("a-change")
    pull = hub.repo.add_pull("a-change")
    hub.repo.label(pull.issue.number, "loop-mode", by="mona")
    found = list(hub.github().labelled("loop-mode"))
    assert [issue.title for issue in found] == ["first", "second", "third"]
    assert hub.count() == 1
    assert list(hub.github().labelled("loop")) == []


def test_a_label_with_a_comma(hub: Hub) -> None:
    hub.repo.add_issue(labels=["now, please"])
    hub.repo.add_issue(labels=["now", "please"])
    assert [issue.number for issue in hub.github().labelled("now, please")] == [1]


def test_hundreds_of_labelled_issues(hub: Hub) -> None:
    for _ in range(250):
        hub.repo.add_issue("t" * 200, labels=["loop-mode"])
    assert [issue.number for issue in hub.github().labelled("loop-mode")] == list(range(1, 251))
    assert hub.count() == 3


# --- closing --------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["completed", "not_planned"])
def test_an_issue_is_closed(hub: Hub, reason: str) -> None:
    hub.repo.add_issue()
    closed = hub.github().close(1, "completed" if reason == "completed" else "not_planned")
    assert (hub.repo.issues[1].state, hub.repo.issues[1].state_reason) == ("closed", reason)
    assert (closed.number, closed.reason, closed.url) == (1, reason, hub.github().issue(1).url)
    assert hub.asked()[0] == "PATCH /issues/1"
    assert hub.count() == 2


def test_an_issue_that_is_closed_already(hub: Hub) -> None:
    hub.repo.add_issue()
    hub.repo.close(1, by="mona")
    assert hub.github().close(1, "completed").reason == "completed"


def test_a_locked_issue_is_closed_all_the_same(hub: Hub) -> None:
    hub.repo.add_issue()
    hub.repo.lock(1, by="mona")
    hub.github().close(1, "completed")
    assert hub.repo.issues[1].state == "closed"


@pytest.fixture(params=["", "/api/v3"], ids=["github.com", "GHES"])
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hub]:
    with Hub.start(tmp_path, request.param) as hub:
        yield hub
