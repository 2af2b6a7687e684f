"""The zip form of an Inspect log: a header and a member for each sample, deflated, stored or zstd-compressed."""

import lzma
import re
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EINVAL
from typing import Any, BinaryIO, Final

from spine.importers.inspect_sample import LogHeader, log_header, recorded
from spine.importers.json_values import Unreadable, parse
from spine.importers.recording import MAX_RUN, Recording, Refusal

if sys.version_info >= (3, 14):
    import zipfile

    from compression.zstd import ZstdError
else:
    from backports.zstd import ZstdError, zipfile

_SAMPLE: Final = re.compile(r"samples/.+\.json", re.DOTALL)
_CHUNK: Final = re.compile(r"samples/.+_epoch_\d+/(?P<member>.+)", re.DOTALL)
_STEP: Final = 4096
_BROKEN: Final = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    ZstdError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
)


def read_archive(file: BinaryIO) -> Iterator[Recording | Refusal]:
    """The samples in order of the archive's directory; of members with one name the last counts.

    Raises Unreadable when the archive as a whole cannot be read.
    """
    with _refusing("a damaged or cut-off archive"):
        archive = zipfile.ZipFile(file)
    with archive:
        header = _header(archive)
        for name in dict.fromkeys(archive.namelist()):
            chunk = _CHUNK.fullmatch(name)
            if chunk and chunk["member"] == "sample.json":
                yield Refusal(f"member {name}", "a sample in chunks, which this version does not read")
            elif not chunk and _SAMPLE.fullmatch(name):
                yield _sample(archive, name, header)


def _header(archive: zipfile.ZipFile) -> LogHeader:
    """From header.json; a log whose process died has none, and is read by what was written when it began."""
    if "header.json" in archive.NameToInfo:
        return log_header(_parsed(archive, "header.json"))
    if "_journal/start.json" in archive.NameToInfo:
        return log_header(_parsed(archive, "_journal/start.json"), status="started")
    raise Unreadable("neither header.json nor _journal/start.json is in the archive")


def _sample(archive: zipfile.ZipFile, name: str, header: LogHeader) -> Recording | Refusal:
    where = f"member {name}"
    try:
        data = _bytes(archive, name)
    except Unreadable as problem:
        return Refusal(where, problem.reason)
    return recorded(data, header, where)


def _parsed(archive: zipfile.ZipFile, name: str) -> Any:
    try:
        return parse(_bytes(archive, name))
    except Unreadable as problem:
        raise Unreadable(problem.reason, f"member {name}") from None


def _bytes(archive: zipfile.ZipFile, name: str) -> bytes:
    # The size in the directory may lie, and zstd unpacks all that it is handed: small steps bound what comes out.
    if archive.NameToInfo[name].file_size > MAX_RUN:
        raise Unreadable(f"unpacks to more than {MAX_RUN:,} bytes")
    data = bytearray()
    with _refusing("cannot be unpacked"), archive.open(name) as member:
        while step := member.read(_STEP):
            data += step
            if len(data) > MAX_RUN:
                raise Unreadable(f"unpacks to more than {MAX_RUN:,} bytes")
    return bytes(data)


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Turns what the zip library raises for damage into a refusal; a disk that fails stays an OSError."""
    try:
        yield
    except Unreadable:
        raise
    except _BROKEN as problem:
        raise Unreadable(f"{what}: {problem}") from None
    except OSError as problem:
        if problem.errno not in (None, EINVAL):  # None: bzip2 finds damage; EINVAL: an offset leads nowhere
            raise
        raise Unreadable(f"{what}: {problem}") from None
