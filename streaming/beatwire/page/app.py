"""The web application: routes of the page, behind the guard.

In: a ``Ward`` to show and, where the page may publish what staff enter, a ``Desk``. Out: an ASGI application. State:
the number of browsers.
"""

import json
import time
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from beatwire.alerts.settings import Settings
from beatwire.model.checkpoint import load_model
from beatwire.page import protocol
from beatwire.page.browser import Browser
from beatwire.page.desk import Desk
from beatwire.page.guard import Guard
from beatwire.page.population import population
from beatwire.page.rules import rule_list
from beatwire.page.ward import Ward

STATIC = Path(str(files("beatwire.page"))) / "static"
MOST_BROWSERS = 100


class Page:
    """The routes.

    Parameters
    ----------
    ward
        What is shown.
    desk
        Publishes what staff enter; None: the page is read-only.
    model
        File of the scoring model; None: the one in the package.
    settings
        Limits of the rules, where a stream has none of its own.
    """

    def __init__(
        self, ward: Ward, desk: Desk | None = None, model: Path | None = None, settings: Settings | None = None
    ) -> None:
        self._ward, self._desk, self._model_path = ward, desk, model
        self._settings = settings or Settings()
        self.browsers = 0

    def application(self, host: str, port: int, token: str | None) -> ASGIApp:
        """Return the application for a server bound to ``host`` and ``port``."""
        routes = [
            Route("/", self._index),
            Route("/population.json", self._population),
            Route("/rules.json", self._rules),
            Mount("/static", StaticFiles(directory=STATIC)),
            WebSocketRoute("/live", self._live),
        ]
        return Guard(Starlette(routes=routes), host, port, token)

    def _index(self, _: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    def _population(self, _: Request) -> Response:
        return Response(_population_text(self._model_path), media_type="application/json")

    def _rules(self, _: Request) -> Response:
        return Response(_rules_text(self._settings, self._model_path), media_type="application/json")

    async def _live(self, socket: WebSocket) -> None:
        if self.browsers >= MOST_BROWSERS:
            await socket.accept()  # a browser cannot read why a handshake is refused
            await socket.close(1013, f"The server takes no more than {MOST_BROWSERS} browsers")
            return
        self.browsers += 1
        try:
            await socket.accept()
            await socket.send_text(json.dumps(self._hello()))
            await Browser(socket, self._ward, self._desk).run()
        finally:
            self.browsers -= 1

    def _hello(self) -> dict[str, Any]:
        return {
            "type": "hello",
            "protocol": protocol.VERSION,
            "now_us": time.time_ns() // 1000,
            "version": version("beatwire"),
            "writable": self._desk is not None,
        }


@cache
def _population_text(model: Path | None) -> str:
    return json.dumps(population(load_model(model), model))


@cache
def _rules_text(settings: Settings, model: Path | None) -> str:
    return json.dumps(rule_list(settings, load_model(model).reference.limit))
