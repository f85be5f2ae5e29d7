"""The work of ``structune align`` on families."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structune.alignment.align_pairs import draw
from structune.alignment.aligner import SequenceAligner
from structune.alignment.examples import Sequences, check_letters, null_for_nan, open_aligner, stem
from structune.alignment.formats.fasta import NamedProtein
from structune.alignment.formats.record import ProteinAlignment
from structune.alignment.formats.writers import alignment_text
from structune.alignment.multiple.alignment import MultipleAlignment
from structune.alignment.options import ENDINGS, Request
from structune.alignment.structure.alphabets import find_alphabet
from structune.cli.files import check_apart, check_targets, drawing_paths, open_text
from structune.cli.reports import write_sections_page
from structune.cli.terminal import INTERRUPTED, Progress, say
from structune.errors import CapabilityError, DataError
from structune.files.text import distinct

if TYPE_CHECKING:
    from structune.html_reports import Section

_USUAL = {format: ending for ending, format in reversed(ENDINGS.items())}
_ALONE = ("fasta", "phylip", "msf")


def align_families(request: Request, files: Sequence[str], read: Sequence[Sequences]) -> int:
    """Align each family, and write as soon as it is known; returns the exit code."""
    check_targets([], [request.plot], request.report)
    aligner = open_aligner(request.model, request.jobs, log_odds=True)
    if not aligner.has_probabilities:
        raise CapabilityError(f"{request.model}: found a model without probabilities, which families need")
    if request.band is not None:
        aligner.set_params(band=request.band)
    paths, families = [sequences.file for sequences in read], [sequences.proteins for sequences in read]
    check_apart(paths, [request.report])
    for path, proteins in zip(paths, families, strict=True):
        if not proteins:
            raise DataError(f"{path}: found no sequences, expected at least one")
        check_letters(path, [(p.name, p.residues) for p in proteins], find_alphabet(aligner.alphabet))
    targets, sections, code = _targets(request, files, paths), list[Any](), 0
    for told in (told for sequences in read for told in sequences.told):
        say(told)
    path_of = drawing_paths(request.plot, several=len(families) > 1 or any(len(f) > 2 for f in families))
    try:
        with Progress(
            not request.quiet, sum(map(len, families)), stage="align", unit="sequences"
        ) as progress:
            for path, proteins, target in zip(paths, families, targets, strict=True):
                found = _aligned(aligner, path, proteins, progress)
                with open_text(target) as out:
                    out.write(_text(proteins, found, request.written_as))
                if path_of is not None:
                    _draw(proteins, found, path_of)
                if request.report is not None:
                    sections.append(_section(path, proteins, found))
    except KeyboardInterrupt:
        say("interrupted")
        code = INTERRUPTED
    if request.report is not None:
        write_sections_page(request.report, sections)
    return code


def _aligned(
    aligner: SequenceAligner, path: str, proteins: list[NamedProtein], progress: Progress
) -> MultipleAlignment:
    try:
        return aligner.align([p.residues for p in proteins], progress=progress.advance)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _section(path: str, proteins: list[NamedProtein], found: MultipleAlignment) -> Section:
    from structune.alignment.multiple.report import family_section

    return family_section("Alignment" if path == "-" else stem(Path(path)), [p.name for p in proteins], found)


def _draw(proteins: list[NamedProtein], found: MultipleAlignment, path_of: Callable[[str], Path]) -> None:
    """The matches of any two sequences."""
    alignment = ProteinAlignment([p.name for p in proteins], found.rows)
    for a, b in combinations(range(len(proteins)), 2):
        x, y = proteins[a], proteins[b]
        named = (x.name, y.name), (x.residues, y.residues)
        draw(named, (alignment.pair(a, b), None, found.probabilities(a, b)), path_of)


def _targets(request: Request, files: Sequence[str], paths: list[str]) -> list[str]:
    """Where each alignment goes; several need a folder."""
    if request.output is None:
        if len(paths) > 1 and request.written_as in _ALONE:
            told = f"found {len(paths)} files, expected --output, a folder"
            raise DataError(f"{told}: {request.written_as} has one alignment a file")
        return ["-"] * len(paths)
    folders = [request.output, *map(Path, files)]
    if len(paths) == 1 and not any(path.is_dir() for path in folders):
        check_apart([*paths, request.model], [request.output])
        return [str(request.output)]
    if request.output.is_file():
        raise DataError(f"{request.output}: found a file, expected a folder, for an alignment a family")
    request.output.mkdir(exist_ok=True)
    names = ["alignment" if path == "-" else stem(Path(path)) for path in paths]
    targets = [str(request.output / f"{name}{_USUAL[request.written_as]}") for name in names]
    for target in {target for target in targets if targets.count(target) > 1}:
        raise DataError(
            f"found several files whose alignments would be {target}, expected names of their own"
        )
    check_apart([*paths, request.model], map(Path, targets))
    return targets


def _text(proteins: list[NamedProtein], found: MultipleAlignment, format: str) -> str:
    if format != "json":
        names = [p.header or p.name if format == "fasta" else p.name for p in proteins]
        return alignment_text(ProteinAlignment(names, found.rows), format, found.confidence.tolist())
    names = distinct(p.name for p in proteins)
    confidence, tree = null_for_nan(found.confidence), newick(names, found)
    return json.dumps({"names": names, "rows": found.rows, "confidence": confidence, "tree": tree}) + "\n"


def newick(names: Sequence[str], found: MultipleAlignment) -> str:
    """The guide tree, as programs that draw trees read it."""
    texts, heights = list(map(_label, names)), [0.0] * len(names)
    for left, right, distance, _ in found.tree.tolist():
        height = distance / 2.0
        parts = [f"{texts[k]}:{height - heights[k]:.5f}" for k in (int(left), int(right))]
        texts.append(f"({','.join(parts)})")
        heights.append(height)
    return texts[-1] + ";"


def _label(name: str) -> str:
    """A name in Newick, in quotes where it has letters that mean something there."""
    return "'{}'".format(name.replace("'", "_")) if re.search(r"[\s()\[\]:;,']", name) else name
