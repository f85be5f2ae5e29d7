"""Finding genes, with or without introns: the command ``structune genes``, and the parts of it that
evaluations use, too."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from copy import copy
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from structune.cli.files import UntilError, binary_source, check_apart, check_targets, format_of, open_text
from structune.cli.reports import page_at_end
from structune.cli.terminal import Progress, say
from structune.errors import CapabilityError, DataError
from structune.files.models import check_class, load, load_shipped
from structune.files.provenance import model_name
from structune.files.text import plural, some_of
from structune.genes.adaptation import adapt
from structune.genes.eukaryotes.gene_finder import ORGANISMS, GeneFinder
from structune.genes.eukaryotes.training import IN_COMMON
from structune.genes.formats import writers
from structune.genes.formats.genomes import read_sequences
from structune.genes.formats.hints import misplaced_text, read_hints, read_regions
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.genes.options import ENDINGS, Finding
from structune.genes.prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder
from structune.genes.prokaryotes.orf_finder import ENOUGH, OrfFinder, nearest, sure_share, surer_code
from structune.genes.prokaryotes.structure.candidates import WITHOUT_TGA
from structune.running.executors import make_executor
from structune.running.memory import batches
from structune.trees.multitask import MultitaskEstimator

if TYPE_CHECKING:
    from structune.genes.report import GeneReport

_PRETRAINED = "pretrained"  # in place of a model file: what comes with structune
_SKIPPED = 1  # exit code
_DENSE = 0.55  # share of bases in genes, of bacteria and archaea
# From 10,000 bases on, the share is above 0.44 in pieces of five bacteria and archaea, and below 0.47 in
# nearly all pieces of a plant, a worm and a fly.
_LEAST_BASES, _RATHER_DENSE = 10_000, 0.45
_CHOICES = (
    "pretrained (bacteria and archaea), fly, a_thaliana, c_elegans, eukaryotes together with --adapt 20 "
    "(other eukaryotes), or a model file"
)
_SHOWN = 3  # names of sequences
_MOST_BASES, _MOST_SEQUENCES = 200_000, 1000  # short sequences share what a call costs
Finder = GeneFinder | OrfFinder
Found = list[tuple[AnnotatedSequence, tuple[Transcript, ...]]]


def find_genes(file: str, model: str | None, finding: Finding) -> int:
    """Find genes and write them as soon as they are known; returns the exit code.

    Without a `model`, the sequences choose one.
    """
    output = None if finding.output == "-" else Path(finding.output)
    targets = [output, finding.proteins, finding.nucleotides]
    check_targets(targets, [], finding.report)
    check_apart([file, *filter(None, [model]), finding.hints, finding.avoid], [*targets, finding.report])
    n_skipped = 0

    def skip(error: DataError) -> None:
        nonlocal n_skipped
        n_skipped += 1
        say(f"skipped {error}")

    sequences = ReadAhead(read_sequences(binary_source(file), skip if finding.skip_bad else None))
    evidence, model = _Evidence(finding), model or _model_for(file, sequences)
    finder, name = _chosen_finder(file, sequences, model, finding)
    report: GeneReport | None = None
    if finding.report is not None:
        from structune.genes.report import GeneReport

        report = GeneReport(name, finder.has_introns, lambda: n_skipped)
    with page_at_end(finding.report, report, output):
        _write(finder, name, file, sequences, evidence, finding, report)
    if not n_skipped:
        return 0
    say(f"{file}: skipped {plural(n_skipped, 'sequence')}")
    return _SKIPPED


class ReadAhead:
    """Sequences of a stream, which are read once: some or all may be looked at before they come.

    An error comes behind what was read before it, or once all sequences are asked for.
    """

    def __init__(self, sequences: Iterable[AnnotatedSequence]) -> None:
        self._source, self._held, self.are_held = UntilError(sequences), list[AnnotatedSequence](), False

    def __iter__(self) -> Iterator[AnnotatedSequence]:
        yield from self._held
        yield from self._source
        self._source.check()

    def ahead(self, n_bases: float = math.inf) -> list[AnnotatedSequence]:
        """Sequences of so many bases, such as tell genetic codes apart, or all."""
        n = sum(len(each.sequence) for each in self._held)
        while n < n_bases and (each := next(self._source, None)) is not None:
            self._held.append(each)
            n += len(each.sequence)
        if n_bases == math.inf or not self._held:  # a file that does not exist has no sequences
            self._source.check()
            self.are_held = n_bases == math.inf
        return self._held


def _model_for(file: str, sequences: ReadAhead) -> str:
    """The pretrained model of bacteria and archaea where genes are as dense as there, or else an error."""
    share = sure_share(MetagenomeFinder.pretrained(), sequences.ahead(ENOUGH), _LEAST_BASES)
    if share < _RATHER_DENSE:
        found = f"genes without introns cover {share:.0%} of the bases" if share else "the input is too short"
        raise DataError(
            f"{file}: cannot choose a model, because {found}. Choose one with --model: {_CHOICES}"
        )
    say(
        f"{file}: genes without introns cover {share:.0%} of the bases, as in bacteria and archaea; using "
        "--model pretrained"
    )
    return _PRETRAINED


def _chosen_finder(file: str, sequences: ReadAhead, model: str, finding: Finding) -> tuple[Finder, str]:
    """The model and its name: a node's, for the genetic code that suits, adapted to the sequences."""
    nodes = [] if finding.task is None else [finding.task]

    def check_hints(finder: Any) -> None:
        if finding.hints is not None and not getattr(finder, "has_introns", False):
            raise DataError(f"{model}: --hints needs a model of genes with introns, such as fly")

    def nearest_node(tree: MultitaskEstimator) -> str:
        """The node that is surest of the sequences, or an error that names all to choose from."""
        check_hints(tree.model_)
        try:
            node, _ = nearest(tree, sequences.ahead(), finding.code)
        except CapabilityError as error:
            known = ", ".join(tree.tree_.nodes)
            raise CapabilityError(f"{model}: {error}. Or give --task with one of {known}") from None
        say(f"{file}: using the model of the nearest node, {node!r}")
        nodes.append(node)
        return node

    adapts = bool(finding.adapt)
    finder = open_finder(model, finding.jobs, finding.task, finding.code, nearest_node, finding.meta, adapts)
    check_hints(finder)
    finder.set_params(closed=finding.closed or finder.closed)
    if not finder.has_introns:
        is_whole = adapts or (finder.is_of_many and not finding.meta) or sequences.are_held
        some = sequences.ahead() if is_whole else sequences.ahead(ENOUGH)
        is_free = finding.code is None and (is_whole or finding.task is not None)
        finder = with_suiting_code(finder, some, file, is_free)
    if not finding.adapt:
        return finder, model_name(model, *nodes)
    if finder.has_introns:
        # a genome of bacteria is dense with long open reading frames, which a model of introns would learn
        # from
        share = sure_share(MetagenomeFinder.pretrained(), sequences.ahead())
        if share > _DENSE:
            what = f"genes without introns cover {share:.0%} of the bases, as in bacteria and archaea"
            say(f"{file}: {what}. For such genomes, use --model pretrained")
    finder.set_params(verbose=int(not finding.quiet))
    try:
        adapted = adapt(finder, sequences.ahead(), finding.adapt)
    except CapabilityError as error:
        raise CapabilityError(f"{model}: {error}") from None
    return adapted, model_name(model, *nodes, "adapted")


class _Evidence:
    """What files tell of sequences beside them: hints, and what genes keep away from."""

    def __init__(self, finding: Finding) -> None:
        readers: Any = ("hints", finding.hints, read_hints), ("avoid", finding.avoid, read_regions)
        self._read: dict[str, tuple[Path, Mapping[str, Any]]] = {
            name: (path, read(path)) for name, path, read in readers if path is not None
        }
        self._weight = {} if finding.hints is None else {"hint_weight": finding.hint_weight}
        self._unused: list[dict[str, Counter[str]]] = []  # one a call, each of which has a thread of its own
        self._names = list[str]()  # of sequences that came

    def of(self, sequences: Sequence[AnnotatedSequence]) -> dict[str, Any]:
        """What `predict` takes."""
        self._names += [each.name for each in sequences]
        if not self._read:
            return {}
        self._unused.append({})
        of_each = {k: [found.get(s.name, []) for s in sequences] for k, (_, found) in self._read.items()}
        return of_each | self._weight | {"unused": self._unused[-1]}

    def tell_left(self) -> None:
        """Say of which names no sequence came, and what has no effect on those that did."""
        for name, (path, found) in self._read.items():
            if left := set(found).difference(self._names):
                n, which = sum(len(found[each]) for each in left), some_of(sorted(left), _SHOWN)
                what = plural(n, "hint" if name == "hints" else "region")
                if len(left) == len(found):
                    is_other = f"but the sequences are named {some_of(self._names, _SHOWN)}"
                    say(f"{path}: ignored {what}, that is all, because they are on {which}, {is_other}")
                else:
                    say(f"{path}: ignored {what}, because their sequences are not in the input: {which}")
            counts = sum((each.get(name, Counter()) for each in self._unused), Counter[str]())
            if text := misplaced_text(counts, sum(map(len, found.values()))):
                say(f"{path}: {text}")


def _write(
    finder: Finder,
    model: str,
    file: str,
    sequences: ReadAhead,
    evidence: _Evidence,
    finding: Finding,
    report: GeneReport | None,
) -> None:
    """Write the genes of each block as soon as they are known, and report at the end what was unusual."""
    source, n_partial, n_empty = UntilError(sequences), 0, 0
    how = format_of(finding.format, Path(finding.output), ENDINGS)
    head = {"gff3": writers.gff3_head(model), "genbank": "", "tsv": writers.TABLE_HEAD}[how]
    name = finding.output
    if name == "-":  # on the page
        name = "genes" + next(ending for ending, format in ENDINGS.items() if format == how)
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
                if how == "genbank":
                    text = writers.genbank_text(found, *finder.genetic_code, model=model)
                elif how == "tsv":
                    text = writers.table_text(genes)
                else:
                    text = writers.region_text(found) + writers.gff3_text(genes) if genes else ""
                written = [(out, name, head + text)]
                if proteins is not None:
                    text = writers.proteins_text(found, *finder.genetic_code)
                    written.append((proteins, str(finding.proteins), text))
                if nucleotides is not None:
                    text = writers.coding_sequences_text(found)
                    written.append((nucleotides, str(finding.nucleotides), text))
                for target, path, text in written:
                    target.write(text)
                    if report is not None:
                        report.results.add(path, text)
                if report is not None:
                    report.add(each, genes)
                head = ""
                n_partial += sum(any(t.partial) for t in genes)
                n_empty += not each.sequence
            out.flush()
            progress.advance(sum(len(each.sequence) for each, _ in block) / 1e6)
    source.check()
    evidence.tell_left()
    if n_empty:
        say(f"{file}: found no genes in {plural(n_empty, 'sequence')} without bases")
    if n_partial and finder.has_introns:
        told = "as partial, because they continue beyond an end of their sequence"
        say(f"{file}: marked {plural(n_partial, 'gene')} {told}")


# --- models -----------------------------------------------------------------------------------------------


def open_finder(
    path: str,
    n_jobs: int,
    node: str | None = None,
    code: int | None = None,
    nearest: Callable[[MultitaskEstimator], str] | None = None,
    meta: bool = False,
    adapts: bool = False,
) -> Finder:
    """Load a model from train or tune, or an included model; of a tree of tasks the model of the `node`, or
    of the nearest one. The common model of eukaryotes needs `adapts`; `meta` requires a metagenome model.
    """
    is_file = Path(path).is_file()
    if path == IN_COMMON and not (adapts or is_file):
        told = "this model must first be adapted to a genome. Run structune genes with --adapt 20."
        raise DataError(f"{path}: {told}")
    found: Any
    if path == _PRETRAINED:
        is_tree = node is not None
        found = load_shipped("structune.genes.prokaryotes") if is_tree else MetagenomeFinder.pretrained()
    elif path in ORGANISMS and not is_file:
        found = GeneFinder.pretrained(path)
    else:
        try:
            found = load(path)
        except FileNotFoundError:
            shipped = ", ".join((_PRETRAINED, *ORGANISMS))
            raise DataError(f"{path}: no such file. Included models: {shipped}") from None
    if meta:
        check_class(found, MetagenomeFinder, path, "one for metagenomes")
    if isinstance(found, MultitaskEstimator):
        node = nearest(found) if node is None and nearest is not None else node
        if node is None:
            nodes = ", ".join(found.tree_.nodes)
            raise DataError(f"{path}: the model has several tasks. Give --task with one of {nodes}")
        try:
            found = found.model(node)
        except DataError as error:
            raise DataError(f"{path}: {error}") from None
    elif node is not None:
        raise DataError(f"{path}: --task needs a model with a tree of tasks; this one has none")
    finder: Any = check_class(found, (GeneFinder, OrfFinder), path, "a gene finder")
    if finder.needs_tracks:
        raise CapabilityError(f"{path}: the model needs tracks: use GeneFinder.predict(tracks=...) in Python")
    finder.set_params(n_jobs=n_jobs)
    if code is not None and finder.has_introns:
        raise DataError(f"{path}: --code needs a prokaryotic model; this one is for genes with introns")
    opened: Finder = finder if code is None else finder.with_code(code)
    return opened


def with_suiting_code(
    finder: Finder, sequences: Sequence[AnnotatedSequence], name: str, is_free: bool
) -> Finder:
    """A finder for the best genetic code if it `is_free` to be chosen; else print which code suits better."""
    if not isinstance(finder, OrfFinder) or not finder.has_probabilities:
        return finder
    better = surer_code(finder, sequences)
    if better is None:
        return finder
    code, gain = better
    if is_free:
        is_stop = "not a" if code == WITHOUT_TGA else "a"
        say(f"{name}: TGA is {is_stop} stop codon here, so genetic code {code} is used")
        return finder.with_code(code)
    more = f"genes cover {gain - 1:.0%} more bases than with code {finder.code}"
    say(f"{name}: --code {code} may suit better, because {more}")
    return finder


# --- prediction -------------------------------------------------------------------------------------------


def predicted(
    finder: Finder,
    sequences: Iterable[AnnotatedSequence],
    evidence: Callable[[Sequence[AnnotatedSequence]], dict[str, Any]] = lambda some: {},
) -> Generator[Found, None, None]:
    """Yield sequences with their genes, block by block and in order; `evidence` gives options of predict.

    Once the iterator is closed, no more work is begun; work that has begun goes on in its thread.
    """
    # a thread a block of sequences, and one in each: many short sequences keep all of them busy, too
    alone, stopped = copy(finder).set_params(n_jobs=1), Event()  # threads share the sequences

    def predict(some: list[AnnotatedSequence]) -> Found:
        """Some sequences, each with its genes; none once the iterator is closed."""
        return [] if stopped.is_set() else list(zip(some, alone.predict(some, **evidence(some)), strict=True))

    shared = batches(sequences, lambda each: len(each.sequence), _MOST_BASES, _MOST_SEQUENCES)
    try:
        yield from make_executor(finder.n_jobs).map(predict, shared)
    finally:
        stopped.set()
