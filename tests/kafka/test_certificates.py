"""Certificates that are not trusted, files that are not there, mechanisms that nobody set: each is named."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import trustme
from beatwire.errors import UserError
from beatwire.kafka.accepted import check_properties
from beatwire.kafka.certificates import distrust
from beatwire.kafka.cluster import Cluster

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@contextmanager
def server(authority: trustme.CA, name: str, **times: datetime) -> Iterator[str]:
    """Run what completes handshakes and then says nothing; yield its address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **times).configure_cert(context)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    with suppress(ssl.SSLError, ConnectionError), listening.accept()[0] as plain:
                        context.wrap_socket(plain, server_side=True).close()

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.mark.parametrize(
    ("times", "name", "reason"),
    [
        ({"not_before": NOW - 9 * DAY, "not_after": NOW - DAY}, "127.0.0.1", "certificate has expired"),
        ({"not_before": NOW + DAY, "not_after": NOW + 9 * DAY}, "127.0.0.1", "certificate is not yet valid"),
        ({}, "kafka.example.org", "IP address mismatch, certificate is not valid for '127.0.0.1'"),
    ],
    ids=["expired", "not yet valid", "another host"],
)
def test_a_certificate_that_is_not_trusted_is_refused_with_its_reason(
    authority: trustme.CA, tmp_path: Path, times: dict[str, Any], name: str, reason: str
) -> None:
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    with server(authority, name, **times) as address:
        cluster = Cluster(address, {"security.protocol": "SSL", "ssl.ca.location": str(path)})
        with pytest.raises(UserError, match=f"certificate verify failed: {address}: {reason}$"):
            cluster.metadata(10.0)


def test_an_authority_that_is_not_known_names_the_property(authority: trustme.CA) -> None:
    with server(authority, "127.0.0.1") as address:
        other = trustme.CA().cert_pem.bytes().decode()
        assert distrust(f"127.0.0.1:1,{address}", {"ssl.ca.pem": other}).endswith("(ssl.ca.location)")
        assert distrust(address, {"ssl.ca.pem": authority.cert_pem.bytes().decode()}) == ""
    with server(authority, "kafka.example.org") as address:
        known = {"ssl.ca.pem": authority.cert_pem.bytes().decode()}
        assert distrust(address, known | {"ssl.endpoint.identification.algorithm": "none"}) == ""
        assert distrust(address, known) != ""
    assert distrust("127.0.0.1:1", {"ssl.ca.pem": "no certificate"}) == ""


@pytest.mark.parametrize("name", ["ca", "key", "certificate"])
def test_a_file_that_is_not_there_is_named_with_its_property(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match=rf"expected ssl\.{name}\.location that can be read; got '.*none': No such"):
        check_properties({f"ssl.{name}.location": str(tmp_path / "none")})
    check_properties({"ssl.ca.location": "probe"})


def test_a_mechanism_that_was_not_set_is_named() -> None:
    with pytest.raises(UserError, match=r"expected sasl\.mechanisms of PLAIN, .*; got GSSAPI"):
        check_properties({"security.protocol": "SASL_PLAINTEXT"})
