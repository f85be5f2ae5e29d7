"""Short sequences, many in one call of the kernels, are folded as long ones are."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rnas import random_sequence
from structune.rna.structure import rna as short
from structune.rna.structure.rna import RNA

SPACES = {"whole": {}, "local": {"max_span": 7}, "any pairs": {"noncanonical": True, "min_hairpin": 0}}
STRANDS, KNOWN = "GGGAAACC&GGUUUCCC", "xx.........."


def problem(options, scale=1.0):
    rng = np.random.default_rng(0)
    rna = RNA(**options)
    lengths = [0, 1, 2, 12, 30, 31, 99, 100, 101, 12, 5]
    return rna, scale * rng.normal(size=rna.n_weights), [random_sequence(rng, n) for n in lengths]


def found(rna, w, shard):
    mea = rna.best_mea(w, shard, [0.5, 4.0]) + rna.best_mea(w, shard, [4.0], lonely=False)
    return [*mea, *rna.best_mea(w, shard, [4.0], decoding="centroid"), rna.best_centroid(w, shard, 0.3)]


@pytest.mark.parametrize("options", SPACES.values(), ids=list(SPACES))
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])  # with the largest, sums leave the range
def test_short_sequences_are_folded_as_long_ones(monkeypatch, options, scale):
    rna, w, sequences = problem(options, scale)
    if scale > 1.0:  # sums in the log domain are slow
        sequences = [sequence for sequence in sequences if len(sequence) < 40]
    shard = rna.encode(sequences)
    here = found(rna, w, shard)
    assert any((partners >= 0).any() for partners in here)
    monkeypatch.setattr(short, "_SHORT", -1)
    assert_array_equal(here, found(rna, w, shard))


def test_neighbours_do_not_matter():
    rna, w, sequences = problem({})
    sequences = [*sequences, STRANDS, *sequences[::-1]]
    known = [KNOWN if k == 3 else None for k in range(len(sequences))]
    together = found(rna, w, rna.encode(sequences, constraints=known))
    pieces = [
        found(rna, w, rna.encode([sequence], constraints=[each]))
        for sequence, each in zip(sequences, known, strict=True)
    ]
    for mine, *each in zip(together, *pieces, strict=True):
        assert_array_equal(mine, np.concatenate(each))


def test_a_call_of_the_kernel_has_so_many_bases(monkeypatch):
    """Ctrl-C waits for it."""
    rna, w, sequences = problem({})
    shard, sizes = rna.encode(sequences), []
    here, fold = found(rna, w, shard), short.fold_short

    def counted(potentials, some, *rest):
        sizes.append(some.sizes().tolist())
        return fold(potentials, some, *rest)

    monkeypatch.setattr(short, "fold_short", counted)
    monkeypatch.setattr(short, "_AT_ONCE", 20)
    assert_array_equal(here, found(rna, w, shard))
    assert sizes[: len(sizes) // 4] == [[0, 1, 2, 12, 30], [31], [99], [100], [12, 5]]
