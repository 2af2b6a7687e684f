"""Runs of a customer-service agent in a shop: cases, the ways a talk can go, and how each trial went."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from grading.demo.story import Story
from spine.importers.recording import Recording


@dataclass(frozen=True, slots=True)
class Case:
    """What a customer wants, the one change that is right (or none), and what has to be said."""

    case: str
    order: str
    wish: str
    tool: str | None
    arguments: Mapping[str, Any]
    offer: str
    said: str
    told: str
    expected: tuple[str, ...]


CASES: Final = (
    Case(
        "shop-late-parcel",
        "W-1041",
        "My parcel W-1041 came nine days late. I would like the shipping back.",
        "refund",
        {"order": "W-1041", "amount": "7.95"},
        "I can refund the shipping of $7.95 to your card. Shall I?",
        "Done: $7.95 are on their way to your card.",
        "Done: the shipping is on its way to your card.",
        ("7.95",),
    ),
    Case(
        "shop-wrong-size",
        "W-2210",
        "The boots in W-2210 are too small. Can I have 43 instead?",
        "exchange_item",
        {"order": "W-2210", "item": "boots", "size": "43"},
        "I can exchange the boots for size 43. Shall I?",
        "Done: the boots in size 43 leave tomorrow.",
        "Done: the exchange is booked.",
        ("43",),
    ),
    Case(
        "shop-cancel",
        "W-3377",
        "Please cancel W-3377. What do I get back?",
        "cancel_order",
        {"order": "W-3377"},
        "I can cancel the order; it has not left yet. Shall I?",
        "Cancelled. You get 1249.00 dollars back.",
        "Cancelled. You get 1,249.00 dollars back.",
        ("1249.00",),
    ),
    Case(
        "shop-charged-twice",
        "W-4102",
        "You charged me twice for W-4102!",
        "refund",
        {"order": "W-4102", "amount": "1240.50"},
        "You are right. I can refund the second payment. Shall I?",
        "Refunded: 1240.50 dollars, within three days.",
        "Refunded: $1,240.50, within three days.",
        ("1240.50",),
    ),
    Case(
        "shop-address",
        "W-5050",
        "I moved. Send W-5050 to 12 Mill Lane instead.",
        "change_address",
        {"order": "W-5050", "address": "12 Mill Lane"},
        "I can change the address to 12 Mill Lane. Shall I?",
        "Changed: it goes to 12 Mill Lane.",
        "Changed.",
        (),
    ),
    Case(
        "shop-too-late",
        "W-6200",
        "I want my money back for W-6200, it is only two months old.",
        None,
        {},
        "I am afraid that returns are possible for 30 days only.",
        "I am sorry: after 30 days I cannot refund it.",
        "I am sorry: I cannot refund it.",
        ("30 days",),
    ),
)


class ShopRun:
    """A talk about one case, as far as looking the order up."""

    def __init__(self, case: Case, trial: int, *, looks_up: bool = True) -> None:
        self.case: Final = case
        self.story: Final = Story(case.case, trial, agent="shopkeeper", model="demo-chat-1", task="customer-service")
        action = {"tool": case.tool, "arguments": dict(case.arguments)}
        expected = {"actions": [action] if case.tool else [], "outputs": list(case.expected)}
        self.story.system("case.expected", expected)
        self.story.user(case.wish)
        self.story.agent(self.story.one_of(("I will look at your order.", "One moment, please.")))
        self.story.call("get_customer", {"order": case.order}, {"name": "J. Marsh", "tier": "standard"})
        if looks_up:
            self.look_up()
        self.story.call("get_policy", {"topic": case.tool or "refund"}, {"return_days": 30, "confirm": True})

    def look_up(self) -> None:
        self.story.call("get_order", {"order": self.case.order}, {"order": self.case.order, "status": "known"})

    def offer(self) -> None:
        """The agent says what it would do, and the customer agrees."""
        self.story.agent(self.case.offer)
        self.story.user(self.story.one_of(("Yes, please.", "Yes, do that.")) if self.case.tool else "That is a pity.")

    def act(self, error: str | None = None, **instead: str) -> None:
        """The change, with some arguments replaced."""
        if self.case.tool:
            result = None if error else {"ok": True}
            self.story.call(self.case.tool, {**self.case.arguments, **instead}, result, error)

    def finish(self, words: Any) -> Recording:
        """The agent tells the outcome, and the customer leaves."""
        self.story.agent(words)
        self.story.user(self.story.one_of(("Thank you.", "Thanks, bye.")))
        self.story.answer("resolution", "How was it resolved?", self.case.tool or "declined")
        return self.story.finish()


def _helped(run: ShopRun) -> Recording:
    run.offer()
    run.act()
    return run.finish(run.case.said)


def _tried_again(run: ShopRun) -> Recording:
    run.offer()
    run.act(error="the payment service timed out")
    run.story.agent("That did not go through. I will try again.")
    run.act()
    return run.finish(run.case.said)


def _told_otherwise(run: ShopRun) -> Recording:
    run.offer()
    run.act()
    return run.finish(run.case.told)


def _refused(run: ShopRun) -> Recording:
    run.offer()
    run.act(error="refused: the account is locked")
    return run.finish(run.case.said)


def _overpaid(run: ShopRun) -> Recording:
    run.offer()
    run.act(amount="79.50")
    return run.finish(run.case.said)


def _generous(run: ShopRun) -> Recording:
    run.offer()
    run.act()
    run.story.call("give_voucher", {"order": run.case.order, "amount": "25.00"}, {"ok": True})
    return run.finish(run.case.said)


def _unasked(run: ShopRun) -> Recording:
    run.act()
    return run.finish(run.case.said)


def _handed_over(run: ShopRun) -> Recording:
    run.story.call("transfer_to_human", {"order": run.case.order, "reason": "cannot decide"}, "queued")
    return run.finish("A colleague will call you.")


def _in_blocks(run: ShopRun) -> Recording:
    """Ends with what is not a text: whether it says what was expected cannot be told, and the run not be graded."""
    run.offer()
    run.act()
    return run.finish([{"type": "text", "text": run.case.said}, {"type": "image", "alt": "a receipt"}])


_Way = Callable[[ShopRun], Recording]

TRIALS: Final[Mapping[str, tuple[_Way, ...]]] = {
    "shop-late-parcel": (_helped, _overpaid, _tried_again, _generous),
    "shop-wrong-size": (_helped, _refused, _helped, _unasked),
    "shop-cancel": (_helped, _told_otherwise, _in_blocks, _told_otherwise),
    "shop-charged-twice": (_told_otherwise, _helped, _refused, _handed_over),
    "shop-address": (_helped, _refused, _helped, _helped),
    "shop-too-late": (_helped, _told_otherwise, _helped, _generous),
}

_BLIND: Final = ("shop-address", 4)
"""In this run the agent never looks the order up."""


def recordings() -> Iterator[Recording]:
    """All runs, by case and trial."""
    for case in CASES:
        for trial, way in enumerate(TRIALS[case.case], start=1):
            yield way(ShopRun(case, trial, looks_up=(case.case, trial) != _BLIND))
