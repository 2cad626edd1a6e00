"""Connections to the live page: whoever sends nothing, or no token, keeps nobody from it."""

import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest
from beatwire.kafka.local.mock import MockKafka
from beatwire.page import connections
from beatwire.page.dashboard import Dashboard
from moments import LIMIT_S
from page_client import Client, get

TOKEN = "a-token-of-24-characters"
IDLE = 600


@pytest.fixture(scope="module")
def page(mock: MockKafka) -> Iterator[Dashboard]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * IDLE)), hard))
    with Dashboard(mock.cluster, port=0, token=TOKEN) as page:
        yield page
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def opened(page: Dashboard, sent: bytes = b"") -> socket.socket:
    host, port = page.url.split("/")[2].split(":")
    made = socket.create_connection((host, int(port)), timeout=LIMIT_S)
    made.sendall(sent)
    return made


def is_closed(one: socket.socket, each: Callable[[], None] = lambda: None) -> bool:
    """Return True if the server closes a connection, on which ``each`` may go on sending."""
    one.settimeout(0.1)
    deadline = time.monotonic() + LIMIT_S
    while time.monotonic() < deadline:
        try:
            each()
            if one.recv(65_536) == b"":
                return True
        except TimeoutError:
            continue
        except OSError:
            return True
    return False


@pytest.mark.parametrize(
    "sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"]
)
def test_600_connections_without_a_token_delay_no_request_that_has_one(
    page: Dashboard, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "WAIT_S", 1e6)
    for hurry_s in (1e6, 0.2):  # none of them is closed meanwhile; all but 200 are closed
        monkeypatch.setattr(connections, "HURRY_S", hurry_s)
        with ExitStack() as kept:
            idle = [kept.enter_context(opened(page, sent)) for _ in range(IDLE)]
            if hurry_s < 1.0:
                assert is_closed(idle[IDLE - connections.MOST_WAITING - 1])
            monkeypatch.setattr(connections, "HURRY_S", 1e6)
            status, headers, _ = get(page.url)
            cookie = headers["set-cookie"].split("; ")[0]
            assert (status, get(page.url.split("?")[0], Cookie=cookie)[0]) == (303, 200)
            with Client(page.url.split("?")[0], additional_headers={"Cookie": cookie}) as client:
                client.expect("hello")


def test_a_connection_that_presents_no_token_is_closed_whatever_it_sends(
    page: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "WAIT_S", 0.5)
    refused = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    for head, more in ((b"", b""), (b"GET / HTTP/1.1\r\nHost: x\r\n", b"X-A: b\r\n"), (refused, refused)):
        with opened(page, head) as one:
            assert is_closed(one, lambda one=one, more=more: one.sendall(more))  # type: ignore[misc]


def test_a_connection_with_a_token_may_be_used_again_and_a_websocket_stays_open(
    page: Dashboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "WAIT_S", 1.5)
    request = f"GET /?token={TOKEN} HTTP/1.1\r\nHost: {page.url.split('/')[2]}\r\n\r\n".encode()
    with Client(page.url) as client:
        for _ in range(20):
            with opened(page) as one:
                longest_s, at_s, answers = 0.0, time.monotonic(), []
                for _ in range(3):
                    time.sleep(0.7)
                    with suppress(ConnectionError):  # it was closed
                        one.sendall(request)
                        answers.append(one.recv(4096))
                    longest_s, at_s = max(longest_s, time.monotonic() - at_s), time.monotonic()
                if longest_s > 1.4:  # the machine was busy: that it was closed, or not, says nothing
                    continue
                assert [b"303 See Other" in answer for answer in answers] == [True] * 3
                assert is_closed(one)
                break
        client.send(type="ward", query="", offset=0, limit=1)
        client.expect("ward")
