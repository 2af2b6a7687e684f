"""A look at a log's database: named checks, each with what was found and what to do about it. Nothing is changed."""

from spine.checkup.findings import Finding, State, Verdict, worst
from spine.checkup.looking import check_up

__all__ = ["Finding", "State", "Verdict", "check_up", "worst"]
