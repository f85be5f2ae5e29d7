"""Pseudoknots: nested predictions, and those with crossing helices, on RNAs with and without pseudoknots.

    python benchmarks/rna_pseudoknots.py            about two minutes
    python benchmarks/rna_pseudoknots.py --quick    a tenth of the sequences, written nowhere

Data: ArchiveII (at most 50 sequences with pseudoknots of each of six families, and 25 without; at most 480
bases), the 77 sequences of test set A that have pseudoknots, and six pseudoknots of textbooks. The pretrained
model learned from relatives of most of them, but from no crossing pairs.

The smallest probability of a crossing pair is 0.5, which was not chosen on any data; results on ArchiveII
with others are told. The shares of the two probabilities in it, and which helices may be crossed, were
chosen on these sequences of ArchiveII: its families are not held out. A textbook pseudoknot is found if half
of the pairs of both helices are.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from common import parser_of, write
from structune import RNAFolder
from structune.rna import base_pair_bootstrap, base_pair_scores, drop_pseudoknots, load_rna, partners
from structune.rna.structure.knots import THRESHOLD

THRESHOLDS = (0.4, 0.5, 0.6, 0.7)
WITH, WITHOUT, LONGEST = 50, 25, 480
# Bases (i, j, length) of both helices, from 1, of solved structures; of HDV those of P1 and P2.
TEXTBOOK = {
    "BWYV": ("GCGCGGCACCGUCCGCGGAACAAACGG", (2, 17, 5), (9, 27, 3)),
    "T2": ("GCUGACCAGCUAUGAGGUCAUACAUCGUCAUAGCAC", (3, 20, 5), (9, 34, 7)),
    "SRV-1": ("GCGGCCAGCUCCAGGCCGCCAAACAAUAUGGAGCAC", (1, 19, 6), (8, 34, 6)),
    "MMTV": ("GGCGCAGUGGGCUAGCGCCACUCAAAAGGCCCAU", (1, 19, 5), (8, 33, 5)),
    "hTR": ("GGGCUGUUUUUCUCGCUGACUUUCAGCCCCAAACAAAAAAGUCAGCA", (1, 29, 6), (15, 46, 9)),
    "HDV": (
        "GGCCGGCAUGGUCCCAGCCUCCUCGCUGGCGCCGGCUGGGCAACACCAUUGCACUCCGGUGGCGAAUGGGAC",
        (1, 37, 7),
        (11, 72, 5),
    ),
}


def archive(quick: bool) -> dict[tuple[str, bool], list[int]]:
    """Numbers of some sequences of each family, with pseudoknots and without."""
    data, rng, found = load_rna("archiveii"), np.random.default_rng(0), defaultdict[Any, list[int]](list)
    for s, (sequence, structure) in enumerate(zip(data.sequences, data.structures, strict=True)):
        if len(sequence) <= LONGEST:
            found[data.families[s], drop_pseudoknots(structure)[1] > 0].append(s)
    share = 10 if quick else 1
    return {
        key: rng.permutation(found[key])[: (WITH if key[1] else WITHOUT) // share].tolist()
        for key in sorted(found)
    }


def main() -> None:
    quick = parser_of(__doc__).parse_args().quick
    folder, data = RNAFolder.pretrained().set_params(n_jobs=2), load_rna("archiveii")
    f1 = {True: defaultdict[str, dict[float, float]](dict), False: defaultdict[str, dict[float, float]](dict)}
    nested_f1 = {True: dict[str, float](), False: dict[str, float]()}
    for (family, has_knots), numbers in archive(quick).items():
        sequences, known = ([of[s] for s in numbers] for of in (data.sequences, data.structures))
        nested = folder.predict(sequences)
        nested_f1[has_knots][family] = base_pair_scores(known, nested).pooled.f1
        for threshold in THRESHOLDS:
            found = folder.predict_knotted(sequences, threshold=threshold)
            f1[has_knots][family][threshold] = base_pair_scores(known, found).pooled.f1
        print(
            family, has_knots, len(numbers), nested_f1[has_knots][family], f1[has_knots][family], flush=True
        )
    means = {
        threshold: float(np.mean([of[threshold] for of in f1[True].values()])) for threshold in THRESHOLDS
    }
    test = load_rna("tornado_test_a")
    numbers = [s for s, structure in enumerate(test.structures) if drop_pseudoknots(structure)[1]]
    numbers = numbers[:8] if quick else numbers
    sequences, known = ([of[s] for s in numbers] for of in (test.sequences, test.structures))
    nested, knotted = folder.predict(sequences), folder.predict_knotted(sequences, threshold=THRESHOLD)
    pooled = {
        name: base_pair_scores(known, found).pooled
        for name, found in (("nested", nested), ("knotted", knotted))
    }
    textbook = {}
    for name, (sequence, *helices) in TEXTBOOK.items():
        (structure,) = folder.predict_knotted([sequence], threshold=THRESHOLD)
        partner = partners(structure)
        shares = [
            float(np.mean([partner[i - 1 + k] == j - 1 - k for k in range(length)]))
            for i, j, length in helices
        ]
        textbook[name] = {"structure": structure, "helices": shares, "found": min(shares) >= 0.5}
        print(name, textbook[name], flush=True)
    result = {
        "means": {
            "nested": float(np.mean([*nested_f1[True].values()])),
            **{str(t): v for t, v in means.items()},
        },
        "families": {
            family: {
                "nested": nested_f1[True][family],
                **{str(t): v for t, v in by.items()},
            }
            for family, by in f1[True].items()
        },
        "without": {
            family: {"nested": nested_f1[False][family], "knotted": by[THRESHOLD]}
            for family, by in f1[False].items()
        },
        "TestSetA": {
            "sequences": len(numbers),
            **{name: score._asdict() for name, score in pooled.items()},
            "gain": vars(base_pair_bootstrap(known, nested, knotted)),
        },
        "textbook": textbook,
    }
    print(result["means"], result["TestSetA"], result["without"])
    if not quick:
        write("rna_pseudoknots", result)


if __name__ == "__main__":
    main()
