"""Proteins, and what may be known of each residue beside what it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from structune.errors import DataError
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
    """A protein with annotation; others are equal if all of it is.

    Parameters
    ----------
    residues : str
        In one-letter code.
    profile : array-like, shape (n_residues, n_columns), optional
        Numbers of any kind, about as large as 1: shares of residues in a family, predictions, marks.
    secondary : str, optional
        A letter for each residue, of either case: H, E, C for helix, strand, coil, or those of DSSP (G and I
        count as H, B as E, T, S, P, L, ``-``, ``.`` and space as C); X or ``?``, not known, counts as a third
        of each.
    """

    residues: str
    profile: FloatArray | None = None
    secondary: str | None = None

    def __post_init__(self) -> None:
        for name, text in (("residues", self.residues), ("a secondary structure", self.secondary or "")):
            if not isinstance(text, str):
                raise DataError(f"found {name} {text!r:.60}, expected a string")
        if self.profile is None:
            return
        try:
            profile = np.array(self.profile, np.float64)
        except (TypeError, ValueError):
            raise DataError("found a profile that is no array of numbers") from None
        profile.setflags(write=False)
        object.__setattr__(self, "profile", profile)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Protein) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def n_columns(self) -> int:
        """Of the profile."""
        return self.profile.shape[1] if self.profile is not None and self.profile.ndim == 2 else 0

    @property
    def _key(self) -> tuple[Any, ...]:
        profile = () if self.profile is None else (self.profile.shape, self.profile.tobytes())
        return self.residues, self.secondary, *profile


ProteinPair = tuple[str | Protein, str | Protein]


def as_protein(sequence: str | Protein) -> Protein:
    if not isinstance(sequence, str | Protein):
        raise DataError(f"found {sequence!r:.40}, expected a sequence: a str or a Protein")
    return Protein(sequence) if isinstance(sequence, str) else sequence


def annotation(protein: Protein, n_columns: int, secondary: bool, name: str) -> FloatArray:
    """The profile and the shares of H, E and C of each residue, (n_residues, n_columns + 3 or 0), checked.

    What is wrong, or is not the annotation that is asked for, is an error that begins with `name`.
    """
    n, profile, states = len(protein.residues), protein.profile, protein.secondary
    if profile is None:
        profile = np.empty((n, 0))
    elif profile.ndim != 2 or len(profile) != n or not profile.shape[1]:
        raise DataError(f"{name}: found a profile of shape {profile.shape}, expected ({n}, n_columns)")
    for k, c in np.argwhere(~(np.abs(profile) <= MOST))[:1]:
        raise DataError(
            f"{name}: found {profile[k, c]} in column {c} of the profile at residue {k} (from 0), expected a "
            f"finite number of at most {MOST:.0e}"
        )
    if protein.n_columns != n_columns:
        found = f"a profile of {protein.n_columns} columns" if protein.n_columns else "no profile"
        expected = f"one of {n_columns} columns" if n_columns else "none"
        raise DataError(f"{name}: found {found}, expected {expected}")
    if (states is not None) != secondary:
        found, expected = ("no", "one") if secondary else ("a", "none")
        raise DataError(f"{name}: found {found} secondary structure, expected {expected}")
    if states is None:
        return profile
    if len(states) != n:
        raise DataError(f"{name}: found a secondary structure of {len(states)} letters, expected {n}")
    for k, letter in enumerate(states):
        if letter not in _SHARES:
            raise DataError(
                f"{name}: found {letter!r} in the secondary structure at residue {k} (from 0), "
                "expected H, E, C, a letter of DSSP, or X"
            )
    shares = np.array([_SHARES[letter] for letter in states]).reshape(-1, len(STATES))
    return np.hstack([profile, shares])
