"""The formats that can be imported."""

from collections.abc import Sequence
from typing import Final

from spine.importers.fireact import FireAct
from spine.importers.inspect_log import InspectLog
from spine.importers.intercode import InterCode
from spine.importers.recording import Importer
from spine.importers.references import Reference
from spine.importers.tau_bench import TauBench


def importers(references: Sequence[Reference] = ()) -> tuple[Importer, ...]:
    """An importer of every format; those whose gold answers stand beside the file take them from `references`."""
    return (TauBench(), InspectLog(), InterCode(references), FireAct())


IMPORTERS: Final = importers()


def recognised_by(head: bytes, known: Sequence[Importer] = IMPORTERS) -> Importer | None:
    """The importer of a file that begins so; `head` is its first `sniffing.HEAD` bytes."""
    return next((importer for importer in known if importer.recognises(head)), None)
