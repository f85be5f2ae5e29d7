"""Proteins, optionally with a profile and a secondary structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.errors import DataError
from structune.files.text import plural
from structune.structure import FloatArray

STATES = "HEC"  # helix, strand, coil
_DSSP = {"H": "HGI", "E": "EB", "C": "CLTSP-. ", STATES: "X?"}
_SHARES = {
    letter: [(state in states) / len(states) for state in STATES]
    for states, upper in _DSSP.items()
    for letter in upper + upper.lower()
}
MOST = 1e9  # of a profile: products of more leave the range of what fits


@dataclass(frozen=True, eq=False)
class Protein:
    """A protein sequence with an optional profile and secondary structure.

    Two proteins are equal if their residues, profiles and secondary structures are.

    Parameters
    ----------
    residues : str
        Sequence in one-letter code.
    profile : array-like, shape (n_residues, n_columns), optional
        Numbers for each residue, of about size 1: shares of residues in a family, predictions, indicators.
    secondary : str, optional
        One letter per residue, of either case: H, E, C for helix, strand, coil, or the letters of DSSP. G and
        I count as H; B as E; T, S, P, L, ``-``, ``.`` and space as C. X or ``?`` is unknown, and counts as
        one third of each.
    """

    residues: str
    profile: FloatArray | None = None
    secondary: str | None = None

    def __post_init__(self) -> None:
        for name, text in (("residues", self.residues), ("secondary", self.secondary or "")):
            if not isinstance(text, str):
                raise DataError(f"{name} must be a string, not {text!r:.60}")
        if self.profile is None:
            return
        try:
            profile = np.array(self.profile, np.float64)
        except (TypeError, ValueError):
            raise DataError("profile must be an array of numbers") from None
        profile.setflags(write=False)
        object.__setattr__(self, "profile", profile)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Protein) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def n_columns(self) -> int:
        """Number of columns of the profile; 0 without one."""
        return self.profile.shape[1] if self.profile is not None and self.profile.ndim == 2 else 0

    @property
    def _key(self) -> tuple[Any, ...]:
        profile = () if self.profile is None else (self.profile.shape, self.profile.tobytes())
        return self.residues, self.secondary, *profile


ProteinPair = tuple[str | Protein, str | Protein]


def as_protein(sequence: str | Protein) -> Protein:
    if not isinstance(sequence, str | Protein):
        raise DataError(f"a sequence must be a str or a Protein, not {sequence!r:.40}")
    return Protein(sequence) if isinstance(sequence, str) else sequence


def annotation(protein: Protein, n_columns: int, secondary: bool, name: str) -> FloatArray:
    """The profile and the shares of H, E and C of each residue, (n_residues, n_columns + 3 or 0), checked.

    Annotation that is wrong, or differs from what the model needs, is an error that begins with `name`.
    """
    n, profile, states = len(protein.residues), protein.profile, protein.secondary
    if profile is None:
        profile = np.empty((n, 0))
    elif profile.ndim != 2 or len(profile) != n or not profile.shape[1]:
        raise DataError(f"{name}: the profile must have the shape ({n}, n_columns), not {profile.shape}")
    for k, c in np.argwhere(~(np.abs(profile) <= MOST))[:1]:
        raise DataError(
            f"{name}: column {c} of the profile is {profile[k, c]} at residue {k} (both from 0). It must be "
            f"a number from -{MOST:.0e} to {MOST:.0e}"
        )
    if protein.n_columns != n_columns:
        found = f"a profile of {protein.n_columns} columns" if protein.n_columns else "no profile"
        expected = f"a profile of {n_columns} columns" if n_columns else "no profile"
        raise DataError(f"{name}: the protein has {found}, but the model uses {expected}")
    if (states is not None) != secondary:
        found, expected = ("no", "needs one") if secondary else ("a", "uses none")
        raise DataError(f"{name}: the protein has {found} secondary structure, but the model {expected}")
    if states is None:
        return profile
    if len(states) != n:
        raise DataError(
            f"{name}: the secondary structure has {plural(len(states), 'letter')} for {plural(n, 'residue')}"
        )
    for k, letter in enumerate(states):
        if letter not in _SHARES:
            raise DataError(
                f"{name}: the secondary structure has {letter!r} at residue {k} (from 0). Allowed: H, E, C, "
                "letters of DSSP, and X"
            )
    shares = np.array([_SHARES[letter] for letter in states]).reshape(-1, len(STATES))
    return np.hstack([profile, shares])
