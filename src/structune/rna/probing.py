"""Reactivities of chemical probing (SHAPE, DMS): their files, and what they say of a structure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from structune.errors import DataError
from structune.files.text import Lines, Source, header_name, shown
from structune.rna.structure.constraints import Constraints
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
_ADVICE = "reactivities are read from tables of places and values, or from lists below lines '>name'"


class Reactivities(np.ndarray[Any, np.dtype[np.float64]]):
    """Those of the bases of a sequence, and its letters, where a file has them."""

    letters = ""  # none where they are computed from others

    @classmethod
    def of(cls, values: Any, letters: str) -> Reactivities:
        """Values, and a letter for each, N where there is none."""
        found = np.array(values, np.float64).view(cls)
        found.letters = letters.upper().replace("T", "U")
        return found


def check_letters(sequence: str, reactivities: Any) -> None:
    """Refuse reactivities whose file has other letters than the sequence; N and the like are not compared."""
    letters, bases = getattr(reactivities, "letters", ""), sequence.upper().replace("T", "U").replace("&", "")
    if len(letters) > len(bases):
        raise DataError(f"found reactivities of {len(letters)} bases for {len(bases)}")
    pairs = list(enumerate(zip(letters, bases, strict=False), 1))
    if wrong := [k for k, (one, other) in pairs if one != other and {one, other} <= _KNOWN]:
        place = wrong[0]
        raise DataError(
            f"found reactivities of another sequence, or shifted ones: base {place} (from 1) is "
            f"{letters[place - 1]} in their file and {bases[place - 1]} in the sequence, and {len(wrong)} of "
            f"{len(pairs)} letters differ"
        )


def read_reactivities(source: Source) -> dict[str, Reactivities]:
    """Read reactivities, by the name of their sequence, in the order of the file.

    Parameters
    ----------
    source : path or file object
        A table, as ViennaRNA and RNAstructure read it: a line a base, its place, from 1, its reactivity,
        and perhaps its letter and an error. Or, for many sequences, a line ``>name`` and the reactivities of
        all bases below it, on any number of lines, separated by blanks, tabs or commas; lines of letters
        are the sequence.

    Returns
    -------
    dict of str to ndarray
        nan where there is none: NA, nan, -999, or a place that is left out. That of a table, which ends
        with its last place, has the name "". Letters of the file are in the attribute ``letters`` of each,
        and are compared with the sequence where both are used (`ReactivityModel.paired`).

    Raises
    ------
    DataError
        Names the file and line of what is no number or no place, and of pairs in place of reactivities.
    """
    lines = Lines(source)
    with lines.told_by_look(_LOOKS, _ADVICE):
        return dict(_read(lines))


def _read(lines: Lines) -> Iterator[tuple[str, Reactivities]]:
    first = next((text for text in lines.head(1000) if text and not text.startswith("#")), "")
    if not first:
        raise DataError(f"{lines.name}: found no reactivities")
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
        raise DataError(f"{lines.name}: found names, and no reactivities below them")


def _list(lines: Lines, count: int, names: set[str]) -> tuple[str, Reactivities]:
    """The name and the reactivities of one sequence."""
    (first, header), *rest = lines
    if (name := header_name(header, count)) in names:
        raise lines.refuse(first, f"found the name {shown(name)} a second time")
    values, letters = list[float](), ""
    for number, text in rest:
        words = text.replace(",", " ").split()
        if all(word.isalpha() and word.upper() not in _MISSING for word in words):
            letters += "".join(words)
        else:
            values += [_number(lines, number, word) for word in words]
    if values and letters and len(values) != len(letters):
        found = f"found {len(letters)} letters and {len(values)} reactivities of {shown(name)}"
        raise lines.refuse(first, f"{found}, expected as many (NA where there is none)")
    return name, Reactivities.of(values, letters)


def _filled(lines: Lines) -> Iterator[tuple[int, str]]:
    return ((number, text) for number, text in lines.filled() if not text.startswith("#"))


def _table(lines: Lines) -> Reactivities:
    rows: dict[int, tuple[float, str]] = {}
    for number, text in _filled(lines):
        place, *words = text.replace(",", " ").split()
        letters = [word for word in words if len(word) == 1 and word.isalpha()]
        numbers = [word for word in words if word not in letters] or words[-1:]
        is_place = place.isdecimal() and 0 < int(place) <= _MOST_PLACES
        if not (is_place and 1 <= len(numbers) <= 2 and len(letters) <= 1):
            raise lines.refuse(number, f"found {shown(text)}, expected a place, from 1, and a reactivity")
        if int(place) in rows:
            raise lines.refuse(number, f"found the place {place} a second time")
        value, *_error = [_number(lines, number, word) for word in numbers]
        rows[int(place)] = value, letters[0] if letters else "N"
    n = max(rows)
    # BPSEQ: all values but 0 are places, each that of the other base of a pair
    partner = {place: int(value) for place, (value, _) in rows.items() if np.isfinite(value) and value != 0.0}
    if partner and all(
        rows[place][0] == other != place and partner.get(other) == place for place, other in partner.items()
    ):
        raise DataError(f"{lines.name}: found pairs of bases, as BPSEQ has them, expected reactivities")
    found = [rows.get(place, (np.nan, "N")) for place in range(1, n + 1)]
    return Reactivities.of([value for value, _ in found], "".join(letter for _, letter in found))


def _number(lines: Lines, number: int, word: str) -> float:
    if word.upper() in _MISSING:
        return np.nan
    try:
        value = float(word)
    except ValueError:
        raise lines.refuse(number, f"found {shown(word)}, expected a reactivity") from None
    return value if _NONE < value < np.inf else np.nan


_SHIPPED = "reactivities_1m7.json"
_KNOTS = 16  # of the table of a base: quantiles of its reactivities
_MOST = 4.0  # log odds: one reactivity alone should not decide
_SLOPE, _INTERCEPT, _KT = 1.8, -0.6, 0.61632  # kcal/mol, at 37 C


@dataclass(frozen=True)
class ReactivityModel:
    """Log odds of a base to be paired, by its letter and its reactivity.

    Parameters
    ----------
    reactivities, log_odds : list of 4 lists of numbers
        For A, C, G, U: rising reactivities, and the log odds at them, beside those of any base of this
        letter. In between they are interpolated.

    Notes
    -----
    With ``p`` the share of bases that are paired among those of a reactivity, and ``q`` among all of the
    letter, the log odds are ``logit(p) - logit(q)``: by Bayes' rule log P(reactivity | paired) -
    log P(reactivity | unpaired), what `Constraints` adds to the score of a structure for each paired base.
    """

    reactivities: list[list[float]]
    log_odds: list[list[float]]

    def paired(self, sequence: str, reactivities: Any) -> FloatArray:
        """Log odds of each base of a sequence, shape (n,), as `Constraints` takes them; 0 where nothing is
        known.

        Parameters
        ----------
        reactivities : array-like, shape (n,)
            nan where there is none. Scaled as is usual: about 1 for bases that are surely unpaired.

        Raises
        ------
        DataError
            Not one number a base, or letters of their file (`read_reactivities`) that the sequence has not.
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
        """Of SHAPE by 1M7, learned from designed RNAs of Eterna's Cloud Labs (Wayment-Steele et al. 2022)."""
        return cls(**json.loads(files("structune.rna").joinpath(_SHIPPED).read_text()))

    @classmethod
    def fit(
        cls, folder: RNAFolder, sequences: Sequence[str], reactivities: Sequence[Any], rounds: int = 5
    ) -> ReactivityModel:
        """Learn them from probed sequences of unknown structure, with what a model says of that.

        By expectation maximisation: in turn, how probably each base is paired, given the sequence, its
        reactivities and the log odds so far, and from these the log odds.

        Parameters
        ----------
        folder : RNAFolder
            With probabilities.
        reactivities : sequence of array-like
            Of each base of each sequence; nan where there is none.

        Raises
        ------
        DataError
            A letter without twice as many reactivities as the table has entries.
        """
        sequences = list(sequences)
        if len(reactivities) != len(sequences):
            raise DataError(f"found reactivities of {len(reactivities)} sequences, expected {len(sequences)}")
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
        """Write it as JSON."""
        with open(path, "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
            file.write("\n")


def deigan_log_odds(
    reactivities: Any,
    slope: float = _SLOPE,
    intercept: float = _INTERCEPT,
    sequence: str | None = None,
) -> FloatArray:
    """Log odds of bases to be paired by the pseudo-energies of Deigan et al. (2009); 0 where nothing is
    known.

    Parameters
    ----------
    reactivities : array-like
        nan where there is none; negative ones count as 0.
    slope, intercept : float
        In kcal/mol: ``slope * log(1 + reactivity) + intercept`` for each base of a pair.
    sequence : str, optional
        To compare with the letters that the file of the reactivities has (`read_reactivities`).
    """
    if sequence is not None:
        check_letters(sequence, reactivities)
    given = np.asarray(reactivities, np.float64)
    # Delta G = m ln(1 + r) + b (Deigan et al. 2009); -Delta G / kT are log odds.
    energies = slope * np.log1p(np.maximum(given, 0.0)) + intercept
    return np.where(np.isfinite(given), -energies / _KT, 0.0)


def _compared(sequence: str, reactivities: Any) -> tuple[Array, FloatArray]:
    """The letters of the bases of a sequence, and a reactivity for each."""
    check_letters(sequence, reactivities)
    codes, given = parse_sequence(0, sequence), np.asarray(reactivities, np.float64)
    letters = codes[places(codes)]
    if given.shape != letters.shape:
        raise DataError(f"found reactivities of shape {given.shape} for {letters.size} bases")
    return letters, given


def _tables_of(letters: Array, reactivities: Array, paired: Array) -> tuple[list[Any], list[Any]]:
    """Reactivities of each letter, and the log odds there, falling, by how probably each base is paired."""
    from sklearn.isotonic import IsotonicRegression

    knots, found = [], []
    for letter, name in enumerate(LETTERS):
        p, r = paired[letters == letter], reactivities[letters == letter]
        if r.size < 2 * _KNOTS:
            raise DataError(f"found {r.size} reactivities of {name}, expected at least {2 * _KNOTS}")
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
