"""Ids made from meaning."""

from hashlib import sha256
from uuid import RFC_4122, UUID

import pytest

from spine import InvalidInput
from spine.identity import derived_id


def test_a_derived_id_is_pinned() -> None:
    assert derived_id({"stream": "run/x", "ordinal": 1}) == UUID("8688d3ee-0f75-83d8-9874-db1ff63faab3")


def test_a_derived_id_is_a_uuid_of_version_8_over_the_digest() -> None:
    found = derived_id({"b": [1.0, None], "a": "ä"})

    digest = sha256('{"a":"ä","b":[1,null]}'.encode()).digest()
    assert (found.version, found.variant) == (8, RFC_4122)
    assert found.bytes[:6] == digest[:6]
    assert found.bytes[9:] == digest[9:16]


def test_what_is_no_json_has_no_derived_id() -> None:
    with pytest.raises(InvalidInput):
        derived_id({"x": float("nan")})
