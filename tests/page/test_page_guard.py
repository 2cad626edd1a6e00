"""Who may look at the live page: host names, origins, tokens, and the headers of every answer."""

from collections.abc import Iterator

import pytest
from beatwire.errors import UserError
from beatwire.kafka.local.mock import MockKafka
from beatwire.page.dashboard import Dashboard
from beatwire.page.guard import names_of
from page_client import Client, get
from websockets.exceptions import InvalidStatus

TOKEN = "a-token-of-24-characters"


@pytest.fixture(scope="module")
def page(mock: MockKafka) -> Iterator[Dashboard]:
    with Dashboard(mock.cluster, port=0) as page:
        yield page


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "http://127.0.0.1:1", "null", None, "http://[", "http://", "[", "file:"]
)
def test_a_websocket_of_another_origin_is_refused(page: Dashboard, origin: str | None) -> None:
    with pytest.raises(InvalidStatus) as refused:
        Client(page.url, origin=origin)
    assert refused.value.response.status_code == 403
    assert b"another origin" in refused.value.response.body


def test_a_name_that_is_not_this_servers_is_refused(page: Dashboard) -> None:
    port = page.url.rsplit(":", 1)[1].strip("/")
    assert get(page.url, Host=f"localhost:{port}")[0] == 200
    for host in (f"evil.example:{port}", "127.0.0.1:1", "localhost"):
        status, headers, text = get(page.url, Host=host)
        assert (status, "got the host" in text) == (403, True)
        assert "content-security-policy" in headers


@pytest.mark.parametrize("path", ["", "static/index.html", "rules.json", "population.json", "static/none.js"])
def test_every_answer_carries_the_policies(page: Dashboard, path: str) -> None:
    status, headers, _ = get(page.url + path)
    assert status == (404 if "none" in path else 200)
    assert "default-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-cache"
    assert "uvicorn" not in str(headers)


@pytest.mark.parametrize("path", ["static/../app.py", "static/%2e%2e/app.py", "static//etc/passwd"])
def test_nothing_outside_the_folder_of_the_page_is_served(page: Dashboard, path: str) -> None:
    assert get(page.url + path)[0] == 404


def test_a_token_is_needed_once_and_then_its_cookie(mock: MockKafka) -> None:
    with Dashboard(mock.cluster, port=0, token=TOKEN) as page:
        base = page.url.split("?")[0]
        assert page.url == f"{base}?token={TOKEN}"
        assert get(base + "rules.json")[0] == 401
        assert get(base + "?token=another-one-of-24-letters")[0] == 401
        status, headers, _ = get(page.url)
        assert (status, headers["location"]) == (303, "/")
        cookie, *attributes = headers["set-cookie"].split("; ")
        assert {"HttpOnly", "SameSite=strict"} <= set(attributes)
        assert TOKEN not in cookie
        assert "Secure" not in attributes
        assert "Secure" in get(page.url, **{"X-Forwarded-Proto": "https"})[1]["set-cookie"]
        assert get(base, Cookie=cookie)[0] == 200
        for url, extra in ((base, {}), (base, {"additional_headers": {"Cookie": cookie + "x"}})):
            with pytest.raises(InvalidStatus) as refused:
                Client(url, **extra)
            assert refused.value.response.status_code == 401
        with Client(base, additional_headers={"Cookie": cookie}) as client:
            client.expect("hello")


@pytest.mark.parametrize(
    "token", ["kF+/8v3Qb2n0Zw==", "with a blank & more", "100%41#anchor?x=y", "Prüfstation-Zürich", "a;b,c=d" * 3]
)
def test_the_address_that_the_page_prints_works_with_every_token(mock: MockKafka, token: str) -> None:
    with Dashboard(mock.cluster, port=0, token=token) as page:
        assert page.url.isascii()
        assert " " not in page.url
        assert get(page.url)[0] == 303
        with Client(page.url) as client:
            client.expect("hello")


def test_a_page_for_the_network_needs_a_token_and_a_free_port(mock: MockKafka, page: Dashboard) -> None:
    with pytest.raises(UserError, match="expected --token with --host"):
        Dashboard(mock.cluster, "0.0.0.0")
    with pytest.raises(UserError, match="expected a token of 16 characters or more; got 5"):
        Dashboard(mock.cluster, "0.0.0.0", token="short")
    with pytest.raises(UserError, match=r"expected to listen on 127\.0\.0\.1:"):
        Dashboard(mock.cluster, port=int(page.url.rsplit(":", 1)[1].strip("/")))
    assert {"127.0.0.1", "localhost"} < set(names_of("0.0.0.0"))
    assert set(names_of("10.1.2.3")) == {"10.1.2.3"}
