"""What every request to the page must pass, and what every answer carries: the page's security.

In: ASGI scopes. Out: the application behind, or a refusal. State: the number of requests that are being answered.

A page on 127.0.0.1 can be reached by any web site that its user visits: by a name that resolves to 127.0.0.1 (so the
Host header must be a name of this server), and by a WebSocket, which browsers open across origins (so its Origin must
be this Host). Whoever comes over the network must have the token, once as ``?token=``, then as a cookie.
"""

import contextlib
import hashlib
import hmac
import socket
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from beatwire.page.connections import ADMITTED

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_ANY = ("0.0.0.0", "::", "")  # noqa: S104
_COOKIE_S = 30 * 24 * 3600
MOST_REQUESTS = 300  # that are answered at once; a WebSocket is none of them


class Guard:
    """ASGI middleware around the page.

    Parameters
    ----------
    app
        The application behind.
    host, port
        Where the server is bound.
    token
        What a browser must present; None: nothing.
    """

    def __init__(self, app: ASGIApp, host: str, port: int, token: str | None) -> None:
        self._app, self._token, self._requests = app, token, 0
        self._hosts = {f"{bracketed(name)}:{port}" for name in names_of(host)}
        if port == 80:
            self._hosts |= {bracketed(name) for name in names_of(host)}
        self._cookie = f"beatwire-{port}"
        # The same after a restart, so that screens stay in; slow, so that no token is guessed from a stolen cookie.
        self._secret = hashlib.scrypt((token or "").encode(), salt=b"beatwire page", n=1 << 14, r=8, p=1).hex()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or hand it on."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await _refuse(scope, receive, send, *refusal)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        admitted = scope.get("state", {}).get(ADMITTED)
        if admitted is not None:
            admitted()
        self._requests += 1
        try:
            await self._answer(scope, receive, _with_headers(send))
        finally:
            self._requests -= 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request over HTTP that is not refused."""
        asked = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        if self._requests > MOST_REQUESTS:
            await PlainTextResponse("beatwire: too many requests at once\n", 503)(scope, receive, send)
        elif self._token is not None and "token" in asked:
            await self._with_cookie(scope)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Return status and reason if the request is refused, None if it is not."""
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return 403, f"expected the address that beatwire printed; got the host {host[:80]!r}"
        if scope["type"] == "websocket":
            if headers.get("origin", "").lower() not in (f"http://{host}", f"https://{host}"):
                return 403, "expected a WebSocket opened by this page; got one of another origin"
        elif scope["method"] not in ("GET", "HEAD"):
            return 405, f"expected GET; got {scope['method'][:20]}"
        if self._token is None:
            return None
        asked = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        cookie = HTTPConnection(scope).cookies.get(self._cookie, "")
        if _same(asked.get("token", ""), self._token) or _same(cookie, self._secret):
            return None
        return 401, "expected the address with ?token= that beatwire printed; got no valid token"

    def _with_cookie(self, scope: Scope) -> RedirectResponse:
        """Return a redirection to the same address without the token, which the cookie replaces."""
        query = [(k, v) for k, v in parse_qsl(scope["query_string"].decode("latin-1")) if k != "token"]
        answer = RedirectResponse("/" + scope["path"].lstrip("/") + (f"?{urlencode(query)}" if query else ""), 303)
        answer.set_cookie(
            self._cookie, self._secret, max_age=_COOKIE_S, httponly=True, samesite="strict", secure=_over_tls(scope)
        )
        return answer


def _over_tls(scope: Scope) -> bool:
    """Return True if the browser has come by https, here or to a proxy in front."""
    forwarded = Headers(scope=scope).get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    return scope.get("scheme") == "https" or forwarded == "https"


def names_of(host: str) -> Iterable[str]:
    """Return the names under which a server bound to ``host`` is addressed."""
    if host in _LOOPBACK:
        return _LOOPBACK
    if host not in _ANY:
        return (host.lower(),)
    names = {*_LOOPBACK, socket.gethostname().lower(), socket.getfqdn().lower(), *_own_addresses()}
    return sorted(names)


def bracketed(host: str) -> str:
    """Return a host as it stands in an address.

    >>> bracketed("::1"), bracketed("localhost")
    ('[::1]', 'localhost')
    """
    return f"[{host}]" if ":" in host else host


def _own_addresses() -> set[str]:
    """Return the addresses of this machine that its name resolves to, and the one of its default route."""
    found: set[str] = set()
    with contextlib.suppress(OSError):
        found |= {str(info[4][0]).split("%")[0] for info in socket.getaddrinfo(socket.gethostname(), None)}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(("192.0.2.1", 9))  # an address for documentation; connecting a datagram socket sends nothing
        found.add(probe.getsockname()[0])
    return found


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode(), expected.encode())


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return send_with_headers


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
    answer = PlainTextResponse(f"beatwire: {reason}\n", status)
    if scope["type"] == "websocket":
        await WebSocket(scope, receive, send).send_denial_response(answer)
    else:
        await answer(scope, receive, _with_headers(send))
