"""Evaluation of predicted genes: on the terminal, as JSON and on a page."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from rich.table import Table

from structune.cli.terminal import numbers_table, record_table, say
from structune.errors import DataError
from structune.files.text import plural, without_compression
from structune.genes.finding import Finder, ReadAhead, predicted, with_suiting_code
from structune.genes.formats.genomes import longer, paired, read_genomes
from structune.genes.formats.gff import read_annotation
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript, skipped_text
from structune.genes.metrics import GENE_LEVELS, GeneScores, counted, gene_regions, gene_scores, stop_codons
from structune.genes.options import Scoring
from structune.genes.prokaryotes.orf_finder import ENOUGH

if TYPE_CHECKING:
    from structune.html_reports.page import Block, Section

Genes = Mapping[str, Sequence[Transcript]]
_MEANINGS = {
    "sensitivity": "share of annotated items that were predicted",
    "precision": "share of predicted items that are annotated",
    "nucleotide": "a coding base",
    "exon": "a coding part; correct if both its ends are",
    "transcript": "correct if all its coding parts are",
    "gene": "correct if one of its transcripts is",
    "stop codon": "correct if a transcript ends there, wherever it starts",
}
_ENDINGS = (".gff3", ".gff", ".gtf")


@dataclass(frozen=True)
class GeneEvaluation:
    """Comparison of predicted with annotated genes."""

    annotated: Genes  # those that count
    predicted: Genes
    scores: GeneScores
    stops: GeneScores  # of stop codons in place of genes

    @classmethod
    def of_genes(cls, true: Genes, found: Genes, margin: int | None) -> Self:
        """Compare genes by the names of their sequences; those that go on beyond an end do not count."""
        if not any(true.values()):
            raise DataError("the annotation has no genes to compare with")
        regions = None if margin is None else gene_regions(true, margin)
        whole = {contig: tuple(t for t in of if not any(t.partial)) for contig, of in found.items()}
        if n := sum(map(len, found.values())) - sum(map(len, whole.values())):
            told = "that continue beyond an end of their sequence or into a gap"
            say(f"skipped {plural(n, 'predicted gene')} {told}")
        stops = gene_scores(stop_codons(true), stop_codons(whole), regions)
        return cls(counted(true, regions), counted(whole, regions), gene_scores(true, whole, regions), stops)

    @classmethod
    def of_finder(cls, finder: Finder, known: Iterable[AnnotatedSequence], scoring: Scoring) -> Self:
        """Compare what a model finds. Sequences of several files may have the same name."""
        if not finder.has_introns:
            known = ReadAhead(known)
            is_free = scoring.code is None and (scoring.task is not None or finder.is_of_many)
            finder = with_suiting_code(finder, known.ahead(ENOUGH), "the annotated sequences", is_free)
        true, found = dict[str, Sequence[Transcript]](), dict[str, Sequence[Transcript]]()
        for each, genes in chain.from_iterable(predicted(finder, known)):
            key = each.name if each.name not in true else f"{each.name} ({len(true)})"
            true[key], found[key] = each.transcripts, genes
        return cls.of_genes(true, found, scoring.margin)

    def tables(self) -> list[Table]:
        rows = []
        for level, row in self.as_dict().items():
            n_annotated, n_predicted, *shares = row.values()
            rows.append((f"{level} ({n_annotated:,} annotated, {n_predicted:,} predicted)", shares))
        columns = ["sensitivity", "precision", "F1"]
        return [
            numbers_table("Genes", "level", columns, rows),
            record_table("What was compared", list(_MEANINGS.items())),
        ]

    def as_dict(self) -> dict[str, dict[str, Any]]:
        found = {level: _accuracy(self.scores, level) for level in GENE_LEVELS}
        return found | {"stop codon": _accuracy(self.stops, "exon")}

    def sections(self) -> Iterator[Section]:
        """Errors by what they are, and tracks of where most of them are."""
        from structune.genes.plots import plot_genes
        from structune.html_reports.page import Fold, Section, Text, make_table
        from structune.html_reports.pictures import picture

        annotated, predicted = self.annotated, self.predicted
        errors = [
            error
            for name in dict.fromkeys([*annotated, *predicted])
            for error in _errors(name, annotated.get(name, ()), predicted.get(name, ()))
        ]
        if not errors:
            yield Section("Errors", [Text("All predicted genes agree with the annotation.")])
            return
        number = Counter(error.mistake for error in errors)
        mistakes = [(mistake, _MISTAKES[mistake], f"{n:,}") for mistake, n in number.most_common()]
        rows = [(name, mistake, t.strand, f"{t.start + 1:,}", f"{t.end:,}") for name, t, mistake in errors]
        texts, numbers = ["sequence", "error", "strand"], ["from", "to"]
        every = Fold("All errors, along the sequences", [make_table("", texts, numbers, rows, _MOST_ROWS)])
        of_each = make_table("", ["error", "meaning"], ["transcripts"], mistakes, len(mistakes))
        yield Section("Errors", [of_each, every])
        clusters = [[errors[0]]]  # of errors that lie near each other
        for error in errors[1:]:
            first, last, t = clusters[-1][0], clusters[-1][-1].transcript, error.transcript
            is_near = t.start - last.end < _FAR and t.end - first.transcript.start < _WIDEST
            if error.sequence == first.sequence and is_near:
                clusters[-1].append(error)
            else:
                clusters.append([error])
        tracks: list[Block] = []
        for cluster in sorted(clusters, key=len, reverse=True)[:_MOST_DRAWN]:
            name, genes = cluster[0].sequence, [error.transcript for error in cluster]
            start, end = min(t.start for t in genes), max(t.end for t in genes)
            room = max(_FAR // 3, (end - start) // 10)
            start, end = max(0, start - room), end + room
            both = {"annotated": annotated.get(name, ()), "predicted": predicted.get(name, ())}
            place = f"{name}, {start + 1:,} to {end:,}"
            plot = partial(plot_genes, both, start, end)
            tracks.append(picture(plot, f"annotated and predicted genes of {place}", place, True))
        yield Section("Tracks", [Text(_TOLD), *tracks])


def _accuracy(scores: GeneScores, level: str) -> dict[str, Any]:
    annotated, predicted = scores.counts[:, GENE_LEVELS.index(level), :2].sum(axis=0).tolist()
    return {"annotated": annotated, "predicted": predicted, **scores.pooled(level)._asdict()}


@dataclass(frozen=True)
class PredictedGenes:
    """Genes that any program predicted, in place of a model."""

    path: str
    transcripts: Genes
    extra_: ClassVar[dict[str, Any]] = {}

    @classmethod
    def read(cls, path: str, scoring: Scoring) -> Self:
        if scoring.task is not None or scoring.code is not None:
            raise DataError(f"{path}: --task and --code need a model, not a file of predicted genes")
        found = read_annotation(Path(path))
        _tell_skipped(path, found.skipped)
        return cls(path, found.transcripts)

    def compared(self, true: Genes, margin: int | None) -> GeneEvaluation:
        found = self.transcripts
        beyond = [contig for contig in found if contig not in true]
        if beyond:
            n, first = sum(len(found[contig]) for contig in beyond), f"the first on {beyond[0]!r}"
            message = f"{self.path}: the annotation lacks the sequences of {plural(n, 'transcript')}, {first}"
            if len(beyond) == len(found):
                known = f"its sequences are named {next(iter(true))!r}, ..." if true else "it has no genes"
                raise DataError(f"{message}; {known}")
            say(message)
        # some files leave stop codons out of coding parts: both get them, if they agree then only
        choices = [(true, found), (true, _longer(found)), (_longer(true), found)]
        agreeing = [
            len(set.intersection(*({_end_of(t) for of in genes.values() for t in of} for genes in both)))
            for both in choices
        ]
        best = agreeing.index(max(agreeing))
        if agreeing[best] <= 2 * agreeing[0]:
            return GeneEvaluation.of_genes(true, found, margin)
        which = "predicted" if best == 1 else "annotated"
        say(f"{self.path}: the {which} genes end before their stop codons, which were added here")
        return GeneEvaluation.of_genes(*choices[best], margin)


def _longer(genes: Genes) -> Genes:
    return {contig: tuple(longer(t, sys.maxsize) or t for t in of) for contig, of in genes.items()}


def _end_of(t: Transcript) -> tuple[str, str, int]:
    """Contig, strand, and where the gene ends along the strand."""
    return t.contig, t.strand, t.end if t.strand == "+" else t.start


# --- reading ----------------------------------------------------------------------------------------------


def is_annotation(path: str | Path) -> bool:
    return without_compression(str(path).lower()).endswith(_ENDINGS)


def read_telling_skipped(files: Sequence[str], sequences: Sequence[Path]) -> Iterator[AnnotatedSequence]:
    """The annotated sequences of all files, one at a time; says what of each file was skipped."""
    for path, fasta in paired(files, sequences):
        skipped = list[Skipped]()
        for each in read_genomes(path, fasta, tell=say):
            skipped += each.skipped
            yield each
        _tell_skipped(str(path), skipped)


def annotated_genes(files: Sequence[str], sequences: Sequence[Path]) -> Genes:
    """Genes by the names of their sequences, which must differ; sequences are not needed."""
    found = dict[str, Sequence[Transcript]]()
    for path, fasta in paired(files, sequences):
        if fasta is None and is_annotation(path):
            annotation = read_annotation(path)
            of_file, skipped = list(annotation.transcripts.items()), annotation.skipped
        else:
            whole = list(read_genomes(path, fasta, tell=say))
            of_file = [(each.name, each.transcripts) for each in whole]
            skipped = tuple(one for each in whole for one in each.skipped)
        _tell_skipped(str(path), skipped)
        for contig, transcripts in of_file:
            if contig in found:
                raise DataError(f"{path}: the sequence {contig!r} was already read; names must be unique")
            found[contig] = transcripts
    return found


def _tell_skipped(name: str, skipped: Sequence[Skipped]) -> None:
    if skipped:
        say(f"{name}: skipped {plural(len(skipped), 'transcript')}: {skipped_text(skipped)}")


# --- errors on a page -------------------------------------------------------------------------------------


_MOST_ROWS, _MOST_DRAWN = 300, 12
_FAR = 3_000  # bases between errors of two pictures
_WIDEST = 40_000  # bases of a picture, where one gene is not longer
_MISTAKES = {
    "missed": "an annotated gene that no predicted gene on its strand overlaps",
    "not annotated": "a predicted gene that no annotated gene on its strand overlaps",
    "other start": "a predicted gene that ends at the annotated stop codon, but starts elsewhere",
    "other ends or introns": "a predicted gene that overlaps an annotated gene",
}
_TOLD = (
    "The regions with the most errors. Coding parts and introns that the other track does not have are "
    "orange. Arrow tips show the strand."
)


class _Error(NamedTuple):
    """A gene that was missed, or predicted wrongly."""

    sequence: str
    transcript: Transcript
    mistake: str


def _errors(name: str, annotated: Sequence[Transcript], predicted: Sequence[Transcript]) -> list[_Error]:
    """Those of a sequence, along it. A gene that is predicted otherwise is one error, of the prediction."""
    found: list[_Error] = []
    for strand in "+-":  # genes of different strands are never the same
        # transcripts with the same coding parts count once, as in the scores
        true, told = (
            list({t.exons: t for t in of if t.strand == strand}.values()) for of in (annotated, predicted)
        )
        shapes, stops = {t.exons for t in true}, {_end_of(t) for t in true}
        overlapped, overlapping = _overlapping(true, told), _overlapping(told, true)
        found += [_Error(name, t, "missed") for t, hit in zip(true, overlapped, strict=True) if not hit]
        for t, hit in zip(told, overlapping, strict=True):
            if t.exons not in shapes:
                other = "other ends or introns" if hit else "not annotated"
                found.append(_Error(name, t, "other start" if hit and _end_of(t) in stops else other))
    return sorted(found, key=lambda error: error.transcript.start)


def _overlapping(some: Sequence[Transcript], others: Sequence[Transcript]) -> list[bool]:
    """Whether each of some shares positions with one of the others."""
    # t overlaps one of those that start before its end if the furthest of their ends is behind its start
    starts = [(t.start, t.end) for t in sorted(others, key=lambda t: t.start)]
    furthest = list(accumulate((end for _, end in starts), max))  # of those that start no later
    before = [bisect_left(starts, (t.end, 0)) for t in some]  # how many start before each ends
    return [k > 0 and furthest[k - 1] > t.start for t, k in zip(some, before, strict=True)]
