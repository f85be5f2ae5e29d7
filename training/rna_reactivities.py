"""Learns the table of `ReactivityModel.pretrained()`: log odds of bases to be paired, by reactivity to 1M7.

    python training/rna_reactivities.py            some minutes
    python training/rna_reactivities.py --quick    of 100 designs, to a file in the current folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). The pretrained model of
structures tells of 3000 designed RNAs (Eterna's Cloud Labs) how probably each base is paired.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
from asking import asked_to_be_quick

from structune import RNAFolder
from structune.rna import ProbedData, ReactivityModel, load_probed

TABLE = Path(__file__).parents[1] / "src" / "structune" / "rna" / "reactivities_1m7.json"
DESIGNS = 3000


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    designs = chosen(load_probed(), 100 if quick else DESIGNS)
    table = ReactivityModel.fit(RNAFolder.pretrained(), designs.sequences, designs.reactivities)
    for letter, knots, odds in zip("ACGU", table.reactivities, table.log_odds, strict=True):
        print(letter, *(f"{r:g}:{x:+.2f}" for r, x in zip(knots, odds, strict=True)))
    table.save(Path(TABLE.name) if quick else TABLE)


def chosen(data: ProbedData, n: int) -> ProbedData:
    """So many designs: of each project one after the other, at random."""
    by_project = defaultdict(list)
    for s in np.random.default_rng(0).permutation(len(data)).tolist():
        by_project[data.projects[s]].append(s)
    turns = sorted((turn, s) for members in by_project.values() for turn, s in enumerate(members))
    columns = (data.projects, data.sequences, data.reactivities)
    return ProbedData(*([column[s] for _, s in turns[:n]] for column in columns))


if __name__ == "__main__":
    main()
