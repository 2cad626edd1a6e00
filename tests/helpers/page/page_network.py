"""A network between a browser and the page that drops packets for a while: nothing is refused, closed or answered."""

import contextlib
import socket
import threading
from typing import Self


class Network:
    """Passes bytes between a browser and a server on this machine; a context manager.

    While it `drops`, connections stay open, and nothing passes; those that it dropped something of never pass any more.
    """

    def __init__(self, port: int) -> None:
        self._server_port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.drops = False
        self._open: list[socket.socket] = []

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, name="page-network", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                browser, _ = self._listening.accept()
                server = socket.create_connection(("127.0.0.1", self._server_port))
                self._open += [browser, server]
                for a, b in ((browser, server), (server, browser)):
                    threading.Thread(target=self._pass, args=(a, b), name="page-network", daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while passed := source.recv(65_536):
                if self.drops:
                    return
                target.sendall(passed)
            if not self.drops:
                target.shutdown(socket.SHUT_RDWR)
