"""What helps a model of RNA on families that it has never seen: the parts of training/rna.py one by one.

    python benchmarks/rna_generalization.py EternaFoldParams.v1            about 45 minutes
    python benchmarks/rna_generalization.py EternaFoldParams.v1 --quick    few sequences

The file is of the repository eternagame/EternaFold (parameters). Needs ``pip install ViennaRNA`` and the
data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). The models are those that
training/rna.py makes on its way, and some with precisions that were tuned to the end.

Tested on sequences of up to 400 bases that share less than a tenth of their words of 12 bases with training
set A: those of Rfam whose family has a published structure, those with a predicted one, and chains of solved
structures (RNA3DB), the latter by models that did not learn from them. Intervals are over families. gamma of
each model, and of the parameters of CONTRAfold and EternaFold in the same decoder, is that of the best mean
of F1 on both sets of Rfam, as of the pretrained model, whose shares were chosen on the same sequences: the
intervals do not know of these choices. 3 of the 101 sequences of Rfam with a published structure share more
than a tenth of their words with chains of RNA3DB, 2 of the 974 others.
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

FIRST, SOLVED = "structures", "RNA3DB"


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
    rfam = recipe.new_families(data)
    tested = {f"Rfam, {name}": known for name, known in rfam.items()}
    tested[SOLVED] = recipe.unlike(load_rna("rna3db"), data)
    models = fitted(data, families, quick)
    models["CONTRAfold's parameters"] = RNAFolder.from_contrafold(contrafold_parameters())
    models["EternaFold's parameters"] = RNAFolder.from_contrafold(arguments.eternafold)
    rows: dict[str, Any] = {}
    for name, model in models.items():
        model.gamma = recipe.chosen_gamma(model, rfam)
        rows[name] = {"gamma": model.gamma}
    for which, known in tested.items():
        for name, scores in compared(models, which, known).items():
            rows[name][which] = scores
    if not quick:
        write("rna_generalization", {"models": rows, "sequences": sizes(tested)}, "ViennaRNA")


def sizes(tested: dict[str, RNAData]) -> dict[str, dict[str, int]]:
    return {k: {"sequences": len(v), "families": len(set(v.families))} for k, v in tested.items()}


def fitted(data: RNAData, families: list[str], quick: bool) -> dict[str, RNAFolder]:
    """Models of the same structures and of more."""
    few, many = ((2, 100), (4, 100)) if quick else ((recipe.FEW, recipe.LONGEST), (recipe.MOST,))
    part, _ = recipe.few(data, families, *few)
    precisions, table = recipe.PRECISIONS, ReactivityModel.pretrained()
    designs = recipe.chosen_designs(60 if quick else recipe.DESIGNS)
    third, every = (recipe.evidence(designs, table, range(0, len(designs), step)) for step in (3, 1))
    models = {FIRST: recipe.fit(precisions, part)}
    for name, tuner in (("log loss", None), ("F1", ImplicitTuner(refit=False, criterion="f1"))):
        tuned = recipe.tune(*(recipe.few(data, families, *few) if quick else (data, families)), tuner=tuner)
        models[f"precisions by {name}"] = recipe.fit(recipe.rounded(tuned), part)
    more = {
        "and solved chains": recipe.solved_structures(),
        "and 1000 designs": third,
        "and 1000 designs of less weight": recipe.weighted(third, recipe.LESS),
        "and 3000 designs": every,
    }
    with_more = {name: recipe.fit(precisions, part, examples) for name, examples in more.items()}
    models |= with_more
    models["mean of these four"] = average_models(list(with_more.values()))
    models["more structures"] = recipe.fit(precisions, recipe.few(data, families, *many)[0])
    models["energies"] = recipe.fitted_energies(data, 60 if quick else recipe.DRAWN)
    parts = [models[name] for name in ("more structures", "mean of these four", "energies")]
    models["mean of the last three"] = average_models(parts, recipe.SHARES)
    return models


def compared(models: dict[str, RNAFolder], which: str, known: RNAData) -> dict[str, Any]:
    """Pooled F1 of each model, its mean over sequences, and how much more than the first it has."""
    found: dict[str, Any] = {}
    first = models[FIRST].predict(known.sequences)
    for name, model in models.items():
        if which == SOLVED and any(word in name for word in ("solved", "mean of")):
            continue
        predicted = model.predict(known.sequences)
        scores = base_pair_scores(known.structures, predicted)
        gain = base_pair_bootstrap(known.structures, first, predicted, groups=known.families)
        found[name] = {"f1": scores.pooled.f1, "mean_f1": float(scores.f1.mean()), "gain": vars(gain)}
        recipe.say(f"{which}, {name}: {found[name]['f1']:.3f} {gain}")
    return found


if __name__ == "__main__":
    main()
