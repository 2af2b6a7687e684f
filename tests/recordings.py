"""The recorded runs that lie beside the checkout, if they do."""

import os
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

TAU_BENCH = DATA / "taubench" / "historical_trajectories" / "gpt-4o-airline.json"
DOCENT = DATA / "inspect" / "docent" / "docent" / "docent" / "samples" / "log.eval"
MATCH_PAIR = DATA / "inspect" / "inspect_ai" / "tests" / "scorer" / "logs"

INTERCODE = DATA / "intercode" / "data" / "results"
INTERCODE_FLAGS = DATA / "intercode" / "data" / "ctf" / "ic_ctf.json"
INTERCODE_CODE = DATA / "intercode" / "data" / "python" / "mbpp" / "ic_mbpp.json"
FIREACT = DATA / "fireact" / "trajs"

needs_recordings = pytest.mark.skipif(
    not DATA.is_dir() and not os.environ.get("CI"), reason="the recordings (../shared/data) are not beside the checkout"
)
"""A laptop may be without them; a build may not."""
