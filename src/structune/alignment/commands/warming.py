"""What `structune warm` does for protein alignments."""

from __future__ import annotations

from structune.alignment.aligner import SequenceAligner

_PAIRS = [("ACDEFGHIK", "ACDFGHIK"), ("MKV", "MKLV"), ("ACDEFGHIK", "GHIK"), ("WYV", "WV"), ("ACD", "ACD")]
_ROWS = [
    ("ACDEFGHIK", "ACD-FGHIK"),
    ("MK-V", "MKLV"),
    ("ACDEFGHIK", "-----GHIK"),
    ("WYV", "W-V"),
    ("ACD", "ACD"),
]


def run() -> None:
    """Learn as commands do if nothing else is asked for, and align in all their ways."""
    for tuning in (None, "implicit"):
        SequenceAligner(tuning=tuning, n_jobs=1).fit(_PAIRS, _ROWS)
    aligner = SequenceAligner.pretrained().set_params(n_jobs=1)
    aligner.predict(_PAIRS)
    aligner.predict_viterbi(_PAIRS)
    aligner.predict_confidence(_PAIRS, posteriors=True)
    aligner.align([sequence for pair in _PAIRS[:2] for sequence in pair], refinements=1)
