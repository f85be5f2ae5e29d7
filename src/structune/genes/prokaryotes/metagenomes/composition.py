"""Words of genes: how they follow the share of G and C, and what is an organism's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from structune.genes.formats.record import genetic_code
from structune.genes.nucleotides import Letters
from structune.genes.prokaryotes.structure.candidates import CODON, WORD
from structune.structure import FloatArray, IntArray

N_WORDS, _N_CODONS = 4**WORD, 4**CODON
_CODE = 11  # of the organisms that words are counted in
_USUAL, _SPREAD = 0.5, 0.12  # share of G and C of bacteria and archaea, by and large
_FEW_WORDS = 4000.0  # seen before, as their codons say
_FEW_ORGANISMS = 0.5  # that do not follow the share
_RARE = 1e-12


@dataclass(frozen=True, eq=False)
class Composition:
    """Logs of how probable words of two codons are, as they follow the share of G and C, and beside it.

    Attributes
    ----------
    genes, everywhere : ndarray, shape (2, 4096)
        In genes in frame, and anywhere: at a usual share, and what is added a unit from there.
    own : ndarray, shape (n_organisms, 4096)
        What each organism's genes have beside the genes of all.
    """

    genes: FloatArray
    everywhere: FloatArray
    own: FloatArray

    @classmethod
    def of(cls, genes: FloatArray, everywhere: FloatArray, shares: FloatArray) -> Composition:
        """That of logs of words of organisms, shape (n_organisms, 4096), and of their shares of G and C."""
        design = _design(shares)
        ridge = np.diag([0.0, _FEW_ORGANISMS])
        solver = np.linalg.solve(design.T @ design + ridge, design.T)
        return cls(solver @ genes, solver @ everywhere, genes - design @ (solver @ genes))

    def at(self, share: float) -> tuple[FloatArray, FloatArray]:
        """Logs of words where there is so much G and C.

        In genes as all organisms have them and as each of them would, shape (n_organisms + 1, 4096); and
        anywhere, shape (4096,).
        """
        row = _design(np.array([share]))
        genes = row @ self.genes + np.vstack((np.zeros(N_WORDS), self.own))
        return _normalised(genes), _normalised(row @ self.everywhere)[0]


def log_odds(genes: FloatArray, everywhere: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of words in genes against anywhere, and of the pairs of amino acids that they mean.

    Both have the shape (4097,), with 0 for words with a stop codon of the usual code or an unknown base.

    Parameters
    ----------
    genes, everywhere : ndarray, shape (4096,)
        Logs.
    """
    pairs = [np.bincount(_PAIR, np.exp(logs), minlength=_N_PAIRS) + _RARE for logs in (genes, everywhere)]
    words, amino_acids = (
        np.append(np.where(HAS_STOP, 0.0, odds), 0.0)
        for odds in (genes - everywhere, np.log(pairs[0] / pairs[1])[_PAIR])
    )
    return words, amino_acids


def gc_share(letters: Letters) -> float:
    """The share of G and C of the bases that are known; the usual one of none."""
    counts = np.bincount(letters, minlength=5)[:4]
    return float(counts[1:3].sum() / counts.sum()) if counts.any() else _USUAL


def _design(shares: FloatArray) -> FloatArray:
    return np.column_stack((np.ones(len(shares)), (shares - _USUAL) / _SPREAD))


def _normalised(logs: FloatArray) -> FloatArray:
    highest = logs.max(axis=1, keepdims=True)
    return np.asarray(logs - highest - np.log(np.exp(logs - highest).sum(axis=1, keepdims=True)))


def log_words(counts: IntArray) -> FloatArray:
    """Logs of how probable words are, by counts; both of shape (4096,)."""
    table = counts.reshape(_N_CODONS, _N_CODONS)
    first, second = ((table.sum(axis=k) + 0.5) / (table.sum() + 0.5 * _N_CODONS) for k in (1, 0))
    shares = (counts + _FEW_WORDS * np.outer(first, second).ravel()) / (counts.sum() + _FEW_WORDS)
    return np.asarray(np.log(np.maximum(shares, _RARE)))


def _amino_acids() -> IntArray:
    """By the number of the codon; stop codons are all one."""
    table = genetic_code(_CODE).forward_table
    codons = [a + b + c for a in "ACGT" for b in "ACGT" for c in "ACGT"]
    letters = sorted(set(table.values()))
    return np.array([letters.index(table[codon]) if codon in table else len(letters) for codon in codons])


_OF_CODON = _amino_acids()
_N_LETTERS = int(_OF_CODON.max()) + 1
_N_PAIRS = _N_LETTERS**2
_PAIR = (_N_LETTERS * _OF_CODON[:, None] + _OF_CODON).ravel()
HAS_STOP = ((_OF_CODON[:, None] == _N_LETTERS - 1) | (_OF_CODON == _N_LETTERS - 1)).ravel()
