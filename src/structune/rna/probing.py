"""Reactivities from chemical probing (SHAPE, DMS): their files, and log odds of bases to be paired."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from structune.errors import DataError
from structune.files.text import Lines, Source, header_name, shown
from structune.rna.formats.pair_tables import LEAST_EVIDENCE
from structune.rna.structure.constraints import RT, Constraints
from structune.rna.structure.features import LETTERS
from structune.rna.structure.space import parse_sequence, places
from structune.structure import Array, FloatArray

if TYPE_CHECKING:
    from structune.rna.folder import RNAFolder


_MISSING = frozenset(("NA", "NAN", "N/A", "-", ""))
_MOST_PLACES = 10_000_000
_NONE = -500.0  # and less: RNAstructure writes -999 where there is none
_KNOWN = set("ACGU")  # letters that are compared
_LOOKS = {"reactivities", "BPSEQ", "FASTA"}  # names of `looks_like` that tables and lists may have
_ADVICE = "reactivities are read from tables of positions and values, or from lists below lines '>name'"


class Reactivities(np.ndarray[Any, np.dtype[np.float64]]):
    """Reactivities of the bases of a sequence, with its letters if the file has them."""

    letters = ""  # none where they are computed from others

    @classmethod
    def of(cls, values: Any, letters: str) -> Reactivities:
        """Values, and a letter for each, N where there is none."""
        found = np.array(values, np.float64).view(cls)
        found.letters = letters.upper().replace("T", "U")
        return found


def check_letters(sequence: str, reactivities: Any) -> None:
    """Refuse reactivities whose letters differ from the sequence; only A, C, G and U are compared."""
    letters, bases = getattr(reactivities, "letters", ""), sequence.upper().replace("T", "U").replace("&", "")
    if len(letters) > len(bases):
        raise DataError(f"there are {len(letters):,} reactivities, but only {len(bases):,} bases")
    pairs = list(enumerate(zip(letters, bases, strict=False), 1))
    if wrong := [k for k, (one, other) in pairs if one != other and {one, other} <= _KNOWN]:
        place = wrong[0]
        raise DataError(
            "the reactivities belong to another sequence or are shifted: base "
            f"{place} (from 1) is {letters[place - 1]} in their file and {bases[place - 1]} in the sequence, "
            f"and {len(wrong)} of {len(pairs)} letters differ"
        )


def read_reactivities(source: Source) -> dict[str, Reactivities]:
    """Read a file of reactivities, as a dict from names of sequences to arrays.

    Parameters
    ----------
    source : path or file object
        A table, as ViennaRNA and RNAstructure read it: one line per base with its position, from 1, its
        reactivity, and optionally its letter and an error; or a BPSEQ file of EternaFold with ``e1``. Or, for
        many sequences, a line ``>name`` and below it the reactivities of all bases, on any number of lines,
        separated by blanks, tabs or commas; lines of letters are the sequence.

    Returns
    -------
    dict of str to ndarray
        Reactivities of each sequence, in the order of the file; nan for NA, nan, -999 or a missing position.
        Reactivities of a table have the name "" and end with its last position. The attribute ``letters``
        contains the letters of the file, which `ReactivityModel.paired` compares with the sequence.

    Raises
    ------
    DataError
        A value is not a number, a position is invalid, or the file has base pairs. The error names the line.
    """
    lines = Lines(source)
    with lines.told_by_look(_LOOKS, _ADVICE):
        return dict(_read(lines))


def _read(lines: Lines) -> Iterator[tuple[str, Reactivities]]:
    first = next((text for text in lines.head(1000) if text and not text.startswith("#")), "")
    if not first:
        raise DataError(f"{lines.name}: the file has no reactivities")
    if not first.startswith(">"):
        yield "", _table(lines)
        return
    names = set[str]()
    has_values = False
    for piece in lines.checked(_filled).pieces(lambda text: text.startswith(">")):
        name, found = _list(piece, len(names) + 1, names)
        names.add(name)
        has_values = has_values or found.size > 0
        yield name, found
    if not has_values:
        raise DataError(f"{lines.name}: there are names, but no reactivities below them")


def _list(lines: Lines, count: int, names: set[str]) -> tuple[str, Reactivities]:
    """The name and the reactivities of one sequence."""
    (first, header), *rest = lines
    if (name := header_name(header, count)) in names:
        raise lines.refuse(first, f"the name {shown(name)} occurs twice")
    values, letters = list[float](), ""
    for number, text in rest:
        words = text.replace(",", " ").split()
        if all(word.isalpha() and word.upper() not in _MISSING for word in words):
            letters += "".join(words)
        else:
            values += [_number(lines, number, word) for word in words]
    if values and letters and len(values) != len(letters):
        found = f"{shown(name)} has {len(letters)} letters and {len(values)} reactivities"
        raise lines.refuse(first, f"{found}; give one for each letter, NA for a missing one")
    return name, Reactivities.of(values, letters)


def _filled(lines: Lines) -> Iterator[tuple[int, str]]:
    return ((number, text) for number, text in lines.filled() if not text.startswith("#"))


def _table(lines: Lines) -> Reactivities:
    rows: dict[int, tuple[float, str]] = {}
    for number, text in _filled(lines):
        place, *words = text.replace(",", " ").split()
        if len(words) > 2 and words[1] in ("e1", "t1"):  # BPSEQ of EternaFold, where less than 1e-5 is none
            words = [words[0], words[2] if _number(lines, number, words[2]) >= LEAST_EVIDENCE else "NA"]
        letters = [word for word in words if len(word) == 1 and word.isalpha()]
        numbers = [word for word in words if word not in letters] or words[-1:]
        is_place = place.isdecimal() and 0 < int(place) <= _MOST_PLACES
        if not (is_place and 1 <= len(numbers) <= 2 and len(letters) <= 1):
            raise lines.refuse(number, f"{shown(text)} is not a position, from 1, and a reactivity")
        if int(place) in rows:
            raise lines.refuse(number, f"the position {place} occurs twice")
        value, *_error = [_number(lines, number, word) for word in numbers]
        rows[int(place)] = value, letters[0] if letters else "N"
    n = max(rows)
    # BPSEQ: all values but 0 are places, each that of the other base of a pair
    partner = {place: int(value) for place, (value, _) in rows.items() if np.isfinite(value) and value != 0.0}
    if partner and all(
        rows[place][0] == other != place and partner.get(other) == place for place, other in partner.items()
    ):
        raise DataError(f"{lines.name}: this BPSEQ file holds base pairs, not reactivities")
    found = [rows.get(place, (np.nan, "N")) for place in range(1, n + 1)]
    return Reactivities.of([value for value, _ in found], "".join(letter for _, letter in found))


def _number(lines: Lines, number: int, word: str) -> float:
    if word.upper() in _MISSING:
        return np.nan
    try:
        value = float(word)
    except ValueError:
        raise lines.refuse(number, f"{shown(word)} is neither a reactivity nor NA") from None
    return value if _NONE < value < np.inf else np.nan


_SHIPPED = "reactivities_1m7.json"
_KNOTS = 16  # of the table of a base: quantiles of its reactivities
_MOST = 4.0  # log odds: one reactivity alone should not decide
_SLOPE, _INTERCEPT = 1.8, -0.6  # kcal/mol


@dataclass(frozen=True)
class ReactivityModel:
    """Model of the log odds of a base to be paired, given its letter and its reactivity.

    Parameters
    ----------
    reactivities, log_odds : list of 4 lists of numbers
        For each of A, C, G, U: reactivities in ascending order, and the log odds at each (see Notes). Between
        them the log odds are interpolated linearly.

    Notes
    -----
    Let ``p`` be the share of paired bases among bases with this letter and reactivity, and ``q`` the share
    among all bases with this letter. The log odds are ``logit(p) - logit(q)``. By Bayes' rule this is
    log P(reactivity | paired) - log P(reactivity | unpaired), which `Constraints` adds to the score of a
    structure for each paired base.
    """

    reactivities: list[list[float]]
    log_odds: list[list[float]]

    def paired(self, sequence: str, reactivities: Any) -> FloatArray:
        """Compute log odds of each base to be paired, shape (n,), for `Constraints`; 0 for missing values.

        Parameters
        ----------
        sequence : str
            Sequence of n bases.
        reactivities : array-like, shape (n,)
            Reactivities, nan for missing values; normalized as usual, to about 1 for unpaired bases.

        Raises
        ------
        DataError
            There is not one number per base, or the file has other letters (see `read_reactivities`).
        """
        letters, given = _compared(sequence, reactivities)
        found = np.zeros(letters.size)
        for letter, (knots, values) in enumerate(zip(self.reactivities, self.log_odds, strict=True)):
            known = (letters == letter) & np.isfinite(given)
            # Linear between the knots, and constant beyond the first and the last.
            found[known] = np.interp(given[known], knots, values)
        return found

    @classmethod
    def pretrained(cls) -> ReactivityModel:
        """Load the model for SHAPE with 1M7, fitted to RNAs of Eterna Cloud Labs (see `load_probed`)."""
        return cls(**json.loads(files("structune.rna").joinpath(_SHIPPED).read_text()))

    @classmethod
    def fit(
        cls, folder: RNAFolder, sequences: Sequence[str], reactivities: Sequence[Any], rounds: int = 5
    ) -> ReactivityModel:
        """Fit a model to probed sequences of unknown structure.

        Expectation maximization alternates two steps: it computes how probably each base is paired, given the
        sequence, its reactivities and the current log odds, and from these the new log odds.

        Parameters
        ----------
        folder : RNAFolder
            Model that computes pair probabilities, fitted with the log loss.
        sequences : sequence of str
        reactivities : sequence of array-like
            Reactivities of the bases of each sequence; nan for missing values.
        rounds : int
            Number of rounds.

        Raises
        ------
        DataError
            One of A, C, G, U has fewer than 32 reactivities, or numbers of sequences or bases differ.
        """
        sequences = list(sequences)
        if len(reactivities) != len(sequences):
            raise DataError(f"there are {len(reactivities)} reactivities, but {len(sequences)} sequences")
        compared = []
        for s, (sequence, given) in enumerate(zip(sequences, reactivities, strict=True)):
            parse_sequence(s, sequence)  # refuses what is none, by its number
            try:
                compared.append(_compared(sequence, given))
            except DataError as error:
                raise DataError(f"sequence {s}: {error}") from None
        rows = [row for _, row in compared]
        letters, values = (np.concatenate(parts) for parts in zip(*compared, strict=True))
        known = np.isfinite(values)
        letters, probed = letters[known], values[known]
        table: ReactivityModel | None = None
        # Expectation: how probably each base is paired, by the model and the table so far (none at first).
        # Maximisation: the table that these probabilities give.
        for _ in range(rounds + 1):
            shares = [
                folder.pair_probabilities(
                    sequence, None if table is None else Constraints(paired=table.paired(sequence, row))
                ).sum(axis=1)
                for sequence, row in zip(sequences, rows, strict=True)
            ]
            table = cls(*_tables_of(letters, probed, np.concatenate(shares)[known]))
        assert table is not None
        return table

    def save(self, path: Any) -> None:
        """Write the model to a JSON file."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
            file.write("\n")


def deigan_log_odds(
    reactivities: Any, slope: float = _SLOPE, intercept: float = _INTERCEPT, sequence: str | None = None
) -> FloatArray:
    """Compute log odds of bases to be paired from pseudo-energies (Deigan et al. 2009); 0 for missing values.

    Parameters
    ----------
    reactivities : array-like
        Reactivity of each base; nan for missing values. Negative values count as 0.
    slope, intercept : float
        Each base of a pair has the energy ``slope * log(1 + reactivity) + intercept``, in kcal/mol.
    sequence : str, optional
        Sequence of the bases, which must agree with the letters of the file (see `read_reactivities`).
    """
    if sequence is not None:
        check_letters(sequence, reactivities)
    given = np.asarray(reactivities, np.float64)
    # Delta G = m ln(1 + r) + b (Deigan et al. 2009); -Delta G / kT are log odds.
    energies = slope * np.log1p(np.maximum(given, 0.0)) + intercept
    return np.where(np.isfinite(given), -energies / RT, 0.0)


def _compared(sequence: str, reactivities: Any) -> tuple[Array, FloatArray]:
    """The letters of the bases of a sequence, and a reactivity for each."""
    check_letters(sequence, reactivities)
    codes, given = parse_sequence(0, sequence), np.asarray(reactivities, np.float64)
    letters = codes[places(codes)]
    if given.shape != letters.shape:
        raise DataError(f"reactivities have shape {given.shape}, but there are {letters.size:,} bases")
    return letters, given


def _tables_of(letters: Array, reactivities: Array, paired: Array) -> tuple[list[Any], list[Any]]:
    """Reactivities of each letter, and the log odds there, falling, by how probably each base is paired."""
    from sklearn.isotonic import IsotonicRegression

    knots, found = [], []
    for letter, name in enumerate(LETTERS):
        p, r = paired[letters == letter], reactivities[letters == letter]
        if r.size < 2 * _KNOTS:
            raise DataError(f"there are {r.size} reactivities of {name}; at least {2 * _KNOTS} are needed")
        # Knots at quantiles, so that each interval has as many bases; equal ones are one.
        places = np.unique(np.quantile(r, np.linspace(0.0, 1.0, _KNOTS)).round(3))
        # P(paired | r) that falls with r, by isotonic regression: less reactive bases are more probably
        # paired.
        falling = IsotonicRegression(increasing=False, out_of_bounds="clip").fit(r, p)
        # Bayes: logit P(paired | r) - logit P(paired) = log P(r | paired) - log P(r | unpaired).
        odds = _logit(falling.predict(places)) - _logit(p.mean())
        knots.append(places.tolist())
        found.append(np.clip(odds, -_MOST, _MOST).round(3).tolist())
    return knots, found


def _logit(p: Any) -> Any:
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.log(p / (1 - p))
