"""The rule judge: deterministic rules asked of a text. Source: seed *judge* (agentic-dev-harness, internal/judge)."""

from grading.rules.checks_file import read_rules
from grading.rules.ops import OURS, Op, Ours
from grading.rules.scoring import InvalidChecks, Result, Rule, score

__all__ = ["OURS", "InvalidChecks", "Op", "Ours", "Result", "Rule", "read_rules", "score"]
