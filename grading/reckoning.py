"""Reckoning: what a grade comes to when people see some of its rungs, or its verdict, otherwise."""

from collections.abc import Mapping, Sequence

from grading.ladders import Mode
from grading.rows import GradeRow, Outcome, OverrideRow, RungRow


def reckoned(grade: GradeRow, overrides: Sequence[OverrideRow]) -> Outcome | None:
    """The outcome with these overrides in place: the ladder's own arithmetic over its rungs, each passed or not as
    recorded, or as a person said. None for a broken grade.

    Only the rung that was named changes. Those behind it stay as they were recorded: looked at or not, passed or not;
    in a cumulative ladder, credit is for the leading run of passed rungs all the same. A verdict that a person gave
    stands whatever the rungs come to.
    """
    if grade.passed is None or grade.score is None:
        return None
    said = {one.index: one.passed for one in overrides if one.index is not None and one.passed is not None}
    found = _of_rungs(grade, said, _pass_at(overrides))
    verdict = next((one.passed for one in overrides if one.milestone is None), None)
    if verdict is None:
        return found
    return Outcome(verdict, found.score, found.attained, found.total, found.reached, certain=True)


def _of_rungs(grade: GradeRow, said: Mapping[int, bool], pass_at: float | None) -> Outcome:
    assert grade.passed is not None
    assert grade.score is not None
    passed = [said.get(index, rung.passed) for index, rung in enumerate(grade.rungs)]
    if passed == [rung.passed for rung in grade.rungs]:
        attained, total, reached = grade.attained or 0.0, grade.total or 0.0, grade.reached or 0
        return Outcome(grade.passed, grade.score, attained, total, reached, certain=True)
    credited = _credited(grade, passed)
    total, attained = _weight(grade.rungs), _weight(credited)
    score = attained / total if total > 0 else 0.0
    required = all(has for rung, has in zip(grade.rungs, passed, strict=True) if rung.required)
    enough = required and _is_enough(grade, score, pass_at)
    verdict = grade.passed if enough is None else enough
    return Outcome(verdict, score, attained, total, len(credited), certain=enough is not None)


def _credited(grade: GradeRow, passed: Sequence[bool]) -> list[RungRow]:
    credited = []
    for rung, has in zip(grade.rungs, passed, strict=True):
        if has:
            credited.append(rung)
        elif grade.mode == Mode.CUMULATIVE:
            break
    return credited


def _is_enough(grade: GradeRow, score: float, pass_at: float | None) -> bool | None:
    """Whether the score is what the ladder asks for. Where that is not known, the grade itself says of its own score
    whether it was; None where that says nothing of this one."""
    if pass_at is not None:
        return score >= pass_at
    assert grade.score is not None
    if grade.passed:
        return True if score >= grade.score else None
    was_enough_but_for_the_score = all(rung.passed for rung in grade.rungs if rung.required)
    return False if was_enough_but_for_the_score and score <= grade.score else None


def _pass_at(overrides: Sequence[OverrideRow]) -> float | None:
    return next((one.pass_at for one in reversed(overrides) if one.pass_at is not None), None)


def _weight(rungs: Sequence[RungRow]) -> float:
    total = 0.0
    for rung in rungs:  # in order and not by sum(), as the ladder does it
        total += rung.weight
    return total
