"""Graders in Python: found by module:attribute, identified by the source of their module."""

import sys
from hashlib import sha256
from pathlib import Path

import pytest

from grading.errors import GraderConflict, InvalidLadder
from grading.evidence import StreamEvidence
from grading.graders import (
    Grader,
    active,
    load,
    register,
)
from grading.ladders import GraderIdentity
from tests.grading.builders import RUN, fixed_log, log_of, said

HERE = "tests.grading.python_graders"


def test_a_ladder_with_another_name_can_be_graded_but_not_registered() -> None:
    with pytest.raises(InvalidLadder, match="'two words' cannot be the name of a grader"):
        Grader.from_python(f"{HERE}:two_words")


def test_a_python_grader_is_identified_by_the_source_of_its_module() -> None:
    grader = Grader.from_python(f"{HERE}:found")

    source = Path(__file__).with_name("python_graders.py").read_bytes()
    assert grader.identity == GraderIdentity("found", "1", sha256(source).hexdigest(), 1)
    assert (grader.kind, grader.target) == ("python", f"{HERE}:found")
    assert grader.source == source.decode()


@pytest.mark.parametrize("attribute", ["found", "busy"])
def test_a_python_grader_is_registered_and_rebuilt(attribute: str) -> None:
    log = log_of(said("finding.reported"), said("x.y"))
    grader = Grader.from_python(f"{HERE}:{attribute}")
    register(log, grader)

    found = load(log, attribute)

    assert active(log, attribute).source == grader.source
    assert found.identity == grader.identity
    assert found.grade(StreamEvidence(log, RUN)).reached == 1


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (f"{HERE}:no_version", "declares no version"),
        (f"{HERE}:no_ladder", "it is int, not a Ladder"),
        (f"{HERE}:missing", f"{HERE} has no missing"),
        (f"{HERE}:fails", "ValueError: no ladder today"),
        ("tests.grading.nowhere:found", "there is no module tests.grading.nowhere"),
        ("nowhere.at.all:found", "cannot be found"),
        ("itertools:count", "no source"),
        ("found", "is not module:attribute"),
        ("a/b.py:found", "is not module:attribute"),
    ],
)
def test_what_is_no_python_grader_is_refused(target: str, reason: str) -> None:
    with pytest.raises(InvalidLadder, match=reason):
        Grader.from_python(target)


SOURCE = """
from grading.checks import event_recorded
from grading.ladders import Ladder, Milestone
ladder = Ladder("edited", milestones=[Milestone("find", event_recorded("{type}"))], version="{version}")
other = Ladder("edited", milestones=[Milestone("other", event_recorded("x.y"))], version="{version}")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of an importable module, `edited_grader`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "edited_grader", raising=False)
    return tmp_path / "edited_grader.py"


def write(module: Path, *, type: str = "finding.reported", version: str = "1") -> None:
    module.write_text(SOURCE.format(type=type, version=version))


def test_a_python_grader_whose_source_changed_is_refused(module: Path) -> None:
    log = fixed_log()
    write(module)
    register(log, Grader.from_python("edited_grader:ladder"))

    write(module, type="x.y")

    with pytest.raises(GraderConflict, match="edited@1 is registered with definition"):
        load(log, "edited")
    with pytest.raises(GraderConflict, match="raise the version"):
        register(log, Grader.from_python("edited_grader:ladder"))


def test_an_edited_module_never_passes_for_what_was_imported_before(module: Path) -> None:
    log = log_of(said("finding.reported"))
    write(module)
    register(log, Grader.from_python("edited_grader:ladder"))

    write(module, type="x.y", version="2")
    register(log, Grader.from_python("edited_grader:ladder"))

    assert not load(log, "edited@2").grade(StreamEvidence(log, RUN)).passed


def test_another_ladder_of_the_same_module_is_another_definition(module: Path) -> None:
    log = fixed_log()
    write(module)
    register(log, Grader.from_python("edited_grader:ladder"))

    with pytest.raises(GraderConflict, match="target edited_grader:ladder, this has edited_grader:other"):
        register(log, Grader.from_python("edited_grader:other"))
