"""Purity: a grader is tried before it is believed. Same evidence, same grade: whenever, wherever, however often."""

from grading.purity.proof import Proof, Subject, prove
from grading.purity.report import Finding
from grading.purity.samples import Sample, of_log, of_streams

__all__ = ["Finding", "Proof", "Sample", "Subject", "of_log", "of_streams", "prove"]
