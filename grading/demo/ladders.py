"""The demo's ladders: for each of its agents one, and a second version that is right where the first was wrong."""

from importlib.resources import files
from typing import Final

from grading import examples

NEWER: Final = ("safe-change-2", "shop-desk-2")
"""The second versions, by the name of their document."""


def text(name: str) -> str:
    """The document `safe-change-1` (which is the example that ships), `safe-change-2`, `shop-desk-1` or
    `shop-desk-2`."""
    if name == "safe-change-1":
        return examples.text("safe-change")
    return files("grading.demo").joinpath(f"{name}.yaml").read_text(encoding="utf-8")


def reasons(name: str) -> list[str]:
    """Why there is this version: the points of the comment that its document begins with."""
    head = [line.removeprefix("#").strip() for line in text(name).splitlines() if line.startswith("#")]
    return [line.removeprefix("- ") for line in head if line.startswith("- ")]
