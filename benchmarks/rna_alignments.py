"""Structures of alignments, beside RNAalifold of the ViennaRNA wheel in the same run.

    python benchmarks/rna_alignments.py rfam_seed_many_short.stk            half a minute
    python benchmarks/rna_alignments.py rfam_seed_many_short.stk --quick    the first 20

The file is of the repository ViennaRNA/ViennaRNA (tests/data): seed alignments of Rfam. Those of at most 300
columns and two sequences or more are folded, at most 20 sequences of each, chosen at random. What is done
with an alignment, the bonus of covariation and the threshold, was chosen on those whose place in the file,
from 0, leaves 0 or 1 when divided by 4; the others are reported. Many of the families have a consensus that
was predicted, not published. ViennaRNA's gamma is its best on the former.
"""

from __future__ import annotations

import re
import sys
import time
from typing import Any

import numpy as np

from common import write
from structune import RNAFolder
from structune.rna import RNAAlignment, base_pair_bootstrap, base_pair_scores, read_alignments

LONGEST, MOST_ROWS, SEVERAL = 300, 20, 2
GAMMAS = (0.25, 0.5, 1.0, 2.0)
_BRACKETS = str.maketrans("<{[>}]", "((()))")


def main() -> None:
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if len(paths) != 1:
        sys.exit(__doc__)
    chosen = [*cut(read_alignments(paths[0]))][: 20 if "--quick" in sys.argv else None]
    folder = RNAFolder.pretrained()
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    ours = [folder.predict_alignment(a.rows) for _, a in chosen]
    seconds["structune"] = time.perf_counter() - start
    start = time.perf_counter()
    theirs = [alifold(a.rows) for _, a in chosen]
    seconds["RNAalifold"] = time.perf_counter() - start
    methods = {"structune": ours, "RNAalifold, MFE": [mfe for mfe, _ in theirs]}
    methods |= {f"RNAalifold, MEA {g:g}": [mea[k] for _, mea in theirs] for k, g in enumerate(GAMMAS)}
    to_choose = [k for k, (place, _) in enumerate(chosen) if place % 4 < 2]
    others = [k for k in range(len(chosen)) if k not in to_choose]
    known = [alignment.structure for _, alignment in chosen]
    best = max(
        (name for name in methods if "MEA" in name), key=lambda name: f1(known, methods[name], to_choose)
    )
    rows = {}
    for name in ("structune", "RNAalifold, MFE", best):
        true, own, new = ([structures[k] for k in others] for structures in (known, methods[name], ours))
        rows[name] = {
            "f1": f1(known, methods[name], others),
            "where it was chosen": f1(known, methods[name], to_choose),
            "structune minus": vars(base_pair_bootstrap(true, own, new)),
        }
        print(name, rows[name], flush=True)
    if "--quick" not in sys.argv:
        write("rna_alignments", {"alignments": len(others), "seconds": seconds, "methods": rows},
              "ViennaRNA")  # fmt: skip


def cut(alignments: Any) -> Any:
    """Those that are folded, with their place in the file; without the pairs of pseudoknots."""
    rng = np.random.default_rng(0)
    for place, alignment in enumerate(alignments):
        rows, structure = alignment.rows, alignment.structure
        if len(rows[0]) > LONGEST or len(rows) < SEVERAL or structure is None:
            continue
        kept = sorted(rng.permutation(len(rows))[:MOST_ROWS].tolist())
        plain = re.sub("[^()]", ".", structure.translate(_BRACKETS))
        some = tuple(rows[k] for k in kept)
        yield place, RNAAlignment(alignment.name, tuple(alignment.names[k] for k in kept), some, plain)


def alifold(rows: tuple[str, ...]) -> tuple[str, list[str]]:
    import RNA

    compound = RNA.fold_compound(list(rows))
    mfe = compound.mfe()
    compound.exp_params_rescale(mfe[1])
    compound.pf()
    return str(mfe[0]), [str(compound.MEA(gamma)[0]) for gamma in GAMMAS]


def f1(known: list[str], found: list[str], some: list[int]) -> float:
    """Of the base pairs of some alignments."""
    return float(base_pair_scores([known[k] for k in some], [found[k] for k in some]).pooled.f1)


if __name__ == "__main__":
    main()
