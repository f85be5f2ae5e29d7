"""What helps a model of RNA on families that it has never seen: whole families held out, three folds.

    python benchmarks/rna_generalization.py [EternaFoldParams.v1]      about forty minutes
    python benchmarks/rna_generalization.py --quick                    short sequences, two folds

The file is of the repository eternagame/EternaFold (parameters); without it its row is left out. Needs the
data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). Families are those of
benchmarks/rna_families.py. Each fold learns from at most 10 sequences of each family of the
others that are not alike to a sequence that it is tested on, at most 5 of each of its own families. The
precisions come from a search on training set A, so that they know of all of its families; searches from there
are on what the fold learns from. The parameters of CONTRAfold and EternaFold have been learned from many of
the families. Predictions are gamma-centroids, but in one row, at the gamma of each row's best F1 on all
folds. Intervals are over families.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import rna_families
from common import contrafold_parameters, parser_of, write
from structune import RNAFolder
from structune.learning import ImplicitTuner, average_models
from structune.rna import (
    Constraints,
    ProbedData,
    ReactivityModel,
    RNAData,
    base_pair_bootstrap,
    base_pair_scores,
    load_probed,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
import rna as recipe

FOLDS, LEARNED, TESTED, SEED = 3, 10, 5, 1
DESIGNS, EVALUATIONS = 400, 6
GAMMAS = (0.8, 1.0, 1.2, 1.5, 1.9, 2.3, 3.0, 4.0)
FIRST = "structures"
Models = dict[str, RNAFolder]


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("eternafold", nargs="?")
    arguments = parser.parse_args()
    quick = arguments.quick
    known, n_folds = rna_families.by_families(quick), 2 if quick else FOLDS
    fold_of = rna_families.dealt(known, n_folds, SEED)
    fixed = {"CONTRAfold's parameters": RNAFolder.from_contrafold(contrafold_parameters())}
    if arguments.eternafold is not None:
        fixed["EternaFold's parameters"] = RNAFolder.from_contrafold(arguments.eternafold)
    tested, predicted = list[rna_families.Known](), dict[str, list[list[str]]]()
    for fold in range(n_folds):
        others = [one for one in known if fold_of[one.family] != fold]
        own = [one for one in known if fold_of[one.family] == fold]
        tested += (test := rna_families.some_of_each(own, TESTED, SEED))
        unlike = rna_families.unlike([one.sequence for one in others], [one.sequence for one in test])
        part = rna_families.some_of_each([others[k] for k in unlike], 4 if quick else LEARNED, SEED)
        for name, predict in rows(fitted(part, fixed, quick)).items():
            found = predict([one.sequence for one in test])
            before = predicted.setdefault(name, [[] for _ in GAMMAS])
            for all_of_it, more in zip(before, found, strict=True):
                all_of_it += more
            recipe.say(f"fold {fold}, {name}")
    result = {name: judged(tested, found, predicted[FIRST]) for name, found in predicted.items()}
    for name, row in result.items():
        recipe.say(f"{name}: {row}")
    if not quick:
        sizes = {"sequences": len(tested), "families": len({one.family for one in tested})}
        write("rna_generalization", {"models": result, **sizes})


def rows(models: Models) -> dict[str, Callable[[list[str]], list[list[str]]]]:
    """What predicts structures for each gamma."""
    found: dict[str, Any] = {}
    for name, model in models.items():
        model.set_params(decoding="centroid", n_jobs=-1)
        found[name] = lambda sequences, model=model: model.predict_gammas(sequences, GAMMAS)
        if name == "structures .8, energies .2":
            found[f"{name}; by maximum expected accuracy"] = lambda sequences, model=model: model.predict_mea(
                sequences, GAMMAS
            )
    return found


def fitted(part: list[rna_families.Known], fixed: Models, quick: bool) -> Models:
    """Models of the same structures and of more."""
    data = RNAData(
        [str(k) for k in range(len(part))],
        [one.family for one in part],
        [one.sequence for one in part],
        [one.structure for one in part],
    )
    precisions = recipe.PRECISIONS
    designs = chosen_designs(60 if quick else DESIGNS)
    probed = evidence(designs, ReactivityModel.pretrained())
    models = {FIRST: recipe.fit(precisions, data)}
    plain = {name: value for name, value in precisions.items() if name in recipe.CONTRAFOLD_GROUPS}
    models["CONTRAfold's features"] = recipe.fit(plain, data, features="contrafold")
    search = ImplicitTuner(list(precisions.values()), EVALUATIONS, refit=False)
    found = recipe.rounded(recipe.tune(data, data.families, search))
    models["precisions by log loss"] = recipe.fit(found, data)
    models[f"and {DESIGNS} designs"] = recipe.fit(precisions, data, probed)
    taught = recipe.pieces(data, 60 if quick else recipe.TAUGHT)
    models["energies"] = recipe.of_energies(models[FIRST], taught)
    models |= fixed
    structures, designed, energies = (models[k] for k in (FIRST, f"and {DESIGNS} designs", "energies"))
    for share in (0.1, 0.2, 0.3):
        mean = average_models([structures, energies], [1.0 - share, share])
        models[f"structures .{10 - 10 * share:.0f}, energies .{10 * share:.0f}"] = mean
    models[f"structures .5, and {DESIGNS} designs .3, energies .2"] = average_models(
        [structures, designed, energies], [0.5, 0.3, 0.2]
    )
    return models


def chosen_designs(n: int) -> ProbedData:
    """So many designs: of each project one after the other, at random."""
    data, by_project = load_probed(), defaultdict(list)
    for s in np.random.default_rng(0).permutation(len(data)).tolist():
        by_project[data.projects[s]].append(s)
    turns = sorted(
        (turn, project, s) for project, members in by_project.items() for turn, s in enumerate(members)
    )
    chosen = [s for *_, s in turns[:n]]
    columns = (data.projects, data.sequences, data.reactivities)
    return ProbedData(*([column[s] for s in chosen] for column in columns))


def evidence(designs: ProbedData, table: ReactivityModel) -> recipe.Examples:
    """What the reactivities of designs say of their structures."""
    probed = zip(designs.sequences, designs.reactivities, strict=True)
    y = list[str | Constraints](Constraints(paired=table.paired(*each)) for each in probed)
    return designs.sequences, y, [1.0] * len(y)


def judged(
    tested: list[rna_families.Known], found: list[list[str]], first: list[list[str]]
) -> dict[str, Any]:
    """Pooled F1 at its best gamma, the mean over families, and how much more than the first row it has."""
    true, families = [one.structure for one in tested], [one.family for one in tested]
    scores = [base_pair_scores(true, structures) for structures in found]
    best = int(np.argmax([one.pooled.f1 for one in scores]))
    before = max(first, key=lambda structures: base_pair_scores(true, structures).pooled.f1)
    gain = base_pair_bootstrap(true, before, found[best], groups=families)
    return {
        "gamma": GAMMAS[best],
        "f1": scores[best].pooled.f1,
        "mean_f1": float(scores[best].f1.mean()),
        "gain": vars(gain),
    }


if __name__ == "__main__":
    main()
