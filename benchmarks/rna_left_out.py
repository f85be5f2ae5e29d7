"""Families of ArchiveII, by models that were trained without them, two by two.

    python benchmarks/rna_left_out.py            about an hour
    python benchmarks/rna_left_out.py --quick    two families, short sequences

Needs the data folder (STRUCTUNE_DATA, or ``../shared/data`` beside the checkout). The models are trained as
that of training/rna.py, but without the sequences of set A and the chains that have the name of one of two
families, or share an eighth of their words of 12 bases with one of their sequences, or come from CRW, whose
sequences are of several families; of each other family of set A at most 40, as more gain nothing on families
that are not seen. Only the precisions and the shares of the mean were chosen with all families.

Beside them, CONTRAfold's parameters in that decoder, learned from 151 sequences of Rfam, some of which are of
these families. gamma is that of the pretrained model and, of the peer, its best on all of them. References
are full: pairs of pseudoknots count.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from common import asked_to_be_quick, contrafold_parameters, write
from rna_families import name_of, unlike
from structune import RNAFolder
from structune.learning import average_models
from structune.rna import RNAData, base_pair_bootstrap, base_pair_scores, load_rna

sys.path.insert(0, str(Path(__file__).parents[1] / "training"))
import rna as recipe

GAMMAS = (0.8, 1.0, 1.5, 2.0, 3.0, 4.0)
QUICK = 80
LEFT_OUT = ("5s", "telomerase"), ("16s", "23s"), ("grp1", "grp2"), ("RNaseP", "srp"), ("tRNA", "tmRNA")


def main() -> None:
    quick = asked_to_be_quick(__doc__)
    archive, data, chains = (load_rna(name) for name in ("archiveii", "tornado_train_a", "rna3db"))
    if quick:
        archive, data, chains = (recipe.short(some, QUICK) for some in (archive, data, chains))
    contrafold = RNAFolder.from_contrafold(contrafold_parameters(), decoding="centroid")
    gamma, order = RNAFolder.pretrained().gamma, list[int]()
    own, others = list[str](), [list[str]() for _ in GAMMAS]
    for two in LEFT_OUT[-1:] if quick else LEFT_OUT:
        places = [s for s, family in enumerate(archive.families) if family in two]
        tested = archive.take(places)
        rest = without(data, "tornado_train_a", two, tested)
        fewer = without(chains, "rna3db", two, tested)
        recipe.say(f"{' and '.join(two)}: {len(tested)}; {len(rest)} and {len(fewer)} to learn from")
        learned = recipe.few(rest, [recipe.family_of(name) for name in rest.families], recipe.FEW)[0]
        taught = recipe.pieces(rest, 60 if quick else recipe.TAUGHT)
        model = average_models(recipe.parts(learned, fewer, taught), recipe.SHARES)
        own += model.set_params(decoding="centroid").predict(tested.sequences, gamma)
        for all_of_it, more in zip(others, contrafold.predict_gammas(tested.sequences, GAMMAS), strict=True):
            all_of_it += more
        order += places
    result = compared(archive.take(order), own, best(archive.take(order), others))
    if not quick:
        write("rna_left_out", {"gamma": gamma, "families": result})


def without(data: RNAData, name: str, left_out: tuple[str, ...], tested: RNAData) -> RNAData:
    """What is neither called so, nor alike."""
    names = [name_of("archiveii", family) for family in left_out]
    some = unlike(data.sequences, tested.sequences)
    families = data.families
    return data.take(s for s in some if "CRW" not in families[s] and name_of(name, families[s]) not in names)


def best(archive: RNAData, others: list[list[str]]) -> list[str]:
    return max(others, key=lambda structures: base_pair_scores(archive.structures, structures).f1.mean())


def compared(archive: RNAData, own: list[str], peer: list[str]) -> dict[str, Any]:
    """Mean F1 over sequences, and pooled, of each family and of all."""
    rows: dict[str, Any] = {}
    for family in [*sorted(set(archive.families)), "all"]:
        some = [s for s, other in enumerate(archive.families) if family in (other, "all")]
        true, ours, theirs = ([structures[s] for s in some] for structures in (archive.structures, own, peer))
        scores = {"structune": base_pair_scores(true, ours), "contrafold": base_pair_scores(true, theirs)}
        rows[family] = {
            "sequences": len(some),
            **{
                name: {"f1": one.pooled.f1, "mean_f1": float(np.mean(one.f1))} for name, one in scores.items()
            },
            "gain": vars(base_pair_bootstrap(true, theirs, ours)),
        }
        recipe.say(f"{family}: {rows[family]}")
    return rows


if __name__ == "__main__":
    main()
