"""One rule for the names of people: in the schemas, the command, the monitor and the page (`test_page_server`)."""

import json
import re
from importlib import resources
from pathlib import Path

import beatwire.page
import pytest
from beatwire.errors import UserError
from beatwire.kafka.publishing.orders import check_name
from beatwire.kafka.reading.record import Record
from beatwire.page.ward import Ward
from beatwire.wire.names import ACKS
from beatwire.wire.staff import LONGEST, NAME, ack_entry, decode_ack, decode_limits, encode_entry, limits_entry

LONG = "\u963f" * LONGEST  # 64 characters, 192 bytes


@pytest.mark.parametrize("name", ["A", "Ada Lovelace", LONG])
def test_a_name_is_accepted_everywhere(name: str) -> None:
    check_name("ack", name)
    assert decode_ack(encode_entry(ack_entry("ab", "bed-1", name, 5)), b"ab")["by"] == name
    assert decode_limits(encode_entry(limits_entry("bed-1", {}, {}, name, 5)), b"bed-1")["by"] == name
    ward = Ward()
    ward.add_records([Record(ACKS, b"ab", encode_entry(ack_entry("ab", "bed-1", name, 5)))])
    assert ward.figures["rejected"] == 0


@pytest.mark.parametrize("name", ["", "  ", LONG + "x", "a\nb", "a\u202eb"])
def test_what_is_no_name_is_refused_everywhere_with_the_same_words(name: str) -> None:
    with pytest.raises(UserError, match=re.escape(f"expected a name of {NAME}")):
        check_name("ack", name)
    for entry in (ack_entry("ab", "bed-1", name, 5), limits_entry("bed-1", {}, {}, name, 5)):
        with pytest.raises(ValueError, match=re.escape(f"expected by: {NAME}")):
            (decode_ack if "alert" in entry else decode_limits)(encode_entry(entry), b"ab")
    ward = Ward()
    ward.add_records([Record(ACKS, b"ab", encode_entry(ack_entry("ab", "bed-1", name, 5)))])
    assert ward.figures["rejected"] == 1


@pytest.mark.parametrize("schema", ["ack", "settings", "audit"])
def test_the_schemas_have_the_rule(schema: str) -> None:
    text = resources.files("beatwire.wire").joinpath(f"schemas/{schema}.schema.json").read_text("utf-8")
    by = json.loads(text)["properties"]["by"]
    assert (by["minLength"], by["maxLength"]) == (1, LONGEST)
    assert NAME in by["description"]


def test_the_field_of_the_page_takes_names_of_that_length() -> None:
    page = (Path(beatwire.page.__file__).parent / "static" / "index.html").read_text()
    assert f'id="who" type="text" maxlength="{LONGEST}"' in page


def test_an_acknowledgement_under_the_key_of_another_alert_is_counted() -> None:
    ward = Ward()
    ward.add_records([Record(ACKS, b"other", encode_entry(ack_entry("ab", "bed-1", "Ada", 5)))])
    assert ward.figures["rejected"] == 1
