"""Reading: which event types a check has to hear of, known before there is a run."""

from grading.calls import RETURNED
from grading.kinds.agreement import CompareCheck
from grading.kinds.combination import AtLeast, Combination, Node, ReachedCheck
from grading.kinds.distance import Distance
from grading.kinds.gaps import GapCheck
from grading.kinds.order import BeforeCheck
from grading.kinds.repetition import ConfirmedCheck
from grading.kinds.spend import CHARGED
from grading.selectors import Selector
from grading.values import Selected

STARTED = "run.started"


def types_read(node: Node) -> frozenset[str]:
    """The types of the events that the check looks at; of all others it need not hear. The reference, `case.expected`,
    is not among them: it is given to a check, which does not look for it."""
    match node:
        case Combination(_, of) | AtLeast(_, of):
            return _of_all(*map(types_read, of))
        case ReachedCheck(of, within):
            return types_read(of) | {STARTED if isinstance(within, Distance) else CHARGED}
        case BeforeCheck(first, then):
            return _selected(first) | _selected(then)
        case ConfirmedCheck(calls, by):
            return _selected(calls) | _selected(by)
        case _:
            found = _of_all(*map(_selected, node.selectors))
    if isinstance(node, CompareCheck) and isinstance(node.want, Selected):
        found |= _selected(node.want.of)
    if isinstance(node, GapCheck) and node.edges:
        found |= {STARTED}
    return found


def _selected(selector: Selector) -> frozenset[str]:
    return frozenset(selector.types) | (frozenset() if selector.tools is None else {RETURNED})


def _of_all(*parts: frozenset[str]) -> frozenset[str]:
    return frozenset[str]().union(*parts)
