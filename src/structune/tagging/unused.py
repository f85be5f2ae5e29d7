"""Taggers without the attributes that have no weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from structune.tagging.tagger import SequenceTagger


def drop_unused(tagger: SequenceTagger) -> None:
    """Take from a fitted tagger all attribute-label pairs of weight 0, and attributes and groups left empty.

    Predictions stay what they are, and the file gets small. Transitions stay, whatever their weight.
    """
    whole, groups = tagger.chain_, tagger._weight_groups(tagger.chain_)
    which = np.ones(whole.n_weights, dtype=bool)
    which[: whole.pairs.size] = tagger.coef_[: whole.pairs.size] != 0.0
    chain, kept = whole.keep(which)
    sizes = np.bincount(groups.index[kept], minlength=len(groups))
    used = np.flatnonzero(sizes)
    tagger._keep_chain(chain)
    tagger.coef_ = tagger.coef_[kept]
    tagger.penalty_, tagger.l1_ = tagger.penalty_[used], tagger.l1_[used]
    tagger.group_names_ = tuple(groups.names[g] for g in used.tolist())
    tagger.group_sizes_ = sizes[used]
    for record in tagger.history_:
        if "log_precision" in record:
            record["log_precision"] = np.array(record["log_precision"])[used].tolist()
