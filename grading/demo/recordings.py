"""All recorded runs of the demo, and putting them onto a log."""

from collections.abc import Callable

from grading.demo import coding, shop
from spine import Log
from spine.importers.recording import Recording

CODING = "run/demo/code-"
SHOP = "run/demo/shop-"


def recordings() -> list[Recording]:
    """Every run, those of the coding agent first."""
    return [*coding.recordings(), *shop.recordings()]


def record(log: Log, progress: Callable[[int, int], None]) -> int:
    """Append every run, each in one commit; returns the number of events. Once done, doing it again adds nothing."""
    runs = recordings()
    for number, run in enumerate(runs, start=1):
        log.append(run.stream, run.events)
        progress(number, len(runs))
    return sum(len(run.events) for run in runs)
