"""Annotated sequences and models as the gene commands read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from copy import copy
from pathlib import Path
from threading import Event
from typing import Any

import typer

from structune.cli.checks import say
from structune.cli.options import PRETRAINED
from structune.errors import CapabilityError, DataError
from structune.files.models import check_class, load, load_shipped
from structune.files.text import some_of
from structune.genes.eukaryotes.center import IN_COMMON
from structune.genes.eukaryotes.gene_finder import ORGANISMS, GeneFinder
from structune.genes.formats.genomes import read_genomes
from structune.genes.formats.hints import misplaced_text, read_hints, read_regions
from structune.genes.formats.record import AnnotatedSequence, Skipped, Transcript, skipped_text
from structune.genes.prokaryotes.metagenomes.metagenome_finder import MetagenomeFinder
from structune.genes.prokaryotes.orf_finder import OrfFinder
from structune.genes.prokaryotes.prokaryotic_gene_finder import ProkaryoticGeneFinder
from structune.running.batches import batches
from structune.running.executors import make_executor
from structune.trees.multitask import MultitaskEstimator

_MOST_BASES, _MOST_SEQUENCES = 200_000, 1000  # short sequences share what a call costs
_SHOWN = 3
Finder = GeneFinder | OrfFinder
Learner = GeneFinder | ProkaryoticGeneFinder
Found = list[tuple[AnnotatedSequence, tuple[Transcript, ...]]]


class Known:
    """What files tell of sequences beside them: hints, and what genes keep away from.

    Parameters
    ----------
    hints, avoid : path, optional
    weight : float
        Of hints.
    """

    def __init__(self, hints: Path | None, weight: float, avoid: Path | None) -> None:
        self._read: dict[str, tuple[Path, dict[str, Any]]] = {}
        self._weight = {} if hints is None else {"hint_weight": weight}
        if hints is not None:
            self._read["hints"] = hints, read_hints(hints)
        if avoid is not None:
            self._read["avoid"] = avoid, read_regions(avoid)
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


def read_annotated(
    annotations: Sequence[Path], sequences: Sequence[Path] | None, stop_codon: str = "auto"
) -> Iterator[AnnotatedSequence]:
    """The sequences of all files, one at a time."""
    for annotation, fasta in paired(annotations, sequences):
        yield from read_genomes(annotation, fasta, stop_codon, say)


def paired(annotations: Sequence[Path], sequences: Sequence[Path] | None) -> list[tuple[Path, Path | None]]:
    """Each annotation with the file of its sequences, if those have files of their own."""
    if not sequences:
        return [(annotation, None) for annotation in annotations]
    if len(sequences) != len(annotations):
        raise DataError(
            f"found {len(sequences)} files of sequences, expected {len(annotations)}, one an annotation"
        )
    return list(zip(annotations, sequences, strict=True))


def predicted(
    finder: Finder, sequences: Iterable[AnnotatedSequence], known: Known | None = None
) -> Generator[Found, None, None]:
    """Sequences and their genes, some at a time and in their order.

    Once the iterator is closed, no more work is begun; what has begun goes on in its thread.
    """
    alone, stopped = copy(finder).set_params(n_jobs=1), Event()  # threads share the sequences

    def predict(some: list[AnnotatedSequence]) -> Found:
        if stopped.is_set():
            return []
        more = {} if known is None else known.of(some)
        return list(zip(some, alone.predict(some, **more), strict=True))

    shared = batches(sequences, lambda each: len(each.sequence), _MOST_BASES, _MOST_SEQUENCES)
    try:
        yield from make_executor(finder.n_jobs).map(predict, shared)
    finally:
        stopped.set()


def open_finder(
    path: str,
    n_jobs: int,
    task: str | None = None,
    nearest: Callable[[MultitaskEstimator], str] | None = None,
    meta: bool = False,
    adapts: bool = False,
) -> Finder:
    """A model that train or tune saved, or one that comes with structune: of any prokaryotes, of the tree of
    them for a `task`, or of an organism with introns.

    Of a model of several tasks, that of the node `task`, or the nearest. Whoever `adapts` it may have what
    organisms have in common; for `meta` only one for metagenomes will do.
    """
    if path == IN_COMMON and not (adapts or Path(path).is_file()):
        raise DataError(f"{path}: found what organisms have in common, expected it adapted: genes --adapt 20")
    found = _opened(path, meta, task is not None)
    if isinstance(found, MultitaskEstimator):
        found = _of_task(found, path, nearest(found) if task is None and nearest else task)
    elif task is not None:
        raise DataError(f"{path}: found a model without a tree of tasks, expected no --task")
    check_class(found, (GeneFinder, OrfFinder), path, "a gene finder")
    finder: Finder = found
    if isinstance(finder, GeneFinder) and finder.graph_.weights.n_tracks:
        raise CapabilityError(f"{path}: found a model that asks for tracks, which commands cannot give it")
    finder.set_params(n_jobs=n_jobs)
    return finder


def _opened(path: str, meta: bool, has_task: bool) -> Any:
    if path == PRETRAINED:
        return load_shipped("structune.genes.prokaryotes") if has_task else MetagenomeFinder.pretrained()
    shipped = path in ORGANISMS and not Path(path).is_file()
    found = GeneFinder.pretrained(path) if shipped else _load(path)
    return check_class(found, MetagenomeFinder, path, "one for metagenomes") if meta else found


def _load(path: str) -> Any:
    try:
        return load(path)
    except FileNotFoundError:
        shipped = ", ".join((PRETRAINED, *ORGANISMS))
        raise DataError(f"{path}: found no such file, expected one, or one of {shipped}") from None


def _of_task(model: MultitaskEstimator, path: str, task: str | None) -> Any:
    if task is None:
        nodes = ", ".join(model.tree_.nodes)
        raise DataError(f"{path}: found a model of several tasks, expected --task with one of: {nodes}")
    try:
        return model.model(task)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def tell_skipped(name: str, skipped: Sequence[Skipped]) -> None:
    """Say on standard error what of a file was left out."""
    if skipped:
        typer.echo(
            f"structune: {name}: skipped {len(skipped)} transcripts: {skipped_text(skipped)}", err=True
        )
