"""A server that plays what it is given, byte by byte, one line of the script for each request."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Reply:
    """What one request gets. ``cut``: the body ends early; ``hang``: nothing comes, for ever."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] | None = None
    cut: bool = False
    drop: bool = False
    hang: bool = False

    def bytes(self) -> bytes:
        """The answer as it goes over the wire."""
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        data = b"" if self.body is None else text.encode()
        lines = [f"HTTP/1.1 {self.status} Whatever", f"Content-Length: {len(data)}"]
        lines += [f"{name}: {value}" for name, value in (self.headers or {}).items()]
        return "\r\n".join([*lines, "", ""]).encode() + (
            data[: len(data) // 2] if self.cut else data
        )


DROP, HANG = Reply(drop=True), Reply(hang=True)


@dataclass(frozen=True)
class Seen:
    """A request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: str


class ScriptedServer:
    """Plays ``script``; a request beyond its end gets a 599. ``seen``: all requests, in order."""

    def __init__(self, script: Iterable[Reply]) -> None:
        self.seen: list[Seen] = []
        self._connections: list[socket.socket] = []
        self._script = list(script)
        self._ended = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def connections(self) -> int:
        """How many there were."""
        return len(self._connections)

    def play(self, *replies: Reply) -> None:
        """Add to the script."""
        self._script.extend(replies)

    def __enter__(self) -> ScriptedServer:
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        # A closed listener does not wake who waits at it; a connection does.
        with contextlib.suppress(OSError), socket.create_connection(self._socket.getsockname()):
            pass
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(5)
        self._socket.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            connection, _ = self._socket.accept()
            self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while not self._ended.is_set():
                first = stream.readline().decode().split()
                if len(first) < 2:
                    return
                headers = {}
                while line := stream.readline().decode().strip():
                    name, _, value = line.partition(":")
                    headers[name.lower()] = value.strip()
                body = stream.read(int(headers.get("content-length", 0))).decode()
                self.seen.append(Seen(first[0], first[1], headers, body))
                reply = self._script.pop(0) if self._script else Reply(599)
                if reply.hang:
                    self._ended.wait(30)
                if reply.drop or reply.hang:
                    return
                connection.sendall(reply.bytes())
                if reply.cut:
                    return
