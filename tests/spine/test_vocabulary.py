"""Every stored type@version is frozen: its schema, its writers, and whether it is evidence."""

import json
from pathlib import Path
from typing import Any

from spine.vocabulary import KNOWN, counts_as_evidence, json_schemas

GOLDEN = Path(__file__).parent / "golden" / "vocabulary.json"


def vocabulary() -> dict[str, Any]:
    """All that is known of each type; `python -m tests.spine.test_vocabulary` writes the file anew."""
    schemas = json_schemas()
    return {
        f"{kind.type}@1": {
            "writers": sorted(kind.writers),
            "evidence": kind.evidence,
            "moves through_seq": counts_as_evidence(kind.type),
            "payload": schemas[f"{kind.type}@1"],
        }
        for kind in KNOWN.values()
    }


def test_every_known_type_is_as_it_was() -> None:
    """After the first release: loosening a model is safe; whatever a stored event may break wants a new version."""
    assert vocabulary() == json.loads(GOLDEN.read_text())


def test_every_known_type_has_a_schema() -> None:
    assert set(json_schemas()) == {f"{type}@1" for type in KNOWN}


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(vocabulary(), indent=1, sort_keys=True) + "\n")
