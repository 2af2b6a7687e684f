"""Every stored type@version is frozen: its schema, its writers, and whether it is evidence."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from spine import InvalidInput
from spine.canonical import encode
from spine.vocabulary import KNOWN, check_payload, counts_as_evidence, json_schemas

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


VALUES = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3) | st.lists(st.text(max_size=2), max_size=2)
)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(sorted(KNOWN)), st.data())
def test_a_look_at_what_was_said_never_takes_what_the_model_refuses(type: str, data: st.DataObject) -> None:
    model = KNOWN[type].model
    assert model is not None
    names = [*model.model_fields, "more"]
    said = data.draw(st.dictionaries(st.sampled_from(names), st.text(max_size=3) | VALUES, max_size=len(names)))

    def taken(*more: object) -> bool:
        try:
            check_payload(type, encode(said), "payload", *more)
        except InvalidInput:
            return False
        return True

    assert taken(said) is taken()


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(vocabulary(), indent=1, sort_keys=True) + "\n")
