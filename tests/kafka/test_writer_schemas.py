"""Schemas of writers, looked up by id: once, again after an outage, never for long, and bounded in a flood."""

import json
import threading
import time
from collections.abc import Callable

import pytest
from beatwire.kafka.schemas import writer_schemas
from beatwire.kafka.schemas.registry import Registry
from beatwire.kafka.schemas.writer_schemas import WriterSchemas
from beatwire.wire.avro import frame
from beatwire.wire.names import SAMPLES
from beatwire.wire.writers import ABSENT, NOT_ASKED, Refusal
from moments import LIMIT_S, wait_until
from registry_server import RegistryServer
from steps import decoded
from writer_schemas import ours, with_field, without

SUBJECT = "ecg.samples-value"


class Reports(list[str]):
    """The sentences of a thread, with a wait for so many of them."""

    def __init__(self) -> None:
        super().__init__()
        self._grown = threading.Condition()

    def append(self, text: str) -> None:
        with self._grown:
            super().append(text)
            self._grown.notify_all()

    def wait(self, count: int) -> None:
        with self._grown:
            assert self._grown.wait_for(lambda: len(self) >= count, LIMIT_S), self


def known(schemas: WriterSchemas, *ids: int) -> list[str]:
    """Ask for ids until all have an answer; return the answers."""
    wait_until(lambda: not schemas.missing(ids))
    return [schemas.known[k] for k in ids]


def test_an_id_is_looked_up_once_and_one_that_was_given_never(
    server: RegistryServer, opened: Callable[..., Registry]
) -> None:
    ids = [server.add(SUBJECT, schema) for schema in (ours(), with_field())]
    registry = opened(server.url)
    with WriterSchemas(registry, registry.versions(SAMPLES), print) as schemas:
        before = len(server.requests)
        assert not schemas.missing(ids)
        other = server.add("other-value", without("session"))
        assert known(schemas, other, *ids)[0] == json.dumps(without("session"))
        assert not schemas.missing([other, *ids])
    assert [request.partition("?")[0] for request in server.requests[before:]] == [f"GET /schemas/ids/{other}"]


def test_an_id_that_does_not_exist_is_refused_and_asked_again_later(
    server: RegistryServer, monkeypatch: pytest.MonkeyPatch, opened: Callable[..., Registry]
) -> None:
    with WriterSchemas(opened(server.url), {}, print) as schemas:
        assert known(schemas, 1) == [ABSENT]
        server.add(SUBJECT, ours())
        assert known(schemas, 1) == [ABSENT]
        monkeypatch.setattr(writer_schemas, "ABSENT_S", 0.0)

        def asked_again() -> bool:
            assert not schemas.missing([1])  # what is known is used until the new answer
            return schemas.known[1] != ABSENT

        wait_until(asked_again)
        assert schemas.known[1] == json.dumps(ours())


def test_a_registry_that_is_away_is_reported_once_and_asked_until_it_answers(
    server: RegistryServer, opened: Callable[..., Registry]
) -> None:
    schema_id = server.add(SUBJECT, ours())
    reports = Reports()
    server.stop()
    with WriterSchemas(opened(server.url), {}, reports.append) as schemas:
        assert schemas.missing([schema_id]) == {schema_id}
        reports.wait(1)
        server.start()
        assert known(schemas, schema_id) == [json.dumps(ours())]
        reports.wait(2)
    assert reports[0].startswith(f"registry: expected an answer of {server.url} about 1 schema ids; got ")
    assert reports[1:] == [f"the schema registry at {server.url} answers again"]


def test_a_broken_registry_is_asked_again_too(server: RegistryServer, opened: Callable[..., Registry]) -> None:
    schema_id = server.add(SUBJECT, ours())
    reports, server.broken = Reports(), True
    with WriterSchemas(opened(server.url), {}, reports.append) as schemas:
        assert schemas.missing([schema_id])
        reports.wait(1)
        server.broken = False
        assert known(schemas, schema_id) == [json.dumps(ours())]


@pytest.mark.parametrize(("status", "code"), [(404, 404), (404, 40403), (400, 400), (422, 42201), (410, 41001)])
def test_a_registry_that_refuses_an_id_is_not_away(
    server: RegistryServer, opened: Callable[..., Registry], status: int, code: int
) -> None:
    server.answers[7] = (status, {"error_code": code, "message": "no"})
    with WriterSchemas(opened(server.url), {}, print) as schemas:
        (answer,) = known(schemas, 7)
    assert isinstance(answer, Refusal)
    assert answer == (ABSENT if status == 404 else f"is refused by the schema registry: {answer.rpartition(': ')[2]}")


@pytest.mark.parametrize("status", [500, 503, 429, 408])
def test_a_registry_that_cannot_answer_at_the_moment_is_asked_again(
    server: RegistryServer, opened: Callable[..., Registry], status: int
) -> None:
    schema_id = server.add(SUBJECT, ours())
    server.answers[schema_id] = (status, {"error_code": status, "message": "later"})
    reports = Reports()
    with WriterSchemas(opened(server.url), {}, reports.append) as schemas:
        assert schemas.missing([schema_id]) == {schema_id}
        reports.wait(1)
        server.answers.clear()
        assert known(schemas, schema_id) == [json.dumps(ours())]


@pytest.mark.parametrize("status", [401, 403])
def test_a_registry_that_does_not_allow_to_ask_is_reported_as_that(
    server: RegistryServer, opened: Callable[..., Registry], status: int
) -> None:
    server.answers[7] = (status, {"error_code": status, "message": "denied"})
    reports = Reports()
    with WriterSchemas(opened(server.url), {}, reports.append) as schemas:
        schemas.missing([7])
        reports.wait(1)
    assert "expected rights to read schemas (registry.user_info)" in reports[0]


@pytest.mark.parametrize("schema_id", [2**31, 2**32 - 1])
def test_no_registry_is_asked_for_an_id_beyond_31_bits(
    server: RegistryServer, opened: Callable[..., Registry], schema_id: int
) -> None:
    with WriterSchemas(opened(server.url), {}, print) as schemas:
        assert not schemas.missing([schema_id])
    assert server.requests == []


def test_a_flood_of_unknown_ids_is_passed_over_and_one_that_comes_again_is_looked_up(
    server: RegistryServer, opened: Callable[..., Registry], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_schemas, "WINDOW_S", 3600.0)
    ours_id = server.add(SUBJECT, ours())
    with WriterSchemas(opened(server.url), {}, print) as schemas:
        flood = range(1000, 3000)
        waits = schemas.missing(flood)
        assert len(waits) == writer_schemas.BUDGET
        assert not schemas.missing([ours_id])  # one of the flood, as far as is known: its message is rejected
        assert not schemas.missing([ours_id])  # comes again
        assert known(schemas, *waits) == [ABSENT] * len(waits)
        wait_until(lambda: ours_id in schemas.known)
        assert schemas.known[ours_id] == json.dumps(ours())
        assert len(server.requests) <= 2 * writer_schemas.BUDGET


@pytest.mark.slow  # thousands of requests
def test_what_is_kept_of_a_flood_is_bounded(
    server: RegistryServer, opened: Callable[..., Registry], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOST_REFUSALS", "_MOST_WANTED"):
        monkeypatch.setattr(writer_schemas, name, 50)
    monkeypatch.setattr(writer_schemas, "BUDGET", 10_000)
    with WriterSchemas(opened(server.url), {}, print) as schemas:
        for k in range(300):
            known(schemas, *schemas.missing([1000 + k]))
        assert len(schemas.known) <= 50
        assert not schemas.missing(range(5000, 5010)) - schemas._wanted.keys()
        assert len(schemas._passed) <= 50


def test_an_id_is_waited_for_no_longer_than_stated_and_no_other_one_after_it(
    server: RegistryServer, opened: Callable[..., Registry], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_schemas, "HOLD_S", 0.3)
    schema_id = server.add(SUBJECT, ours())
    reports = Reports()
    server.stop()
    with WriterSchemas(opened(server.url), {}, reports.append) as schemas:
        assert schemas.missing([schema_id]) == schemas.waiting([schema_id]) == {schema_id}
        reports.wait(1)
        wait_until(lambda: not schemas.waiting([schema_id]))
        assert not schemas.missing([schema_id])
        wait_until(lambda: schemas._away_s is not None and time.monotonic() - schemas._away_s > writer_schemas.HOLD_S)
        assert not schemas.missing([77])
        server.start()
        wait_until(lambda: schemas.missing([schema_id]) is not None and schema_id in schemas.known)
        assert schemas.known[schema_id] == json.dumps(ours())


def test_a_message_whose_id_was_passed_over_is_rejected_with_that_reason() -> None:
    rejects = decoded([frame(b"x" * 20, 99)], schemas={}).rejects
    assert rejects.reason == [f"decode: schema id 99 {NOT_ASKED}"]
