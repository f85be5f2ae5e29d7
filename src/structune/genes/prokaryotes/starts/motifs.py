"""Motifs before starts: where they may be, and which bases they have."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from structune.genes.prokaryotes.kernels import starts as kernels
from structune.structure import FloatArray

_BASES = "ACGT"
_SURE = 0.7  # probability of the bases of a motif that nothing has been seen of, beside that of any base
_PRIOR = 0.2  # what a motif weighs that nothing has been seen of, in shares of what was seen
_FEW = 8.0  # bases seen before


@dataclass(frozen=True)
class Motif:
    """Some bases in a row, at one of several places before a start.

    Attributes
    ----------
    first : int
        The first base's first place, relative to the start.
    bases : ndarray, shape (n_bases, 4)
        Probabilities of A, C, G and T.
    places : ndarray, shape (n_places,)
        Probabilities of where it begins.
    share : float
        Of the starts that have it.
    """

    first: int
    bases: FloatArray
    places: FloatArray
    share: float

    @classmethod
    def of(cls, text: str, first: int, last: int, share: float, background: FloatArray) -> Motif:
        """One of letters, N for any, that begins from `first` to `last`."""
        known = [[base == letter for base in _BASES] if letter != "N" else background for letter in text]
        bases = _SURE * np.array(known, float) + (1.0 - _SURE) * background
        n = last - first + 1
        return cls(first, bases, np.full(n, 1.0 / n), share)

    def scores(self, letters: NDArray[np.int8], begin: int, background: FloatArray) -> FloatArray:
        """Log odds of the letters before starts, which begin at `begin`, having the motif."""
        out = np.empty(len(letters))
        kernels.motif_scores(self._window(letters, begin), self._odds(background), self.places, out)
        return np.asarray(np.log(1.0 - self.share + self.share * np.exp(out)))

    def learned(
        self,
        letters: NDArray[np.int8],
        begin: int,
        background: FloatArray,
        used: FloatArray,
        before: Motif,
        fixed_share: bool,
    ) -> Motif:
        """One step of expectation maximisation, with starts as probable as `used`.

        `before` is the motif that nothing had been seen of: the prior.
        """
        counts, places = np.zeros((len(self.bases), 5)), np.zeros(self.places.size)
        rest = (1.0 - self.share) / self.share
        given = self._window(letters, begin), self._odds(background), self.places
        kernels.count_motif(*given, rest, used, counts, places)
        seen = places.sum()
        bases = counts[:, :4] + _FEW * background + _PRIOR * seen * before.bases
        return replace(
            self,
            bases=bases / bases.sum(axis=1, keepdims=True),
            places=(places + 1.0) / (seen + places.size),
            share=self.share if fixed_share else float(np.clip((seen + 1) / (used.sum() + 2), 0.02, 0.98)),
        )

    def _window(self, letters: NDArray[np.int8], begin: int) -> NDArray[np.int8]:
        first = self.first - begin
        return letters[:, first : first + self.places.size + len(self.bases) - 1]

    def _odds(self, background: FloatArray) -> FloatArray:
        return np.column_stack([self.bases / background, np.ones(len(self.bases))])
