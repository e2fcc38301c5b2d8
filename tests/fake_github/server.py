"""The fake itself: what a test sets up, and how a request is answered."""

from __future__ import annotations

import json
import re
import threading
import traceback
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from email.message import Message
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.fake_github import endpoints_issues, endpoints_repository, git_http, graphql
from tests.fake_github.calls import ENDPOINTS, Answer, Call, Router
from tests.fake_github.contract import Contract
from tests.fake_github.faults import Cut, Fault, Faults
from tests.fake_github.people import Token
from tests.fake_github.shapes import Shapes
from tests.fake_github.state import Repository
from tests.fake_github.wire import Reply, Request, Server
from tests.fake_github.words import Refusal, not_found

assert ENDPOINTS, (endpoints_issues, endpoints_repository)


class FakeGitHub:
    """A GitHub on loopback, its state in memory and its git on disk.

    Every exchange is held against GitHub's OpenAPI description; ``problems`` says what did not
    fit, and leaving the ``with`` block with problems is an AssertionError.
    """

    def __init__(self, folder: Path, prefix: str = "") -> None:
        assert prefix in ("", "/api/v3"), prefix
        self.prefix = prefix
        self.limits = not prefix
        self.requests: list[Request] = []
        self.git_requests: list[Request] = []
        self.problems: list[str] = []
        self.repositories: list[Repository] = []
        self.faults = Faults()
        self.users: set[str] = set()
        # Actors that are no users although nothing in their name says so.
        self.apps = {"Copilot"}
        self.lock = threading.RLock()
        self.closing = threading.Event()
        self._folder = folder
        self._tokens: dict[str, Token] = {}
        self._offset = timedelta(0)
        self._contract = Contract.load("ghes-3.17" if prefix else "api.github.com")
        self._router = Router()
        self._server = Server(self)
        self.server_url = f"http://127.0.0.1:{self._server.server_port}"
        self.api_url = self.server_url + prefix
        self.graphql_url = self.server_url + ("/api/graphql" if prefix else "/graphql")
        self.shapes = Shapes(self.api_url, self.server_url)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.close_connections()
        self._server.server_close()
        self._thread.join()
        told = "\n".join(["exchanges that do not fit GitHub:", *self.problems])
        if self.problems and error is None:
            raise AssertionError(told)
        if self.problems and error is not None:
            error.add_note(told)

    # What tests set up

    def now(self) -> datetime:
        return (datetime.now(UTC) + self._offset).replace(microsecond=0)

    def later(self, seconds: float) -> None:
        """Move GitHub's clock on: what happens next is that much later."""
        self._offset += timedelta(seconds=seconds)

    def repository(self, full_name: str, private: bool = False) -> Repository:
        """Make a repository; its git repository is empty."""
        number = 1_300_192 + 7919 * len(self.repositories)
        folder = self._folder / f"{full_name.replace('/', '-')}.git"
        repo = Repository(full_name, number=number, private=private, folder=folder, clock=self.now)
        self.repositories.append(repo)
        return repo

    def token(
        self, secret: str, login: str = "github-actions[bot]", can: Collection[str] | None = None
    ) -> None:
        """Let ``secret`` be a token of ``login``; ``can``: see Token, None is everything."""
        self._tokens[secret] = Token.make(login, can)

    def token_of(self, secret: str) -> Token | None:
        return self._tokens.get(secret)

    def revoke(self, secret: str) -> None:
        """Let a token die: 401 from now on."""
        del self._tokens[secret]

    def fail(self, method: str, path: str, **fault: Any) -> Fault:
        """Queue a fault; what there is: see Fault. Its ``hits`` tell how often it struck."""
        made = Fault(method, path, **fault)
        with self.lock:
            self.faults.waiting.append(made)
        return made

    # What endpoints ask

    def find(self, full_name: str) -> Repository | None:
        """The repository of that name, or of that former name."""
        wanted = full_name.lower()
        for repo in self.repositories:
            if repo.full_name.lower() == wanted:
                return repo
        return next((repo for repo in self.repositories if wanted in repo.former_names), None)

    def is_user(self, login: str) -> bool:
        """Whether there is such an account: anyone who was given a role, or did something."""
        wanted = login.lower()
        if wanted in {name.lower() for name in self.apps}:
            return False
        logins = set(self.users)
        for repo in self.repositories:
            logins |= repo.permissions.keys()
            if wanted.endswith("[bot]"):
                continue
            for issue in repo.issues.values():
                logins.add(issue.author)
                logins |= {entry.actor for entry in issue.timeline}
                logins |= {version.editor for version in issue.versions}
        return wanted in {name.lower() for name in logins}

    # How a request is answered

    def serve_git(self, method: str, target: str, headers: Message, raw: bytes) -> Reply:
        """Answer one request of git's; not under the contract, and in a list of its own."""
        parts = urlsplit(target)
        path = unquote(parts.path)
        with self.lock:
            fault = self.faults.take(method, path)
        if fault and fault.delay:
            self.closing.wait(fault.delay)
        with self.lock:
            given = Answer(200)
            if fault is None or not fault.answers or fault.after:
                given = git_http.answer(self, method, path, parts.query, headers, raw)
            reply = self._spoiled(given, fault)
            self.git_requests.append(Request(method, path, reply.status, parts.query))
        return reply

    def _spoiled(self, given: Answer, fault: Fault | None) -> Reply:
        """What goes over the wire of an answer, after what a fault makes of it."""
        if fault is None:
            return Reply(given)
        cut: Cut = "connection" if fault.truncate == "connection" else "body"
        answer = fault.answer(int(self.now().timestamp()) + 60) if fault.answers else given
        return Reply(answer, fault.drop, fault.hang, cut if fault.truncate else "")

    def serve(self, method: str, target: str, authorization: str | None, raw: bytes) -> Reply:
        """Answer one request; faults first, then the contract, then the endpoint."""
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        path = unquote(parts.path)
        place = "/graphql" if self.server_url + path == self.graphql_url else path
        if place != "/graphql" and path.startswith(self.prefix + "/"):
            place = path.removeprefix(self.prefix)
        with self.lock:
            fault = self.faults.take(method, place)
        if fault and fault.delay:
            self.closing.wait(fault.delay)
        with self.lock:
            scheme, _, secret = (authorization or "").partition(" ")
            token = self._tokens.get(secret) if scheme.lower() in ("token", "bearer") else None
            stranger = authorization is not None and token is None
            body = None
            try:
                body = json.loads(raw) if raw else None
                call = Call(self, method, place, query, body, token)
                answer = self._answer(call, path, fault, stranger)
            except json.JSONDecodeError:
                answer = _said(Refusal(400, "Problems parsing JSON"))
                self.problems.append(f"{method} {place}: request: the body is no JSON")
            except Refusal as refusal:
                answer = _said(refusal)
            reply = self._spoiled(answer, fault)
            login = token.login if token else None
            self.requests.append(Request(method, place, reply.status, parts.query, login, body))
        return reply

    def _answer(self, call: Call, path: str, fault: Fault | None, stranger: bool) -> Answer:
        silent = fault is not None and fault.answers and not fault.after
        if call.path == "/graphql":
            return Answer(200) if silent else self._graphql(call, stranger)
        if path == call.path and self.prefix:
            self.problems.append(f"{call.method} {path}: not under {self.prefix}")
            raise not_found()
        call.path = self._named(call.path)
        wrong = self._contract.request(call.method, call.path, call.query, call.body)
        self.problems += wrong
        if silent:
            return Answer(200)
        if self._contract.operation(call.method, call.path) is None:
            raise not_found()
        if wrong:
            raise Refusal(422, f"Invalid request.\n\n{wrong[0]}")
        answer = self._carried_out(call, stranger)
        self.problems += self._contract.answer(
            call.method, call.path, answer.status, _as_json(answer.body)
        )
        return fault.spoil(answer) if fault and not fault.answers else answer

    def _carried_out(self, call: Call, stranger: bool) -> Answer:
        try:
            if stranger:
                raise Refusal(401, "Bad credentials")
            return self._router.carry_out(call)
        except Refusal as refusal:
            return _said(refusal)
        except Exception:
            # A fault of the fake itself: the test must hear of it, whatever the client makes of it.
            self.problems.append(f"{call.method} {call.path}: {traceback.format_exc()}")
            return _said(Refusal(500, "Server Error"))

    def _graphql(self, call: Call, stranger: bool) -> Answer:
        if call.token is None:
            needed = "This endpoint requires you to be authenticated."
            raise Refusal(401, "Bad credentials" if stranger else needed)
        body, wrong = graphql.answer(call)
        self.problems += wrong
        return Answer(200, body)

    def _named(self, path: str) -> str:
        """``/repositories/<id>/…`` spelled with the repository's name."""
        found = re.fullmatch(r"/repositories/(\d+)(/.*)?", path)
        if not found:
            return path
        for repo in self.repositories:
            if repo.id == int(found[1]):
                return f"/repos/{repo.full_name}{found[2] or ''}"
        return path

    def limit_headers(self) -> dict[str, str]:
        if not self.limits:
            return {}
        used = len(self.requests)
        return {
            "x-ratelimit-limit": "5000",
            "x-ratelimit-remaining": str(5000 - used % 5000),
            "x-ratelimit-used": str(used % 5000),
            "x-ratelimit-reset": str(int(self.now().timestamp()) + 3600),
            "x-ratelimit-resource": "core",
        }


def _said(refusal: Refusal) -> Answer:
    return Answer(refusal.status, refusal.body, refusal.headers)


def _as_json(body: Any) -> Any:
    """``body`` as a client reads it: tuples are lists, keys are text."""
    return None if body is None else json.loads(json.dumps(body))
