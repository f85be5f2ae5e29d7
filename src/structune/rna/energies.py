"""Nearest-neighbor energies of RNA structures: those of Turner 2004, or of parameter files."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError, warn
from structune.files.text import Lines, Source, shown
from structune.rna.formats.brackets import STRANDS, bases_of, check_cut, check_strands, partners
from structune.rna.formats.sequences import OF_STRANDS, clean_sequence

Table = NDArray[np.float64]
_FIRST_LINE = re.compile(r"##\s*RNAfold parameter file v2")
_COMMENT = re.compile(r"/\*.*?\*/")
_WORDS = {"INF": np.inf, "NINF": -np.inf, "DEF": -50.0}
_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?")
_TURNER = Path(__file__).with_name("turner2004.par.gz")
_MISMATCHES = ("hairpin", "internal", "internal_1n", "internal_23", "multi", "exterior")
# over pairs (CG, GC, GU, UG, AU, UA, any) and letters (any, A, C, G, U)
_SHAPES: dict[str, tuple[int, ...]] = {
    "stack": (7, 7),
    **{f"mismatch_{loop}": (7, 5, 5) for loop in _MISMATCHES},
    "dangle5": (7, 5),
    "dangle3": (7, 5),
    "int11": (7, 7, 5, 5),
    "int21": (7, 7, 5, 5, 5),
    "int22": (6, 6, 4, 4, 4, 4),
    "hairpin": (31,),
    "bulge": (31,),
    "internal": (31,),
}
# energies, each with its enthalpy; the last number of NINIO is a limit
_PAIRED: dict[str, tuple[int, ...]] = {"ML_params": (6,), "NINIO": (3,), "Misc": (4,)}
_ENTHALPIES = "_enthalpies"
_LOOPS = ("Triloops", "Tetraloops", "Hexaloops")


def _filled(lines: Lines) -> Iterator[tuple[int, str]]:
    """Lines without comments that are not empty, after the first of the format."""
    numbered = lines.filled()
    number, first = next(numbered, (0, ""))
    if not number:
        raise DataError(f"{lines.name}: the file is empty. Give an energy parameter file of ViennaRNA")
    if not _FIRST_LINE.match(first):
        raise lines.refuse(number, f"expected '## RNAfold parameter file v2.0' here, not {shown(first)}")
    for number, text in numbered:
        if rest := _COMMENT.sub("", text).strip():
            yield number, rest


def _value(lines: Lines, number: int, section: str, word: str) -> float:
    if word in _WORDS:
        return _WORDS[word]
    if _NUMBER.fullmatch(word):
        return float(word)
    if section == "stack":
        return np.nan  # see `_mend_stacks`
    raise lines.refuse(number, f"{shown(word)} in section {section} is neither a number nor INF")


def _mend_stacks(stack: Any, lines: Lines, number: int) -> None:
    """Take the other of two equal numbers for one that cannot be read: rna_turner2004.par has one."""
    # A stack reads the same from either strand, so that the table is symmetric.
    unread = np.isnan(stack)
    if not unread.any():
        return
    if np.isnan(stack.T[unread]).any():
        raise lines.refuse(number, "section stack has entries that are not numbers")
    stack[unread] = stack.T[unread]
    warn(
        f"{lines.name}:{number}: section stack has entries that are not numbers "
        f"({np.count_nonzero(unread)}). "
        "The entries of the same stacks, read from the other strand, are used instead"
    )


_PAIRS = ("CG", "GC", "GU", "UG", "AU", "UA")
_LETTERS = "?ACGU"
_LONGEST = 30  # of loops in tables
_SLOPE = 107.856  # of the logarithm of longer ones, where a file has none
_GAS, _ZERO, _MEASURED = 1.98717e-3, 273.15, 37.0  # kcal/mol/K; K at 0 C; C of the energies of files
Pairs = tuple[tuple[int, int], ...]


class Loop(NamedTuple):
    """Loop of a structure, and its energy.

    Attributes
    ----------
    kind : {"exterior", "stack", "bulge", "internal", "hairpin", "multibranch", "initiation"}
        "exterior" is a loop with ends of strands. "initiation" is no loop, but the cost of joining two
        strands.
    pairs : tuple of (int, int)
        Pairs of the loop, counted from 0 over both strands. A pair that closes the loop comes first.
    energy : float
        Energy in kcal/mol; inf if the loop is impossible.
    """

    kind: str
    pairs: Pairs
    energy: float


@dataclass(frozen=True)
class Energies:
    """Energy model of RNA structures: energies of loops at one temperature (Mathews et al. 2004).

    As by default in ViennaRNA (``-d2``), all ends of helices in open and multibranch loops have mismatches,
    and there is no coaxial stacking. Use `read_energies` to get one.

    Attributes
    ----------
    tables : dict of ndarray
        Tables of the file by name, in 0.01 kcal/mol.
    hairpins : dict of float
        Energies of special hairpins, by their sequence with the closing pair, in 0.01 kcal/mol.
    temperature : float
        Temperature of these energies, in degrees Celsius.
    """

    tables: dict[str, Table]
    hairpins: dict[str, float]
    temperature: float = _MEASURED

    def of(self, sequence: str, structure: str, circular: bool = False) -> float:
        """Compute the energy of a structure without pseudoknots, in kcal/mol; inf if it is impossible.

        It equals the energy of ViennaRNA, except for internal loops of two by two bases with an unknown base
        or closed by pairs other than AU, CG and GU, which are scored like loops of other sizes. A circular
        RNA of n bases without pairs has energy 0; ViennaRNA 2.8 gives 1.5 RT ln(n).

        Parameters
        ----------
        sequence, structure : str
            Bases, and the structure in dot-bracket notation. ``&`` in both separates two strands. If a pair
            joins them, the energy includes their initiation, at 1 M.
        circular : bool
            Whether the last base is followed by the first.

        Raises
        ------
        DataError
            The structure has a pseudoknot or is malformed, the lengths differ, or there are two strands and
            `circular` is set.
        """
        return sum(energy for *_, energy in self._loops(sequence, structure, circular)) / 100.0

    def loops(self, sequence: str, structure: str, circular: bool = False) -> list[Loop]:
        """List the loops of a structure, from the left; their energies add up to that of `of`."""
        return [
            Loop(kind, pairs, energy / 100.0)
            for kind, pairs, energy in self._loops(sequence, structure, circular)
        ]

    def score(self, sequence: str, structure: str) -> float:
        """Compute -energy / RT: the log odds of a structure against the one without pairs."""
        return -self.of(sequence, structure) / (_GAS * (_ZERO + self.temperature))

    def _loops(self, sequence: str, structure: str, circular: bool) -> Iterator[tuple[str, Pairs, float]]:
        """The kind, the pairs and the energy, in 0.01 kcal/mol, of each loop."""
        text = clean_sequence(sequence, OF_STRANDS)
        check_strands(text)
        bases, nick = bases_of(text), text.find(STRANDS)
        check_cut(structure, len(bases), nick, "a structure")
        if circular and nick >= 0:
            raise DataError(f"a circular RNA cannot have two strands ({STRANDS!r})")
        partner, n = partners(structure).tolist(), len(bases)
        strand = _Strand(self, bases, nick, circular)
        closing = [(i, j) for i, j in enumerate(partner) if j > i]
        if any(i < nick <= j for i, j in closing):
            yield "initiation", (), float(self.tables["Misc"][0])
        for i, j in [(-1, n), *closing]:
            branches, k = list[tuple[int, int]](), i + 1
            while k < j:
                if partner[k] > k:
                    branches.append((k, partner[k]))
                    k = partner[k]
                elif partner[k] >= 0:
                    raise DataError("the structure has a pseudoknot; energies need nested pairs")
                k += 1
            pairs = tuple(branches) if i < 0 else ((i, j), *branches)
            if circular and i < 0 and branches:
                # The last branch closes the loop around the origin: bases are counted on into a second turn.
                *others, (p, q) = branches
                kind, energy = strand.closed(q, p + n, [(k + n, m + n) for k, m in others])
            elif i < 0 or (i < nick <= j and not any(p < nick <= q for p, q in branches)):
                ends = branches if i < 0 else [(j, i), *branches]
                kind = "exterior"
                energy = sum(strand.open_end("mismatch_exterior", p, q) for p, q in ends)
            else:
                kind, energy = strand.closed(i, j, branches)
            yield kind, pairs, energy


def read_energies(source: Source | None = None, temperature: float = _MEASURED) -> Energies:
    """Read an energy parameter file of ViennaRNA, compressed or not, or get the Turner 2004 parameters.

    Parameters
    ----------
    source : path or file object, optional
        By default the parameters of Turner 2004 (Mathews et al. 2004; Turner & Mathews 2010), as in
        ViennaRNA's file ``rna_turner2004.par``, which are included.
    temperature : float
        Temperature in degrees Celsius. Energies at other temperatures than 37 follow from the enthalpies H of
        the file, G(T) = H - (H - G(37)) T / 310.15, in whole 0.01 kcal/mol as in ViennaRNA.

    Raises
    ------
    DataError
        A section is missing or has the wrong size, an entry is not a number, or the temperature is not above
        -273.15. The message names the file.
    """
    if not -_ZERO < temperature < math.inf:
        raise DataError(f"temperature={temperature!r}: expected degrees Celsius above -{_ZERO}")
    ratio = (_ZERO + temperature) / (_ZERO + _MEASURED)
    n_words = 1 if ratio == 1.0 else 2  # of special hairpins: energies, and enthalpies if they are needed
    lines, numbers = Lines(_TURNER if source is None else source), dict[str, list[float]]()
    hairpins, starts, section = dict[str, list[float]](), dict[str, int](), ""
    shapes = _SHAPES | {name + _ENTHALPIES: shape for name, shape in _SHAPES.items()} | _PAIRED
    for number, text in _filled(lines):
        if text.startswith("#"):
            section = text.lstrip("# ").strip()
            starts.setdefault(section, number)
            numbers.setdefault(section, [])
        elif section in _LOOPS:
            name, *words = [*text.split(), *[""] * n_words]
            hairpins[name] = [_value(lines, number, section, word) for word in words[:n_words]]
        elif section in shapes:
            numbers[section] += [_value(lines, number, section, word) for word in text.split()]
    for name, shape in shapes.items():
        if name not in numbers:
            if name.endswith(_ENTHALPIES) and ratio == 1.0:
                continue
            raise DataError(f"{lines.name}: the section {name!r} is missing")
        n, expected = len(numbers[name]), math.prod(shape)
        if n < expected if name == "Misc" else n != expected:
            least = "at least " if name == "Misc" else ""
            raise lines.refuse(starts[name], f"section {name} must have {least}{expected} numbers, not {n}")

    def at(energies: Any, enthalpies: Any) -> Any:
        """Energies at the temperature, cut to whole hundredths of kcal/mol as ViennaRNA does."""
        if ratio == 1.0:
            return energies
        with np.errstate(invalid="ignore"):  # what is impossible at 37 C is impossible
            changed = np.trunc(enthalpies - (enthalpies - energies) * ratio)
        return np.where(np.isfinite(changed), changed, np.inf)

    known = {name: np.array(own).reshape(shapes[name]) for name, own in numbers.items() if name in shapes}
    _mend_stacks(known["stack"], lines, starts["stack"])
    tables = {name: at(known[name], known.get(name + _ENTHALPIES)) for name in _SHAPES}
    tables["ML_params"] = at(known["ML_params"][::2], known["ML_params"][1::2])
    slope, slope_enthalpy, most = known["NINIO"]
    tables["NINIO"] = np.array([at(slope, slope_enthalpy), most])
    initiation, end = at(known["Misc"][:4:2], known["Misc"][1:4:2])
    beyond = known["Misc"][4:5].sum() or _SLOPE
    tables["Misc"] = np.array([initiation, end, beyond * ratio])
    special = {name: float(at(words[0], words[-1])) for name, words in hairpins.items()}
    return Energies(tables, special, float(temperature))


class _Strand:
    """A sequence, or two, and the energies of its loops."""

    def __init__(self, energies: Energies, bases: str, nick: int, circular: bool) -> None:
        self._starts = () if circular else (0, nick, len(bases))  # no base stands before these
        self._t, self._hairpins, self._bases = energies.tables, energies.hairpins, bases * (1 + circular)
        self._letters = [max(0, _LETTERS.find(base)) for base in self._bases]
        _, self._end, self._slope = energies.tables["Misc"].tolist()

    def _pair(self, i: int, j: int) -> int:
        """The row of two bases in tables of pairs."""
        word = self._bases[i] + self._bases[j]
        return _PAIRS.index(word) if word in _PAIRS else len(_PAIRS)

    def _of_end(self, pair: int) -> float:
        """What an end of a helix costs that is neither CG nor GC."""
        return self._end if pair > 1 else 0.0

    def _sized(self, table: str, n: int) -> float:
        """What a loop of n bases costs for its length."""
        # Jacobson & Stockmayer: longer loops cost the logarithm of their length more. ViennaRNA truncates it
        # to whole hundredths of kcal/mol, and so does this.
        beyond = math.log(n / _LONGEST) if n > _LONGEST else 0.0
        return float(self._t[table][min(n, _LONGEST)]) + int(self._slope * beyond)

    def open_end(self, table: str, i: int, j: int) -> float:
        """Of a branch (i, j) of an open loop: its mismatch or dangle, and its end."""
        pair, starts = self._pair(i, j), self._starts
        # -d2: an end with bases on both sides has a mismatch, one at the end of the strand a dangle.
        before = None if i in starts else self._letters[i - 1]
        after = None if j + 1 in starts else self._letters[j + 1]
        if before is None and after is None:
            return self._of_end(pair)
        if before is None:
            beside = self._t["dangle3"][pair, after]
        else:
            beside = (
                self._t["dangle5"][pair, before] if after is None else self._t[table][pair, before, after]
            )
        return self._of_end(pair) + min(0.0, float(beside))

    def closed(self, i: int, j: int, branches: list[tuple[int, int]]) -> tuple[str, float]:
        """The kind and the energy of a loop that a pair closes."""
        if not branches:
            return "hairpin", self.hairpin(i, j)
        if len(branches) > 1:
            return "multibranch", self.multi(i, j, branches)
        p, q = branches[0]
        n_sides = (p > i + 1) + (q < j - 1)  # with unpaired bases
        return ("stack", "bulge", "internal")[n_sides], self.two_pairs(i, j, p, q)

    def hairpin(self, i: int, j: int) -> float:
        pair, n, s = self._pair(i, j), j - i - 1, self._letters
        if (special := self._hairpins.get(self._bases[i : j + 1])) is not None:
            return special
        ends = self._of_end(pair) if n <= 3 else self._t["mismatch_hairpin"][pair, s[i + 1], s[j - 1]]
        return self._sized("hairpin", n) + float(ends)

    def multi(self, i: int, j: int, branches: list[tuple[int, int]]) -> float:
        base, closing, branch = self._t["ML_params"]
        unpaired = j - i - 1 - sum(q - p + 1 for p, q in branches)
        pair, s, t = self._pair(j, i), self._letters, self._t["mismatch_multi"]
        energy = closing + base * unpaired + branch * (1 + len(branches))
        energy += self._of_end(pair) + min(0.0, t[pair, s[j - 1], s[i + 1]])
        return float(energy + sum(self.open_end("mismatch_multi", p, q) for p, q in branches))

    def two_pairs(self, i: int, j: int, p: int, q: int) -> float:
        """Of a stack, a bulge or an internal loop."""
        one, other, n1, n2 = self._pair(i, j), self._pair(q, p), p - i - 1, j - q - 1
        few, many = sorted((n1, n2))
        if many == 0:
            return float(self._t["stack"][one, other])
        if few == 0:
            at_ends = self._t["stack"][one, other] if many == 1 else self._of_end(one) + self._of_end(other)
            return self._sized("bulge", many) + float(at_ends)
        s = self._letters
        outer, inner = (s[i + 1], s[j - 1]), (s[q + 1], s[p - 1])
        if (few, many) == (1, 1):
            return float(self._t["int11"][one, other, outer[0], outer[1]])
        if (few, many) == (1, 2):
            # The table has the single base on the left; the other way around, the loop is read from the other
            # pair.
            if n1 == 1:
                return float(self._t["int21"][one, other, outer[0], inner[0], outer[1]])
            return float(self._t["int21"][other, one, inner[0], outer[0], inner[1]])
        letters = s[i + 1], s[p - 1], s[q + 1], s[j - 1]
        if (few, many) == (2, 2) and max(one, other) < len(_PAIRS) and min(letters) > 0:
            return float(self._t["int22"][(one, other, *(k - 1 for k in letters))])
        table = "_1n" if few == 1 else "_23" if (few, many) == (2, 3) else ""
        mismatches = self._t[f"mismatch_internal{table}"]
        # Initiation by size, a bounded penalty for asymmetry (Ninio), and a mismatch at each pair.
        energy = self._sized("internal", n1 + n2) + min(
            self._t["NINIO"][1], (many - few) * self._t["NINIO"][0]
        )
        return float(energy + mismatches[(one, *outer)] + mismatches[(other, *inner)])
