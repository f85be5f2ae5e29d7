"""Trains the model of `RNAFolder.pretrained()`.

    python training/rna.py            about a quarter of an hour on two cores
    python training/rna.py --quick    on short sequences, to a file in the current folder

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). Learns from training set A
of Rivas, Lang & Eddy (2012), chains of solved structures (RNA3DB), and nearest-neighbour energies (Turner
2004).

1. Weights of structures, fitted to at most 150 sequences of each family of set A, and to chains; and of
   energies, distilled with pieces of set A.
2. Their mean, with shares that were chosen by folds of families (benchmarks/rna_generalization.py). There,
   reactivities of designed RNAs as evidence of their structures gain nothing, so there are none here.
3. gamma, by the F1 on sequences of Rfam that are unlike those of set A.

The precisions, one for each kind of feature, are those of an implicit search by the held-out log loss of
families of set A that ended after few steps. Neither others nor those of one that goes on (`tune`) change
what comes of families that are held out.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from asking import asked_to_be_quick

from structune import RNAFolder
from structune.files.data_sets import find
from structune.learning import ImplicitTuner, average_models
from structune.rna import (
    Constraints,
    RNAData,
    base_pair_scores,
    distill,
    load_rna,
    read_energies,
)
from structune.running import Run

MODEL = Path(__file__).parents[1] / "src" / "structune" / "rna" / "pretrained.structune"
GAMMAS = (0.8, 1.0, 1.2, 1.5, 1.9, 2.3, 3.0)
MOST, FEW, SHORT, LONGEST, QUICK, HOLDOUT = 150, 40, 300, 400, 80, 0.25
MOST_SOLVED = 20  # chains of one component, in weight
TAUGHT = 1500  # pieces of sequences that energies are distilled with
SHARES = 0.8, 0.2  # of structures, of energies
TURNER = "rna/rna_turner2004.par"
PRECISIONS = {
    "base pairings": 1.1,
    "terminal mismatches": 5.8,
    "hairpin lengths": 0.91,
    "explicit internal sizes": 1.1,
    "bulge lengths": 0.53,
    "internal lengths": 0.72,
    "symmetric internal lengths": 0.99,
    "internal asymmetry": 1.3,
    "single base bulge nucleotides": 1.1,
    "1x1 nucleotides": 0.99,
    "helix stacking": 1.3,
    "helix closing pairs": 0.84,
    "multi-branch": 1.0,
    "dangles": 0.69,
    "external lengths": 1.0,
    "hairpin closing pairs": 1.0,
    "hairpin mismatches": 5.9,
    "multi-branch closing pairs": 1.0,
    "multi-branch mismatches": 4.1,
    "external closing pairs": 0.99,
    "external mismatches": 9.5,
    "triloops": 3.9,
    "tetraloops": 9.1,
    "larger internal sizes": 1.4,
    "stack contexts": 150.0,
    "pair spans": 1.1,
}
CONTRAFOLD_GROUPS = list(PRECISIONS)[:15]
WORD, MOST_KNOWN = 12, 0.1  # bases; the share of the words of a new sequence that may be in the training set
_FAMILIES = {  # the set gives one family several names
    "16S": "16S rRNA",
    "CRW(rRNA/intron)": "16S rRNA",  # most of them
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
    quick = asked_to_be_quick(__doc__)
    data, chains = load_rna("tornado_train_a"), load_rna("rna3db")
    if quick:
        data, chains = short(data, QUICK), short(chains, QUICK)
    families = [family_of(name) for name in data.families]
    learned, taught = few(data, families, MOST)[0], pieces(data, 60 if quick else TAUGHT)
    folder = average_models(parts(learned, chains, taught), SHARES)
    folder.decoding = "centroid"
    new = unlike_sequences(data)
    folder.gamma = chosen_gamma(
        folder, {name: short(some, QUICK) if quick else some for name, some in new.items()}
    )
    path = Path("rna.structune") if quick else MODEL
    told = "tornado_train_a, rna3db, Turner 2004"
    folder.save(path, extra={"trained_on": told})
    say(f"wrote {path}, {path.stat().st_size} bytes")


def parts(data: RNAData, chains: RNAData, taught: list[str]) -> list[RNAFolder]:
    """Weights of structures, and of energies of other sequences."""
    structures = fit(PRECISIONS, data, solved_structures(chains))
    return [structures, of_energies(structures, taught)]


def short(data: RNAData, most: int) -> RNAData:
    return data.take(s for s, sequence in enumerate(data.sequences) if len(sequence) <= most)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def family_of(name: str) -> str:
    """One name for one family."""
    return next((family for key, family in _FAMILIES.items() if key in name), name)


def is_mixed(family: str) -> bool:
    return not family.startswith("S151Rfam:") and any(word in family for word in _MIXED)


def few(
    data: RNAData, families: list[str], most: int, longest: int = sys.maxsize, seed: int = 0
) -> tuple[RNAData, list[str]]:
    """At most so many sequences of each family, at random, and their families."""
    found = defaultdict(list)
    for s in np.random.default_rng(seed).permutation(len(families)).tolist():
        if len(data.sequences[s]) <= longest:
            found[families[s]].append(s)
    chosen = [s for members in found.values() for s in members[:most]]
    return data.take(chosen), [families[s] for s in chosen]


def tune(data: RNAData, families: list[str], tuner: Any = None) -> RNAFolder:
    """A model with precisions that were chosen on families that were held out; of what is known to be one."""
    whole = [s for s, family in enumerate(families) if not is_mixed(family)]
    data, families = few(data.take(whole), [families[s] for s in whole], FEW, SHORT)
    settings = {"features": "extended", "outside": "trim", "cv": HOLDOUT, "random_state": 0}
    folder = RNAFolder(**settings, tuning=tuner or ImplicitTuner(refit=False), verbose=1)
    folder.fit(data.sequences, data.structures, groups=families)
    losses = [record["heldout_loss"] for record in folder.history_ if "heldout_loss" in record]
    say(f"{len(data)} sequences, held-out loss {losses[0]:.0f} -> {min(losses):.0f}, {folder.status_}")
    return folder


def rounded(folder: RNAFolder) -> dict[str, float]:
    """Its precisions by group, of two digits."""
    named = zip(folder.group_names_, folder.penalty_.tolist(), strict=True)
    return {name: float(f"{value:.2g}") for name, value in named}


Examples = tuple[list[str], list[str | Constraints], list[float]]  # sequences, what is known of them, weights


def solved_structures(data: RNAData) -> Examples:
    """Chains of known structure; those of one component weigh no more than some of them."""
    n_alike = Counter(data.families)
    weights = [min(1.0, MOST_SOLVED / n_alike[family]) for family in data.families]
    return data.sequences, list[str | Constraints](data.structures), weights


def fit(
    precisions: dict[str, float], part: RNAData, *more: Examples, features: str = "extended"
) -> RNAFolder:
    """Weights from structures, and from more examples."""
    X, y, weights = list(part.sequences), list[str | Constraints](part.structures), [1.0] * len(part)
    for sequences, known, shares in more:
        X, y, weights = X + sequences, y + known, weights + shares
    folder = RNAFolder(
        features=features, outside="trim", penalty=precisions, run=Run(tolerance=1e-3), n_jobs=-1
    )
    folder.fit(X, y, sample_weight=weights)
    say(f"fitted to {len(X)} sequences: {folder.status_}, {folder.passes_:.0f} passes")
    return folder


def of_energies(start: RNAFolder, sequences: list[str]) -> RNAFolder:
    """Weights that tell of structures what nearest-neighbour energies do."""
    folder = distill(read_energies(find(TURNER)).score, sequences, start)
    say(f"distilled energies with {len(sequences)} sequences")
    return folder


def pieces(data: RNAData, n: int) -> list[str]:
    """Pieces of sequences, of 20 to 160 bases."""
    rng, found = np.random.default_rng(0), list[str]()
    while len(found) < n:
        sequence = data.sequences[rng.integers(len(data))].upper().replace("T", "U")
        length = int(rng.integers(40, 160))
        start = int(rng.integers(max(1, len(sequence) - length)))
        piece = sequence[start : start + length]
        if len(piece) >= 20 and set(piece) <= set("ACGU"):
            found.append(piece)
    return found


def chosen_gamma(folder: RNAFolder, new: dict[str, RNAData]) -> float:
    """That of the best mean of the F1 of each set."""
    scores = np.zeros(len(GAMMAS))
    for name, data in new.items():
        predicted = folder.predict_gammas(data.sequences, GAMMAS)
        found = [base_pair_scores(data.structures, structures).pooled.f1 for structures in predicted]
        say(f"F1 of {len(data)} sequences of Rfam, {name}: {dict(zip(GAMMAS, found, strict=True))}")
        scores += np.array(found) / len(new)
    return GAMMAS[int(np.argmax(scores))]


def unlike_sequences(data: RNAData) -> dict[str, RNAData]:
    """Sequences of Rfam of up to 400 bases that are not like any of the data, by where structures are from.

    Families with a published structure have several sequences in the set, others one. Some are of families of
    the data all the same.
    """
    rfam = short(load_rna("rfam1359"), LONGEST)
    n_alike = Counter(rfam.families)
    several = [n_alike[family] > 1 for family in rfam.families]
    published = unlike(rfam.take(np.flatnonzero(several).tolist()), data)
    predicted = unlike(rfam.take(np.flatnonzero(~np.array(several)).tolist()), data)
    return {"published": published, "predicted": predicted}


def unlike(tested: RNAData, data: RNAData) -> RNAData:
    """Those that share few words with the data."""
    known = set().union(*map(words, data.sequences))
    own = [words(sequence) for sequence in tested.sequences]
    return tested.take(s for s, found in enumerate(own) if len(found & known) < MOST_KNOWN * len(found))


def words(sequence: str) -> set[str]:
    plain = sequence.upper().replace("T", "U")
    return {plain[k : k + WORD] for k in range(len(plain) - WORD + 1)}


if __name__ == "__main__":
    main()
