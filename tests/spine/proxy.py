"""Connections to Postgres that break exactly when it hurts."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

Moment = Literal["before the commit", "after the commit"]


_COMMIT = b"COMMIT\0"  # and not READ COMMITTED


@dataclass(slots=True)
class Strike:
    """What happens to a connection when the `at`th message since passes it, on its way there or back: it is cut before
    the message is passed on, or `before` is called."""

    way: Literal["asked", "answered"]
    at: int
    before: Callable[[], object] | None = None
    met: bool = False
    over: threading.Event = field(default_factory=threading.Event)

    def has_struck(self) -> bool:
        """Whether it was met with; then, also, it is over and done."""
        if self.met:
            self.over.wait()
        return self.met


class Proxy:
    """Passes everything on until it is told at which moment of the next commit, or at which message, to hang up."""

    def __init__(self, host: str, port: int) -> None:
        self._server = host, port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.cut: Moment | None = None
        self.strike: Strike | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with _hanging_up(self._listener):
            pass

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                threading.Thread(target=self._send, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client), daemon=True).start()

    def _send(self, client: socket.socket, server: socket.socket) -> None:
        with _hanging_up(client, server):
            while data := client.recv(65536):
                if (_COMMIT in data and self.cut == "before the commit") or self._is_struck("asked"):
                    return
                server.sendall(data)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with _hanging_up(client, server):
            while data := server.recv(65536):
                if (_COMMIT in data and self.cut == "after the commit") or self._is_struck("answered"):
                    return
                client.sendall(data)

    def _is_struck(self, way: str) -> bool:
        """Whether the message at hand is the one to hang up at."""
        strike = self.strike
        if strike is None or strike.met or strike.way != way:
            return False
        strike.at -= 1
        if strike.at > 0:
            return False
        strike.met = True
        try:
            if strike.before is not None:
                strike.before()
        finally:
            strike.over.set()
        return strike.before is None


@contextlib.contextmanager
def _hanging_up(*sockets: socket.socket) -> Iterator[None]:
    """Closing alone would not be noticed while the other thread waits for data."""
    with contextlib.suppress(OSError):
        yield
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


@contextlib.contextmanager
def proxied(url: str) -> Iterator[tuple[Proxy, str]]:
    """A proxy in front of the server of this URL, and the URL through it."""
    split = urlsplit(url)
    proxy = Proxy(split.hostname or "127.0.0.1", split.port or 5432)
    try:
        user, _, _ = split.netloc.rpartition("@")
        yield proxy, urlunsplit(split._replace(netloc=f"{user}@127.0.0.1:{proxy.port}"))
    finally:
        proxy.close()
