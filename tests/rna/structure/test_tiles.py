"""Tables of long sequences are filled tile by tile: the same numbers, on any number of threads."""

import time
from concurrent.futures import Future

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import laws
from rnas import random_sequence
from structune.rna.structure import tiles
from structune.rna.structure.constraints import Constraints
from structune.rna.structure.features import Potentials
from structune.rna.structure.inference import Counts, ScaledInference
from structune.rna.structure.rna import RNA
from structune.rna.structure.space import n_cells
from structune.running.cores import using_cores

MODELS = {
    "as papers have it": {},
    "any two bases pair": {"noncanonical": True, "features": "extended", "min_hairpin": 0},
    "circles": {"circular": True, "features": "extended"},
}


def answers(rna, w, sequence, known):
    """All that the tables of a sequence are used for."""
    shard = rna.encode([sequence], constraints=[known])
    potentials, extra = (
        Potentials(rna._features.cells(w), rna._allowed),
        shard.known(0).table(shard.n_parts - 1),
    )

    def summed():
        return ScaledInference(potentials, shard.letters, rna._space, extra)

    first, counts = summed(), Counts(shard.n_parts, w.dtype)
    first.count(counts)
    yield from (first.log_partition, counts.gather(), first.pairs)
    if np.iscomplexobj(w):
        return
    second = summed()
    second.count()
    yield from (second.pairs, rna.best(w, shard)[1])
    if not rna.circular:
        yield summed().unpaired_windows(5)


@pytest.mark.parametrize("step", [0.0, laws._STEP])
@pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)
@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(64, 170), letters=st.sampled_from(["ACGU", "GC", "ACGUN"])
)
def test_tiles_and_threads_change_no_result(options, step, seed, n, letters):
    rng, rna = np.random.default_rng(seed), RNA(**options)
    w, v = 0.3 * rng.normal(size=(2, rna.n_weights))
    known = Constraints(prohibited=[(0, n - 1)], paired=rng.normal(size=n)) if rng.random() < 0.5 else None
    given = rna, w + 1j * step * v if step else w, random_sequence(rng, n, letters), known
    whole = list(answers(*given))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles, "BLOCK", 32)
        patch.setattr(tiles, "BLOCKED", 64)
        in_tiles = list(answers(*given))
        patch.setattr(tiles, "THREADED", 1)
        with using_cores(3):
            in_threads = list(answers(*given))
    for one, other, same in zip(whole, in_tiles, in_threads, strict=True):
        for part in (np.real, lambda values: np.imag(values) / laws._STEP):
            assert_allclose(part(one), part(other), rtol=1e-9, atol=1e-9)
        assert np.array_equal(other, same)  # to the last bit


def test_a_failure_in_a_thread_ends_all(monkeypatch):
    monkeypatch.setattr(tiles, "BLOCKED", 0)
    rna = RNA()
    shard = rna.encode(["A" * 2000])
    with using_cores(2):
        of_two = tiles.Tiles(shard.letters, np.ones((6, 6), bool), rna._space)
    assert of_two.n_threads == 2

    def kernel(own, last, thread, partners):
        if own == last == 7:
            raise ArithmeticError("in a thread")

    with pytest.raises(ArithmeticError, match="in a thread"):
        of_two.fill("work", kernel)

    def interrupted(future):
        raise KeyboardInterrupt

    done = []
    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        of_two.fill("work", lambda own, last, *_: (time.sleep(0.01), done.append((own, last))))
    assert len(done) < of_two.n_blocks


def test_memory_beside_the_tables():
    rna = RNA(max_span=300)
    with using_cores(8):
        assert rna.memory_of(100_000, 1.0) == 8.0 * n_cells(100_000, 300)  # one block, a ring of 32 rows
        own = RNA().memory_of(4000, 1.0) / 8.0 - n_cells(4000, 3999)
    assert own == 3 * 4000 * (tiles.BLOCK * 4 + 32)  # four threads: each has four blocks
