"""How good predictions are, and whether one set of them is better than another."""

from structune.alignment.metrics import AlignmentScores, alignment_scores
from structune.genes.metrics import (
    GENE_LEVELS,
    GeneAccuracy,
    GeneScores,
    gene_difference,
    gene_regions,
    gene_scores,
    stop_codons,
)
from structune.learning.bootstrap import Difference, paired_difference
from structune.ranking.metrics import ndcg
from structune.rna.metrics import (
    ROC_GAMMAS,
    BasePairScores,
    PairAccuracy,
    SensitivityCurve,
    base_pair_bootstrap,
    base_pair_scores,
    roc_area,
    sensitivity_ppv_curve,
)
from structune.tagging.metrics import (
    Score,
    Scores,
    paired_bootstrap,
    segment_counts,
    segment_scheme,
    segment_scores,
    token_scores,
)

__all__ = [
    "GENE_LEVELS",
    "ROC_GAMMAS",
    "AlignmentScores",
    "BasePairScores",
    "Difference",
    "GeneAccuracy",
    "GeneScores",
    "PairAccuracy",
    "Score",
    "Scores",
    "SensitivityCurve",
    "alignment_scores",
    "base_pair_bootstrap",
    "base_pair_scores",
    "gene_difference",
    "gene_regions",
    "gene_scores",
    "ndcg",
    "paired_bootstrap",
    "paired_difference",
    "roc_area",
    "segment_counts",
    "segment_scheme",
    "segment_scores",
    "sensitivity_ppv_curve",
    "stop_codons",
    "token_scores",
]
