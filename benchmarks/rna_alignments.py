"""Structures of alignments, beside RNAalifold of the ViennaRNA wheel in the same run.

    python benchmarks/rna_alignments.py rfam_seed_many_short.stk            half a minute
    python benchmarks/rna_alignments.py rfam_seed_many_short.stk --quick    the first 20

The file is of the repository ViennaRNA/ViennaRNA (tests/data): seed alignments of Rfam. Those of at most 300
columns and two sequences or more are folded, at most 20 sequences of each, chosen at random. What is done
with an alignment was chosen on those whose place in the file, from 0, leaves 0 or 1 when divided by 4; the
others are reported. Many of the families have a consensus that was predicted, not published. ViennaRNA's
gamma is its best on the former.
"""

from __future__ import annotations

import re
import sys
import time
from typing import Any

import numpy as np

from common import write
from structune import RNAFolder
from structune.learning import paired_difference
from structune.rna import RNAAlignment, read_alignments

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
    to_choose = np.array([place % 4 < 2 for place, _ in chosen])
    methods = {"structune": ours, "RNAalifold, MFE": [mfe for mfe, _ in theirs]}
    methods |= {f"RNAalifold, MEA {g:g}": [mea[k] for _, mea in theirs] for k, g in enumerate(GAMMAS)}
    found = {
        name: np.array([counts(a.structure, s) for (_, a), s in zip(chosen, structures, strict=True)])
        for name, structures in methods.items()
    }
    best = max((name for name in found if "MEA" in name), key=lambda name: f1(found[name][to_choose]))
    rows = {}
    for name in ("structune", "RNAalifold, MFE", best):
        own = found[name][~to_choose]
        gain = paired_difference(own, found["structune"][~to_choose], f1_of_sums, 2000, 0)
        rows[name] = {
            "f1": f1(own),
            "where it was chosen": f1(found[name][to_choose]),
            "structune minus": vars(gain),
        }
        print(name, rows[name], flush=True)
    if "--quick" not in sys.argv:
        write("rna_alignments", {"alignments": int((~to_choose).sum()), "seconds": seconds, "methods": rows},
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


def counts(known: Any, found: Any) -> tuple[int, int, int]:
    """Known, found, and right pairs."""
    a, b = pairs(known), pairs(found)
    return len(a), len(b), len(a & b)


def pairs(structure: str) -> set[tuple[int, int]]:
    opened, found = [], set()
    for k, mark in enumerate(structure):
        if mark == "(":
            opened.append(k)
        elif mark == ")":
            found.add((opened.pop(), k))
    return found


def f1(rows: Any) -> float:
    return float(f1_of_sums(rows.sum(axis=0)))


def f1_of_sums(sums: Any) -> Any:
    return 2 * sums[..., 2] / (sums[..., 0] + sums[..., 1])


if __name__ == "__main__":
    main()
