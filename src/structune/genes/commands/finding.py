"""``structune genes``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import IO

import typer

from structune.cli.batches import Progress, UntilError
from structune.cli.checks import INTERRUPTED, check_apart, check_targets, say, short_warnings
from structune.cli.streams import binary_source, open_text
from structune.errors import CapabilityError, DataError
from structune.genes.adaptation import adapt
from structune.genes.commands.data import Finder, Known, open_finder, predicted
from structune.genes.commands.genetic_codes import looked_ahead, told_of_code, with_code
from structune.genes.commands.options import Format, Request
from structune.genes.eukaryotes.gene_finder import GeneFinder
from structune.genes.formats.genbank_writer import genbank_text
from structune.genes.formats.genomes import read_sequences
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.formats.tables import TABLE_HEAD, table_text
from structune.genes.formats.writers import (
    GFF3_HEAD,
    coding_sequences_text,
    gff3_text,
    proteins_text,
    region_text,
)
from structune.genes.prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder
from structune.genes.prokaryotes.orf_finder import OrfFinder
from structune.genes.prokaryotes.structure.candidates import STARTS
from structune.genes.prokaryotes.suitable_model import nearest, sure_share
from structune.trees.multitask import MultitaskEstimator

_SKIPPED = 1  # exit code
_DENSE = 0.55  # share of bases in genes, of bacteria and archaea
_HEADS = {Format.gff3: GFF3_HEAD, Format.genbank: "", Format.tsv: TABLE_HEAD}


def run(request: Request) -> int:
    """Find genes, and write them as soon as they are known; returns the exit code."""
    _check(request)
    sequences = _Sequences(request)
    known = Known(request.hints, request.hint_weight, request.avoid)
    try:
        finder = _open(request, sequences)
        finder = sequences.suited(finder)
        if request.adapt:
            finder = _adapted(request, finder, sequences)
        _write(request, finder, sequences, known)
    except KeyboardInterrupt:
        typer.echo("structune: interrupted", err=True)
        return INTERRUPTED
    if not sequences.n_skipped:
        return 0
    say(f"{request.file}: skipped {sequences.n_skipped} sequences")
    return _SKIPPED


def _open(request: Request, sequences: _Sequences) -> Finder:
    """The model, for these sequences if it is one of several tasks."""
    return open_finder(
        request.model,
        request.jobs,
        request.task,
        sequences.nearest,
        meta=request.meta,
        adapts=bool(request.adapt),
    )


def _adapted(request: Request, finder: Finder, sequences: _Sequences) -> Finder:
    if isinstance(finder, GeneFinder):
        _tell_if_dense(sequences.whole(), request.file)
    finder.set_params(verbose=int(not request.quiet))
    try:
        with short_warnings():
            return adapt(finder, sequences.whole(), request.adapt)
    except CapabilityError as error:
        raise CapabilityError(f"{request.model}: {error}") from None


def _tell_if_dense(sequences: list[AnnotatedSequence], name: str) -> None:
    """Say where genes without introns are found in place of others."""
    share = sure_share(MetagenomeFinder.pretrained(), sequences)
    if share > _DENSE:
        what = f"genes without introns have {share:.0%} of the bases, as in bacteria and archaea"
        say(f"{name}: {what}, for which is --model pretrained")


def _check(request: Request) -> None:
    """Find before the work, not after it, what cannot be done or written."""
    if request.meta and (request.task or request.adapt):
        raise DataError("found --meta with --task or --adapt, expected a model for each contig or for all")
    if request.hints is None and request.hint_weight != Request.hint_weight:
        raise DataError("found --hint-weight, expected it with --hints only")
    files = [request.output, request.proteins, request.nucleotides]
    check_targets(files, [])
    check_apart([request.file, request.model, request.hints, request.avoid], files)


class _Sequences:
    """Those of the file; in memory only if a model is chosen or adapted by them."""

    def __init__(self, request: Request) -> None:
        self._request, self.n_skipped = request, 0
        self._held: list[AnnotatedSequence] | None = None
        self._begun: Iterator[AnnotatedSequence] | None = None

    def __iter__(self) -> Iterator[AnnotatedSequence]:
        if self._held is not None:
            return iter(self._held)
        return self._read() if self._begun is None else self._begun

    def whole(self) -> list[AnnotatedSequence]:
        if self._held is None:
            self._held = list(self._read())
        return self._held

    def _read(self) -> Iterator[AnnotatedSequence]:
        source = binary_source(self._request.file)
        return read_sequences(source, self._skip if self._request.skip_bad else None)

    def _skip(self, error: DataError) -> None:
        self.n_skipped += 1
        say(f"skipped {error}")

    def nearest(self, model: MultitaskEstimator) -> str:
        """The node of a tree."""
        self._check_hints(model.model_)
        try:
            node, _ = nearest(model, self.whole(), self._request.code)
        except CapabilityError as error:
            nodes = ", ".join(model.tree_.nodes)
            raise CapabilityError(f"{self._request.model}: {error}; or --task with one of: {nodes}") from None
        typer.echo(f"structune: {self._request.file}: found {node!r} nearest", err=True)
        return node

    def _check_hints(self, finder: object) -> None:
        if self._request.hints is not None and not isinstance(finder, GeneFinder):
            raise DataError(f"{self._request.model}: found a model without introns, expected no --hints")

    def suited(self, finder: Finder) -> Finder:
        """The finder for the genetic code that is given, or found, of a stream by its first million bases."""
        request = self._request
        self._check_hints(finder)
        finder = with_code(finder, request.code, request.model)
        finder.set_params(closed=request.closed or finder.closed)
        if not isinstance(finder, OrfFinder):
            return finder
        is_free = request.code is None
        is_whole = request.adapt or (isinstance(finder, MetagenomeFinder) and not request.meta)
        if is_whole or self._held is not None:
            return told_of_code(finder, self.whole(), request.file, is_free)
        first, self._begun = looked_ahead(self._read())
        return told_of_code(finder, first, request.file, is_free and request.task is not None)


def _write(request: Request, finder: Finder, sequences: Iterable[AnnotatedSequence], known: Known) -> None:
    source = UntilError(sequences)
    with (
        open_text("-" if request.output is None else str(request.output)) as out,
        _opened(request.proteins) as proteins,
        _opened(request.nucleotides) as nucleotides,
        closing(predicted(finder, source, known)) as found,
        Progress(not request.quiet, stage="genes", unit="Mb", digits=2) as progress,
    ):
        head, n_partial, n_empty = _HEADS[request.written_as], 0, 0
        for some in found:
            for each, genes in some:
                n_empty += not each.sequence
                whole = AnnotatedSequence(each.name, each.sequence, genes)
                out.write(head + _text(finder, whole, request.written_as))
                if proteins is not None:
                    proteins.write(_proteins(finder, whole))
                if nucleotides is not None:
                    nucleotides.write(coding_sequences_text(whole))
                head = ""
                n_partial += sum(any(t.partial) for t in genes)
            out.flush()
            progress.advance(sum(len(each.sequence) for each, _ in some) / 1e6)
    source.check()
    known.tell_left()
    if n_empty:
        say(f"{request.file}: sequences without bases: {n_empty:,}")
    if n_partial and isinstance(finder, GeneFinder):
        say(f"{request.file}: {n_partial:,} genes go on beyond ends of sequences, and are marked as partial")


def _opened(path: Path | None) -> AbstractContextManager[IO[str] | None]:
    """A file to write to, if there is one."""
    return nullcontext() if path is None else open_text(str(path))


def _text(finder: Finder, found: AnnotatedSequence, how: Format) -> str:
    """A sequence's genes as they are asked for."""
    if how == Format.genbank:
        return genbank_text(found, *_code(finder))
    if how == Format.tsv:
        return table_text(found.transcripts)
    return region_text(found) + gff3_text(found.transcripts) if found.transcripts else ""


def _proteins(finder: Finder, found: AnnotatedSequence) -> str:
    return proteins_text(found, *_code(finder))


def _code(finder: Finder) -> tuple[int, tuple[str, ...] | None]:
    """The genetic code, and the start codons if they are not all of its."""
    if isinstance(finder, OrfFinder):
        # the code has more start codons, such as CTG, with which here only parts of genes begin
        return finder.code, STARTS
    return 1, None
