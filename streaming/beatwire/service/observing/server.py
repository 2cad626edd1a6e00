"""The HTTP server of a monitor: ``/metrics``, ``/healthz`` and ``/readyz`` on one port.

In: an `Answers`, asked at each request by a thread of its own, so a loop that stands still is reported. Out: metrics in
Prometheus' text format; probes as JSON with status 200 or 503; anything else is 404.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Protocol, Self

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from beatwire.errors import UserError
from beatwire.service.observing.health import Verdict

PATHS = ("/metrics", "/healthz", "/readyz")


class Answers(Protocol):
    """What is served; called by several threads."""

    def registry(self) -> CollectorRegistry:
        """Return the metrics."""

    def healthy(self) -> Verdict:
        """Return whether the process works."""

    def ready(self) -> Verdict:
        """Return whether it covers its streams."""


class _HttpServer(ThreadingHTTPServer):
    """Does not look up the name of its host, which takes seconds where no name server answers."""

    def server_bind(self) -> None:
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "beatwire", int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that has left: a traceback would break the lines of the log."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Server:
    """Serves answers while the block runs.

    Parameters
    ----------
    answers
        What is served.
    host, port
        Where to listen; port 0 selects a free one.

    Attributes
    ----------
    port : int
        The TCP port.
    place : str
        ``host:port``.

    Raises
    ------
    UserError
        The port cannot be used.
    """

    def __init__(self, answers: Answers, host: str, port: int) -> None:
        try:
            self._server = _HttpServer((host, port), _handler_of(answers))
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or "a port is 0-65535"
            raise UserError(f"metrics: expected to listen on {host}:{port}; got: {reason}") from None
        self.port = self._server.server_port
        self.place = f"{host}:{self.port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="metrics", daemon=True
        )  # fmt: skip

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler_of(answers: Answers) -> type[BaseHTTPRequestHandler]:
    """Return the class of request handlers that serve `answers`."""

    class Handler(BaseHTTPRequestHandler):
        timeout = 10.0  # seconds that a client may take to send its request

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/metrics":
                encode, content_type = choose_encoder(self.headers.get("Accept", ""))
                self._send(200, content_type, encode(answers.registry()))
            elif path in PATHS:
                verdict = answers.healthy() if path == "/healthz" else answers.ready()
                self._send_json(200 if verdict.ok else 503, verdict.body)
            else:
                self._send_json(404, {"status": "not found", "reason": f"expected one of {', '.join(PATHS)}"})

        def _send_json(self, status: int, body: dict[str, Any]) -> None:
            self._send(status, "application/json", json.dumps(body).encode() + b"\n")

        def _send(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log no requests: probes arrive every few seconds."""

    return Handler
