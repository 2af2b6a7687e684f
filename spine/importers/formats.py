"""The formats that can be imported."""

from typing import Final

from spine.importers.inspect_log import InspectLog
from spine.importers.recording import Importer
from spine.importers.tau_bench import TauBench

IMPORTERS: Final[tuple[Importer, ...]] = (TauBench(), InspectLog())


def recognised_by(head: bytes) -> Importer | None:
    """The importer of a file that begins so; `head` is its first `sniffing.HEAD` bytes."""
    return next((importer for importer in IMPORTERS if importer.recognises(head)), None)
