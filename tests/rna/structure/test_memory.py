"""What a sequence needs is what it takes."""

import numpy as np
import pytest

from memory_use import asked_and_taken
from structune import RNAFolder
from structune.rna.structure import sums

N = 700
SEQUENCE = "".join(np.random.default_rng(0).choice(list("ACGU"), N))
ASKED = {
    "structure": lambda folder: folder.predict([SEQUENCE]),
    "most probable": lambda folder: folder.predict_viterbi([SEQUENCE]),
    "several": lambda folder: folder.predict_nbest([SEQUENCE], 2),
    "samples": lambda folder: folder.sample([SEQUENCE], 2, random_state=0),
    "sum": lambda folder: folder.log_partition([SEQUENCE]),
    "pairs": lambda folder: folder.pair_probabilities(SEQUENCE),
    "windows": lambda folder: folder.unpaired_windows(SEQUENCE, 8),
}


@pytest.mark.parametrize("span", [None, 300])
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_tables(monkeypatch, ask, span):
    folder = RNAFolder.pretrained().set_params(max_span=span)
    asked, taken = asked_and_taken(monkeypatch, sums, lambda: ask(folder))
    assert 0.7 * taken < asked < 1.3 * taken, (asked / 1e6, taken / 1e6)
