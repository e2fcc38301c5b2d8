"""navci.tickets.github_line: what goes over the wire, and what comes of each way it can fail.

Raw answers from a script; what GitHub itself would answer is in ``test_github_faults``.
"""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from navci.tickets.github import GitHub
from tests.support.github_wire import CLOSED, COMMENT, ISSUE, LIMIT, TOKEN, Wire, failing
from tests.support.scripted_server import DROP, HANG, Reply, ScriptedServer
from tests.support.waiting_clock import WaitingClock

# --- what is sent ---------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "/api/v3", "/api/v3/"])
def test_a_request(prefix: str) -> None:
    with ScriptedServer([Reply(body=ISSUE)]) as server:
        issue = Wire(server).hub(prefix=prefix).issue(7)
        (seen,) = server.seen
    assert (seen.method, seen.target) == ("GET", prefix.rstrip("/") + "/repos/octo/demo/issues/7")
    assert seen.headers["authorization"] == f"token {TOKEN}"
    assert seen.headers["user-agent"].startswith("navci/")
    assert (issue.body, issue.author, issue.labels) == ("", "ghost", ("loop-mode", "bug"))
    assert not issue.closed
    assert not issue.is_pull


def test_one_connection_serves_all_requests() -> None:
    with ScriptedServer([Reply(body=ISSUE)] * 3) as server:
        hub = Wire(server).hub()
        for _ in range(3):
            hub.issue(7)
        assert server.connections == 1


def test_the_next_page_is_asked_for_where_github_says() -> None:
    with ScriptedServer([]) as server:
        link = f'<{server.url}/api/v3/repositories/5/issues?page=2>; rel="next"'
        server.play(Reply(body=[ISSUE], headers={"Link": link}), Reply(body=[]))
        wire = Wire(server)
        assert [issue.number for issue in wire.hub(prefix="/api/v3").labelled("Loop-Mode")] == [7]
    assert wire.asked == [
        "GET /api/v3/repos/octo/demo/issues?direction=asc&labels=Loop-Mode&per_page=100"
        "&sort=created&state=open",
        "GET /api/v3/repositories/5/issues?page=2",
    ]


def test_a_page_of_another_host_is_not_asked_for() -> None:
    with ScriptedServer([]) as other, ScriptedServer([]) as server:
        link = f'<{other.url}/repositories/5/issues?page=2>; rel="next"'
        server.play(Reply(body=[ISSUE], headers={"Link": link}))
        error = failing(lambda: Wire(server).hub().labelled("loop-mode"))
    assert other.seen == []
    assert error.kind == "unreachable"


def test_a_filter_that_github_leaves_out_does_not_change_what_is_found() -> None:
    other = {"number": 3, "html_url": "u3", "head": {"ref": "other"}}
    made = {"number": 4, "html_url": "u4", "head": {"ref": "navci/issue-7"}, "draft": True}
    unlabelled = ISSUE | {"number": 8, "labels": []}
    with ScriptedServer([Reply(body=[other]), Reply(201, made)]) as server:
        assert Wire(server).hub().pull("navci/issue-7", "main", "t", "b", draft=True).number == 4
    with ScriptedServer([Reply(body=[ISSUE, unlabelled, ISSUE])]) as server:
        assert [issue.number for issue in Wire(server).hub().labelled("loop-mode")] == [7]


def test_a_label_that_github_does_not_make_by_itself_is_made() -> None:
    bug, running = {"name": "bug"}, {"name": "Loop-Running"}
    exists = {"message": "Validation Failed", "errors": [{"code": "already_exists"}]}
    script = [Reply(body=[bug]), Reply(422, exists), Reply(body=[bug, running])]
    with ScriptedServer(script) as server:
        wire = Wire(server)
        wire.hub().labels(7, add=["loop-running"], remove=["loop-mode"])
        assert wire.asked == [
            "POST /repos/octo/demo/issues/7/labels",
            "POST /repos/octo/demo/labels",
            "POST /repos/octo/demo/issues/7/labels",
        ]
        assert server.seen[1].body == '{"name": "loop-running", "color": "5319e7"}'


def test_a_proxy_of_the_environment_does_not_see_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        ScriptedServer([Reply(body=ISSUE)]) as proxy,
        ScriptedServer([Reply(body=ISSUE)]) as server,
    ):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        Wire(server).hub().issue(7)
        assert len(server.seen) == 1
        assert proxy.seen == []


def test_a_proxy_of_the_environment_is_used_for_everyone_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ScriptedServer([Reply(body=ISSUE)]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        environment = {
            "GITHUB_REPOSITORY": "octo/demo",
            "GITHUB_API_URL": "http://github.invalid/api/v3",
            "NAVCI_GITHUB_TOKEN": TOKEN,
        }
        GitHub.connect(environment).issue(7)
        (seen,) = proxy.seen
    assert seen.target == "http://github.invalid/api/v3/repos/octo/demo/issues/7"


def test_the_users_netrc_does_not_replace_the_token(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text("default login somebody password else\n")
    monkeypatch.setenv("NETRC", str(netrc))
    with ScriptedServer([Reply(body=ISSUE)]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        environment = {
            "GITHUB_REPOSITORY": "octo/demo",
            "GITHUB_API_URL": "http://github.invalid",
            "NAVCI_GITHUB_TOKEN": TOKEN,
        }
        GitHub.connect(environment).issue(7)
        assert proxy.seen[0].headers["authorization"] == f"token {TOKEN}"


# --- what is asked again --------------------------------------------------------------------

_LIMITED = Reply(429, LIMIT, {"Retry-After": "7"})
_READ_AGAIN = {
    "502": Reply(502, "<html>Bad gateway</html>"),
    "500": Reply(500, {"message": "Server Error"}),
    "drop": DROP,
    "hang": HANG,
    "body cut": Reply(200, ISSUE, cut=True),
    "JSON cut": Reply(200, '{"number": 7, "ti'),
    "429": _LIMITED,
}


@pytest.mark.parametrize("fault", _READ_AGAIN)
def test_a_read_is_made_again(fault: str) -> None:
    with ScriptedServer([_READ_AGAIN[fault]] * 2 + [Reply(body=ISSUE)]) as server:
        wire = Wire(server)
        assert wire.hub().issue(7).number == 7
        assert len(server.seen) == 3
    assert wire.clock.slept == pytest.approx(14 if fault == "429" else 3)


@pytest.mark.parametrize("fault", _READ_AGAIN)
def test_an_edit_is_made_again(fault: str) -> None:
    with ScriptedServer([_READ_AGAIN[fault]] * 2 + [Reply(body=CLOSED)]) as server:
        closed = Wire(server).hub().close(7, "completed")
        assert [seen.method for seen in server.seen] == ["PATCH"] * 3
        assert server.seen[0].body == '{"state": "closed", "state_reason": "completed"}'
    assert closed.reason == "completed"


_UNCLEAR = {name: reply for name, reply in _READ_AGAIN.items() if name != "429"}


@pytest.mark.parametrize("fault", _UNCLEAR)
def test_a_comment_is_looked_for_before_it_is_made_again(fault: str) -> None:
    script = [Reply(body=[]), _UNCLEAR[fault], Reply(body=[COMMENT])]
    with ScriptedServer(script) as server:
        wire = Wire(server)
        assert wire.hub().sticky(7, "status", "hello") == COMMENT["html_url"]
        assert [seen.method for seen in server.seen] == ["GET", "POST", "GET"]


@pytest.mark.parametrize("fault", _UNCLEAR)
def test_a_comment_that_is_not_found_is_made_again(fault: str) -> None:
    script = [Reply(body=[]), _UNCLEAR[fault], Reply(body=[]), Reply(201, COMMENT)]
    with ScriptedServer(script) as server:
        wire = Wire(server)
        assert wire.hub().sticky(7, "status", "hello") == COMMENT["html_url"]
        assert [seen.method for seen in server.seen] == ["GET", "POST", "GET", "POST"]
    if fault == "drop":
        # GitHub may still be at it: it is looked for when it must be through.
        assert wire.clock.slept >= 9


def test_a_comment_is_sent_again_unlooked_where_it_surely_was_not_made() -> None:
    script = [Reply(body=[]), _LIMITED, Reply(403, LIMIT), Reply(201, COMMENT)]
    with ScriptedServer(script) as server:
        wire = Wire(server)
        wire.hub().sticky(7, "status", "hello")
        assert [seen.method for seen in server.seen] == ["GET", "POST", "POST", "POST"]
    assert wire.clock.slept == pytest.approx(7 + 120)


def test_a_comment_that_can_never_be_made_is_given_up() -> None:
    with ScriptedServer([Reply(body=[]), *[Reply(502), Reply(body=[])] * 9]) as server:
        error = failing(lambda: Wire(server).hub().sticky(7, "status", "hello"))
        assert [seen.method for seen in server.seen].count("POST") == 5
    assert error.kind == "unreachable"
    assert error.unsure
    assert error.passing
    assert str(error) == (
        "could not comment on octo/demo#7 for sure: GitHub: it answered 502; the next run looks "
        "before it tries again"
    )


def test_nobody_listens_so_nothing_was_done() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    clock = WaitingClock()
    environment = {
        "GITHUB_REPOSITORY": "octo/demo",
        "GITHUB_API_URL": f"http://127.0.0.1:{port}",
        "NAVCI_GITHUB_TOKEN": TOKEN,
    }
    hub = GitHub.connect(environment, clock=clock, deadline=60)
    error = failing(lambda: hub.pull("navci/issue-7", "main", "t", "b", draft=True))
    assert error.kind == "unreachable"
    assert not error.unsure
    assert "Connection refused" in str(error)
    assert 30 <= clock.slept <= 60


# --- when it is enough ----------------------------------------------------------------------


def test_a_github_that_is_down_costs_the_deadline_once() -> None:
    with ScriptedServer([Reply(502)] * 99) as server:
        wire = Wire(server)
        hub = wire.hub(deadline=100)
        error = failing(lambda: hub.close(7, "completed"))
        first = len(server.seen)
        failing(lambda: hub.issue(7))
        failing(lambda: hub.sticky(7, "status", "hello"))
        assert len(server.seen) == first + 2, "each further request is tried once"
    assert 70 <= wire.clock.slept <= 100
    assert str(error) == (
        "could not close octo/demo#7: GitHub: it answered 502 for 1m 31s; what was not done is "
        "done by the next run"
    )
    assert 1 <= len(wire.said) <= 2


def test_a_limit_that_lasts_longer_is_not_waited_for() -> None:
    with ScriptedServer([Reply(429, LIMIT, {"Retry-After": "3600"})]) as server:
        wire = Wire(server)
        error = failing(lambda: wire.hub().issue(7))
        assert len(server.seen) == 1
    assert wire.clock.slept == 0
    assert (error.kind, error.passing, error.unsure) == ("limit", True, False)
    assert "the next try would be in 1h 0m" in str(error)


def test_pauses_of_nothing_do_not_make_a_storm() -> None:
    with ScriptedServer([Reply(429, LIMIT, {"Retry-After": "0"})] * 99) as server:
        failing(lambda: Wire(server).hub(deadline=60).issue(7))
        assert len(server.seen) < 10


def test_a_page_that_is_not_githubs_is_not_asked_for_again() -> None:
    with ScriptedServer([Reply(200, "<html>log in</html>")]) as server:
        error = failing(lambda: Wire(server).hub().issue(7))
        assert len(server.seen) == 1
    assert "GITHUB_API_URL" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"number": 7}, id="fields are missing"),
        pytest.param(ISSUE | {"number": "x"}, id="a field of another type"),
        pytest.param([1], id="a list"),
        pytest.param(ISSUE | {"labels": 5}, id="labels that are a number"),
    ],
)
def test_an_answer_that_is_no_issue(body: object) -> None:
    with ScriptedServer([Reply(200, body)]) as server:
        error = failing(lambda: Wire(server).hub().issue(7))
    assert error.kind == "unreachable"
    assert "makes no sense" in str(error)


def test_a_list_that_is_none() -> None:
    with ScriptedServer([Reply(200, {"strange": 1})]) as server:
        assert failing(lambda: Wire(server).hub().labelled("x")).kind == "unreachable"


@pytest.mark.parametrize(
    ("status", "location", "says"),
    [
        (301, "/repositories/5/issues/7", "renamed, or the issue was transferred"),
        (307, "/repositories/5/issues/7", "renamed, or the issue was transferred"),
        (308, "", "no address"),
        (302, "https://github.com/octo/demo/discussions/9", "turned into a discussion"),
    ],
)
@pytest.mark.parametrize("call", ["issue", "close", "sticky", "labelled"])
def test_a_redirect_is_never_followed(call: str, status: int, location: str, says: str) -> None:
    reply = Reply(status, {"message": "Moved Permanently"}, {"Location": location})
    with ScriptedServer([reply]) as server:
        hub = Wire(server).hub()
        calls: dict[str, Callable[[], object]] = {
            "issue": lambda: hub.issue(7),
            "close": lambda: hub.close(7, "completed"),
            "sticky": lambda: hub.sticky(7, "status", "hello"),
            "labelled": lambda: hub.labelled("loop-mode"),
        }
        error = failing(calls[call])
        assert len(server.seen) == 1
    assert error.kind == "moved"
    assert says in str(error)


def test_a_close_that_github_says_did_nothing() -> None:
    with ScriptedServer([Reply(200, ISSUE)]) as server:
        error = failing(lambda: Wire(server).hub().close(7, "completed"))
    assert error.kind == "refused"
    assert "still open" in str(error)
