"""RFC 8785 JSON bytes, digests, the event envelope and its leaf hash (gradespine/event/1).

What stands here is permanent: stored logs and other people's verifiers depend on it byte for byte.
"""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import orjson
import rfc8785

from spine.errors import InvalidInput

SPEC: Final = "gradespine/event/1"
ZERO_LEAF: Final = bytes(32)
MAX_INTEGER: Final = 2**53 - 1
MAX_DEPTH: Final = 64

_LARGE_INTEGER = re.compile(r"(?:\A|[\s,:\[-])(?:9[0-9]{15}|[1-9][0-9]{16})")
_EMPTY: Final = '""'
_DIGITS = bytes(48 if 48 <= byte < 58 else 0 for byte in range(256))


def encode(value: object, field: str = "value") -> bytes:
    """The RFC 8785 bytes of a JSON value.

    Raises InvalidInput naming the path for what is not I-JSON: NaN, infinities, integers beyond ±(2^53 − 1), lone
    surrogates, keys that are not text, other types, nesting over 64. Tuples are arrays; subclasses count as their base.
    """
    if _is_plain(value, MAX_DEPTH):
        try:
            return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:
            pass  # a lone surrogate: the slow way finds where
    pure = _pure(value, field, MAX_DEPTH)
    if _is_plain(pure, MAX_DEPTH):
        return orjson.dumps(pure, option=orjson.OPT_SORT_KEYS)
    return rfc8785.dumps(pure)


def decode(text: str | bytes) -> Any:
    """The value of stored RFC 8785 text, such that encoding it again gives the same bytes.

    RFC 8785 writes the number 1e16 as digits, so an integer literal beyond ±(2^53 − 1) is read as the float it was.
    """
    if type(text) is bytes:
        text = text.decode()
    # Sixteen digits in a row are two neighbours among every eighth byte; the pattern alone takes ten times as long.
    if b"00" in text.encode()[7::8].translate(_DIGITS) and _LARGE_INTEGER.search(text):  # type: ignore[union-attr,arg-type]
        return json.loads(text, parse_int=_bounded)
    return orjson.loads(text)


def _bounded(digits: str) -> int | float:
    number = int(digits)
    return number if -MAX_INTEGER <= number <= MAX_INTEGER else float(digits)


def _is_plain(value: object, room: int) -> bool:
    """Whether orjson's sorted output is certain to be RFC 8785: no float it prints otherwise, no key that code points
    and UTF-16 may order differently, no type or depth that has to be refused. (Lone surrogates orjson refuses.)"""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return -MAX_INTEGER <= value <= MAX_INTEGER  # type: ignore[operator]
    if kind is float:
        return 1e-3 <= abs(value) < 1e15 and not value.is_integer()  # type: ignore[arg-type,attr-defined]
    if room == 0:
        return False
    if kind is dict:
        for key, item in value.items():  # type: ignore[attr-defined]
            if type(key) is not str or not key.isascii():
                return False
            if type(item) is not str and not _is_plain(item, room - 1):
                return False
        return True
    if kind is list:
        return all(_is_plain(item, room - 1) for item in value)  # type: ignore[attr-defined]
    return False


def _pure(value: object, path: str, room: int) -> Any:
    """The same value in the simplest exact JSON types; raises InvalidInput at the first thing that is not JSON."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise InvalidInput(path, "an integer beyond ±(2^53 − 1); give it as text")
        return int.__add__(value, 0)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise InvalidInput(path, f"{value} is not a JSON number")
        # RFC 8785 writes an integral number as digits; as an int it needs no slow encoder.
        return int(value) if value.is_integer() and abs(value) <= MAX_INTEGER else float.__add__(value, 0.0)
    if not isinstance(value, Mapping | list | tuple):
        raise InvalidInput(path, f"{type(value).__name__} is not a JSON type")
    if room == 0:
        raise InvalidInput(path, f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, list | tuple):
        return [_pure(item, f"{path}[{index}]", room - 1) for index, item in enumerate(value)]
    pure: dict[str, object] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise InvalidInput(path, f"the key {key!r} is not text")
        pure[_text(key, f"{path}.{key!a}")] = _pure(item, f"{path}.{key}", room - 1)
    return pure


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(path, f"a lone surrogate at character {error.start} is not Unicode text") from None
    return str.__str__(value)


def payload_digest(salt: bytes, payload: bytes) -> bytes:
    """SHA-256(0x02 ‖ salt ‖ stored payload)."""
    return sha256(b"\x02" + salt + payload).digest()


def metadata_digest(salt: bytes, metadata: bytes) -> bytes:
    """SHA-256(0x03 ‖ salt ‖ stored metadata)."""
    return sha256(b"\x03" + salt + metadata).digest()


def leaf_hash(envelope: bytes) -> bytes:
    """SHA-256(0x00 ‖ envelope): a leaf of an RFC 6962 tree."""
    return sha256(b"\x00" + envelope).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256(0x01 ‖ left ‖ right): an inner node of an RFC 6962 tree."""
    return sha256(b"\x01" + left + right).digest()


def json_text(value: str) -> str:
    """A JSON string as RFC 8785 has it. The text must hold no lone surrogate."""
    return orjson.dumps(value).decode()


def event_part(
    actor: str,
    causation_id: str,
    correlation_id: str,
    id: str,
    metadata: str,
    origin: str,
    payload: str,
    principal: str,
    schema_version: int,
    span_id: str,
    time: int,
    trace_id: str,
    type: str,
) -> str:
    """The envelope's `event` object, known before the log's lock is taken. Keys stand in RFC 8785 order.

    `actor`, `type`, ids and digests hold nothing that JSON escapes; the other texts may.
    """
    return (
        f'{{"actor":"{actor}","causation_id":"{causation_id}",'
        f'"correlation_id":{json_text(correlation_id) if correlation_id else _EMPTY},"id":"{id}",'
        f'"metadata":"{metadata}","origin":{json_text(origin) if origin else _EMPTY},"payload":"{payload}",'
        f'"principal":{json_text(principal) if principal else _EMPTY},"schema_version":{schema_version},'
        f'"span_id":{json_text(span_id) if span_id else _EMPTY},"time":{time},'
        f'"trace_id":{json_text(trace_id) if trace_id else _EMPTY},"type":"{type}"}}'
    )


def envelope(event: str, *, log: str, prev: bytes, recorded_at: int, seq: int, stream: str) -> bytes:
    """The RFC 8785 envelope that a leaf is the hash of, spliced around the prepared `event` object.

    `prev` is the leaf of the stream's previous event, 32 zero bytes for its first.
    """
    return enveloped(event, *around(log, stream), prev, recorded_at, seq)


def around(log: str, stream: str) -> tuple[str, str]:
    """What stands behind the `event` object and at the end of every envelope of this stream."""
    return f',"log":{json_text(log)},"prev":"', f',"spec":"{SPEC}","stream":{json_text(stream)}}}'


def enveloped(event: str, behind: str, end: str, prev: bytes, recorded_at: int, seq: int) -> bytes:
    """The envelope, between what `around` gave for its log and stream."""
    return f'{{"event":{event}{behind}{prev.hex()}","recorded_at":{recorded_at},"seq":{seq}{end}'.encode()
