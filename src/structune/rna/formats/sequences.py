"""RNA records, and files of sequences with or without structures: FASTA, dot-bracket, plain lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import ClassVar, Self, TypeVar

from structune.errors import DataError, warn
from structune.files.text import Lines, Source, header_description, header_name, one_word, plural, save, shown
from structune.rna.formats import brackets

BASES = "ACGUNRYSWKMBDHVX"
OF_STRANDS = BASES + brackets.STRANDS
GAPS = "-._~"  # of aligned sequences
_RESIDUES = "EFILPQ"  # of proteins alone
_CLEAN = str.maketrans(BASES.lower() + "tT", BASES + "UU")
# Letters of modified bases that are none of IUPAC, such as P for pseudouridine and I for inosine.
MODIFIED = dict.fromkeys("EFIJLOPQZ", "N")
_TO_BASES = str.maketrans(MODIFIED | {letter.lower(): base for letter, base in MODIFIED.items()})
_MARKS = frozenset("x" + brackets.STRANDS)
HEAD, _MANY = 1000, 1 << 20  # lines and bases looked at; a record may be a whole chromosome
_ADVICE = "which is ambiguous. For constraints use --constraints, for masked bases --input-format"
STRUCTURE = re.compile(r"[][(){}<>.|]")  # the last one of constraints, which are refused
_UNPAIRED = str.maketrans(":_~-", "....")  # as in PseudoBase and Rfam; no comma, which RNAfold -p writes
_BRACKET = re.compile(r"[][(){}<>]")
_CONSTRAINTS = set(".x|<>()&")
_NUMBER = r"[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?"
_ENERGY = re.compile(rf"\(\s*{_NUMBER}\s*\)|({_NUMBER}(?:\s+{_NUMBER})?)")  # bare: of RNAsubopt
_RANGE = re.compile(r"(?:-\d[\d.]*|0[0.]*)\s+\d[\d.]*")  # the energy of RNAsubopt and its range, in any unit
_WITH_RANGE = re.compile(rf"([{BASES}T&]+)\s+{_NUMBER}\s+{_NUMBER}", re.IGNORECASE)
_ENSEMBLE = re.compile(  # what RNAfold -p, RNAcofold -a and LinearPartition write of ensembles
    r"[][(){}<>.,|&]+\s+(?:\[.*\]|\{.*\})"
    r"|(?:frequency of mfe structure in|free energy of(?: the)?) ensemble.*"
    rf"|free energies:|AB\s+AA\s+BB\s+A\s+B|(?:{_NUMBER}\s+){{4}}{_NUMBER}",
    re.IGNORECASE,
)
_TOLD = {  # of what files have, by the names of counts
    "ensemble": ("left out {} about ensembles (RNAfold -p). The MFE structures are read", "line"),
    "further": ("read {} of the same sequences as NAME/2, NAME/3, and so on", "further structure"),
    "layers": ("left out {} of pseudoknots (SS_cons_1 and so on)", "line"),
    "lower": (
        "read {} like the others. RNAstructure does not pair them; for that, use --constraints",
        "lower-case base",
    ),
    "evidence": ("the probing data of {} are read only by --shape", "base"),
}
_LABEL = re.compile(r"#?\s*(?:name\s*:|(file)(?:name)?\b\s*:?)\s*(\S.*)", re.IGNORECASE)
_ENDING = re.compile(r"\.(bpseq|ct|nopct)$", re.IGNORECASE)
# The space beside '=' tells an energy from a name of one word.
_OF_TITLE = re.compile(
    r"(?:ENERGY|dG|dE)(?:\s+=\s*|=\s+)[-+]?[\d.]+(?:\s*\[[^]]*\])?(?:\s+|$)", re.IGNORECASE
)
Kind = TypeVar("Kind", bound="Entry")


@dataclass(frozen=True)
class RNARecord:
    """An RNA sequence with its name and, optionally, its structure.

    Attributes
    ----------
    name : str
        Name, one word.
    sequence : str
        Upper-case bases A, C, G, U, and N, R, Y, S, W, K, M, B, D, H, V, X for bases not fully known. Lower
        case and T are converted to upper case and U. Two strands are separated by ``&``, also in the
        structure.
    structure : str, optional
        Structure in dot-bracket notation, one character per base, as in `structune.rna.partners`.
    description : str
        Text after the name in a header ``>name``. It is ignored when records are compared.
    """

    name: str
    sequence: str
    structure: str | None = None
    description: str = field(default="", compare=False)

    @property
    def header(self) -> str:
        """The name, and the description if there is one."""
        return f"{self.name} {self.description}".rstrip()

    def __post_init__(self) -> None:
        for what, text, is_one, kind in (
            ("name", self.name, self.name.split() == [self.name], "word"),
            ("description", self.description, len(self.description.splitlines()) < 2, "line"),
        ):
            if not is_one or text.encode(errors="ignore").decode() != text:
                raise DataError(f"the {what} {shown(text)} is not one {kind} of UTF-8 text")
        try:
            object.__setattr__(self, "sequence", clean_sequence(self.sequence, OF_STRANDS))
            brackets.check_strands(self.sequence)
            if self.structure is not None:
                brackets.check_cut(
                    self.structure, self.n_bases, self.sequence.find(brackets.STRANDS), "a structure"
                )
                brackets.partners(self.structure)
        except DataError as error:
            raise DataError(f"record {shown(self.name)}: {error}") from error

    @property
    def n_bases(self) -> int:
        """Number of bases of all strands."""
        return len(brackets.bases_of(self.sequence))


def clean_sequence(text: str, letters: str = BASES) -> str:
    """Convert to upper case and T to U; an error names the position, from 1, of an invalid character."""
    sequence = text.translate(_CLEAN)
    if rest := sequence.lstrip(letters):
        position = len(sequence) - len(rest)
        hint = " (is it a protein?)" if text[position].upper() in _RESIDUES else ""
        expected = f"is not one of {BASES} or T{hint}"
        raise DataError(f"position {position + 1} (from 1): {text[position]!r} {expected}")
    return sequence


def looks_like_rna(text: str) -> bool:
    """Whether letters are bases of RNA, apart from a third that are modified or not fully known."""
    # A, C, G and T are a quarter of the residues of proteins.
    counts = [text.translate(_CLEAN).count(base) for base in "ACGU"]
    return text.isascii() and 3 * sum(counts) >= 2 * len(text) and counts.count(0) < 2


def bases_of_line(text: str, letters: str = OF_STRANDS) -> tuple[str, DataError | None]:
    """The bases of a line; with letters of modified bases, and then the error if it is no RNA."""
    try:
        return clean_sequence(text, letters), None
    except DataError as error:
        no_rna = error
    with suppress(DataError):
        clean_sequence(text.translate(_TO_BASES), letters)
        return text.upper().translate(_CLEAN), no_rna
    raise no_rna


class RNALines(Lines):
    """Lines of sequences, without ensembles of ViennaRNA; counts what `tell` reports at the end."""

    def __init__(self, source: Source, strip: bool = True) -> None:
        super().__init__(source, strip)
        self.modified, self.counts = Counter[str](), Counter[str]()  # shared by all parts of the file
        if strip:
            self._numbered = self._known(self._numbered)

    def _known(self, numbered: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        for number, text in numbered:
            if not text or text.isalpha() or text[0] in ">#;" or (text[0].isdigit() and "." not in text):
                yield number, text
            elif _ENSEMBLE.fullmatch(text):
                self.counts["ensemble"] += 1
            else:
                found = _WITH_RANGE.fullmatch(text)
                yield number, found[1] if found else text

    def bases(self, number: int, text: str, letters: str = OF_STRANDS) -> tuple[str, DataError | None]:
        """`bases_of_line` of a line, which errors name."""
        with self.at(number):
            bases, no_rna = bases_of_line(text, letters)
        return bases, no_rna and self.refuse(number, str(no_rna))

    def standard(self, text: str, error: DataError | None = None) -> str:
        """Replace and count the letters of modified bases; with `error`, only if the others are RNA."""
        if error is not None and not looks_like_rna("".join(filter(str.isalpha, text))):
            raise error
        self.modified.update(filter(MODIFIED.__contains__, text.upper()))
        return text.translate(_TO_BASES)

    def tell(self) -> None:
        """Warn once of what was replaced or left out."""
        told = [
            text.format(plural(n, noun)) for key, (text, noun) in _TOLD.items() if (n := self.counts[key])
        ]
        if n := self.modified.total():
            letters = ", ".join(f"{k:,} {letter}" for letter, k in self.modified.most_common())
            told.append(f"{plural(n, 'base is', 'bases are')} modified ({letters}). They are read as N")
        for text in told:
            warn(f"{self.name}: {text}.")


def label_name(text: str) -> str:
    """The name in a line like ``Filename: d.5.e.bpseq`` or ``#Name: d.5.e``; empty where there is none."""
    if not (match := _LABEL.match(text)):
        return ""
    return one_word(_ENDING.sub("", match[2]) if match[1] else match[2])


def without_energy(title: str) -> str:
    """A title without ``ENERGY = -1.2``, as RNAstructure and Mfold write it."""
    return _OF_TITLE.sub("", title, count=1)


def need_structure(record: RNARecord) -> str:
    """The structure of a record, for files that must have one."""
    if record.structure is None:
        raise DataError(f"record {shown(record.name)}: no structure; this format needs one")
    return record.structure


def parse_fasta(lines: RNALines) -> Iterator[RNARecord]:
    entry, count = None, 0
    for number, text in lines.filled():
        if text.startswith(">"):
            if entry is not None:
                yield entry.record()
            count += 1
            entry = Entry(lines, number, header_name(text, count), header_description(text))
        elif entry is None:
            raise lines.refuse(number, f"expected a header '>name', not {shown(text)}")
        else:
            entry.add_bases(number, text)
    if entry is not None:
        yield entry.record()


def parse_seq(lines: RNALines) -> Iterator[RNARecord]:
    """Sequences in the format of RNAstructure and Mfold: comments ``;``, a title, and bases up to a 1."""
    entry, count, is_title = None, 0, False
    for number, text in lines:  # also empty ones, because titles may be
        if text.startswith(";") and entry is None:
            is_title = True
        elif is_title:
            count += 1
            entry, is_title = Entry(lines, number, one_word(text) or str(count)), False
        elif not text:
            continue
        elif entry is None:
            raise lines.refuse(number, f"expected a line ';' above the next title, not {shown(text)}")
        else:
            bases = "".join(text.split())
            if bases.endswith("2"):
                told = "a 2 at the end marks a circular sequence. Write 1 instead, and use --circular"
                raise lines.refuse(number, told)
            entry.add_bases(number, bases.removesuffix("1"))
            lines.counts["lower"] += sum(map(str.islower, bases))
            if bases.endswith("1"):
                yield entry.record()
                entry = None
    if entry is not None:
        raise lines.refuse(entry.number, f"the sequence {shown(entry.name)} does not end in 1")


def write_fasta(target: Source, records: Iterable[RNARecord], width: int = 60) -> None:
    """Write names and sequences without structures."""
    texts = []
    for record in records:
        starts = range(0, len(record.sequence), width)
        texts += [f">{record.header}\n", *(f"{record.sequence[k : k + width]}\n" for k in starts)]
    save(target, "".join(texts))


def parse_dot_bracket(
    lines: RNALines, live: bool = False, unused: Callable[[], None] | None = None
) -> Iterator[RNARecord]:
    for entry in scan(lines, Entry, by_line=False):
        if entry.is_whole and not (live and entry.is_further(unused)):
            yield entry.record(True)


def write_dot_bracket(target: Source, records: Iterable[RNARecord]) -> None:
    """Write header, sequence and structure lines; a structure of letters alone would look like a sequence."""
    texts = []
    for record in records:
        structure = need_structure(record)
        if not STRUCTURE.search(structure):
            structure = brackets.cut_as(structure, brackets.to_dot_bracket(brackets.partners(structure)))
        texts.append(f">{record.header}\n{record.sequence}\n{structure}\n")
    save(target, "".join(texts))


# --- records line by line -----------------------------------------------------------------------------------


@dataclass
class Entry:
    """The lines of one record, as far as they are read."""

    lines: RNALines
    number: int
    name: str
    description: str = ""
    is_line: bool = False  # there is no header, and a line is a whole sequence
    lacks_header: bool = False  # and an earlier record has one
    is_whole: bool = False  # no more lines follow
    sequence: list[str] = field(default_factory=list)
    structure: list[str] = field(default_factory=list)
    structure_number: int = 0
    n_missing: int = 0  # characters of the structure
    index: int = 0  # of one of several structures, from 1
    no_rna: DataError | None = None  # the error of letters of modified bases, if there are too many
    passed_over: ClassVar[str] = ">structure"  # CONTRAfold writes it between sequence and structure

    @property
    def awaits_structure(self) -> bool:
        return bool(self.sequence) and not self.structure

    def ends_before(self, number: int, text: str) -> bool:
        """Whether a line is the sequence of the next record."""
        return self.is_line and not (self.structure or STRUCTURE.search(text))

    def add(self, number: int, text: str) -> None:
        if self.lacks_header and not STRUCTURE.search(text):
            found = f"expected a header '>name' after the structure, not {shown(text)}"
            raise self.lines.refuse(number, found)
        if not self.structure and not (STRUCTURE.search if self.sequence else STRUCTURE.match)(text):
            self.add_bases(number, text)
        elif not self.sequence:
            raise self.lines.refuse(number, f"the structure {shown(text)} has no sequence before it")
        else:
            self.add_structure(number, text)

    def add_bases(self, number: int, text: str) -> None:
        bases, no_rna = self.lines.bases(number, text)
        self.no_rna = self.no_rna or no_rna
        self.sequence.append(bases)
        self.n_missing += len(bases)

    def add_structure(self, number: int, text: str) -> None:
        """Add a line without the energy behind it."""
        structure, *energy = text.split(maxsplit=1)
        if energy:
            if not (found := _ENERGY.fullmatch(energy[0])):
                raise self.lines.refuse(number, f"{shown(energy[0])} after the structure is not an energy")
            self.index = self.index or int(bool(found[1]))
        self.structure_number = self.structure_number or number
        self.structure.append(structure.translate(_UNPAIRED))
        self.n_missing -= len(structure)

    def further(self) -> Self:
        """The same sequence, before its next structure."""
        n, index = len("".join(self.sequence)), max(2, self.index + 1)
        return replace(self, structure=[], structure_number=0, n_missing=n, index=index)

    def is_further(self, unused: Callable[[], None] | None) -> bool:
        """Whether the sequence was there before, to one who needs it only once; its structure is checked."""
        is_further, self.index = self.index > 1, 0
        if is_further and self.record() and unused is not None:
            unused()
        return is_further

    @property
    def bases(self) -> str:
        """The sequence, with known bases for modified ones."""
        if self.no_rna is not None:
            self.sequence = [self.lines.standard("".join(self.sequence), self.no_rna)]
            self.no_rna = None
        return "".join(self.sequence)

    def record(self, with_structure: bool = False) -> RNARecord:
        """The record, with its structure if there is one or if it must have one."""
        bases, name = self.bases, f"{self.name}/{self.index}" if self.index else self.name
        if with_structure and self.awaits_structure:
            found = f"record {shown(self.name)}: no structure after the sequence"
            raise self.lines.refuse(self.number, found)
        structure = "".join(self.structure) if self.structure or with_structure else None
        self.lines.counts["further"] += self.index > 1
        with self.lines.at(self.structure_number or self.number):
            try:
                return RNARecord(name, bases, structure, self.description)
            except DataError as error:
                found, advice = structure or "", ""  # what a structure that does not fit may be
                # No structure has x and |, and in it < and > are pairs.
                marked = not {"x", "|"}.isdisjoint(found) or found.count("<") != found.count(">")
                if found and self.is_line:
                    advice = ". Sequences of several lines without headers need --input-format dot_bracket"
                elif marked and set(found) <= _CONSTRAINTS:
                    advice = ". To read constraints use --constraints"
                elif found and not _BRACKET.search(found):
                    advice = f": {shown(self.structure[0])} is neither bases nor a structure"
                raise DataError(f"{error}{advice}") from None


def scan(lines: RNALines, kind: type[Kind], by_line: bool = True) -> Iterator[Kind]:
    """Each record, after each of its lines; the last time it is whole.

    One without a header is named by its number, from 1; with `by_line` its sequence is a single line. Further
    structures below the first make further records of the sequence.
    """
    entry, last, count, headers, label = None, None, 0, False, ""
    for number, text in lines.filled():
        awaits = entry is not None and entry.awaits_structure
        if text.startswith("#") or (awaits and (text == kind.passed_over or _RANGE.fullmatch(text))):
            label = label_name(text) or label  # as in files of bpRNA
            continue
        header = text.startswith(">")
        if entry is not None and (header or entry.ends_before(number, text)):
            entry.is_whole = True
            yield entry
            entry = None
        if last is not None and kind is Entry and not header and STRUCTURE.match(text):
            entry = last.further()
        if entry is None:
            count += 1
            told, is_line = without_energy(text[1:].lstrip()) if header else label, by_line and not header
            told = f">{told}"
            name, description, label = header_name(told, count), header_description(told), ""
            entry = kind(lines, number, name, description, is_line, is_line and headers)
            headers = headers or header
        if not header:
            entry.add(number, text)
        # A structure as long as its sequence ends the record, without a look at the next line: who writes to
        # a pipe may wait for what becomes of it.
        entry.is_whole = bool(entry.structure) and entry.n_missing <= 0
        yield entry
        entry, last = (None, entry) if entry.is_whole else (entry, None)
    if entry is not None:
        entry.is_whole = True
        yield entry


def parse_plain(
    lines: RNALines, live: bool = False, unused: Callable[[], None] | None = None
) -> Iterator[RNARecord]:
    """Sequences, with their structures where there are some; `live` gives each as soon as it is whole.

    One without a header is a line. `unused` is called for each structure whose sequence was given before.
    """
    paired, given = False, None  # given: the record that its structure may follow
    for entry in scan(lines, Entry):
        if live and entry.is_whole and entry.is_further(unused):
            continue
        if entry.is_whole or (live and entry.is_line and not entry.structure):
            if entry is not given:
                yield entry.record()
            elif entry.structure:
                if unused is not None and entry.n_missing <= 0:
                    unused()
                entry.record()  # to check it
            given = entry
        if entry.is_whole and entry.is_line:
            # All have structures or none has: other lines of letters may be no bases.
            if paired and entry.awaits_structure:
                found = f"record {shown(entry.name)}: no structure below it, although others have one"
                raise lines.refuse(entry.number, found)
            paired = paired or not entry.awaits_structure


def have_structures(texts: Iterable[str]) -> bool:
    """Whether a line below a sequence has brackets, or dots for all bases; rows with gaps have neither."""
    n_bases = n_dots = n_all = 0
    for text in texts:
        if n_all > _MANY:
            break
        n_all += len(text)
        if text.startswith(">"):
            n_bases = n_dots = 0
        elif n_bases and STRUCTURE.search(text):
            n_dots += len(text) if set(text) == {"."} else 0
            if _BRACKET.search(text) or n_dots == n_bases:
                return True
        elif not text.startswith("#"):
            n_bases += len(text)
    return False


# --- constraints below sequences, in files that are read without constraints: no bases ----------------------


def end_in_constraints(parts: Iterable[str], letters: frozenset[str] = _MARKS) -> bool:
    """Whether the last lines of a sequence have letters of constraints only, as many as the bases above."""
    n_bases = n_marks = 0
    for text in parts:
        if letters.issuperset(text):
            n_marks += len(text)
        else:  # such lines before one of bases are masked bases
            n_bases, n_marks = n_bases + n_marks + len(text), 0
    return n_marks == n_bases > 0


def checked_masks(lines: Lines) -> Iterator[tuple[int, str]]:
    """Yield the same lines; refuse lines of constraints below all sequences, or below one without a header.

    If only some of the records with headers have such lines, these are masked bases, with a warning.
    """
    record, last = None, ""
    for k, text in enumerate(chain(lines.head(HEAD), [">"])):  # one by one: a program may wait for an answer
        if text.startswith(">"):
            if record is not None and k < HEAD:  # there a record may be cut off
                if not end_in_constraints(record):
                    break
                last = record[-1]
            record = list[str]()
        elif text and not text.startswith("#"):
            if record is None:
                break
            record.append(text)
    else:
        if last:
            raise DataError(f"{lines.name}: each sequence has a line {shown(last)} below it, {_ADVICE} fasta")
    record, before, n_masked = None, "", 0
    for number, text in chain(lines, [(0, ">")]):  # one more header behind the last record
        if text.startswith(">"):
            n_masked += record is not None and end_in_constraints(record)
            record = list[str]()
        elif text and not text.startswith("#"):
            if record is not None:
                record.append(text)
            elif end_in_constraints([before, text]):
                told = f"the line {shown(text)} is below a sequence of the same length"
                raise lines.refuse(number, f"{told}, {_ADVICE} plain")
            before = text
        if number:
            yield number, text
    if n_masked:
        told = (
            f"a line of x of the same length follows {plural(n_masked, 'sequence')}. These lines are read as "
        )
        why = "masked bases, because the other sequences have no such line. If they are constraints, use "
        warn(f"{lines.name}: {told}{why}--constraints.")
