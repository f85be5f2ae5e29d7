"""RNA sequences and structures in any format, detected from the ending of the file name or the content."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

from structune.errors import DataError
from structune.files.text import Source, shown, source_name, without_compression
from structune.rna.formats.alignments import parse_stockholm
from structune.rna.formats.pair_tables import (
    OF_RIBOSWITCH,
    is_label,
    parse_bpseq,
    parse_ct,
    write_bpseq,
    write_ct,
)
from structune.rna.formats.sequences import (
    HEAD,
    OF_STRANDS,
    STRUCTURE,
    RNALines,
    RNARecord,
    checked_masks,
    clean_sequence,
    have_structures,
    looks_like_rna,
    parse_dot_bracket,
    parse_fasta,
    parse_plain,
    parse_seq,
    write_dot_bracket,
    write_fasta,
)


class _Format(NamedTuple):
    """A format, with the endings of its names, and the names of `looks_like` that are read as it."""

    parse: Callable[..., Iterator[RNARecord]]
    looks: tuple[str, ...]
    endings: str = ""
    write: Callable[[Source, Iterable[RNARecord]], None] | None = None
    has_headers: bool = False


_DBN = ("dot-bracket", "RNAfold -p output", "RNAsubopt output")
_FORMATS = {
    "fasta": _Format(parse_fasta, ("FASTA",), ".fa .fas .fasta .ffn .fna .frn", write_fasta, True),
    "dot_bracket": _Format(parse_dot_bracket, _DBN, ".dbn .dot .db .vienna", write_dot_bracket, True),
    "plain": _Format(parse_plain, ("FASTA", *_DBN), has_headers=True),
    "seq": _Format(parse_seq, (".seq of RNAstructure",), ".seq"),
    "bpseq": _Format(parse_bpseq, ("BPSEQ",), ".bpseq", write_bpseq),
    "ct": _Format(parse_ct, ("CT",), ".ct", write_ct),
    "stockholm": _Format(parse_stockholm, ("Stockholm",), ".sto .stk"),
}
_ENDINGS = {ending: name for name, format in _FORMATS.items() for ending in format.endings.split()}
_WRITERS = {name: format.write for name, format in _FORMATS.items() if format.write is not None}
_LOOKS = {look for format in _FORMATS.values() for look in format.looks}
_ADVICE = {  # by what a file looks like
    **dict.fromkeys(
        ["Clustal", "Stockholm", "aligned FASTA", "A2M"],
        "fold alignments with structune consensus, and single sequences from FASTA without gaps",
    ),
    "": "RNA is read from FASTA, dot-bracket, CT, BPSEQ, Stockholm and .seq; set the format with "
    "--input-format (format=)",
}
_BASE_OF_BPSEQ = re.compile(r"\d+\s+[A-Za-z]\s+(-?\d+|[et]\d.*)")


def read_rna(
    source: Source,
    format: str | None = None,
    live: bool = False,
    skipped: Callable[[DataError], None] | None = None,
    unused: Callable[[], None] | None = None,
) -> Iterator[RNARecord]:
    """Read RNA sequences, and structures where the format has them, one record at a time.

    Parameters
    ----------
    source : path or file object
        A file, compressed or not, binary or text (a file object is left open); or a folder, whose files with
        a known ending are read in the order of their names.
    format : {"fasta", "dot_bracket", "plain", "seq", "bpseq", "ct", "stockholm"}, optional
        Format of the files. By default it is detected from the ending of the name (``.fa .fas .fasta .ffn
        .fna .frn``, ``.dbn .dot .db .vienna``, ``.seq``, ``.bpseq``, ``.ct``, ``.sto .stk``, compressed or
        not) or else from the first lines, also for FASTA with structures below sequences. "plain" has one
        sequence per line, or below a header, optionally with its structure below. "seq" is the format of
        RNAstructure and Mfold. If a format is given, lines of ``x`` below sequences are read as masked
        bases. If not, they are an error where every sequence has one, because they may be constraints.
    live : bool
        Yield each sequence as soon as it is complete, for interactive use: the format is detected from the
        first line alone, structures may be missing, and without headers each sequence is one line.
    skipped : callable, optional
        Function that is called with the error of each unreadable record; reading then continues with the next
        record. Only for formats with headers ``>name``.
    unused : callable, optional
        Function that is called for each structure that is ignored because `live` has already yielded its
        sequence.

    Notes
    -----
    Records without a name are named by their number, from 1, or, in BPSEQ files, by a line ``#Name:`` or
    ``Filename:`` or the name of the file. Words of names in CT files are joined by ``_``. A second strand of
    a CT file begins where the index after a base and that before the next base are 0. Sequences of Stockholm
    files are read without gaps, with the structure of ``#=GR name SS`` or else ``#=GC SS_cons``.

    The letters E, F, I, J, L, O, P, Q and Z of modified bases are read as N if at least two thirds of the
    letters are A, C, G, U or T. A warning tells their numbers.

    Raises
    ------
    DataError
        A file is malformed (see the reader of its format), its format is unknown, or a folder has no files
        with a known ending.
    """
    _check_format(format, _FORMATS)

    def read(file: Source) -> Iterator[RNARecord]:
        lines = RNALines(file)
        with lines.told_by_look(_LOOKS, _ADVICE):
            is_file = isinstance(file, str | os.PathLike)
            named = format or _format_of_name(file)
            if format is None and named in ("fasta", "seq"):  # many name other files so
                first = next(filter(None, lines.head(HEAD)), ";")
                if have_structures(lines.head(HEAD)) if named == "fasta" else first[0] != ";":
                    named = None
            found = named or _format_of_content(lines, live, is_file)
        chosen, parse = _FORMATS[found], _FORMATS[found].parse
        if format is None and chosen.has_headers:
            lines = lines.checked(checked_masks)
            next(lines.head(1), "")  # the first records are checked now, and no line is taken
        if found in ("plain", "dot_bracket"):
            parse = partial(parse, live=live, unused=unused)
        with lines.told_by_look(chosen.looks, _ADVICE):
            if skipped is None:
                record = None
                for record in parse(lines):
                    yield record
                if record is None and not lines.is_empty:
                    raise DataError(f"{lines.name}: the file has no sequences")
                lines.tell()
                return
            if not chosen.has_headers or not next(filter(None, lines.head(HEAD)), "").startswith(">"):
                raise DataError(f"{lines.name}: records can only be skipped in files with headers '>name'")
            # a record at a time, so that the others are read; CONTRAfold writes ">structure" within records
            pieces = lines.pieces(lambda text: text.startswith(">") and text != ">structure")
            for count, piece in enumerate(pieces, 1):
                nameless = next(piece.head(1)) == ">"
                try:
                    for record in parse(piece):
                        yield replace(record, name=str(count)) if nameless else record
                except DataError as error:
                    skipped(error)
            lines.tell()

    return chain.from_iterable(map(read, files_of(source)))


def files_of(source: Source) -> list[Source]:
    """The files of a folder that `read_rna` reads, in the order of their names; all else is one itself."""
    if not (isinstance(source, str | os.PathLike) and Path(source).is_dir()):
        return [source]
    files = [path for path in sorted(Path(source).iterdir()) if path.is_file() and _format_of_name(path)]
    if not files:
        raise DataError(f"{source}: the folder has no files that end in {' '.join(_ENDINGS)}")
    return [*files]


def write_rna(target: Source, records: Iterable[RNARecord], format: str | None = None) -> None:
    """Write RNA sequences, and their structures if the format has them.

    Parameters
    ----------
    target : path or file object, binary or text
    records : iterable of RNARecord
    format : {"fasta", "dot_bracket", "bpseq", "ct"}, optional
        Format of the file; by default taken from the ending of the name, as in `read_rna`.

    Raises
    ------
    DataError
        The format is unknown, or cannot hold the records.
    """
    _check_format(format, _WRITERS)
    found = format or _format_of_name(target)
    if found not in _WRITERS:
        what = f"{found} files cannot be written" if found else "the ending of the name is unknown"
        raise DataError(f"{source_name(target)}: {what}; set format to one of {', '.join(_WRITERS)}")
    _WRITERS[found](target, records)


def _check_format(format: str | None, known: Iterable[str]) -> None:
    if format is not None and format not in known:
        raise DataError(f"format={format!r}: expected one of {', '.join(known)}")


def _format_of_name(source: Source) -> str | None:
    name = without_compression(source_name(source).lower())
    return _ENDINGS.get(os.path.splitext(name)[1])


def _format_of_content(lines: RNALines, live: bool, may_look: bool) -> str:
    head = (text for text in lines.head(HEAD) if text)  # no further than is needed: it may be a pipe
    first = next(head, "")
    if not first:
        raise DataError(f"{lines.name}: the file is empty, expected RNA sequences")
    if first.startswith("# STOCKHOLM"):
        return "stockholm"
    if first.startswith(";"):
        return "seq"
    if OF_RIBOSWITCH.fullmatch(first):
        return "bpseq"
    # Lines such as "Filename: ..." may stand above the bases of CT and BPSEQ files.
    if not first.startswith(">"):
        first = next((text for text in chain([first], head) if not is_label(text)), "")
    if first[:1].isdigit():
        return "bpseq" if _BASE_OF_BPSEQ.fullmatch(first) else "ct"
    if not first:
        raise DataError(f"{lines.name}: the file has only comments, expected RNA sequences")
    if not first.startswith(">"):
        try:  # nothing tells what the file is, if it is neither a sequence nor a structure
            clean_sequence("" if STRUCTURE.search(first) else first, OF_STRANDS)
        except DataError as error:
            if first.isalpha() and looks_like_rna(first):
                return "plain"
            told = f"{shown(first)} is in none of the formats {', '.join(_FORMATS)} ({error})"
            raise DataError(f"{lines.name}: {told}") from None
    # Who waits for each sequence cannot look ahead: the first line alone tells the format.
    if live:
        # structures may be of other lengths than the lines above them, or of several lines themselves
        is_wrapped = (may_look and not first.startswith(">")) and any(
            STRUCTURE.search(text) and (STRUCTURE.search(above) or len(text.split()[0]) != len(above))
            for above, text in pairwise(chain([first], head))
        )
        return "dot_bracket" if is_wrapped else "plain"
    if any(STRUCTURE.search(text) for text in chain([first], head) if text[:1] not in (">", "#")):
        return "dot_bracket"
    return "fasta" if first.startswith(">") else "plain"
