"""Importers: recordings that other programs wrote, as runs to append. One file per format; pure parsing, no log."""

from spine.importers.formats import IMPORTERS, recognised_by
from spine.importers.recording import Importer, Recording, Refusal

__all__ = ["IMPORTERS", "Importer", "Recording", "Refusal", "recognised_by"]
