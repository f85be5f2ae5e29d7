"""Groups of attributes for tuning: one per template, but not too many for the held-out sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from structune.structure import MERGED, IntArray, template_of

_GROUPS_PER_SEQUENCE = 2  # that is held out
_LEAST_WEIGHTS = 10  # of what stands before a colon, or else it may be part of a word, as in 12:30


def templates_of(names: Sequence[str], attributes: IntArray, n_heldout: int | None = None) -> list[str]:
    """The template of each attribute (see `template_of`), or its group for tuning if `n_heldout` is given.

    For tuning, keys without a value, such as words that are present or not, form one group. Templates that
    end at a colon and have fewer than 10 weights join it. There are at most two groups per held-out sequence:
    the smallest templates join that group too.

    Parameters
    ----------
    names : sequence of str
    attributes : ndarray of int, shape (n_weights,)
        Index of the attribute of each weight, from 0.
    n_heldout : int, optional
        Number of sequences that tuning holds out.
    """
    keys = list(map(template_of, names))
    if n_heldout is None:
        return keys
    weights, certain = dict.fromkeys(keys, 0), set[str]()
    sizes = np.bincount(attributes, minlength=len(names)).tolist()
    for key, name, size in zip(keys, names, sizes, strict=True):
        weights[key] += size if key != name else 0
        certain.update([key] * ("=" in name))
    kept = [key for key, n in weights.items() if n >= _LEAST_WEIGHTS or key in certain]
    most = max(_GROUPS_PER_SEQUENCE * n_heldout, 1)
    if len(kept) + (len(kept) < len(weights)) > most:  # one is that of the others
        kept = sorted(kept, key=lambda key: (-weights[key], key))[: most - 1]
    others = weights.keys() - set(kept)
    rest = f"{MERGED}{len(others):,} keys)" if len(others) > 1 else "".join(others)
    return [rest if key in others else key for key in keys]
