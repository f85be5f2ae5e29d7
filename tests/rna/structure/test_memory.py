"""What a sequence needs is what it takes, and no more with another one behind it."""

import numpy as np
import pytest

from memory_use import asked_and_taken
from structune import RNAFolder
from structune.rna.structure import sums

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


@pytest.mark.parametrize("span", [None, 300])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_tables(monkeypatch, ask, span):
    folder = RNAFolder.pretrained().set_params(max_span=span, n_jobs=1)
    asked, taken = asked_and_taken(monkeypatch, sums, lambda: ask(folder))
    assert 0.7 * taken < asked < 1.3 * taken, (asked / 1e6, taken / 1e6)
