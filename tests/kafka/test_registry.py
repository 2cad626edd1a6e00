"""The client of the Schema Registry against its protocol: what is registered, looked up, and refused."""

import base64
import json
from collections.abc import Callable

import pytest
from beatwire.errors import FatalError, UserError
from beatwire.kafka.schemas.registry import Registered, Registry
from beatwire.kafka.topics import TOPICS
from beatwire.wire.names import DEAD_LETTERS, SAMPLES
from beatwire.wire.schema_files import BUNDLES, SCHEMAS, subject_of
from registry_server import RegistryServer
from writer_schemas import ours, with_field, without

SUBJECT = "ecg.samples-value"


def test_every_topic_with_a_schema_is_registered_once_and_kept_compatible(
    server: RegistryServer, opened: Callable[..., Registry]
) -> None:
    registry = opened(server.url)
    first = [registry.register(name) for name in SCHEMAS]
    assert set(SCHEMAS) - {BUNDLES} == set(TOPICS) - {DEAD_LETTERS}
    assert first == [Registered(subject_of(name), k, new=True) for k, name in enumerate(SCHEMAS, 1)]
    assert [registry.register(name) for name in SCHEMAS] == [one._replace(new=False) for one in first]
    assert server.levels == dict.fromkeys(map(subject_of, SCHEMAS), "BACKWARD")
    assert {server.schemas[one.schema_id]["schemaType"] for one in first} == {"AVRO", "JSON"}


def test_a_topic_with_a_prefix_has_a_subject_of_its_own(
    server: RegistryServer, opened: Callable[..., Registry]
) -> None:
    assert opened(server.url).register(SAMPLES, f"icu.{SAMPLES}").subject == "icu.ecg.samples-value"


def test_a_schema_that_is_not_compatible_with_the_registered_one_is_an_error_with_the_reason(
    server: RegistryServer, opened: Callable[..., Registry]
) -> None:
    server.add(SUBJECT, without("rate_hz"))
    with pytest.raises(UserError, match=r"to accept sample_chunk\.avsc as BACKWARD compatible .*rate_hz") as refused:
        opened(server.url).register(SAMPLES)
    assert "\n" not in str(refused.value)


def test_the_id_of_our_schema_is_found_once_it_is_registered(
    server: RegistryServer, opened: Callable[..., Registry]
) -> None:
    registry = opened(server.url)
    with pytest.raises(UserError, match=r"beatwire topics --registry registers it"):
        registry.schema_id(SAMPLES)
    server.add("other-value", with_field())
    assert registry.register(SAMPLES).schema_id == registry.schema_id(SAMPLES) == 2


def test_the_versions_of_a_topic_are_returned_by_id(server: RegistryServer, opened: Callable[..., Registry]) -> None:
    assert opened(server.url).versions(SAMPLES) == {}
    server.add("other-value", with_field("x"))
    ids = [server.add(SUBJECT, schema) for schema in (ours(), with_field())]
    assert opened(server.url).versions(SAMPLES) == {ids[0]: json.dumps(ours()), ids[1]: json.dumps(with_field())}


def test_an_address_without_a_registry_is_an_error_of_one_line(
    server: RegistryServer, opened: Callable[..., Registry]
) -> None:
    server.stop()
    with pytest.raises(UserError, match=rf"^registry: expected a Schema Registry at {server.url}; got .*refused"):
        opened(server.url).versions(SAMPLES)


def test_a_path_without_a_registry_and_a_registry_that_is_broken_are_errors(
    server: RegistryServer, opened: Callable[..., Registry]
) -> None:
    with pytest.raises(UserError, match=r"404 Not Found"):
        opened(f"{server.url}/elsewhere").versions(SAMPLES)
    server.broken = True
    with pytest.raises(FatalError, match=r"out of order"):
        opened(server.url).versions(SAMPLES)


@pytest.mark.parametrize(
    ("url", "properties"),
    [("ftp://registry", {}), ("http://registry", {"timeout": "soon"}), ("http://registry", {"no.such": "1"}),
     ("https://registry", {"ssl.ca.location": "no such file"})],
)  # fmt: skip
def test_an_address_or_a_property_that_cannot_be_used_is_an_error(url: str, properties: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r"^registry: expected an address and properties of a registry; got "):
        Registry(url, properties)


def test_user_and_password_are_sent_and_not_shown(server: RegistryServer, opened: Callable[..., Registry]) -> None:
    server.authorization = "Basic " + base64.b64encode(b"monitor:hidden").decode()
    assert opened(server.url, {"basic.auth.user.info": "monitor:hidden"}).register(SAMPLES).new
    with_password = opened(server.url.replace("//", "//monitor:hidden@"))
    assert with_password.versions(SAMPLES)
    assert with_password.url == server.url
    with pytest.raises(UserError, match=r"Unauthorized"):
        opened(server.url).versions(SAMPLES)
