"""Every trap: a guilty check is caught with its milestone and line, and its innocent twin is not."""

from functools import cache

import pytest

from grading.gradebook import subject_of
from grading.graders import Grader
from grading.purity import Finding, Proof, prove
from tests.grading.purity_graders import guilty

HERE = "tests.grading.purity_graders"
SAID = {
    "clock": "reads the clock (",
    "zone": "reads the time zone of the machine (",
    "chance": "draws chance (",
    "environment": "reads the environment (os.environ)",
    "files": "",
    "folder": "looks round in the file system (os.getcwd)",
    "network": "",
    "process": "starts or steers a process (",
    "thread": "starts a thread (",
    "machine": "asks about the machine or the process (",
    "input": "reads standard input (builtins.input)",
    "hash": "with PYTHONHASHSEED=0 and 1: it uses hash() or the order of a set, look at hash",
    "order": "with PYTHONHASHSEED=0 and 1: it uses hash() or the order of a set, look at ",
    "address": "",
    "state": "when it is asked again in the same process (passed and failed): it carries something from one call",
    "changes": "changes its evidence: the ",
    "ends": "ends the program (SystemExit)",
    "rarely": "reads the clock (time.time), found in its source",
}
RAISED = "check_raised: JSONDecodeError at tests.grading.purity_graders.innocent:194"
OWN_WORDS = {
    "zone_name": "with TZ=UTC0 and <+14>-14: it uses the time zone of the machine",
    "files_open": "reaches for files (open)",
    "files_pathlib": "reaches for files (open)",
    "files_exist": "looks round in the file system (os.stat)",
    "files_glob": "reaches for files (glob.glob)",
    "network_socket": "reaches for the network (socket.__new__)",
    "network_name": "reaches for the network (socket.getaddrinfo)",
    "state_of_the_first_run": "when its runs come in another order: it carries something from one call to the next",
    "address_of_an_object": "when objects lie at other addresses: it uses id(), look at id",
    "address_in_a_detail": "(passed twice, with two details): it carries something from one call to the next, or shows",
}


@cache
def proof(grader: str) -> Proof:
    return prove(subject_of(Grader.from_python(f"{HERE}.{grader}:ladder")))


def refused(milestone: str) -> list[Finding]:
    return [finding for finding in proof("guilty").refused if finding.milestone == milestone]


@pytest.mark.parametrize("milestone", guilty.CHECKS)
def test_a_guilty_check_is_caught(milestone: str) -> None:
    found = refused(milestone)

    assert found, "not caught"
    assert OWN_WORDS.get(milestone, SAID[milestone.partition("_")[0]]) in found[0].what


@pytest.mark.parametrize("milestone", sorted(guilty.CHECKS.keys() - {"rarely_clock"}))
def test_it_is_caught_at_a_line_of_its_own(milestone: str) -> None:
    code = guilty.CHECKS[milestone].__code__
    lines = {line for _, _, line in code.co_lines() if line} | {code.co_firstlineno}
    inner = {line for const in code.co_consts if hasattr(const, "co_lines") for _, _, line in const.co_lines() if line}

    found = refused(milestone)[0]

    assert found.module == guilty.__name__
    assert found.line in lines | inner
    assert str(found) == f"milestone {milestone} {found.what} at {guilty.__name__}:{found.line}"


def test_a_guilty_lambda_is_caught() -> None:
    assert [finding.what for finding in refused("lambda_clock")] == ["reads the clock (time.time)"]


def test_reducers_that_share_a_state_are_caught() -> None:
    assert "when its events come in other batches" in refused("batches_shared")[0].what


def test_what_no_sample_came_to_is_refused_where_the_check_comes_to_it() -> None:
    (finding,) = refused("rarely_clock")

    assert finding.line == guilty._late.__code__.co_firstlineno + 1


def test_the_innocent_are_not_accused() -> None:
    assert proof("innocent").refused == ()


def test_what_may_be_harmless_and_what_no_check_comes_to_is_noted() -> None:
    noted = {(note.milestone, note.what) for note in proof("innocent").notes}

    assert noted == {
        ("hash_of_a_number", "uses hash(), which differs between processes (hash)"),
        ("address_as_identity", "uses addresses of objects (id)"),
        ("raises", f"gave no verdict on any sample ({RAISED}), so nothing of it was tried"),
        ("", "reads the clock (time.time), where no check is known to come"),
        ("", "reads the environment (os.environ), where no check is known to come"),
        ("", "reaches for files (open), where no check is known to come"),
    }
