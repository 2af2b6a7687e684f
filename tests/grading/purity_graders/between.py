"""Stands between a grader and what it does."""

from time import time as now


def late() -> bool:
    return now() > 2_000_000_000


def early() -> bool:
    return 1 < 2


def unused() -> str:
    return input()
