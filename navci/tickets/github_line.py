"""The line to GitHub: PyGithub's requests, sent by the rules of :mod:`navci.tickets.retry`.

PyGithub sends a POST again without asking whether the first was carried out, sends no PATCH again,
lets a write that was redirected pass for done, and follows a redirected list without its filter.
So navci does the sending itself, at the one method all of PyGithub's requests go through.

Imports PyGithub and requests; whoever must start fast imports this late.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import urlsplit

import requests
from github.Auth import Token
from github.GithubException import BadAttributeException, GithubException
from github.GithubObject import NonCompletableGithubObject
from github.PaginatedList import PaginatedList
from github.Requester import Requester
from pydantic import ValidationError
from urllib3.exceptions import ConnectTimeoutError, NewConnectionError, SSLError

from navci import __version__
from navci.errors import TrackerError
from navci.system.clock import Clock, show_duration
from navci.system.neutral import mask
from navci.tickets import github_refusals as refusals
from navci.tickets.github_refusals import Errand
from navci.tickets.retry import SETTLED, Patience, Trouble, harmless, trouble_in, wait_for

T = TypeVar("T")


class _Row(NonCompletableGithubObject):
    """An element of a list, as it came. PyGithub's own ask for what is missing, one by one."""

    def _initAttributes(self) -> None:  # noqa: N802
        pass

    def _useAttributes(self, attributes: dict[str, Any]) -> None:  # noqa: N802
        pass


PER_PAGE = 100
_ONCE_TRIES = 5


class Unclear(TrackerError):
    """A request that must not be sent twice, and that may have been carried out."""

    def __init__(self, error: TrackerError, trouble: Trouble, elapsed: float) -> None:
        super().__init__(error.kind, str(error), unsure=True)
        self.trouble = trouble
        self.elapsed = elapsed


class Line(Requester):
    """A connection to the API at ``base_url``; PyGithub's objects are made with it.

    ``timeout``: seconds GitHub may be silent, more than the 10 after which it gives a request up.
    """

    def __init__(
        self, base_url: str, token: str, patience: Patience, clock: Clock, timeout: float
    ) -> None:
        self._auth = Token(token)
        super().__init__(
            auth=self._auth,
            base_url=base_url,
            timeout=round(timeout),
            user_agent=f"navci/{__version__}",
            per_page=PER_PAGE,
            verify=True,
            retry=None,
            pool_size=None,
            lazy=True,
        )
        self.patience = patience
        self._clock = clock
        self._token = token
        self._silence = timeout
        self._base = base_url
        self._current = Errand("reach GitHub", base_url, "issues: read")
        self._session = requests.Session()
        # A word of our own: without one, requests takes the user's ~/.netrc instead of the token.
        self._session.auth = Requester.noopAuth
        self._session.trust_env = not _is_loopback(urlsplit(base_url).hostname or "")

    @contextlib.contextmanager
    def errand(self, doing: str, repository: str, needs: str) -> Iterator[None]:
        """What goes wrong in here is told as "could not ``doing``" (:class:`TrackerError`)."""
        before, self._current = self._current, Errand(doing, repository, needs)
        try:
            yield
        except GithubException as error:
            raise self._masked(refusals.refused(self._current, error.status, error.data)) from error
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            raise self._masked(refusals.odd(self._current, f"{place}: {first['msg']}")) from error
        except (BadAttributeException, AssertionError, KeyError) as error:
            # PyGithub's way to say: a field of another type or missing, a link to another host.
            raise self._masked(refusals.odd(self._current, str(error))) from error
        finally:
            self._current = before

    def once(self, send: Callable[[], T], look: Callable[[], T | None]) -> T:
        """``send`` what must be carried out once; when in doubt, ``look`` whether it was."""
        tries = 0
        while True:
            tries += 1
            try:
                return send()
            except Unclear as error:
                pause = max(wait_for(error.trouble, tries), error.trouble.settled - error.elapsed)
                if tries >= _ONCE_TRIES or not self.patience.wait(pause, error.trouble.what):
                    raise
                try:
                    found = look()
                except TrackerError as blind:
                    raise error from blind  # it is this that nobody knows about
            if found is not None:
                return found

    def rows(self, path: str, **parameters: str) -> Iterator[dict[str, Any]]:
        """Every element of a list, page after page."""
        try:
            yield from (row.raw_data for row in PaginatedList(_Row, self, path, parameters))
        except (KeyError, TypeError) as error:
            raise self._masked(refusals.odd(self._current, "it is no list")) from error

    def query(self, text: str, **variables: str | int) -> object:
        """The answer to a GraphQL query, which must only read."""
        _, answer = self.requestJsonAndCheck(
            "POST", self.graphql_url, input={"query": text, "variables": variables}
        )
        refusal = refusals.graphql(self._current, answer)
        if refusal is not None:
            raise self._masked(refusal)
        return answer

    # The name and the parameters are PyGithub's: `requestJsonAndCheck`, which every one of its
    # methods and lists calls, calls this.
    def requestJson(  # noqa: N802
        self,
        verb: str,
        url: str,
        parameters: dict[str, Any] | None = None,
        headers: dict[str, Any] | None = None,
        input: Any | None = None,  # noqa: A002
        cnx: object = None,
        follow_302_redirect: bool = False,
    ) -> tuple[int, dict[str, Any], str]:
        """One request, until there is an answer: its status, headers (lower case) and text."""
        address = self.add_parameters_to_url(self._address(url), parameters or {})
        body = None if input is None else json.dumps(input).encode()
        sent = dict(headers or {}) | {"User-Agent": f"navci/{__version__}"}
        if body is not None:
            sent["Content-Type"] = "application/json"
        self._auth.authentication(sent)
        again = harmless(verb, urlsplit(address).path)
        tries, waited = 0, 0.0
        while True:
            tries += 1
            began = self._clock.monotonic()
            answer = self._try(verb, address, sent, body)
            if not isinstance(answer, Trouble):
                self.patience.answered()
                return answer
            elapsed = self._clock.monotonic() - began
            self.patience.failed(elapsed)
            if not again and answer.happened is not False:
                error = self._masked(refusals.unclear(self._current, answer))
                raise Unclear(error, answer, elapsed)
            pause = wait_for(answer, tries)
            if answer.hopeless or not self.patience.wait(pause, answer.what):
                raise self._masked(
                    refusals.gave_up(self._current, answer, waited=waited + elapsed, wait=pause)
                )
            waited += elapsed + pause

    def _try(
        self, verb: str, address: str, headers: dict[str, str], body: bytes | None
    ) -> tuple[int, dict[str, Any], str] | Trouble:
        try:
            response = self._session.request(
                verb,
                address,
                headers=headers,
                data=body,
                timeout=self._silence,
                allow_redirects=False,
            )
        except requests.exceptions.RequestException as error:
            return self._broken(error)
        text = response.content.decode("utf-8", "replace")
        answered = {name.lower(): value for name, value in response.headers.items()}
        if 300 <= response.status_code < 400:
            location = answered.get("location", "")
            raise self._masked(refusals.moved(self._current, response.status_code, location))
        trouble = trouble_in(response.status_code, answered, text, self._clock.now())
        if response.status_code >= 400:
            text = _as_object(text)
        return trouble or (response.status_code, answered, text)

    def _broken(self, error: requests.exceptions.RequestException) -> Trouble:
        """What an exception of requests means for the request."""
        match error:
            case requests.exceptions.SSLError() if "CERTIFICATE_VERIFY_FAILED" in str(error):
                return Trouble(
                    f"its certificate is not trusted ({_cause(error)})", False, hopeless=True
                )
            case _ if _never_connected(error):
                return Trouble(f"no connection ({_cause(error)})", happened=False)
            case requests.exceptions.Timeout():
                silence = show_duration(self._silence)
                return Trouble(f"no answer within {silence}", settled=SETTLED)
            case requests.exceptions.ChunkedEncodingError():
                return Trouble("its answer broke off")
            case requests.exceptions.ConnectionError():
                return Trouble("the connection was lost", settled=SETTLED)
            case _:
                return Trouble(f"the request could not be sent ({_cause(error)})", hopeless=True)

    def _address(self, url: str) -> str:
        """PyGithub's addresses begin with a slash, those of answers with our own host's name."""
        if url.startswith("/"):
            return self._base + url
        ours, theirs = urlsplit(self._base), urlsplit(url)
        # Never another host: this request carries the token.
        return theirs._replace(scheme=ours.scheme, netloc=ours.netloc).geturl()

    def _masked(self, error: TrackerError) -> TrackerError:
        message, said = (mask(text, (self._token,)) for text in (str(error), error.said))
        return TrackerError(
            error.kind, message, unsure=error.unsure, status=error.status, said=said
        )


def _as_object(text: str) -> str:
    """A refusal in the form PyGithub reads, whoever answered."""
    try:
        data = json.loads(text)
    except ValueError:
        data = text
    return text if isinstance(data, dict) else json.dumps({"message": str(data or "")})


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _never_connected(error: Exception) -> bool:
    """Whether nothing of the request can have reached GitHub."""
    if isinstance(error, requests.exceptions.ConnectTimeout | requests.exceptions.ProxyError):
        return True
    reason = getattr(error.args[0] if error.args else None, "reason", None)
    return isinstance(reason, NewConnectionError | ConnectTimeoutError | SSLError)


def _cause(error: Exception) -> str:
    """The innermost reason: urllib3 and requests wrap it in their own words."""
    reason: BaseException = error
    for _ in range(5):
        inner = getattr(reason.args[0] if reason.args else None, "reason", None)
        if not isinstance(inner, BaseException):
            break
        reason = inner
    return str(reason.__cause__ or reason).rpartition(": ")[2] or type(reason).__name__
