"""Measuring sets of skills."""

from vendirl.evaluation.effective_number import effective_number

__all__ = ["effective_number"]
