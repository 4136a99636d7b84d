"""Why throughput fell: the evidence, and its weight for each cause."""

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence import observe
from heatsoak.analysis.cause.weigh import Judgement, excludes_heat, weigh

__all__ = ["Case", "Finding", "Judgement", "excludes_heat", "observe", "weigh"]
