"""Nearest-neighbor energies of RNA structures, from parameter files; a teacher for `distill`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structune.errors import DataError, warn
from structune.files.text import Lines, Source, shown
from structune.rna.formats.brackets import check_cut, partners
from structune.rna.formats.sequences import clean_sequence

Table = NDArray[np.float64]
_FIRST_LINE = re.compile(r"##\s*RNAfold parameter file v2")
_COMMENT = re.compile(r"/\*.*?\*/")
_WORDS = {"INF": np.inf, "NINF": -np.inf, "DEF": -50.0}
_NUMBER = re.compile(r"[-+]?\d+(\.\d*)?")
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
    "ML_params": (6,),
    "NINIO": (3,),
}
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
_GAS, _KELVIN = 1.98717e-3, 310.15  # kcal/mol/K; 37 C


@dataclass(frozen=True)
class Energies:
    """Energy model of RNA structures: energies of loops at 37 C (Mathews et al. 2004).

    As by default in ViennaRNA (``-d2``), all ends of helices in open and multibranch loops have mismatches,
    and there is no coaxial stacking. Use `read_energies` to read a parameter file.

    Attributes
    ----------
    tables : dict of ndarray
        Tables of the file by name, in 0.01 kcal/mol.
    hairpins : dict of float
        Energies of special hairpins, by their sequence with the closing pair, in 0.01 kcal/mol.
    """

    tables: dict[str, Table]
    hairpins: dict[str, float]

    def of(self, sequence: str, structure: str) -> float:
        """Compute the energy of a structure without pseudoknots, in kcal/mol; inf if it is impossible.

        It equals the energy of ViennaRNA, except for internal loops of two by two bases with an unknown base
        or closed by pairs other than AU, CG and GU, which are scored like loops of other sizes.

        Raises
        ------
        DataError
            There are two strands, the lengths differ, or the structure is malformed.
        """
        bases = clean_sequence(sequence)
        check_cut(structure, len(bases), -1, "a structure")
        partner = partners(structure)
        strand, found = _Strand(self, bases), []  # of all loops, in 0.01 kcal/mol
        for i, j in [(-1, len(bases)), *((i, int(j)) for i, j in enumerate(partner) if j > i)]:
            branches, k = list[tuple[int, int]](), i + 1
            while k < j:
                if partner[k] > k:
                    branches.append((k, int(partner[k])))
                    k = int(partner[k])
                elif partner[k] >= 0:
                    raise DataError("the structure has a pseudoknot; energies need nested pairs")
                k += 1
            if i < 0:
                found.append(sum(strand.open_end("mismatch_exterior", p, q) for p, q in branches))
            elif not branches:
                found.append(strand.hairpin(i, j))
            elif len(branches) == 1:
                found.append(strand.two_pairs(i, j, *branches[0]))
            else:
                found.append(strand.multi(i, j, branches))
        return float(sum(found)) / 100.0

    def score(self, sequence: str, structure: str) -> float:
        """Compute -energy / RT: the log odds of a structure against the one without pairs."""
        return -self.of(sequence, structure) / (_GAS * _KELVIN)


def read_energies(source: Source) -> Energies:
    """Read an energy parameter file of ViennaRNA (such as ``rna_turner2004.par``), compressed or not.

    Parameters
    ----------
    source : path or file object

    Raises
    ------
    DataError
        A section is missing or has the wrong size, or an entry is not a number. The message names the file.
    """
    lines, numbers, hairpins = Lines(source), dict[str, list[float]](), dict[str, float]()
    starts, section = dict[str, int](), ""
    for number, text in _filled(lines):
        if text.startswith("#"):
            section = text.lstrip("# ").strip()
            starts.setdefault(section, number)
            numbers.setdefault(section, [])
        elif section in _LOOPS:
            name, energy, *_ = [*text.split(), ""]
            hairpins[name] = _value(lines, number, section, energy)
        elif section in _SHAPES or section == "Misc":
            numbers[section] += [_value(lines, number, section, word) for word in text.split()]
    for name, shape in {**_SHAPES, "Misc": (4,)}.items():
        if name not in numbers:
            raise DataError(f"{lines.name}: the section {name!r} is missing")
        n, expected = len(numbers[name]), math.prod(shape)
        if n != expected if name in _SHAPES else n < expected:
            least = "" if name in _SHAPES else "at least "
            raise lines.refuse(starts[name], f"section {name} must have {least}{expected} numbers, not {n}")
    tables = {name: np.array(numbers[name]).reshape(shape) for name, shape in _SHAPES.items()}
    _mend_stacks(tables["stack"], lines, starts["stack"])
    return Energies({**tables, "Misc": np.array(numbers["Misc"])}, hairpins)


class _Strand:
    """A sequence, and the energies of its loops."""

    def __init__(self, energies: Energies, bases: str) -> None:
        self._t, self._hairpins, self._bases = energies.tables, energies.hairpins, bases
        self._letters = [max(0, _LETTERS.find(base)) for base in bases]
        misc = energies.tables["Misc"]
        self._end, self._slope = float(misc[2]), float(misc[4]) if misc.size > 4 and misc[4] else _SLOPE

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
        pair, n = self._pair(i, j), len(self._bases)
        # -d2: an end with bases on both sides has a mismatch, one at the end of the strand a dangle.
        before, after = (self._letters[k] if 0 <= k < n else None for k in (i - 1, j + 1))
        if before is None and after is None:
            return self._of_end(pair)
        if before is None:
            beside = self._t["dangle3"][pair, after]
        else:
            beside = (
                self._t["dangle5"][pair, before] if after is None else self._t[table][pair, before, after]
            )
        return self._of_end(pair) + min(0.0, float(beside))

    def hairpin(self, i: int, j: int) -> float:
        pair, n, s = self._pair(i, j), j - i - 1, self._letters
        if (special := self._hairpins.get(self._bases[i : j + 1])) is not None:
            return special
        ends = self._of_end(pair) if n <= 3 else self._t["mismatch_hairpin"][pair, s[i + 1], s[j - 1]]
        return self._sized("hairpin", n) + float(ends)

    def multi(self, i: int, j: int, branches: list[tuple[int, int]]) -> float:
        base, _, closing, _, branch, _ = self._t["ML_params"]
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
            self._t["NINIO"][2], (many - few) * self._t["NINIO"][0]
        )
        return float(energy + mismatches[(one, *outer)] + mismatches[(other, *inner)])
