"""``structune genes``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext

import typer

from structune.cli.batches import Progress, UntilError
from structune.cli.checks import INTERRUPTED, check_apart, check_targets
from structune.cli.streams import binary_source, open_text
from structune.errors import CapabilityError, DataError
from structune.genes.commands.data import Finder, open_finder, predicted
from structune.genes.commands.options import Request
from structune.genes.formats.dna import read_dna
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.formats.writers import GFF3_HEAD, gff3_text, proteins_text
from structune.genes.prokaryotes.adaptation import adapt, nearest_node
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
from structune.genes.prokaryotes.structure.candidates import STARTS
from structune.trees.multitask import MultitaskEstimator


def run(request: Request) -> int:
    """Find genes, and write them as soon as they are known; returns the exit code."""
    _check(request)
    held: list[AnnotatedSequence] = []  # only if a model is chosen or adapted by them

    def whole() -> list[AnnotatedSequence]:
        if not held:
            held.extend(_sequences(request.file))
        return held

    def nearest(model: MultitaskEstimator) -> str:
        try:
            node = nearest_node(model, whole())
        except CapabilityError as error:
            nodes = ", ".join(model.tree_.nodes)
            raise CapabilityError(f"{request.model}: {error}; or --task with one of: {nodes}") from None
        typer.echo(f"structune: {request.file}: found {node!r} nearest", err=True)
        return node

    try:
        finder = open_finder(request.model, request.jobs, request.task, nearest)
        if request.adapt:
            finder.set_params(verbose=int(not request.quiet))
            finder = adapt(finder, whole(), request.adapt)  # type: ignore[arg-type] # refuses others
        _write(request, finder, held or _sequences(request.file))
    except KeyboardInterrupt:
        typer.echo("structune: interrupted", err=True)
        return INTERRUPTED
    return 0


def _check(request: Request) -> None:
    """Find before the work, not after it, what cannot be written."""
    files = [request.output, request.proteins]
    check_targets(files, [])
    check_apart([request.file, request.model], files)
    if request.proteins is not None and request.proteins == request.output:
        raise DataError(f"{request.proteins}: expected another file than that of the genes")


def _write(request: Request, finder: Finder, sequences: Iterable[AnnotatedSequence]) -> None:
    source = UntilError(sequences)
    proteins = nullcontext() if request.proteins is None else open_text(str(request.proteins))
    with (
        open_text("-" if request.output is None else str(request.output)) as out,
        proteins as fasta,
        closing(predicted(finder, source)) as found,
        Progress(not request.quiet, stage="genes", unit="Mb", digits=2) as progress,
    ):
        head = GFF3_HEAD
        for some in found:
            for each, genes in some:
                out.write(head + gff3_text(genes))
                if fasta is not None:
                    fasta.write(_proteins(finder, AnnotatedSequence(each.name, each.sequence, genes)))
                head = ""
            out.flush()
            progress.advance(sum(len(each.sequence) for each, _ in some) / 1e6)
    source.check()


def _proteins(finder: Finder, found: AnnotatedSequence) -> str:
    if isinstance(finder, ProkaryoticGeneFinder):
        # the code has more start codons, such as CTG, with which here only parts of genes begin
        return proteins_text(found, finder.code, STARTS)
    return proteins_text(found)


def _sequences(source: str) -> Iterator[AnnotatedSequence]:
    """The sequences of a file, one at a time."""
    file = binary_source(source)
    for name, sequence in read_dna(file):
        try:
            yield AnnotatedSequence(name, sequence)
        except DataError as error:
            raise DataError(f"{source}: {error}") from error
