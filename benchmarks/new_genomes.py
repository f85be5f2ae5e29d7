"""Genes of genomes that nobody annotated: what other genomes teach and self-training, beside Prodigal.

    python benchmarks/new_genomes.py            thirteen genomes: a quarter of an hour
    python benchmarks/new_genomes.py --quick    two genomes, to a temporary folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout), and for Prodigal ``pip
install pyrodigal`` (GPL, so no dependency of ours). "Not adapted" is a `MetagenomeFinder` that has learned
from the twelve other genomes, as ``genes --model pretrained`` has from all, "adapted" what `adapt` makes of
it on the genome itself, and pyrodigal trains itself on the genome. None sees its annotation, by which all are
scored: sensitivity and precision of genes by their stop codons, and by both ends. "Verified" are genes whose
starts were verified by experiment: the share that is found with that start. Training and predictions are on
one thread. How to adapt, and the penalties, were chosen on these genomes, by their annotation, and how much
signals of starts count by the verified starts.
"""

from __future__ import annotations

import warnings
from typing import Any

from common import asked_to_be_quick
from prokaryotic_genes import (
    GENOMES,
    QUICK,
    by,
    chromosome,
    measured,
    prodigal,
    pyrodigal,
    save,
    told,
    verified,
)
from structune import MetagenomeFinder, adapt

NAME = "new_genomes"


def of_others(name: str) -> MetagenomeFinder:
    """A finder that has learned from all genomes but one."""
    others = [other for other in GENOMES if other != name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MetagenomeFinder(n_jobs=1).fit([chromosome(other) for other in others], groups=others)


def compared(name: str) -> dict[str, Any]:
    """All methods on one genome."""
    whole, known, finder = chromosome(name), verified(name, 0), of_others(name)
    learners = {
        "not adapted": lambda: by(finder),
        "adapted": lambda: by(adapt(finder, [whole])),
    }
    if pyrodigal is not None:
        learners["pyrodigal"] = lambda: prodigal(whole)
    methods = {method: measured(learn, whole, known) for method, learn in learners.items()}
    told(name, methods)
    return {"genes": len(whole.transcripts), "verified genes": len(known), "methods": methods}


def main() -> None:
    quick = asked_to_be_quick(__doc__ or "")
    genome = chromosome(QUICK[0])
    compiled = adapt(MetagenomeFinder.pretrained().set_params(n_jobs=1), [genome.sequence[:300_000]], 1)
    compiled.predict([genome.sequence[:1000]])
    save(NAME, quick, {name: compared(name) for name in (QUICK if quick else GENOMES)})


if __name__ == "__main__":
    main()
