"""Trains the model of `RNAFolder.pretrained()`, on training set A of Rivas, Lang & Eddy (2012) alone.

    python training/rna.py            about half an hour on two cores
    python training/rna.py --quick    on a few short sequences, to a file in the current folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout).

1. The precisions, one for each kind of feature, are learned by the implicit gradient on sequences of up to
   300 bases, at most 40 of a family, with whole families held out.
2. gamma is chosen by pooled F1 on 15 % of the sequences of every family, with weights fitted to the rest (at
   most 150 of a family).
3. The weights are fitted to all sequences; families of more than 150 count as 150.

The choice between the feature sets was made as in 2, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from structune import RNAFolder
from structune.datasets import RNAData, load_rna
from structune.metrics import base_pair_scores
from structune.tuning import ImplicitTuner

MODEL = Path(__file__).parents[1] / "src" / "structune" / "models" / "rna.structune"
GAMMAS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
MOST, FEW, SHORT = 150, 40, 300
_FAMILIES = {  # the set gives one family several names
    "16S": "16S rRNA",
    "CRW(rRNA/intron)": "16S rRNA",
    "23S": "23S rRNA",
    "mRNA": "tmRNA",
    "Transfer Messenger": "tmRNA",
    "tRNA": "tRNA",
    "Transfer RNA": "tRNA",
    "RNaseP": "RNase P",
    "Ribonuclease P": "RNase P",
    "SRP": "SRP",
    "Signal Recognition": "SRP",
    "5S": "5S rRNA",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--features", default="extended", choices=("contrafold", "extended"))
    arguments = parser.parse_args()
    data = load_rna("tornado_train_a")
    families = [family_of(name) for name in data.families]
    if arguments.quick:
        chosen = [s for s in range(len(data)) if len(data.sequences[s]) < 80]
        data, families = data.take(chosen), [families[s] for s in chosen]
    settings = {"features": arguments.features, "outside": "trim", "verbose": 1}
    precisions = learn_precisions(settings, data, families)
    gamma, f1 = choose_gamma(settings, precisions, data, families)
    say(f"gamma {gamma}, pooled F1 {f1:.4f} on the 15 %")
    weights = [min(1.0, MOST / families.count(family)) for family in families]
    folder = RNAFolder(**settings, penalty=precisions, gamma=gamma)
    folder.fit(data.sequences, data.structures, sample_weight=weights)
    say(f"fitted to {len(data)} sequences: {folder.status_}, {folder.passes_:.0f} passes")
    path = Path("rna.structune") if arguments.quick else MODEL
    folder.save(path, extra={"trained_on": "tornado_train_a", "script": "training/rna.py", "dev_f1": f1})
    say(f"wrote {path}, {path.stat().st_size} bytes")


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def family_of(name: str) -> str:
    """One name for one family."""
    return next((family for key, family in _FAMILIES.items() if key in name), name)


def by_family(families: list[str]) -> dict[str, list[int]]:
    """The examples of each family, in random order."""
    found = defaultdict(list)
    for s in np.random.default_rng(0).permutation(len(families)).tolist():
        found[families[s]].append(s)
    return found


def learn_precisions(settings: dict[str, Any], data: RNAData, families: list[str]) -> dict[str, float]:
    chosen = []
    for members in by_family(families).values():
        chosen += [s for s in members if len(data.sequences[s]) <= SHORT][:FEW]
    part = data.take(chosen)
    folder = RNAFolder(**settings, tuning=ImplicitTuner(refit=False), holdout=0.25)
    folder.fit(part.sequences, part.structures, groups=[families[s] for s in chosen])
    precisions = dict(zip(folder.group_names_, folder.penalty_.tolist(), strict=True))
    losses = [record["heldout_loss"] for record in folder.history_ if "heldout_loss" in record]
    say(f"{len(part)} sequences, held-out loss {losses[0]:.0f} -> {min(losses):.0f}, {folder.status_}")
    say("precisions " + ", ".join(f"{name} {value:.3g}" for name, value in precisions.items()))
    return precisions


def choose_gamma(
    settings: dict[str, Any], precisions: dict[str, float], data: RNAData, families: list[str]
) -> tuple[float, float]:
    train, heldout = [], []
    for members in by_family(families).values():
        n = int(0.15 * len(members))
        heldout += members[:n][:FEW]
        train += members[n:][:MOST]
    part, rest = data.take(train), data.take(heldout)
    folder = RNAFolder(**settings, penalty=precisions, tolerance=1e-3)
    folder.fit(part.sequences, part.structures)
    predicted = folder.predict_mea(rest.sequences, GAMMAS)
    scores = [base_pair_scores(rest.structures, structures).pooled.f1 for structures in predicted]
    best = int(np.argmax(scores))
    return GAMMAS[best], float(scores[best])


if __name__ == "__main__":
    main()
