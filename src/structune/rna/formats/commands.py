"""Files of constraints: ViennaRNA's commands, and log odds of pairs and bases."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace

import numpy as np

from structune.errors import DataError
from structune.files.text import Lines, Source, header_name, plural, shown
from structune.rna.formats.brackets import bases_of, cut_as
from structune.rna.structure.constraints import (
    MOST_SCORE,
    RT,
    Constraints,
    as_constraints,
    impossible,
    pair_rows,
)
from structune.rna.structure.rna import RNA
from structune.rna.structure.space import parse_sequence, places
from structune.running.memory import require_memory
from structune.structure import IntArray

_PLACE, _PARTNER = "([1-9][0-9]{0,8})", "(0|[1-9][0-9]{0,8})"
_SCORE = re.compile(rf"{_PLACE}(?:\s+{_PLACE})?\s+(\S+)")
_RANGES = re.compile(rf"P\s+{_PLACE}-{_PLACE}\s+{_PLACE}-{_PLACE}(?:\s+A)?")
_COMMAND = re.compile(rf"([FPCE])\s+{_PLACE}\s+{_PARTNER}\s+{_PLACE}(?:\s+(.*))?")
_READ = "structune reads commands F, P, C and E, and lines 'i j score' and 'i score'"
_STRICTER = {".": "x|<>", "|": "<>"}  # marks of a base that replace another one
_IMPLIED = {"<": "|", ">": "|", "(": "|<", ")": "|>"}  # marks that it has already
_PAIR = 72.0  # bytes for a prohibited pair while scores of pairs are made


# What a line says: F, P, C or E of the k pairs (i, j), (i + 1, j - 1), ...; E or a mark of the bases i to
# i + k - 1 if j is 0; "ranges": no base of i to j pairs with one of k to last. Then i, j, k, log odds, last.
_Command = tuple[str, int, int, int, float, int]


@dataclass
class Commands:
    """Lines of a file of commands for one sequence (see `read_commands`)."""

    _lines: Lines
    _given: list[tuple[int, _Command]] = field(default_factory=list)  # with the numbers of their lines
    _scored: dict[tuple[int, int], int] = field(default_factory=dict)  # lines 'i j score' and 'i score'

    def constraints(
        self, sequence: str, known: Constraints | str | None = None, rna: RNA | None = None
    ) -> Constraints:
        """Make constraints for a sequence.

        Parameters
        ----------
        sequence : str
        known : Constraints or str, optional
            Constraints to which those of the file are added.
        rna : RNA, optional
            Attribute `rna_` of a folder: required and scored pairs that it cannot produce are then refused by
            their line.

        Raises
        ------
        DataError
            A line is invalid for this sequence or contradicts another one. The message names the line.
        """
        given, letters = as_constraints(known) or Constraints(), parse_sequence(0, sequence)
        given.scores(letters)  # refuses what does not fit the sequence
        n = places(letters).size
        marks = list(bases_of(given.notation)) or ["."] * n
        paired = np.zeros(n) if given.paired is None else np.array(given.paired, np.float64)
        required, prohibited = ([pair_rows(rows, n, 2)[0]] for rows in (given.required, given.prohibited))
        ends, values = pair_rows(given.pairs, n, 3)
        scores = defaultdict(float, zip(map(tuple, ends.tolist()), values.tolist(), strict=True))
        expected = [np.empty((0, 3), np.int64)]  # numbers of lines, and pairs that must be possible
        for number, (what, i, j, k, score, last) in self._given:
            if (end := last or j or i + k - 1) > n:
                raise self._lines.refuse(number, f"position {end} is beyond the {plural(n, 'base')}")
            bases = np.arange(i - 1, i - 1 + k)
            pairs = np.column_stack([bases, i + j - 2 - bases])
            if what == "ranges":
                prohibited.append(_between((i - 1, j), (k - 1, last)))
            elif j == 0 and what == "E":
                paired[bases] += score
            elif j == 0:
                for a in bases.tolist():
                    if what in _STRICTER.get(marks[a], ""):
                        marks[a] = what
                    elif what not in marks[a] + _IMPLIED.get(marks[a], ""):
                        told = f"base {a + 1} cannot be both {marks[a]!r} and {what!r}"
                        raise self._lines.refuse(number, told)
            elif what == "P":
                prohibited.append(pairs)
            if j and (score or what in ("F", "C")):  # P may name pairs that cannot be, as in ViennaRNA
                expected.append(np.column_stack([np.full(k, number), pairs]))
            if what == "F":
                required.append(pairs)
            elif what == "E" and j:
                for a, b in pairs.tolist():
                    scores[a, b] += score
            elif what == "C":  # no other pair of these bases, and none across the pairs
                prohibited += [_between((0, i - 1), (i - 1, j)), _between((i - 1, j), (j, n))]
                for a, b in pairs.tolist():
                    prohibited += [_between((a, a + 1), (a + 1, b)), _between((a + 1, b), (b, b + 1))]
        if rna is not None:
            rows = np.concatenate(expected)
            if (found := impossible(letters, places(letters)[rows[:, 1:]], rna._space)) is not None:
                at, i, j, reason = found
                raise self._lines.refuse(int(rows[at, 0]), f"bases {i + 1} and {j + 1}: {reason}")
        notation = "".join(marks)
        return replace(
            given,
            notation=cut_as(sequence, notation) if notation.strip(".") else "",
            required=np.concatenate(required),
            prohibited=np.concatenate(prohibited),
            paired=paired if paired.any() else None,
            pairs=[(*pair, score) for pair, score in scores.items()],
        )


def _between(left: tuple[int, int], right: tuple[int, int]) -> IntArray:
    """All pairs of a base of one range with one of another; the ends of ranges are exclusive."""
    n_pairs = (left[1] - left[0]) * (right[1] - right[0])
    require_memory(_PAIR * n_pairs, f"{n_pairs:,} prohibited pairs", "smaller ranges")
    pairs = np.stack(np.meshgrid(np.arange(*left), np.arange(*right), indexing="ij"), -1).reshape(-1, 2)
    return pairs[pairs[:, 0] < pairs[:, 1]]


def read_commands(source: Source) -> dict[str, Commands]:
    """Read a file of constraints, as a dict from names of sequences to their `Commands`.

    Parameters
    ----------
    source : path or file object
        Commands F, P, C and E as for ``RNAfold --commands``, and lines ``i j score`` and ``i score`` with log
        odds of a pair, or of a base to be paired; the score -inf prohibits a pair. Positions are from 1 and
        count the bases of both strands. For several sequences, a line ``>name`` precedes the lines of each.

    Returns
    -------
    dict of str to Commands
        The name is "" in a file without names.

    Raises
    ------
    DataError
        A line is invalid. The error names it.
    """
    lines, found, is_empty = Lines(source, strip=False), dict[str, Commands](), True
    with lines.told_by_look(
        ("reactivities",), "give commands such as 'F 1 0 3', or lines such as '1 12 2.5'"
    ):
        for number, text in lines:
            if text.startswith(">"):
                name = header_name(text, len(found) + 1)
                if name in found or "" in found:
                    told = "lines above it have no name" if "" in found else f"{shown(name)} occurs twice"
                    raise lines.refuse(number, told)
                found[name] = Commands(lines)
            elif (text := text.partition("#")[0].rstrip()) and text[0] not in "%;/*":  # comments of ViennaRNA
                if not found:
                    found[""] = Commands(lines)
                commands, is_empty = found[[*found][-1]], False
                with lines.at(number):
                    commands._given.append((number, _parsed(number, text, commands._scored)))
        if is_empty:
            raise DataError(f"{lines.name}: the file has no constraints; {_READ}")
    return found


def _parsed(number: int, text: str, scored: dict[tuple[int, int], int]) -> _Command:
    """What a line says; `scored` has the lines with log odds so far."""
    if match := _SCORE.fullmatch(text.strip()):
        i, j = int(match[1]), int(match[2] or 0)
        if 0 < j <= i:
            raise DataError(f"a pair has its left base first, not {i} before {j}")
        if (first := scored.setdefault((i, j), number)) != number:
            raise DataError(f"line {first} already has log odds of the same {'pair' if j else 'base'}")
        is_prohibited = j > 0 and match[3] == "-inf"
        score = -np.inf if is_prohibited else _score(match[3], 1.0)
        return "P" if is_prohibited else "E", i, j, 1, score, 0
    if match := _RANGES.fullmatch(text):
        i, j, k, last = map(int, match.groups())
        if not i <= min(j, k) <= max(j, k) <= last:
            raise DataError("a range must not be empty, and the first must not begin or end after the second")
        return "ranges", i, j, k, 0.0, last
    if match := _COMMAND.fullmatch(text):
        letter, (i, j, k), rest = match[1], map(int, match.groups()[1:4]), (match[5] or "").split()
        if j and j - i + 1 < 2 * k:
            raise DataError(
                f"{plural(k, 'pair')} from {i} and {j}: left bases must be left of their partners"
            )
        if letter == "E":
            if len(rest) != 1:
                raise DataError("E needs i, j, k, and one energy in kcal/mol")
            # exp(-e / RT) of an unpaired base is, but for a constant, exp(e / RT) of a paired one.
            return "E", i, j, k, _score(rest[0], -RT if j else RT), 0
        marks = {"": "|", "D": "<", "U": ">"} if letter == "F" and j == 0 else {"": "x"}
        if (mark := marks.get("".join(rest).removeprefix("A"))) is None:
            told = "only A, all loops, may follow, and in F i 0 k the orientation U or D"
            raise DataError(f"{shown(' '.join(rest))} is not supported; {told}")
        return letter if j else mark, i, j, k, 0.0, 0
    word = text.split()[0]
    if word.isalpha() and text[0].isspace():
        raise DataError("ViennaRNA skips lines that begin with a blank; remove the blank, or write #")
    if word.isalpha() and word not in ("F", "P", "C", "E"):
        raise DataError(f"the command {shown(word)} is not supported; {_READ}")
    raise DataError(f"{shown(text)} is not a constraint; {_READ}, with positions from 1")


def _score(word: str, unit: float) -> float:
    """Log odds, from a number in this unit."""
    if word.upper() in ("NA", "-999"):
        raise DataError(f"{word} is a missing reactivity; give reactivities to --shape")
    try:
        score = float(word) / unit
    except ValueError:
        score = np.nan
    if not abs(score) <= MOST_SCORE:
        most = MOST_SCORE * abs(unit)
        raise DataError(f"{shown(word)} is not a number from {-most:g} to {most:g}")
    return score
