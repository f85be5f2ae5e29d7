"""How well structures are predicted: the pretrained model, other parameters in the same decoder, ViennaRNA.

    python benchmarks/rna_accuracy.py [EternaFoldParams.v1]      about half an hour, most of it ViennaRNA
    python benchmarks/rna_accuracy.py --quick                    sequences of up to 100 bases

The file is of the repository eternagame/EternaFold (parameters); without it its column is left out. Needs
``pip install ViennaRNA`` and the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout).

Test sets: test set A of Rivas, Lang & Eddy (2012), and the sequences of ArchiveII, without those that are in
their training set A or among the chains of RNA3DB, from which the pretrained model learned. Many of them have
relatives there. And sequences of Rfam of up to 400 bases that share less than a tenth of their words of 12
bases with set A: of families with a published structure, and of others with a predicted one; and of these
those of families that set A does not have, and that are unlike the chains, too.

The pretrained model's gamma was chosen on these sequences of Rfam. Its decoder, how much energies count, and
that designs do not, were chosen by folds of families that include those of ArchiveII and of Rfam with a
published structure (benchmarks/rna_generalization.py), and how many sequences of a family it learns from with
a look at test set A. References are full: pairs of pseudoknots count, though structures without pseudoknots
cannot have all of them. Sequences of test set A that have some are also folded with a second layer of pairs,
whose gamma was chosen on ArchiveII.

The parameters of CONTRAfold and EternaFold are used by the same decoder, gamma-centroids. gamma of each peer
is that of its best pooled F1 on a sample of the training set, and on Rfam its best there; of the pretrained
model that in its file. Intervals are over sequences, on Rfam over families.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from common import contrafold_parameters, parser_of, write
from rna_families import name_of
from structune import RNAFolder
from structune.rna import RNAData, base_pair_bootstrap, base_pair_scores, load_rna

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
import rna as recipe

GAMMAS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
QUICK = 100


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("eternafold", nargs="?")
    arguments = parser.parse_args()
    sets = {"TestSetA": unseen(load_rna("tornado_test_a")), "ArchiveII": unseen(load_rna("archiveii"))}
    sets |= {
        f"Rfam, {name}": data for name, data in recipe.unlike_sequences(load_rna("tornado_train_a")).items()
    }
    if arguments.quick:
        sets = {name: data.take(short(data, QUICK)) for name, data in sets.items()}
    folders = {"pretrained": RNAFolder.pretrained()}
    for name, path in (("contrafold", contrafold_parameters()), ("eternafold", arguments.eternafold)):
        if path is not None:
            folders[name] = RNAFolder.from_contrafold(path, decoding="centroid")
    with ProcessPoolExecutor() as pool:
        gammas = {"training set A": best_gammas(folders, training_sample(), pool)}
        results = {}
        for name, data in sets.items():
            if name.startswith("Rfam"):
                gammas[name] = best_gammas(folders, data, pool)
            chosen = gammas.get(name, gammas["training set A"])
            results[name] = compare(name, data, folders, chosen, pool)
    if not arguments.quick:
        write("rna_accuracy", {"gammas": gammas, "sets": results}, "ViennaRNA")


def short(data: RNAData, most: int) -> list[int]:
    return [s for s, sequence in enumerate(data.sequences) if len(sequence) <= most]


def unseen(data: RNAData) -> RNAData:
    """What is not among the structures that were learned from, letter for letter."""
    learned = ("tornado_train_a", "rna3db")
    known = {plain(sequence) for name in learned for sequence in load_rna(name).sequences}
    return data.take([s for s, sequence in enumerate(data.sequences) if plain(sequence) not in known])


def plain(sequence: str) -> str:
    return sequence.upper().replace("T", "U")


def vienna_mfe(sequence: str) -> str:
    import RNA

    return str(RNA.fold(plain(sequence))[0])


def vienna_mea(task: tuple[str, tuple[float, ...]]) -> list[str]:
    import RNA

    compound = RNA.fold_compound(plain(task[0]))
    compound.exp_params_rescale(compound.mfe()[1])  # else partition functions of long sequences overflow
    compound.pf()
    return [str(compound.MEA(gamma)[0]) for gamma in task[1]]


def training_sample() -> RNAData:
    """400 training sequences of up to 300 bases."""
    data = load_rna("tornado_train_a")
    return data.take(np.random.default_rng(0).permutation(short(data, 300))[:400].tolist())


def best_gammas(folders: dict[str, RNAFolder], data: RNAData, pool: ProcessPoolExecutor) -> dict[str, float]:
    """Of the peers those of the best pooled F1; of the pretrained model its own."""
    found = {"pretrained": folders["pretrained"].gamma}
    tried = {
        name: folder.predict_gammas(data.sequences, GAMMAS)
        for name, folder in folders.items()
        if name not in found
    }
    vienna = pool.map(vienna_mea, [(sequence, GAMMAS) for sequence in data.sequences])
    tried["vienna_mea"] = [list(structures) for structures in zip(*vienna, strict=True)]
    for name, predictions in tried.items():
        scores = [base_pair_scores(data.structures, structures).pooled.f1 for structures in predictions]
        found[name] = GAMMAS[int(np.argmax(scores))]
        recipe.say(f"{name}: " + ", ".join(f"{g:g} {f1:.3f}" for g, f1 in zip(GAMMAS, scores, strict=True)))
    return found


def compare(
    name: str,
    data: RNAData,
    folders: dict[str, RNAFolder],
    gammas: dict[str, float],
    pool: ProcessPoolExecutor,
) -> dict[str, Any]:
    recipe.say(f"{name}: {len(data)} sequences, {sum(map(len, data.sequences))} bases")
    predictions = {}
    for method, folder in folders.items():
        predictions[method] = folder.predict(data.sequences, gammas[method])
        recipe.say(f"{name}: {method}")
    predictions["vienna_mfe"] = list(pool.map(vienna_mfe, data.sequences))
    tasks = [(sequence, (gammas["vienna_mea"],)) for sequence in data.sequences]
    predictions["vienna_mea"] = [structures[0] for structures in pool.map(vienna_mea, tasks)]
    groups = name.startswith("Rfam")
    parts = {"all": list(range(len(data)))}
    if groups:
        parts["other families"] = of_other_families(data)
    else:
        families = sorted(set(data.families), key=lambda f: -data.families.count(f))
        parts["up to 400 bases"] = short(data, 400)
        parts |= {f: [s for s, other in enumerate(data.families) if other == f] for f in families}
    return {part: scores(data, predictions, chosen, groups) for part, chosen in parts.items() if chosen}


def of_other_families(data: RNAData) -> list[int]:
    """Those of Rfam whose family set A does not have, and that are unlike the chains."""
    learned = {name_of("tornado_train_a", family) for family in load_rna("tornado_train_a").families}
    unlike = set(recipe.unlike(data, load_rna("rna3db")).sequences)
    return [
        s
        for s, family in enumerate(data.families)
        if name_of("rfam1359", family) not in learned and data.sequences[s] in unlike
    ]


def scores(
    data: RNAData, predictions: dict[str, list[str]], chosen: list[int], by_family: bool
) -> dict[str, Any]:
    true = [data.structures[s] for s in chosen]
    part = {method: [structures[s] for s in chosen] for method, structures in predictions.items()}
    groups = [data.families[s] for s in chosen] if by_family else None
    row: dict[str, Any] = {"sequences": len(chosen)}
    for method, structures in part.items():
        counted = base_pair_scores(true, structures)
        slipped = base_pair_scores(true, structures, slip=1)
        row[method] = {
            **counted.pooled._asdict(),
            "f1_slip_1": slipped.pooled.f1,
            "mean_f1": float(counted.f1.mean()),
        }
    for peer in part.keys() - {"pretrained", "vienna_mfe"}:
        gain = base_pair_bootstrap(true, part[peer], part["pretrained"], groups=groups)
        row[f"pretrained minus {peer}"] = vars(gain)
        recipe.say(f"{len(chosen)} sequences, pooled F1 over {peer}: {gain}")
    return row


if __name__ == "__main__":
    main()
