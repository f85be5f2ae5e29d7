"""Structures and records of RNA, for hypothesis."""

import numpy as np
from hypothesis import strategies as st

from structune.rna import RNARecord, to_dot_bracket


@st.composite
def partner_arrays(draw, max_pairs=8):
    n_pairs, n_unpaired = draw(st.integers(0, max_pairs)), draw(st.integers(0, 5))
    bases = draw(st.permutations(range(2 * n_pairs + n_unpaired)))
    found = np.full(len(bases), -1, np.int64)
    for i, j in zip(bases[: 2 * n_pairs : 2], bases[1 : 2 * n_pairs : 2], strict=True):
        found[i], found[j] = j, i
    return found


@st.composite
def structured_records(draw):
    structure = to_dot_bracket(draw(partner_arrays()))
    n = len(structure)
    name = draw(st.text("ab:>#;=0.", min_size=1, max_size=5))
    return RNARecord(name, draw(st.text("ACGUNX", min_size=n, max_size=n)), structure)
