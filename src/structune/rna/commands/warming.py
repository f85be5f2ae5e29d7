"""What `structune warm` does for RNA structures."""

from __future__ import annotations

from structune.rna.folder import RNAFolder

_SEQUENCES = ["GGGAAAACCC", "GGCGAAAGCCA", "GGGAAAUCCC", "GGAGCGAAAGCAGCGAAAGCACC", "GGCAGAAAUGCC"]
_STRUCTURES = ["(((....)))", "(((....))).", "(((....)))", "((.((....)).((....)).))", "((.(....).))"]


def run() -> None:
    """Learn as commands do if nothing else is asked for, and fold in all their ways."""
    for tuning in (None, "implicit"):
        RNAFolder(tuning=tuning, n_jobs=1).fit(_SEQUENCES, _STRUCTURES)
    folder, constraints = RNAFolder.pretrained().set_params(n_jobs=1), ["((......))", *[None] * 4]
    folder.predict(_SEQUENCES, constraints=constraints)
    folder.predict_viterbi(_SEQUENCES)
    folder.predict_centroid(_SEQUENCES)
    folder.predict_nbest(_SEQUENCES, 2)
    folder.sample(_SEQUENCES, 2)
    folder.pair_probabilities(_SEQUENCES[0])
    folder.log_partition(_SEQUENCES)
