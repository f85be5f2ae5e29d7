"""What helps a model of RNA on families that it has never seen: solved structures, evidence, means of models.

    python benchmarks/rna_generalization.py            about 45 minutes
    python benchmarks/rna_generalization.py --quick    few sequences

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). The recipe is that of
training/rna.py, but with at most 40 sequences of each family of training set A, of up to 400 bases.

Tested on sequences that share less than a tenth of their words of 12 bases with training set A: those of Rfam
whose family has a published structure, and chains of solved structures (RNA3DB), of which no model that is
tested on them has learned. gamma of each model is that of the best F1 on the Rfam sequences, as of the
pretrained one.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from common import asked_to_be_quick, write
from structune import RNAFolder
from structune.learning import average_models
from structune.rna import ReactivityModel, RNAData, base_pair_scores, load_rna

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
import rna as recipe

MOST, LONGEST = 40, 400
RESAMPLES = 2000


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    data = load_rna("tornado_train_a")
    families = [recipe.family_of(name) for name in data.families]
    part, families_of_part = recipe.few(data, families, 2 if quick else MOST, 100 if quick else LONGEST)
    tested = {"Rfam": recipe.new_families(data), "RNA3DB": recipe.unlike(load_rna("rna3db"), data)}
    tuned = recipe.tune(part, families_of_part) if quick else recipe.tune(data, families)
    models = fitted(part, recipe.rounded(tuned), 60 if quick else recipe.DESIGNS)
    gammas = {name: recipe.chosen_gamma(model, tested["Rfam"]) for name, model in models.items()}
    rows: dict[str, Any] = {name: {"gamma": gammas[name]} for name in models}
    for which, known in tested.items():
        for name, counts in counted(models, gammas, which, known).items():
            rows[name][which] = counts
    if not quick:
        write("rna_generalization", {"models": rows, "sequences": {k: len(v) for k, v in tested.items()}})


def fitted(part: RNAData, precisions: dict[str, float], n_designs: int) -> dict[str, RNAFolder]:
    """Models of the same structures and of more."""
    designs, table = recipe.chosen_designs(n_designs), ReactivityModel.pretrained()
    solved = recipe.solved_structures()
    thirds = [recipe.evidence(designs, table, range(k, n_designs, 3)) for k in range(3)]
    models = {"structures": recipe.fit(precisions, part)}
    models["and solved ones"] = recipe.fit(precisions, part, solved)
    probed = [recipe.fit(precisions, part, third) for third in thirds]
    models["and evidence"] = probed[0]
    models["and evidence, mean of three"] = average_models(probed)
    both = [recipe.fit(precisions, part, solved, third) for third in thirds]
    models["and both"] = both[0]
    models["and both, mean of three"] = average_models(both)
    return models


def counted(
    models: dict[str, RNAFolder], gammas: dict[str, float], which: str, known: RNAData
) -> dict[str, Any]:
    """Pooled F1 of each model, and how much more than the first it has, with an interval over families."""
    found, first = {}, None
    for name, model in models.items():
        if which == "RNA3DB" and ("solved" in name or "both" in name):
            continue
        predicted = model.predict(known.sequences, gammas[name])
        counts = base_pair_scores(known.structures, predicted).counts
        first = counts if first is None else first
        found[name] = {"f1": f1(counts.sum(axis=0)), "gain": gain(first, counts, known.families)}
        recipe.say(f"{which}, {name}: {found[name]}")
    return found


def f1(counts: Any) -> float:
    """Of known, predicted and right pairs."""
    return float(2 * counts[2] / (counts[0] + counts[1]))


def gain(first: Any, counts: Any, families: list[str]) -> dict[str, float]:
    """The difference of pooled F1, and its interval of 95 % over resampled families."""
    names, place = np.unique(families, return_inverse=True)
    sums = [np.array([np.bincount(place, c[:, k], len(names)) for k in range(3)]) for c in (first, counts)]
    drawn = np.random.default_rng(0).multinomial(len(names), np.full(len(names), 1 / len(names)), RESAMPLES)
    differences = [f1(sums[1] @ weights) - f1(sums[0] @ weights) for weights in drawn]
    low, high = np.quantile(differences, (0.025, 0.975))
    return {"value": f1(counts.sum(axis=0)) - f1(first.sum(axis=0)), "low": float(low), "high": float(high)}


if __name__ == "__main__":
    main()
