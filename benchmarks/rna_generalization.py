"""What helps a model of RNA on families that it has never seen: the parts of training/rna.py one by one.

    python benchmarks/rna_generalization.py EternaFoldParams.v1            about 40 minutes
    python benchmarks/rna_generalization.py EternaFoldParams.v1 --quick    few sequences

The file is of the repository eternagame/EternaFold (parameters). Needs ``pip install ViennaRNA`` and the
data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). The recipe is that of
training/rna.py, but with at most 40 sequences of each family of training set A, of up to 400 bases.

Tested on sequences of up to 400 bases that share less than a tenth of their words of 12 bases with training
set A: those of Rfam whose family has a published structure, those with a predicted one, and chains of solved
structures (RNA3DB), the latter by models that did not learn from them. Intervals are over families. gamma of
each model, and of the parameters of CONTRAfold and EternaFold in the same decoder, is that of the best mean
of F1 on both sets of Rfam, as of the pretrained model.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from common import contrafold_parameters, write
from structune import RNAFolder
from structune.learning import ImplicitTuner, average_models
from structune.rna import ReactivityModel, RNAData, base_pair_bootstrap, base_pair_scores, load_rna

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
import rna as recipe

MOST, LONGEST = 40, 400
FIRST, SHIPPED, SOLVED = "structures", "the pretrained model", "RNA3DB"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("eternafold")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    quick = arguments.quick
    data = load_rna("tornado_train_a")
    families = [recipe.family_of(name) for name in data.families]
    few = (2, 100) if quick else (MOST, LONGEST)
    part, families_of_part = recipe.few(data, families, *few)
    given = (part, families_of_part) if quick else (data, families)
    tested = {f"Rfam, {name}": rfam for name, rfam in recipe.new_families(data).items()}
    tested[SOLVED] = recipe.unlike(load_rna("rna3db"), data)
    models = fitted(part, data, given, 60 if quick else recipe.DESIGNS)
    models["CONTRAfold's parameters"] = RNAFolder.from_contrafold(contrafold_parameters())
    models["EternaFold's parameters"] = RNAFolder.from_contrafold(arguments.eternafold)
    models[SHIPPED] = RNAFolder.pretrained()
    rows: dict[str, Any] = {}
    for name, model in models.items():
        model.gamma = recipe.chosen_gamma(model, recipe.new_families(data))
        rows[name] = {"gamma": model.gamma}
    for which, known in tested.items():
        for name, scores in compared(models, which, known).items():
            rows[name][which] = scores
    if not quick:
        write("rna_generalization", {"models": rows, "sequences": sizes(tested)}, "ViennaRNA")


def sizes(tested: dict[str, RNAData]) -> dict[str, dict[str, int]]:
    return {k: {"sequences": len(v), "families": len(set(v.families))} for k, v in tested.items()}


def fitted(part: RNAData, data: RNAData, given: Any, n_designs: int) -> dict[str, RNAFolder]:
    """Models of the same structures and of more."""
    tuned = recipe.tune(*given)
    precisions = recipe.rounded(tuned)
    by_f1 = recipe.rounded(recipe.tune(*given, tuner=ImplicitTuner(refit=False, criterion="f1")))
    designs, table, solved = (
        recipe.chosen_designs(n_designs),
        ReactivityModel.pretrained(),
        recipe.solved_structures(),
    )
    thirds = [recipe.evidence(designs, table, range(k, n_designs, 3)) for k in range(3)]
    models = {FIRST: recipe.fit(precisions, part)}
    models["structures, precisions by F1"] = recipe.fit(by_f1, part)
    models["and solved chains"] = recipe.fit(precisions, part, solved)
    models["and evidence"] = recipe.fit(precisions, part, thirds[0])
    both = [recipe.fit(precisions, part, solved, third) for third in thirds]
    models["and both"] = both[0]
    models["and both, mean of three"] = average_models(both)
    energies = recipe.fitted_energies(precisions, data, n_designs)
    mean = models["and both, mean of three"]
    for share in (0.1, 0.2, 0.3):
        models[f"the same with {share:g} of energies"] = average_models([mean, energies], [1 - share, share])
    models["structures with 0.2 of energies"] = average_models([models[FIRST], energies], [0.8, 0.2])
    models["energies"] = energies
    return models


def compared(models: dict[str, RNAFolder], which: str, known: RNAData) -> dict[str, Any]:
    """Pooled F1 of each model, its mean over sequences, and how much more than the first it has."""
    found: dict[str, Any] = {}
    first = models[FIRST].predict(known.sequences)
    for name, model in models.items():
        if which == SOLVED and any(word in name for word in ("solved", "both", "the same", SHIPPED)):
            continue
        predicted = model.predict(known.sequences)
        scores = base_pair_scores(known.structures, predicted)
        gain = base_pair_bootstrap(known.structures, first, predicted, groups=known.families)
        found[name] = {"f1": scores.pooled.f1, "mean_f1": float(scores.f1.mean()), "gain": vars(gain)}
        recipe.say(f"{which}, {name}: {found[name]['f1']:.3f} {gain}")
    return found


if __name__ == "__main__":
    main()
