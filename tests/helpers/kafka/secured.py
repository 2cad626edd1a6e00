"""A broker with TLS, users and ACLs: certificates by trustme, users by SCRAM, Kafka's own authorizer."""

import json
import re
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Self

import trustme
from beatwire.kafka.local.broker import LocalKafka, Security
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType
from cryptography.hazmat.primitives import serialization

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "security.md"
USERS = ("topics", "producer", "monitor", "tail", "dashboard", "ack", "limits", "nobody")
_ROW = re.compile(r"^\| *`(\w+)` *\| *(\w[\w ]*?) *\| *(`[^|]+`) *\| *(\w+) *\| *([A-Z][\w, ]+?) *\|", re.MULTILINE)
_SERVER = """\
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin;User:ANONYMOUS
sasl.enabled.mechanisms=SCRAM-SHA-512,OAUTHBEARER
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule \
required username="admin" password="{password}";
# Kafka's own module takes tokens without a signature.
listener.name.sasl_ssl.oauthbearer.sasl.jaas.config=\
org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="admin";
"""
_TLS = """\
ssl.keystore.type=PEM
ssl.keystore.location={folder}/server.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/ca.pem
"""


@dataclass(frozen=True)
class Acl:
    """A row of the table in docs/how-to/security.md."""

    command: str
    resource: str
    name: str
    pattern: str
    operations: tuple[str, ...]

    def bindings(self, principal: str) -> list[AclBinding]:
        kinds = {"topic": ResourceType.TOPIC, "group": ResourceType.GROUP}
        kind = kinds.get(self.resource, ResourceType.TRANSACTIONAL_ID)
        pattern = ResourcePatternType[self.pattern.upper()]
        return [
            AclBinding(
                kind, self.name, pattern, f"User:{principal}", "*", AclOperation[operation.upper()],
                AclPermissionType.ALLOW,
            )
            for operation in self.operations
        ]  # fmt: skip


def documented_acls() -> list[Acl]:
    """Return the table of docs/how-to/security.md, as it is written."""
    text = PAGE.read_text()
    return [
        Acl(command, resource, name, pattern, tuple(operations.split(", ")))
        for command, resource, names, pattern, operations in _ROW.findall(text)
        for name in re.findall(r"`([^`]+)`", names)
    ]


def allow(kafka: LocalKafka, acls: list[Acl]) -> None:
    """Give each command's user the ACLs of its command."""
    bindings = [binding for acl in acls for binding in acl.bindings(acl.command)]
    admin = kafka.cluster.admin()
    for future in admin.create_acls(bindings).values():
        future.result(10.0)


class Certificates:
    """An authority, the certificate of the broker, and those of clients, as PEM files of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._authority = trustme.CA()
        self._authority.cert_pem.write_to_path(str(folder / "ca.pem"))
        self.issue("server", "127.0.0.1")

    def issue(self, name: str, identity: str) -> Path:
        """Write NAME.pem: a key in the form that Kafka reads, and the certificate."""
        made = self._authority.issue_cert(identity, common_name=name)
        key = serialization.load_pem_private_key(made.private_key_pem.bytes(), None)
        form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        path = self.folder / f"{name}.pem"
        path.write_bytes(key.private_bytes(*form) + b"".join(blob.bytes() for blob in made.cert_chain_pems))
        path.chmod(0o600)
        return path


def scram(certificates: Certificates, user: str, password: str) -> dict[str, str]:
    """Return the properties of a client with a user and a password."""
    return {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(certificates.folder / "ca.pem"),
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": user,
        "sasl.password": password,
    }


def by_token(certificates: Certificates, url: str, user: str, password: str) -> dict[str, str]:
    """Return the properties of a client that fetches a token; see `TokenServer`."""
    return {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(certificates.folder / "ca.pem"),
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": user,
        "sasl.oauthbearer.client.secret": password,
        "sasl.oauthbearer.token.endpoint.url": url,
    }


class TokenServer(HTTPServer):
    """An identity provider that gives whoever knows their password a token of five minutes, without a signature."""

    def __init__(self, passwords: dict[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Tokens)
        self.passwords = passwords
        self.url = f"http://127.0.0.1:{self.server_port}/token"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Tokens(BaseHTTPRequestHandler):
    server: TokenServer

    def do_POST(self) -> None:
        user, _, password = b64decode(self.headers["Authorization"].removeprefix("Basic ")).decode().partition(":")
        accepted, now_s = self.server.passwords.get(user) == password, int(time.time())
        claims = {"sub": user, "iat": now_s, "exp": now_s + 300}
        token = ".".join(
            urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in ({"alg": "none"}, claims)
        )
        body = {"access_token": f"{token}.", "expires_in": 300} if accepted else {"error": "invalid_client"}
        self.send_response(200 if accepted else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def with_users(certificates: Certificates, passwords: dict[str, str]) -> Security:
    """Return the security of a broker that knows users by their passwords; ``admin`` may do everything."""
    users = [f"SCRAM-SHA-512=[name={name},password={password}]" for name, password in passwords.items()]
    lines = _SERVER.format(password=passwords["admin"]) + _TLS.format(folder=certificates.folder)
    return Security("SASL_SSL", lines, users, scram(certificates, "admin", passwords["admin"]))


def with_certificates(certificates: Certificates) -> Security:
    """Return the security of a broker that knows its clients by the names in their certificates."""
    admin = certificates.issue("admin", "admin.example.org")
    lines = _TLS.format(folder=certificates.folder) + (
        "ssl.client.auth=required\n"
        "ssl.principal.mapping.rules=RULE:^.*CN=([a-z]+).*$/$1/,DEFAULT\n"
        "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n"
        "super.users=User:admin;User:server;User:ANONYMOUS\n"
    )
    return Security("SSL", lines, (), by_certificate(certificates, admin))


def by_certificate(certificates: Certificates, path: Path) -> dict[str, str]:
    """Return the properties of a client with a certificate."""
    return {
        "security.protocol": "SSL",
        "ssl.ca.location": str(certificates.folder / "ca.pem"),
        "ssl.certificate.location": str(path),
        "ssl.key.location": str(path),
    }
