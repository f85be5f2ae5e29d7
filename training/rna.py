"""Trains the model of `RNAFolder.pretrained()`, on training set A of Rivas, Lang & Eddy (2012) alone.

    python training/rna.py            about ten minutes on two cores
    python training/rna.py --quick    on a few short sequences, to a file in the current folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout).

1. On sequences of up to 300 bases whose family is known, at most 40 of each, with whole families held out:
   the precisions, one for each kind of feature, by the implicit gradient of the held-out loss, rounded to two
   digits; then gamma, by pooled F1.
2. The weights, with these precisions, on at most 150 sequences of each family.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit

from structune import RNAFolder
from structune.learning import ImplicitTuner
from structune.rna import RNAData, base_pair_scores, load_rna

MODEL = Path(__file__).parents[1] / "src" / "structune" / "rna" / "pretrained.structune"
GAMMAS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
MOST, FEW, SHORT, HOLDOUT = 150, 40, 300, 0.25
_FAMILIES = {  # the set gives one family several names
    "16S": "16S rRNA",
    "CRW(rRNA/intron)": "16S rRNA",
    "23S": "23S rRNA",
    "mRNA": "tmRNA",
    "Transfer Messenger": "tmRNA",
    "RF00023": "tmRNA",
    "tRNA": "tRNA",
    "Transfer RNA": "tRNA",
    "RF00005": "tRNA",
    "RNaseP": "RNase P",
    "Ribonuclease P": "RNase P",
    "RF00009": "RNase P",
    "RF00010": "RNase P",
    "RF00011": "RNase P",
    "SRP": "SRP",
    "Signal Recognition": "SRP",
    "RF00017": "SRP",
    "5S": "5S rRNA",
    "RF00001": "5S rRNA",
    "Group I ": "group I intron",
    "RF00028": "group I intron",
    "Hammerhead": "hammerhead",
    "RF00008": "hammerhead",
}
_MIXED = ("Rfam", "PDB", "rRNAdom", "Other", "Synthetic", "unknown", "Viral")  # sets of several families


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
    whole = [s for s, family in enumerate(families) if not is_mixed(family)]
    pure = data.take(whole), [families[s] for s in whole]
    precisions, gamma = tune(settings, *few(*pure, FEW, SHORT))
    part, _ = few(data, families, MOST)
    folder = RNAFolder(**settings, penalty=precisions, gamma=gamma, tolerance=1e-3)
    folder.fit(part.sequences, part.structures)
    say(f"fitted to {len(part)} sequences: {folder.status_}, {folder.passes_:.0f} passes")
    path = Path("rna.structune") if arguments.quick else MODEL
    folder.save(path, extra={"trained_on": "tornado_train_a"})
    say(f"wrote {path}, {path.stat().st_size} bytes")


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def family_of(name: str) -> str:
    """One name for one family."""
    return next((family for key, family in _FAMILIES.items() if key in name), name)


def is_mixed(family: str) -> bool:
    return not family.startswith("S151Rfam:") and any(word in family for word in _MIXED)


def few(
    data: RNAData, families: list[str], most: int, longest: int = sys.maxsize
) -> tuple[RNAData, list[str]]:
    """At most so many sequences of each family, at random, and their families."""
    found = defaultdict(list)
    for s in np.random.default_rng(0).permutation(len(families)).tolist():
        if len(data.sequences[s]) <= longest:
            found[families[s]].append(s)
    chosen = [s for members in found.values() for s in members[:most]]
    return data.take(chosen), [families[s] for s in chosen]


def tune(settings: dict[str, Any], data: RNAData, families: list[str]) -> tuple[dict[str, float], float]:
    """Precisions and gamma, chosen on families that were held out."""
    split = GroupShuffleSplit(1, test_size=HOLDOUT, random_state=0)
    _, heldout = next(split.split(data.sequences, groups=families))  # as RNAFolder does
    tuner = ImplicitTuner(refit=False)
    folder = RNAFolder(**settings, tuning=tuner, holdout=HOLDOUT, random_state=0)
    folder.fit(data.sequences, data.structures, groups=families)
    precisions = {
        name: float(f"{value:.2g}")
        for name, value in zip(folder.group_names_, folder.penalty_.tolist(), strict=True)
    }
    losses = [record["heldout_loss"] for record in folder.history_ if "heldout_loss" in record]
    say(f"{len(data)} sequences, held-out loss {losses[0]:.0f} -> {min(losses):.0f}, {folder.status_}")
    say("precisions " + ", ".join(f"{name} {value}" for name, value in precisions.items()))
    rest = data.take(heldout)
    predicted = folder.predict_mea(rest.sequences, GAMMAS)
    scores = [base_pair_scores(rest.structures, structures).pooled.f1 for structures in predicted]
    say(f"F1 of {len(rest)} held-out sequences by gamma: {dict(zip(GAMMAS, scores, strict=True))}")
    return precisions, GAMMAS[int(np.argmax(scores))]


if __name__ == "__main__":
    main()
