"""Implementation of ``structune align``, for pairs of sequences and for families."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from structune.alignment.aligner import SequenceAligner
from structune.alignment.examples import check_gamma, files_of, open_aligner, stem
from structune.alignment.formats import NamedProtein, ProteinAlignment, alignment_text, read_proteins
from structune.alignment.multiple import MultipleAlignment
from structune.alignment.options import ENDINGS, Request
from structune.alignment.structure.alphabets import (
    PROTEIN,
    NucleotideWarning,
    find_alphabet,
    look_like_nucleotides,
)
from structune.alignment.structure.inference import check_room
from structune.alignment.structure.rows import without_gaps
from structune.cli.files import binary_source, check_apart, check_targets, drawing_paths, open_text
from structune.cli.reports import page_at_end
from structune.cli.terminal import Progress, say, short_warnings, time_in_words
from structune.errors import CapabilityError, DataError
from structune.files.provenance import json_keys, model_name
from structune.files.text import distinct
from structune.running.memory import batch_memory, batches
from structune.structure import FloatArray

if TYPE_CHECKING:
    from structune.alignment.report import AlignmentReport

_MOST = 2000  # sequences that are a family if nobody says so
_MOST_PAIRS = 1000
_LONG, _MINUTES = 500_000_000, 0.7  # pairs of residues from which on it is told what they cost; their time
_TWO_BY_TWO = "--pairs aligns them in pairs"
_WITH_PROBABILITIES = "Use the pretrained model, or one that was trained with the log loss"
_USUAL = {format: ending for ending, format in reversed(ENDINGS.items())}
_ALONE = ("fasta", "phylip", "msf")

Named = tuple[tuple[str, str], tuple[str, str]]  # names and sequences
Aligned = tuple[tuple[str, str], FloatArray | None, FloatArray | None]  # as a ConfidentAlignment


def align_files(files: Sequence[str], request: Request) -> int:
    """Read files, and align pairs or families; returns the exit code."""
    assert request.written_as
    # files that would be written over what is read are refused before anything is read
    if request.output is None or not request.output.is_dir():
        check_apart([*files, request.model], [request.output, request.report])
    given = [Path(name) for name in files]
    are_several = len(given) > 1 or given[0].is_dir()
    if request.are_pairs and are_several:
        raise DataError(
            f"--pairs and --which take one file, not {', '.join(files)}. Without these options each file is "
            "aligned as a family"
        )
    read = [_read_sequences(str(path)) for path in files_of(given)]
    if not read:
        raise DataError(f"{given[0]}: the folder has no files. Put one file per family into it")
    look_like_families = are_several or len(read[0].proteins) > 2
    with short_warnings(NucleotideWarning):  # is told with the name of the file
        if request.multiple or (look_like_families and not request.are_pairs):
            if not request.multiple:
                _check_guess(request, read)
            return _align_families(request, files, read)
        return _align_pairs(request, read[0])


class _Sequences(NamedTuple):
    """The sequences of a file, without gaps, and messages about them."""

    file: str
    proteins: list[NamedProtein]
    told: list[str]


def _read_sequences(file: str) -> _Sequences:
    """Read sequences to align; messages report removed gaps and sequences without residues."""
    found = read_proteins(binary_source(file))
    proteins = [protein._replace(residues=without_gaps(protein.residues)) for protein in found]
    n_gapped = sum(a.residues != b.residues for a, b in zip(found, proteins, strict=True))
    empty, told = [protein.name for protein in proteins if not protein.residues], []
    if len(empty) == len(proteins) > 0:
        raise DataError(f"{file}: there are only headers; no sequence has residues")
    if n_gapped:
        told.append(f"{file}: removed the gaps from {n_gapped:,} of {len(proteins):,} sequences")
    if empty:
        n_empty = f"{len(empty):,} of {len(proteins):,} sequences"
        told.append(f"{file}: {n_empty} have no residues, so their rows are gaps; the first is {empty[0]}")
    return _Sequences(file, proteins, told)


def _check_guess(request: Request, read: Sequence[_Sequences]) -> None:
    """Report that files are aligned as families by default; refuse files where that may not be meant."""
    for file, proteins, _ in read:
        n = len(proteins)
        if n > _MOST:
            wrong = (
                f"there are {n:,} sequences. For more than {_MOST:,}, give --multiple or --pairs: --multiple "
                f"aligns all as one family, {_TWO_BY_TWO}"
            )
        elif n < 2 and len(read) > 1:
            wrong = (
                f"the number of sequences is {n}, but each of several files is aligned as a family. Put all "
                "sequences into one file; or give --multiple, which accepts families of one sequence"
            )
        elif request.of_pairs:
            name = request.of_pairs[0]
            wrong = f"{name} applies to pairs only, but {n} sequences are aligned as a family. {_TWO_BY_TWO}"
        else:
            continue
        raise DataError(f"{file}: {wrong}")
    n_all = f"{len(read[0].proteins):,} sequences" if len(read) == 1 else "the sequences of each file"
    read[0].told.append(f"{n_all} are aligned as a family; {_TWO_BY_TWO}")


def _check_letters(file: str, proteins: Sequence[NamedProtein], aligner: SequenceAligner) -> None:
    """Refuse letters that the model does not know; warn of nucleotides given to a model of proteins."""
    alphabet = find_alphabet(aligner.alphabet)
    for protein in proteins:
        alphabet.parse(protein.residues, f"{file}, {protein.name}")
    if alphabet is PROTEIN and look_like_nucleotides(protein.residues for protein in proteins):
        say(f"{file}: the sequences look like DNA or RNA but are aligned as proteins. Use --model NUC.4.4.")


def _text(
    names: list[str], rows: Sequence[str], confidence: FloatArray | None, request: Request, **more: str
) -> str:
    """An alignment in the output format, which JSON has with `more`."""
    model, format = model_name(request.model), request.written_as
    if format != "json":
        known = None if confidence is None else confidence.tolist()
        return alignment_text(ProteinAlignment(names, list(rows)), format, known, model)
    shown: dict[str, Any] = {"names": names, "rows": rows}
    if confidence is not None:  # of each column, null where there is no match
        shown["confidence"] = [None if math.isnan(p) else p for p in confidence.round(6).tolist()]
    return json.dumps(shown | more | json_keys(model)) + "\n"


def _report(request: Request, are_pairs: bool) -> AlignmentReport | None:
    """What collects alignments for --report, if it was given."""
    if request.report is None:
        return None
    from structune.alignment.report import AlignmentReport

    return AlignmentReport(model_name(request.model), are_pairs)


def _name(target: str, request: Request) -> str:
    """The name of a file of results on the page."""
    return f"alignment{_USUAL[request.written_as]}" if target == "-" else target


def _draw(named: Named, rows: tuple[str, str], posterior: FloatArray, path_of: Callable[[str], Path]) -> None:
    from structune.alignment.plots import plot_match_probabilities

    (a, b), (x, y) = named
    plot_match_probabilities(x, y, posterior, rows, f"x: {a}, y: {b}", path_of(f"{a}-{b}"))


# --- pairs ------------------------------------------------------------------------------------------------


def _align_pairs(request: Request, read: _Sequences) -> int:
    check_targets([request.output], [request.plot], request.report)
    check_apart([read.file, request.model], [request.output, request.report])
    aligner = open_aligner(request.model, request.jobs)
    if request.band is not None:
        aligner.set_params(band=request.band)
    check_gamma(aligner, request.gamma)
    if not aligner.has_probabilities and (request.method == "mea" or request.plot is not None):
        needing = "--method mea" if request.method == "mea" else "--plot"
        raise CapabilityError(
            f"{request.model}: this model has no probabilities, which {needing} needs. {_WITH_PROBABILITIES}"
        )
    pairs, total = _pairs(request, read, aligner)
    for told in read.told:
        say(told)
    path_of = drawing_paths(request.plot, several=total > 1)

    def memory_of(named: Named) -> float:
        x, y = named[1]
        return aligner.memory_of(len(x), len(y), keep=request.plot is not None)

    report, target = _report(request, are_pairs=True), str(request.output or "-")
    with (
        page_at_end(request.report, report, request.output),
        open_text(target) as out,
        Progress(not request.quiet, total, stage="align", unit="pairs") as progress,
    ):
        for batch in batches(pairs, memory_of, batch_memory(), _MOST_PAIRS):
            found = _aligned_pairs(aligner, request, [pair for _, pair in batch])
            for named, (rows, confidence, posterior) in zip(batch, found, strict=True):
                text = _text(list(named[0]), rows, confidence, request)
                text = text if request.written_as == "json" else f"{text}\n"
                out.write(text)
                if path_of is not None and posterior is not None:
                    _draw(named, rows, posterior, path_of)
                if report is not None:
                    report.results.add(_name(target, request), text)
                    report.add(" and ".join(named[0]), named[0], rows, confidence)
            out.flush()
            progress.advance(len(batch))
    return 0


def _pairs(request: Request, read: _Sequences, aligner: SequenceAligner) -> tuple[Iterator[Named], int]:
    """The pairs of a file, and their number; refuses too large ones, and reports the cost of large ones."""
    file, proteins = read.file, [(protein.name, protein.residues) for protein in read.proteins]
    _check_letters(file, read.proteins, aligner)
    n, is_drawn, band = len(proteins), request.plot is not None, request.band
    for name, sequence in proteins:
        if is_drawn and not sequence:
            raise DataError(f"{file}, {name}: the sequence has no residues, so --plot cannot draw it")
    if n < 2 or (request.which != "all" and n % 2):
        needed_here = "pairs need an even number (or --which all)" if n >= 2 else "give at least two"
        raise DataError(f"{file}: the number of sequences is {n:,}; {needed_here}")
    largest = list(zip(proteins[: n - 1 : 2], proteins[1::2], strict=True))
    both, total = iter(largest), len(largest)
    if request.which == "all":
        first, second = nlargest(2, proteins, key=lambda named: len(named[1]))
        both, largest, total = combinations(proteins, 2), [(first, second)], n * (n - 1) // 2
    for (a, x), (b, y) in largest:
        # the two longest need most, of all against all; a band of width b has 2 b + 1 cells a row
        short, long = sorted((len(x), len(y)))
        needed = aligner.memory_of(len(x), len(y), keep=is_drawn)
        check_room(needed, len(x), len(y), f"{file}, {a} and {b}")
        n_cells = long * (short if band is None else min(short, 2 * band + 1))
        if not request.quiet and (needed > batch_memory() or n_cells >= _LONG):
            advice = " (less with --band)" if band is None else ""
            say(
                f"{file}, {a} and {b}: {len(x):,} and {len(y):,} residues may need {needed / 1e9:.1f} GB of "
                f"memory and {time_in_words(_MINUTES * n_cells / _LONG)}{advice}"
            )
    return (((a, b), (x, y)) for (a, x), (b, y) in both), total


def _aligned_pairs(
    aligner: SequenceAligner, request: Request, pairs: list[tuple[str, str]]
) -> Iterable[Aligned]:
    """Align pairs, with the probabilities that the output shows."""
    drawn, is_best = request.plot is not None, request.method == "viterbi"
    is_shown = drawn or request.report is not None or request.written_as in ("json", "stockholm")
    if aligner.has_probabilities and is_shown:
        return aligner.predict_confidence(pairs, request.gamma, request.method or "mea", posteriors=drawn)
    found = aligner.predict_viterbi(pairs) if is_best else aligner.predict(pairs, request.gamma)
    return ((rows, None, None) for rows in found)


# --- families ---------------------------------------------------------------------------------------------


def _align_families(request: Request, files: Sequence[str], read: Sequence[_Sequences]) -> int:
    """Align each family, and write each as soon as it is known; returns the exit code."""
    is_folder = request.output is not None and request.output.is_dir()
    check_targets([None if is_folder else request.output], [request.plot], request.report)
    aligner = open_aligner(request.model, request.jobs, log_odds=True)
    if not aligner.has_probabilities:
        raise CapabilityError(
            f"{request.model}: this model has no probabilities, which families need. {_WITH_PROBABILITIES}"
        )
    if request.band is not None:
        aligner.set_params(band=request.band)
    paths = [sequences.file for sequences in read]
    check_apart(paths, [request.report])
    for path, proteins, _ in read:
        if not proteins:
            raise DataError(f"{path}: the file has no sequences")
        _check_letters(path, proteins, aligner)
    targets, report = _targets(request, files, paths), _report(request, are_pairs=False)
    for told in (told for sequences in read for told in sequences.told):
        say(told)
    sizes = [len(sequences.proteins) for sequences in read]
    path_of = drawing_paths(request.plot, several=len(sizes) > 1 or max(sizes) > 2)

    with (
        page_at_end(request.report, report, request.output),
        Progress(not request.quiet, sum(sizes), stage="align", unit="sequences") as progress,
    ):
        for (path, proteins, _), target in zip(read, targets, strict=True):
            names = [p.name for p in proteins]
            try:
                found = aligner.align([p.residues for p in proteins], progress=progress.advance)
            except DataError as error:
                raise DataError(f"{path}: {error}") from None
            text = _text_of_family(proteins, found, request)
            with open_text(target) as out:
                out.write(text)
            if path_of is not None:
                alignment = ProteinAlignment(names, found.rows)
                for (a, x), (b, y) in combinations(enumerate(proteins), 2):
                    named = (x.name, y.name), (x.residues, y.residues)
                    _draw(named, alignment.pair(a, b), found.probabilities(a, b), path_of)
            if report is not None:
                title = "Alignment" if path == "-" else stem(Path(path))
                report.results.add(_name(target, request), text)
                report.add(title, names, found.rows, found.confidence, found)
    return 0


def _targets(request: Request, files: Sequence[str], paths: list[str]) -> list[str]:
    """The output file of each alignment, or ``-``; several need a folder."""
    if request.output is None:
        if len(paths) > 1 and request.written_as in _ALONE:
            one = f"a {request.written_as} file holds one alignment"
            raise DataError(f"{len(paths):,} input files need a folder as --output: {one}")
        return ["-"] * len(paths)
    folders = [request.output, *map(Path, files)]
    if len(paths) == 1 and not any(path.is_dir() for path in folders):
        check_apart([*paths, request.model], [request.output])
        return [str(request.output)]
    if request.output.is_file():
        raise DataError(f"{request.output}: --output must be a folder, for an alignment of each input file")
    request.output.mkdir(exist_ok=True)
    names = ["alignment" if path == "-" else stem(Path(path)) for path in paths]
    targets = [str(request.output / f"{name}{_USUAL[request.written_as]}") for name in names]
    for target in {target for target in targets if targets.count(target) > 1}:
        raise DataError(f"several input files would be written to {target}. Rename them")
    check_apart([*paths, request.model], map(Path, targets))
    return targets


def _text_of_family(proteins: list[NamedProtein], found: MultipleAlignment, request: Request) -> str:
    format = request.written_as
    names = [p.header or p.name if format == "fasta" else p.name for p in proteins]
    names = distinct(names) if format == "json" else names
    more = {"tree": _newick(names, found)} if format == "json" else {}
    return _text(names, found.rows, found.confidence, request, **more)


def _newick(names: Sequence[str], found: MultipleAlignment) -> str:
    """The guide tree in Newick format."""
    # quotes around names with letters that mean something in Newick
    texts = [
        "'{}'".format(name.replace("'", "_")) if re.search(r"[\s()\[\]:;,']", name) else name
        for name in names
    ]
    heights = [0.0] * len(names)
    # SciPy's distances of merges are twice the heights; a branch is the difference of two heights
    for left, right, distance, _ in found.tree.tolist():
        height = distance / 2.0
        parts = [f"{texts[k]}:{height - heights[k]:.5f}" for k in (int(left), int(right))]
        texts.append(f"({','.join(parts)})")
        heights.append(height)
    return texts[-1] + ";"
