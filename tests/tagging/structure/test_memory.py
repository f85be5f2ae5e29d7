"""What a sentence needs is what it takes, and what does not fit is refused."""

import numpy as np
import pytest

from memory_use import peak_of
from structune import SegmentTagger, SequenceTagger
from structune.errors import DataError
from structune.running import Run, memory
from structune.tagging.structure import chain, shard

pytestmark = pytest.mark.filterwarnings("ignore:the fit has not converged")
N, N_LABELS = 20_000, 12
ASKED = {
    "best": lambda structure, w, long: structure.best(w, long),
    "expected": lambda structure, w, long: structure.log_partition(w, long, np.zeros(w.size)),
    "marginals": lambda structure, w, long: structure.marginals(w, long),
    "several": lambda structure, w, long: structure.n_best(w, long, 3),
}


def tokens(n, seed=0):
    return [[f"w={k}"] for k in np.random.default_rng(seed).integers(0, 50, n)]


@pytest.fixture(scope="module", params=["chain", "chain of pairs", "segments"])
def tagger(request):
    options = {"run": Run(max_iterations=2), "n_jobs": 1}
    if request.param == "segments":
        tags = [f"{'I' if i % 7 else 'B'}-{i // 7 % 4}" for i in range(280)]
        return SegmentTagger(**options).fit([tokens(280)], [tags])
    order = 1 if request.param == "chain" else 2
    return SequenceTagger(order=order, **options).fit(
        [tokens(280)], [[str(i % N_LABELS) for i in range(280)]]
    )


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_tables(tagger, ask, monkeypatch):
    asked = []
    monkeypatch.setattr(shard, "require_memory", lambda needed, *_: asked.append(needed))
    long, _ = tagger._encode([tokens(N), tokens(9)])
    ask(tagger._structure, tagger.coef_, long)
    taken = peak_of(lambda: ask(tagger._structure, tagger.coef_, long))
    assert 0.7 * taken < max(asked) < 1.3 * taken, (max(asked) / 1e6, taken / 1e6)


def test_a_sentence_that_is_too_long(tagger, monkeypatch):
    for module in (memory, shard):
        monkeypatch.setattr(module, "_SMALL", 0)
    monkeypatch.setattr(chain, "_FEW", 0)  # tokens of few attributes need less than what is always there
    monkeypatch.setattr(memory, "available_memory", lambda: 1000)
    refused = "a sequence of 300 tokens and its tables of .* labels need .* found 0.0 GB .*: expected it cut"
    for predict in (tagger.predict, tagger.predict_marginals, tagger.predict_nbest):
        with pytest.raises(DataError, match=refused):
            predict([tokens(5), tokens(300)])
    with pytest.raises(DataError, match="tokens and its tables of"):
        tagger.fit([tokens(300)], [["B-1"] * 300])
