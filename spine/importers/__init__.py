"""Importers: recordings that other programs wrote, as runs to append. One file per format; pure parsing, no log."""

from spine.importers.formats import IMPORTERS, importers, recognised_by
from spine.importers.recording import Importer, Recording, Refusal
from spine.importers.references import Reference, read_reference

__all__ = ["IMPORTERS", "Importer", "Recording", "Reference", "Refusal", "importers", "read_reference", "recognised_by"]
