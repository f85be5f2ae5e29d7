"""Gene finders as commands open them, for the genetic code of their sequences, and what they find."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from threading import Event
from typing import Any

from structune.cli.files import UntilError
from structune.cli.terminal import say
from structune.errors import CapabilityError, DataError
from structune.files.models import check_class, load, load_shipped
from structune.genes.eukaryotes.center import IN_COMMON
from structune.genes.eukaryotes.gene_finder import ORGANISMS, GeneFinder
from structune.genes.formats.record import AnnotatedSequence, Transcript
from structune.genes.prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder
from structune.genes.prokaryotes.orf_finder import OrfFinder
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
from structune.genes.prokaryotes.structure.candidates import WITHOUT_TGA, OrfRules
from structune.genes.prokaryotes.suitable_model import ENOUGH, surer_code
from structune.running.batches import batches
from structune.running.executors import make_executor
from structune.trees.multitask import MultitaskEstimator

_PRETRAINED = "pretrained"  # in place of a model file: what comes with structune
_MOST_BASES, _MOST_SEQUENCES = 200_000, 1000  # short sequences share what a call costs
Finder = GeneFinder | OrfFinder
Found = list[tuple[AnnotatedSequence, tuple[Transcript, ...]]]


def open_finder(
    path: str,
    n_jobs: int,
    node: str | None = None,
    code: int | None = None,
    nearest: Callable[[MultitaskEstimator], str] | None = None,
    meta: bool = False,
    adapts: bool = False,
) -> Finder:
    """A model that train or tune saved, or one that comes with structune: of any prokaryotes, of the tree of
    them for a `node`, or of an organism with introns.

    Of a tree of tasks that of the `node`, or the nearest. Whoever `adapts` it may have what organisms have in
    common; for `meta` only one for metagenomes will do.
    """
    if path == IN_COMMON and not (adapts or Path(path).is_file()):
        raise DataError(f"{path}: found what organisms have in common, expected it adapted: genes --adapt 20")
    found = _load(path, node is not None)
    if meta:
        check_class(found, MetagenomeFinder, path, "one for metagenomes")
    if node is None and nearest is not None and isinstance(found, MultitaskEstimator):
        node = nearest(found)
    found = _model_of_node(found, node, path)
    finder: Any = check_class(found, (GeneFinder, OrfFinder), path, "a gene finder")
    if finder.needs_tracks:
        raise CapabilityError(f"{path}: found a model that asks for tracks, which commands cannot give it")
    finder.set_params(n_jobs=n_jobs)
    if code is not None and finder.has_introns:
        raise DataError(f"{path}: found a model with introns, expected no --code")
    opened: Finder = finder if code is None else finder.with_code(code)
    return opened


def _model_of_node(model: Any, node: str | None, path: str) -> Any:
    """A model, or that of a node, if it is a tree of tasks.

    Raises
    ------
    DataError
        There is no such node; a tree is without a node, or a node without a tree.
    """
    if not isinstance(model, MultitaskEstimator):
        if node is not None:
            raise DataError(f"{path}: found a model without a tree of tasks, expected no --task")
        return model
    if node is None:
        nodes = ", ".join(model.tree_.nodes)
        raise DataError(f"{path}: found a model of several tasks, expected --task with one of: {nodes}")
    try:
        return model.model(node)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _load(path: str, has_node: bool) -> Any:
    if path == _PRETRAINED:
        return load_shipped("structune.genes.prokaryotes") if has_node else MetagenomeFinder.pretrained()
    if path in ORGANISMS and not Path(path).is_file():
        return GeneFinder.pretrained(path)
    try:
        return load(path)
    except FileNotFoundError:
        shipped = ", ".join((_PRETRAINED, *ORGANISMS))
        raise DataError(f"{path}: found no such file, expected one, or one of {shipped}") from None


# --- genetic codes ----------------------------------------------------------------------------------------


def with_suiting_code(
    finder: Finder, sequences: Sequence[AnnotatedSequence], name: str, is_free: bool
) -> Finder:
    """A finder for the code that suits, if it `is_free` to be chosen; which other one suits is said."""
    if not isinstance(finder, OrfFinder) or not finder.has_probabilities:
        return finder
    better = surer_code(finder, sequences)
    if better is None:
        return finder
    code, gain = better
    if is_free:
        is_stop = "no" if code == WITHOUT_TGA else "a"
        say(f"{name}: found that TGA is {is_stop} stop codon, as by --code {code}")
        return finder.with_code(code)
    say(f"{name}: the model is sure of {gain - 1:.0%} more bases by --code {code} than by code {finder.code}")
    return finder


def learn_by_code_of(finder: ProkaryoticGeneFinder, genomes: Iterable[AnnotatedSequence], name: str) -> None:
    """Set the genetic code to that which most genes have, if they have one of other stop codons.

    The genes are those of all files that the finder is given: a tree of tasks has one code.
    """
    codes: Counter[int] = vars(finder).setdefault("_codes", Counter())
    codes.update(t.code for each in genomes for t in each.transcripts if t.code is not None)
    for code, n in codes.most_common(1):
        if not OrfRules(finder.code).has_stops(code):
            say(f"{name}: found transl_table={code} of {n:,} genes, learned by that genetic code")
            finder.set_params(code=code)


def looked_ahead(
    sequences: Iterable[AnnotatedSequence],
) -> tuple[list[AnnotatedSequence], Iterator[AnnotatedSequence]]:
    """The first sequences, enough to tell codes apart by, and all of them; errors come where they are."""
    source, first, n = UntilError(sequences), list[AnnotatedSequence](), 0
    while n < ENOUGH and (each := next(source, None)) is not None:
        first.append(each)
        n += len(each.sequence)

    def whole() -> Iterator[AnnotatedSequence]:
        yield from first
        yield from source
        source.check()

    return first, whole()


# --- prediction -------------------------------------------------------------------------------------------


def predicted(
    finder: Finder,
    sequences: Iterable[AnnotatedSequence],
    evidence: Callable[[Sequence[AnnotatedSequence]], dict[str, Any]] = lambda some: {},
) -> Generator[Found, None, None]:
    """Sequences and their genes, some at a time and in their order; `evidence` is what predict takes beside.

    Once the iterator is closed, no more work is begun; what has begun goes on in its thread.
    """
    alone, stopped = copy(finder).set_params(n_jobs=1), Event()  # threads share the sequences

    def predict(some: list[AnnotatedSequence]) -> Found:
        return [] if stopped.is_set() else list(zip(some, alone.predict(some, **evidence(some)), strict=True))

    shared = batches(sequences, lambda each: len(each.sequence), _MOST_BASES, _MOST_SEQUENCES)
    try:
        yield from make_executor(finder.n_jobs).map(predict, shared)
    finally:
        stopped.set()
