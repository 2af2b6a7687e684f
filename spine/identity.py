"""Ids made from meaning, for whatever may be written twice and must stand once."""

from hashlib import sha256
from uuid import UUID

from spine.canonical import encode
from spine.events import Json


def derived_id(value: Json) -> UUID:
    """The id of a JSON value: UUIDv8 (RFC 9562) of the first 16 bytes of the SHA-256 of its RFC 8785 bytes.

    Raises InvalidInput for what is not JSON.
    """
    octets = bytearray(sha256(encode(value)).digest()[:16])
    octets[6] = octets[6] & 0x0F | 0x80
    octets[8] = octets[8] & 0x3F | 0x80
    return UUID(bytes=bytes(octets))
