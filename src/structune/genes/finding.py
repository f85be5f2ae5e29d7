"""The command that finds genes (``structune genes``), with a model of organisms with introns or without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from structune.cli.files import UntilError, binary_source, check_apart, check_targets, format_of, open_text
from structune.cli.terminal import Progress, say
from structune.errors import CapabilityError, DataError
from structune.files.text import some_of
from structune.genes.adaptation import adapt
from structune.genes.finders import Finder, looked_ahead, open_finder, predicted, with_suiting_code
from structune.genes.formats.genbank_writer import genbank_text
from structune.genes.formats.genomes import read_sequences
from structune.genes.formats.hints import misplaced_text, read_hints, read_regions
from structune.genes.formats.record import AnnotatedSequence
from structune.genes.formats.tables import TABLE_HEAD, table_text
from structune.genes.formats.writers import (
    GFF3_HEAD,
    coding_sequences_text,
    gff3_text,
    proteins_text,
    region_text,
)
from structune.genes.options import ENDINGS, Finding
from structune.genes.prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder
from structune.genes.prokaryotes.suitable_model import nearest, sure_share
from structune.trees.multitask import MultitaskEstimator

_SKIPPED = 1  # exit code
_DENSE = 0.55  # share of bases in genes, of bacteria and archaea
_SHOWN = 3  # names of sequences


def find_genes(file: str, model: str, finding: Finding) -> int:
    """Find genes, and write them as soon as they are known; returns the exit code."""
    output = None if finding.output == "-" else Path(finding.output)
    targets = [output, finding.proteins, finding.nucleotides]
    check_targets(targets, [])
    check_apart([file, model, finding.hints, finding.avoid], targets)
    sequences, evidence = Sequences(file, model, finding), Evidence(finding)
    finder = open_finder(
        model,
        finding.jobs,
        finding.task,
        finding.code,
        sequences.nearest,
        meta=finding.meta,
        adapts=bool(finding.adapt),
    )
    finder = sequences.suited(finder)
    if finding.adapt:
        finder = sequences.adapted(finder)
    _write(finder, sequences, evidence, finding)
    if not sequences.n_skipped:
        return 0
    say(f"{file}: skipped {sequences.n_skipped} sequences")
    return _SKIPPED


class Sequences:
    """Those of a file; in memory only if a model is chosen or adapted by them."""

    def __init__(self, file: str, model: str, finding: Finding) -> None:
        self.file, self._model, self._finding, self.n_skipped = file, model, finding, 0
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
        return read_sequences(binary_source(self.file), self._skip if self._finding.skip_bad else None)

    def _skip(self, error: DataError) -> None:
        self.n_skipped += 1
        say(f"skipped {error}")

    def nearest(self, model: MultitaskEstimator) -> str:
        """The node of a tree that is surest of the genes."""
        self._check_hints(model.model_)
        try:
            node, _ = nearest(model, self.whole(), self._finding.code)
        except CapabilityError as error:
            nodes = ", ".join(model.tree_.nodes)
            raise CapabilityError(f"{self._model}: {error}; or --task with one of: {nodes}") from None
        say(f"{self.file}: found {node!r} nearest")
        return node

    def _check_hints(self, finder: Any) -> None:
        if self._finding.hints is not None and not getattr(finder, "has_introns", False):
            raise DataError(f"{self._model}: found a model without introns, expected no --hints")

    def suited(self, finder: Finder) -> Finder:
        """The finder for the genetic code that is given, or found, of a stream by its first million bases."""
        finding = self._finding
        self._check_hints(finder)
        finder.set_params(closed=finding.closed or finder.closed)
        if finder.has_introns:
            return finder
        is_free = finding.code is None
        is_whole = finding.adapt or (finder.is_of_many and not finding.meta)
        if is_whole or self._held is not None:
            return with_suiting_code(finder, self.whole(), self.file, is_free)
        first, self._begun = looked_ahead(self._read())
        return with_suiting_code(finder, first, self.file, is_free and finding.task is not None)

    def adapted(self, finder: Finder) -> Finder:
        """The finder that has learned the genome."""
        if finder.has_introns:
            share = sure_share(MetagenomeFinder.pretrained(), self.whole())
            if share > _DENSE:
                what = f"genes without introns have {share:.0%} of the bases, as in bacteria and archaea"
                say(f"{self.file}: {what}, for which is --model pretrained")
        finder.set_params(verbose=int(not self._finding.quiet))
        try:
            return adapt(finder, self.whole(), self._finding.adapt)
        except CapabilityError as error:
            raise CapabilityError(f"{self._model}: {error}") from None


class Evidence:
    """What files tell of sequences beside them: hints, and what genes keep away from."""

    def __init__(self, finding: Finding) -> None:
        self._read: dict[str, tuple[Path, Mapping[str, Any]]] = {}
        self._weight = {} if finding.hints is None else {"hint_weight": finding.hint_weight}
        if finding.hints is not None:
            self._read["hints"] = finding.hints, read_hints(finding.hints)
        if finding.avoid is not None:
            self._read["avoid"] = finding.avoid, read_regions(finding.avoid)
        self._left = {name: set(found) for name, (_, found) in self._read.items()}
        self._unused: list[dict[str, Counter[str]]] = []  # one a call, each of which has a thread of its own
        self._names = list[str]()

    def of(self, sequences: Sequence[AnnotatedSequence]) -> dict[str, Any]:
        """What `predict` takes."""
        self._names += [each.name for each in sequences]
        for names in self._left.values():
            names.difference_update(each.name for each in sequences)
        given = {
            name: [found.get(each.name, []) for each in sequences] for name, (_, found) in self._read.items()
        }
        unused: dict[str, Counter[str]] = {}
        self._unused.append(unused)
        return given | self._weight | ({"unused": unused} if given else {})

    def tell_left(self) -> None:
        """Say of which names no sequence came, and what has no effect on those that did."""
        for name, left in self._left.items():
            path, found = self._read[name]
            if left:
                n, which = sum(len(found[each]) for each in left), some_of(sorted(left), _SHOWN)
                what = f"{n:,} {name if name == 'hints' else 'regions'}"
                if len(left) == len(found):
                    is_other = f"those that came have other names: {some_of(self._names, _SHOWN)}"
                    say(f"{path}: nothing is used: all {what} are on {which}; {is_other}")
                else:
                    say(f"{path}: {what} are on sequences that did not come: {which}")
            counts = sum((each.get(name, Counter()) for each in self._unused), Counter[str]())
            if text := misplaced_text(counts, sum(map(len, found.values()))):
                say(f"{path}: {text}")


def _write(finder: Finder, sequences: Sequences, evidence: Evidence, finding: Finding) -> None:
    source, n_partial, n_empty = UntilError(sequences), 0, 0
    how = format_of(finding.format, Path(finding.output), ENDINGS)
    head = {"gff3": GFF3_HEAD, "genbank": "", "tsv": TABLE_HEAD}[how]

    def text_of(found: AnnotatedSequence) -> str:
        if how == "genbank":
            return genbank_text(found, *finder.genetic_code)
        if how == "tsv":
            return table_text(found.transcripts)
        return region_text(found) + gff3_text(found.transcripts) if found.transcripts else ""

    with ExitStack() as opened:
        out = opened.enter_context(open_text(finding.output))
        proteins, nucleotides = (
            None if path is None else opened.enter_context(open_text(str(path)))
            for path in (finding.proteins, finding.nucleotides)
        )
        blocks = opened.enter_context(closing(predicted(finder, source, evidence.of)))
        progress = opened.enter_context(Progress(not finding.quiet, stage="genes", unit="Mb", digits=2))
        for block in blocks:
            for each, genes in block:
                found = AnnotatedSequence(each.name, each.sequence, genes)
                out.write(head + text_of(found))
                if proteins is not None:
                    proteins.write(proteins_text(found, *finder.genetic_code))
                if nucleotides is not None:
                    nucleotides.write(coding_sequences_text(found))
                head = ""
                n_partial += sum(any(t.partial) for t in genes)
                n_empty += not each.sequence
            out.flush()
            progress.advance(sum(len(each.sequence) for each, _ in block) / 1e6)
    source.check()
    evidence.tell_left()
    if n_empty:
        say(f"{sequences.file}: sequences without bases: {n_empty:,}")
    if n_partial and finder.has_introns:
        say(
            f"{sequences.file}: {n_partial:,} genes go on beyond ends of sequences, and are marked as partial"
        )
