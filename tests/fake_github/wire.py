"""The fake's connections: requests off the wire, replies onto it, spoiled as a fault wants it."""

from __future__ import annotations

import json
import socket
import sys
import traceback
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.fake_github.calls import Answer
from tests.fake_github.faults import Cut
from tests.fake_github.git_http import is_git

if TYPE_CHECKING:
    from tests.fake_github.server import FakeGitHub


@dataclass(frozen=True)
class Request:
    """A request as it came; ``status`` is what was answered, 0 for a dropped connection."""

    method: str
    path: str
    status: int
    query: str = ""
    login: str | None = None
    body: Any = None


@dataclass
class Reply:
    """What goes over the wire."""

    answer: Answer
    drop: bool = False
    hang: float = 0.0
    cut: Cut = ""

    @property
    def status(self) -> int:
        """What the other side sees; 0: nothing."""
        return 0 if self.drop or self.hang else self.answer.status


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, hub: FakeGitHub) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.hub = hub
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        """End what clients keep alive: their threads wait in a read."""
        for request in list(self._open):
            try:
                request.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue  # it was ended on the other side meanwhile

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up in mid-answer is no fault; anything else is one of the fake."""
        if not isinstance(sys.exception(), ConnectionError):
            self.hub.problems.append(traceback.format_exc())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without it, each answer on a kept-alive connection waits 40 ms for a delayed acknowledgement.
    disable_nagle_algorithm = True
    server: Server

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _serve(self) -> None:
        raw, hub = self._body(), self.server.hub
        if is_git(urlsplit(self.path).path):
            reply = hub.serve_git(self.command, self.path, self.headers, raw)
        else:
            reply = hub.serve(self.command, self.path, self.headers.get("Authorization"), raw)
        if reply.hang:
            hub.closing.wait(reply.hang)
        if reply.hang or reply.drop:
            self.close_connection = True
            return
        answer = reply.answer
        if answer.body is None:
            payload = b""
        elif isinstance(answer.body, bytes):
            payload = answer.body
        elif isinstance(answer.body, str):
            payload = answer.body.encode()
        else:
            payload = json.dumps(answer.body).encode()
        sent = payload if not reply.cut else payload[: len(payload) // 2]
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "X-GitHub-Media-Type": "github.v3; format=json",
            "X-GitHub-Request-Id": "A1B2:3C4D5E:6F7A8B:9C0D1E:67E0F1A2",
            **hub.limit_headers(),
            **answer.headers,
        }
        self.send_response(answer.status)
        for name, value in headers.items():
            self.send_header(name, value)
        whole = len(payload) if reply.cut == "connection" else len(sent)
        if answer.status != 204:
            self.send_header("Content-Length", str(whole))
        self.end_headers()
        self.wfile.write(sent)
        if reply.cut == "connection":
            self.close_connection = True

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Requests are in the hub's list; nothing is printed."""
