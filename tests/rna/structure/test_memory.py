"""What a sequence needs is what it takes, and no more with another one behind it."""

import numpy as np
import pytest

from memory_use import asked_and_taken, peak_of
from structune import RNAFolder
from structune.rna.examples import Example
from structune.rna.fold_commands import Recipe
from structune.rna.formats.sequences import RNARecord
from structune.rna.options import Wanted, Writing
from structune.rna.structure import rna
from structune.rna.structure.constraints import Constraints

N = 700
SEQUENCE = "".join(np.random.default_rng(0).choice(list("ACGU"), N))
TWO = [SEQUENCE, SEQUENCE[1:]]
ASKED = {
    "structure": lambda folder: folder.predict(TWO),
    "most probable": lambda folder: folder.predict_viterbi(TWO),
    "several": lambda folder: folder.predict_nbest(TWO, 2),
    "samples": lambda folder: folder.sample(TWO, 2, random_state=0),
    "sum": lambda folder: folder.log_partition(TWO),
    "pairs": lambda folder: folder.pair_probabilities(SEQUENCE),
    "windows": lambda folder: folder.unpaired_windows(SEQUENCE, 8),
}


DRAWN = Writing(plot="a.png")
RECIPES = {
    "pairs": (Wanted(), Writing("pairs")),
    "samples": (Wanted(samples=3), DRAWN),
    "several": (Wanted(nbest=3), DRAWN),
    "windows": (Wanted(), Writing("bases", window=8)),
    "pseudoknots": (Wanted(pseudoknots=True), DRAWN),
}


@pytest.mark.parametrize("given", [None, Constraints(paired=np.linspace(-1.0, 1.0, N))], ids=["", "evidence"])
@pytest.mark.parametrize("asked", RECIPES.values(), ids=RECIPES)
def test_what_the_command_holds(asked, given):
    recipe = Recipe(RNAFolder.pretrained().set_params(n_jobs=1), "pretrained", *asked)
    example = Example(RNARecord("a", SEQUENCE), "file", given, np.random.default_rng(0))
    recipe.fold([example])  # kernels are compiled
    held, taken = recipe.memory_of(example), peak_of(lambda: recipe.fold([example]))
    assert 0.7 * taken < held < 1.3 * taken, (held / 1e6, taken / 1e6)


@pytest.mark.parametrize("span", [None, 300])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_tables(monkeypatch, ask, span):
    folder = RNAFolder.pretrained().set_params(max_span=span, n_jobs=1)
    asked, taken = asked_and_taken(monkeypatch, rna, lambda: ask(folder))
    assert 0.7 * taken < asked < 1.3 * taken, (asked / 1e6, taken / 1e6)
