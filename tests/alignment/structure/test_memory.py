"""What two sequences need is what they take."""

import numpy as np
import pytest

from memory_use import asked_and_taken, peak_of
from structune import SequenceAligner
from structune.alignment import multiple
from structune.alignment.structure import inference

RESIDUES = list("ARNDCQEGHILKMFPSTWYV")
ASKED = {
    "alignment": lambda aligner, pair: aligner.predict([pair, pair]),
    "confidence": lambda aligner, pair: aligner.predict_confidence([pair], posteriors=True),
    "probabilities": lambda aligner, pair: aligner.posterior(*pair),
}


def drawn(n):
    rng = np.random.default_rng(n)
    return "".join(rng.choice(RESIDUES, n)), "".join(rng.choice(RESIDUES, n + 100))


@pytest.mark.parametrize(
    ("ask", "n", "keeps"),
    [
        ("alignment", 300, True),
        ("alignment", 1000, False),
        ("confidence", 300, False),
        ("confidence", 1000, True),
        ("probabilities", 1000, True),
    ],
)
def test_tables(monkeypatch, ask, n, keeps):
    if not keeps:
        monkeypatch.setattr(inference, "_MOST_KEPT", 0)
    aligner, pair = SequenceAligner.pretrained().set_params(n_jobs=1), drawn(n)
    asked, taken = asked_and_taken(monkeypatch, inference, lambda: ASKED[ask](aligner, pair))
    assert 0.7 * taken < asked < 1.3 * taken, (asked / 1e6, taken / 1e6)


def test_a_family_is_known_the_better_the_more_of_it_is_found(monkeypatch):
    rng, asked = np.random.default_rng(0), []
    first = rng.choice(RESIDUES, 200)
    family = ["".join(np.where(rng.random(200) < 0.7, first, rng.choice(RESIDUES, 200))) for _ in range(40)]
    monkeypatch.setattr(multiple, "require_memory", lambda needed, *_: asked.append(needed))
    aligner = SequenceAligner.pretrained()
    aligner.align(family[:3])
    asked.clear()
    taken = peak_of(lambda: aligner.align(family))
    assert len(asked) == 3  # before, and after each twenty sequences
    assert 0.7 * taken < asked[-1] < 1.3 * taken, (asked[0] / 1e6, asked[-1] / 1e6, taken / 1e6)
