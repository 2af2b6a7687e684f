"""Time and spend of a run on a real log: who may write what, and by whose clock."""

from datetime import UTC, datetime, timedelta

import pytest

from grading.evidence import StreamEvidence
from grading.spec import read_ladder
from spine import Log, WriterNotAllowed
from tests.grading.language.cases import AGENT, called, new, returned
from tests.grading.language.timed import charge, limit, started

RUN = "run/spend/1"
LADDER = read_ladder(
    """gradespine: 1
ladder: spend
version: "1"
mode: independent
milestones:
  - {name: budget, check: {budget: {unset: refused}}}
  - {name: tokens, check: {sum: {of: {type: budget.charged, take: amount}, at_most: 0.3}}}
  - {name: in_time, check: {reached: {check: {event: {call: submit}}, seconds: 3600}}}
  - {name: in_its_own_time, check: {reached: {check: {event: {call: submit}}, seconds: 3600, clock: time}}}
  - {name: cheaply, check: {reached: {check: {event: {call: submit}}, charged: 0.2, resource: tokens}}}
  - {name: guarded, check: {before: {first: {type: tool.returned}, then: {call: submit}}}}
  - {name: steady, check: {gap: {of: {call: "*"}, seconds: 3600, edges: [start, end]}}}
"""
).ladder


def passed(log: Log) -> list[str]:
    return [rung.name for rung in LADDER.grade(StreamEvidence(log, RUN)).rungs if rung.passed]


def test_the_agent_of_a_run_writes_no_budget(log: Log) -> None:
    for event in (charge(1), limit(9)):
        with pytest.raises(WriterNotAllowed):
            log.append(RUN, [new(event.type, AGENT, **event.payload)])


def test_a_run_is_graded_alike_on_every_log(log: Log) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    log.append(RUN, [started(), limit(0.3), called("1", "look"), returned("1", "look"), charge(0.1), charge(0.1)])
    late = called("2", "submit")
    log.append(RUN, [type(late)(late.type, late.payload, actor=AGENT, time=yesterday + timedelta(days=9))])

    everything = ["budget", "tokens", "in_time", "cheaply", "guarded", "steady"]
    assert passed(log) == everything

    log.append(RUN, [returned("2", "submit"), charge(0.1)])
    assert passed(log) == everything

    log.append(RUN, [charge(1e-300)])
    assert passed(log) == ["in_time", "cheaply", "guarded", "steady"]
