"""The live page as a server in a thread: started and stopped by the command, the demo and the tests.

In: the broker's address, and where to listen. Out: a page at ``Dashboard.url``. State: the reader's thread and the web
server's thread.
"""

import importlib.util
import logging
import secrets
import socket
import threading
import time
from pathlib import Path
from typing import Self
from urllib.parse import quote, urlencode

from beatwire.alerts.settings import Settings
from beatwire.errors import FatalError, UserError, reason
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.topics import check_allowed
from beatwire.page.desk import Desk
from beatwire.page.reader import Reader
from beatwire.page.ward import Ward
from beatwire.wire.names import ACKS, ALERTS, BEATS, SAMPLES

PORT = 8765
HOST = "127.0.0.1"
NEEDED = ("starlette", "uvicorn", "websockets")
SHORTEST_TOKEN = 16
_START_S = 20.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def missing_package() -> str | None:
    """Return the first package of the extra ``dashboard`` that is not installed; None if all are."""
    return next((name for name in NEEDED if importlib.util.find_spec(name) is None), None)


class Dashboard:
    """The page; a context manager.

    Parameters
    ----------
    host, port
        Where to listen; port 0 selects a free one.
    token
        What a browser must present; required if `host` is not this machine alone.
    writable
        Acknowledgements and limits may be published.
    model
        File of the scoring model whose plane is shown; None: the one in the package.
    settings
        Limits of the rules, where a stream has none of its own; None: the defaults.

    Attributes
    ----------
    url : str
        The address of the page, with the token.
    ward : Ward
        What is shown.

    Raises
    ------
    UserError
        The extra ``dashboard`` is not installed; a token is missing or short; the port is taken; no broker answers.
    """

    def __init__(
        self,
        cluster: Cluster,
        host: str = HOST,
        port: int = PORT,
        *,
        token: str | None = None,
        writable: bool = True,
        model: Path | None = None,
        settings: Settings | None = None,
    ) -> None:
        package = missing_package()
        if package is not None:
            raise UserError(f"dashboard: expected {package}; it is not installed (pip install 'beatwire[dashboard]')")
        if token is None and host not in _LOOPBACK:
            raise UserError(
                f"dashboard: expected --token with --host {host}, so that not everyone in the network can look; "
                f"got none (for instance --token {secrets.token_urlsafe(16)})"
            )
        if token is not None and len(token) < SHORTEST_TOKEN:
            raise UserError(f"dashboard: expected a token of {SHORTEST_TOKEN} characters or more; got {len(token)}")
        check_allowed(cluster, [SAMPLES, BEATS, ALERTS, ACKS])
        self._cluster, self._host, self._token, self._writable, self._model = cluster, host, token, writable, model
        self._socket = _listen(host, port)
        self._port = int(self._socket.getsockname()[1])
        self.ward = Ward()
        self._reader = Reader(cluster, self.ward)
        self._settings = settings or Settings()
        self._desk = Desk(cluster, self._settings)

    @property
    def url(self) -> str:
        """Return the address of the page."""
        shown = self._host if self._host not in ("0.0.0.0", "::", "") else socket.gethostname()  # noqa: S104
        shown = f"[{shown}]" if ":" in shown else shown
        query = urlencode({"token": self._token}, quote_via=quote) if self._token else ""
        return f"http://{shown}:{self._port}/" + (f"?{query}" if query else "")

    def check(self) -> None:
        """Raise the failure of a thread of this page, if there is one.

        Raises
        ------
        FatalError
            The reader or the web server has ended.
        """
        if isinstance(self._reader.failure, UserError):
            raise self._reader.failure
        if self._reader.failure is not None:
            raise FatalError(f"dashboard: the reader ended: {self._reader.failure!r}") from self._reader.failure
        if not self._thread.is_alive():
            raise FatalError(f"dashboard: the web server at {self.url} ended")

    def __enter__(self) -> Self:
        import uvicorn

        from beatwire.page.app import Page
        from beatwire.page.browser import MOST_TEXT
        from beatwire.page.connections import connection_class

        logging.getLogger("uvicorn.error").addHandler(logging.NullHandler())
        page = Page(self.ward, self._desk if self._writable else None, self._model, self._settings)
        config = uvicorn.Config(
            page.application(self._host, self._port, self._token), lifespan="off", log_config=None, access_log=False,
            ws="websockets-sansio", ws_per_message_deflate=False, ws_max_size=4 * MOST_TEXT, server_header=False,
            timeout_graceful_shutdown=1, h11_max_incomplete_event_size=16_384, http=connection_class(),
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="page-server", daemon=True
        )
        self._thread.start()
        deadline = time.monotonic() + _START_S
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise FatalError(f"dashboard: expected a server at {self.url}; it did not start")
            time.sleep(0.005)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(10.0)
        self._reader.close()
        self._desk.close()
        self._socket.close()


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens; the port is taken at once and not when the server starts."""
    listening = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        if listening is not None:
            listening.close()
        raise UserError(
            f"dashboard: expected to listen on {host}:{port}; got {reason(error)} (another --port?)"
        ) from error
    return listening
