"""A Schema Registry for tests: the part of Confluent's HTTP interface that beatwire's client uses, in memory.

Compatibility is that of fastavro: a value of the newest version must be readable with the schema that is registered.
JSON schemas are always compatible. tests/integration/service/test_registry_apicurio.py runs the same requests on a real
one.
"""

import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote

import fastavro
from fastavro.utils import generate_one

NO_SUBJECT, NO_VERSION, NO_SCHEMA, INCOMPATIBLE = (404, 40401), (404, 40402), (404, 40403), (409, 409)


class RegistryServer:
    """The server; it can go away and come again under the same address.

    requests       method and path of every request so far
    broken         answer every request with status 500
    answers        id -> status and content of the answer about it
    authorization  the header that every request must have; None: everybody may ask
    """

    def __init__(self) -> None:
        self.requests: list[str] = []
        self.broken = False
        self.authorization: str | None = None
        self.levels: dict[str, str] = {}
        self.subjects: dict[str, list[int]] = {}
        self.schemas: dict[int, dict[str, str]] = {}
        self.answers: dict[int, tuple[int, Any]] = {}
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                registry.requests.append(f"{self.command} {self.path}")
                if registry.broken:
                    found: tuple[int, Any] = (500, {"error_code": 50001, "message": "out of order"})
                elif registry.authorization not in (None, self.headers.get("Authorization")):
                    found = (401, {"error_code": 401, "message": "Unauthorized"})
                else:
                    found = registry.answer(self.command, unquote(self.path).split("?")[0], json.loads(body or b"{}"))
                status, content = found
                text = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = answer

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self._port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def add(self, subject: str, schema: Any, kind: str = "AVRO") -> int:
        """Register a schema without any check; return its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        schema = {"schema": text, "schemaType": kind}
        schema_id = next((k for k, known in self.schemas.items() if known == schema), len(self.schemas) + 1)
        self.schemas[schema_id] = schema
        versions = self.subjects.setdefault(subject, [])
        if schema_id not in versions:
            versions.append(schema_id)
        return schema_id

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        match [method, *path.strip("/").split("/")]:
            case ["GET", "schemas", "ids", number]:
                if int(number) in self.answers:
                    return self.answers[int(number)]
                found = self.schemas.get(int(number))
                return (200, found) if found else error(NO_SCHEMA)
            case ["GET", "config", subject] if subject in self.levels:
                return 200, {"compatibilityLevel": self.levels[subject]}
            case ["PUT", "config", subject]:
                self.levels[subject] = body["compatibility"]
                return 200, {"compatibility": body["compatibility"]}
            case [_, "subjects", subject, *_] if method == "GET" and subject not in self.subjects:
                return error(NO_SUBJECT)
            case ["GET", "subjects", subject, "versions"]:
                return 200, list(range(1, 1 + len(self.subjects[subject])))
            case ["GET", "subjects", subject, "versions", number]:
                return self._version(subject, int(number))
            case ["POST", "subjects", subject]:
                return self._look_up(subject, body)
            case ["POST", "subjects", subject, "versions"]:
                return self._register(subject, body)
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _version(self, subject: str, number: int) -> tuple[int, Any]:
        if not 1 <= number <= len(self.subjects[subject]):
            return error(NO_VERSION)
        schema_id = self.subjects[subject][number - 1]
        return 200, {"subject": subject, "id": schema_id, "version": number} | self.schemas[schema_id]

    def _look_up(self, subject: str, body: dict[str, Any]) -> tuple[int, Any]:
        if subject not in self.subjects:
            return error(NO_SUBJECT)
        for number, schema_id in enumerate(self.subjects[subject], 1):
            if self.schemas[schema_id]["schema"] == body["schema"]:
                return self._version(subject, number)
        return error(NO_SCHEMA)

    def _register(self, subject: str, body: dict[str, Any]) -> tuple[int, Any]:
        kind = body.get("schemaType", "AVRO")
        newest = self.subjects.get(subject, [])[-1:]
        if newest and kind == "AVRO" and self.levels.get(subject) == "BACKWARD":
            try:
                reads(json.loads(body["schema"]), json.loads(self.schemas[newest[0]]["schema"]))
            except fastavro.read.SchemaResolutionError as cause:
                return error(INCOMPATIBLE, f"Schema being registered is incompatible: {cause}"[:200])
        return 200, {"id": self.add(subject, body["schema"], kind)}


def reads(reader: Any, writer: Any) -> None:
    """Raise if values of a writer's schema cannot be read with another."""
    parsed, buffer = fastavro.parse_schema(writer), io.BytesIO()
    fastavro.schemaless_writer(buffer, parsed, generate_one(parsed))
    buffer.seek(0)
    fastavro.schemaless_reader(buffer, parsed, fastavro.parse_schema(reader))


def error(code: tuple[int, int], message: str = "not found") -> tuple[int, Any]:
    return code[0], {"error_code": code[1], "message": message}
