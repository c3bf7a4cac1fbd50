"""An independent witness between two TCP ends: passes bytes on and keeps what went by, a pair for each connection."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from urllib.parse import urlsplit

BOUND = 40


class TcpTee:
    """Listens on loopback and passes on to the server of `upstream`. seen: (to the server, to the client), growing."""

    def __init__(self, upstream: str) -> None:
        parts = urlsplit(upstream)
        self._target = (parts.hostname or "", parts.port or 80)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.netloc = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self.url = parts._replace(netloc=self.netloc).geturl()
        self.seen: list[tuple[bytearray, bytearray]] = []
        self._sockets = [self._listening]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            self._sockets += [client, server]
            pair = (bytearray(), bytearray())
            self.seen.append(pair)
            for source, target, kept in ((client, server, pair[0]), (server, client, pair[1])):
                thread = threading.Thread(target=self._copy, args=(source, target, kept), daemon=True)
                self._threads.append(thread)
                thread.start()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket, kept: bytearray) -> None:
        with suppress(OSError):
            while piece := source.recv(65_536):
                kept += piece
                target.sendall(piece)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def __enter__(self) -> TcpTee:
        return self

    def __exit__(self, *_: object) -> None:
        for one in list(self._sockets):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in list(self._threads):
            thread.join(BOUND)
            assert not thread.is_alive()
        for one in self._sockets:
            one.close()

    def streams(self, host: str) -> list[tuple[bytes, bytes]]:
        """What each connection carried, with its own name in `Host` as `host`, in no order of time."""
        own, other = (f"Host: {name}\r\n".encode() for name in (self.netloc, host))
        return sorted((bytes(up).replace(own, other), bytes(down)) for up, down in self.seen)
