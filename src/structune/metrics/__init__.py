"""How good predictions are, and whether one set of them is better than another."""

from structune.metrics.segments import (
    Difference,
    Score,
    Scores,
    paired_bootstrap,
    segment_counts,
    segment_scheme,
    segment_scores,
    token_scores,
)

__all__ = [
    "Difference",
    "Score",
    "Scores",
    "paired_bootstrap",
    "segment_counts",
    "segment_scheme",
    "segment_scores",
    "token_scores",
]
