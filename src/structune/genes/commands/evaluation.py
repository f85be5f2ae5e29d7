"""``structune evaluate genes``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from structune.cli.checks import check_apart, check_targets, say
from structune.cli.reports import tell
from structune.cli.settings import Telling
from structune.cli.tables import numbers_table, record_table
from structune.errors import DataError
from structune.genes.commands.data import Finder, open_finder, paired, predicted, read_annotated, tell_skipped
from structune.genes.commands.genetic_codes import looked_ahead, told_of_code, with_code
from structune.genes.formats.annotations import read_annotation
from structune.genes.formats.genomes import read_genomes
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript
from structune.genes.formats.stop_codons import longer
from structune.genes.metrics import GENE_LEVELS, GeneScores, counted, gene_regions, gene_scores, stop_codons
from structune.genes.prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder
from structune.genes.prokaryotes.orf_finder import OrfFinder

if TYPE_CHECKING:
    from structune.html_reports import Section

Genes = dict[str, tuple[Transcript, ...]]
_ENDINGS = tuple(f"{kind}{packed}" for kind in (".gff3", ".gff", ".gtf") for packed in ("", ".gz"))


@dataclass(frozen=True)
class Evaluation:
    """What was found of what is annotated."""

    annotated: Mapping[str, Sequence[Transcript]]  # those that count
    predicted: Mapping[str, Sequence[Transcript]]
    scores: GeneScores
    stops: GeneScores  # of stop codons in place of genes

    def tables(self) -> list[Table]:
        """As the terminal shows it."""
        rows = [
            (
                f"{level} ({row['annotated']:,} annotated, {row['predicted']:,} predicted)",
                list(row.values())[2:],
            )
            for level, row in self.as_dict().items()
        ]
        record = [
            ("sensitivity", "share of what is annotated that was found"),
            ("precision", "share of what was predicted that is annotated so"),
            ("nucleotide", "a coding base"),
            ("exon", "a coding part, right if both its ends are"),
            ("transcript", "right if all its coding parts are"),
            ("gene", "right if one of its transcripts is"),
            ("stop codon", "right if a transcript ends there, wherever it starts"),
        ]
        return [
            numbers_table("Genes", "level", ["sensitivity", "precision", "F1"], rows),
            record_table("What was compared", record),
        ]

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """As JSON shows it."""
        found = {level: _accuracy(self.scores, level) for level in GENE_LEVELS}
        return found | {"stop codon": _accuracy(self.stops, "exon")}

    def sections(self) -> Iterator[Section]:
        """As a page shows it."""
        from structune.genes.report import gene_sections

        return gene_sections(self.annotated, self.predicted)


def _accuracy(scores: GeneScores, level: str) -> dict[str, Any]:
    annotated, predicted = scores.counts[:, GENE_LEVELS.index(level), :2].sum(axis=0).tolist()
    return {"annotated": annotated, "predicted": predicted, **scores.pooled(level)._asdict()}


def run(
    model: str,
    task: str | None,
    code: int | None,
    annotations: list[Path],
    sequences: list[Path] | None,
    margin: int | None,
    n_jobs: int,
    telling: Telling,
) -> None:
    """Show how well a model, or another program, finds annotated genes."""
    check_targets([], [], telling.report)
    check_apart([model, *annotations, *(sequences or [])], [telling.report])
    if _is_annotation(Path(model)):
        if task is not None or code is not None:
            raise DataError(f"{model}: found predicted genes, expected a model with --task or --code")
        evaluation = _evaluate_file(Path(model), annotations, sequences, margin)
    else:
        finder = with_code(open_finder(model, n_jobs, task), code, model)
        data = read_annotated(annotations, sequences)
        if isinstance(finder, OrfFinder):
            first, data = looked_ahead(data)
            is_any = task is not None or isinstance(finder, MetagenomeFinder)
            finder = told_of_code(finder, first, str(annotations[0]), is_any and code is None)
        evaluation = evaluate(finder, data, margin, annotations)
    tell(evaluation, telling)


def evaluate(
    finder: Finder,
    data: Iterable[AnnotatedSequence],
    margin: int | None = None,
    files: Iterable[Path] = (),
) -> Evaluation:
    """Compare predicted with annotated genes. Sequences of several `files` may have the same name."""
    true, found, skipped = Genes(), Genes(), list[Skipped]()
    for each, genes in chain.from_iterable(predicted(finder, data)):
        key = each.name if each.name not in true else f"{each.name} ({len(true)})"
        true[key], found[key] = each.transcripts, genes
        skipped += each.skipped
    tell_skipped(", ".join(map(str, files)), skipped)
    return _compared(true, found, margin)


def _evaluate_file(
    prediction: Path, annotations: Sequence[Path], sequences: Sequence[Path] | None, margin: int | None
) -> Evaluation:
    of_file = read_annotation(prediction)
    tell_skipped(str(prediction), of_file.skipped)
    true, found = _annotated(annotations, sequences), of_file.transcripts
    beyond = [contig for contig in found if contig not in true]
    if beyond:
        n, first = sum(len(found[contig]) for contig in beyond), f"the first on {beyond[0]!r}"
        message = f"{prediction}: found {n} transcripts on sequences that the annotation lacks, {first}"
        if len(beyond) == len(found):
            known = f"its names, such as {next(iter(true))!r}" if true else "some with genes"
            raise DataError(f"{message}; expected {known}")
        typer.echo(f"structune: {message}", err=True)
    return _compared(*_alike(true, found, str(prediction)), margin)


def _annotated(annotations: Sequence[Path], sequences: Sequence[Path] | None) -> Genes:
    """Genes by the names of their sequences, which must differ."""
    found = Genes()
    for path, fasta in paired(annotations, sequences):
        if fasta is None and _is_annotation(path):
            annotation = read_annotation(path)
            of_file, skipped = list(annotation.transcripts.items()), annotation.skipped
        else:
            whole = list(read_genomes(path, fasta, tell=say))
            of_file = [(each.name, each.transcripts) for each in whole]
            skipped = tuple(one for each in whole for one in each.skipped)
        tell_skipped(str(path), skipped)
        for contig, transcripts in of_file:
            if contig in found:
                raise DataError(f"{path}: found the sequence {contig!r} again, expected each once")
            found[contig] = transcripts
    return found


def _alike(true: Genes, found: Genes, name: str) -> tuple[Genes, Genes]:
    """Both with stop codons, if they agree then only: some files leave them out of coding parts."""
    choices = [(true, found), (true, _longer(found)), (_longer(true), found)]
    agreeing = [_n_same_ends(*both) for both in choices]
    best = agreeing.index(max(agreeing))
    if agreeing[best] <= 2 * agreeing[0]:
        return true, found
    which = "predicted" if best == 1 else "annotated"
    say(f"{name}: the {which} genes end before their stop codons, which were added to them")
    return choices[best]


def _longer(genes: Genes) -> Genes:
    return {contig: tuple(longer(t, sys.maxsize) or t for t in of) for contig, of in genes.items()}


def _n_same_ends(true: Genes, found: Genes) -> int:
    a, b = (
        {(t.contig, t.strand, t.start) for of in stop_codons(genes).values() for t in of}
        for genes in (true, found)
    )
    return len(a & b)


def _compared(
    true: Mapping[str, Sequence[Transcript]], found: Mapping[str, Sequence[Transcript]], margin: int | None
) -> Evaluation:
    if not any(true.values()):
        raise DataError("found no annotated gene, expected some to compare with")
    regions = None if margin is None else gene_regions(true, margin)
    found = _whole(found)
    stops = gene_scores(stop_codons(true), stop_codons(found), regions)
    scores = gene_scores(true, found, regions)
    return Evaluation(counted(true, regions), counted(found, regions), scores, stops)


def _whole(found: Mapping[str, Sequence[Transcript]]) -> Genes:
    """Without genes that go on beyond an end of their sequence, which no annotation has as a whole."""
    whole = {contig: tuple(t for t in of if not any(t.partial)) for contig, of in found.items()}
    n = sum(map(len, found.values())) - sum(map(len, whole.values()))
    if n:
        say(f"left out {n} predicted genes that go on beyond an end of what is known")
    return whole


def _is_annotation(path: Path) -> bool:
    return path.name.lower().endswith(_ENDINGS)
