"""What can be predicted: the one table of kinds, ours and those of installed packages.

A kind has one word, by which the command line, model files and folders of shards call it. Packages add kinds
by entry points of the group ``structune.kinds``, each a `Kind`; `docs/extending.md` builds one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from structune.errors import DataError, ModelFileError

ENTRY_POINTS = "structune.kinds"
_COMMANDS = {"train", "tune", "predict", "evaluate", "shard", "warm"}  # that no kind may have as its own


@dataclass(frozen=True)
class Kind:
    """A kind of prediction.

    Classes are told as ``"package.module:Class"``, and imported when they are needed.

    Attributes
    ----------
    word : str
        What it is called, by commands and in files.
    estimator : str
        Its class, which `structune.load` makes of a model file.
    about : str
        What is predicted, from which files: a clause of the help.
    task : str, optional
        Its `structune.cli.task.Task`, for the command line, as ``"package.module:object"``.
    own : tuple of str
        Commands that no other kind has, such as ``fold``.
    shard : str, optional
        The class of its shards, if folders can hold them.
    """

    word: str
    estimator: str
    about: str = ""
    task: str | None = None
    own: tuple[str, ...] = ()
    shard: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.own, tuple):
            raise DataError(f"kind {self.word!r}: found {self.own!r}, expected a tuple of words")
        for place in (self.estimator, self.shard, self.task):
            if place is not None and place.count(":") != 1:
                raise DataError(f"kind {self.word!r}: found {place!r}, expected 'package.module:Class'")
        if self.own and self.task is None:
            raise DataError(f"kind {self.word!r}: found the commands {self.own}, expected a task, too")

    @property
    def estimator_class(self) -> Any:
        return self._found(self.estimator)

    @property
    def shard_class(self) -> Any:
        if self.shard is None:
            raise ModelFileError(f"the kind {self.word!r} has no folders of shards")
        return self._found(self.shard)

    def _found(self, place: str) -> Any:
        module, _, name = place.partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ModelFileError(
                f"found no {place}, which is named by the kind {self.word!r} ({error})"
            ) from error

    def make_task(self) -> Any:
        """Its nouns for the command line, or None; none if those of another package cannot be imported."""
        if self.task is None:
            return None
        # a broken package must not take our commands with it
        try:
            return self._found(self.task)
        except Exception as error:  # whatever it is, ours can be used
            if self.task.startswith("structune."):
                raise
            warnings.warn(f"{self.task} is left out: {type(error).__name__}: {error}", stacklevel=2)
            return None

    def has(self, verb: str) -> bool:
        """Whether the command line has a command of this verb for it."""
        task = self.make_task()
        return task is not None and task.has(verb)

    def is_of(self, cls: type) -> bool:
        """Whether a class is its estimator; other packages may name one by where it can be imported from."""
        if self.estimator == f"{cls.__module__}:{cls.__qualname__}":
            return True
        # A package may name its class by a shorter place, such as "package:Class", and is imported to see.
        # Ours are told by their places alone, so that no other kind is imported.
        packages = {self.estimator.partition(":")[0].partition(".")[0], cls.__module__.partition(".")[0]}
        return len(packages) == 1 and packages != {"structune"} and self.estimator_class is cls


_OURS = (
    Kind(
        word="tagging",
        estimator="structune.tagging.tagger:SequenceTagger",
        about="labels of sequences, from column files",
        task="structune.tagging.task:TASK",
        own=("weights",),
        shard="structune.tagging.structure.shard:ChainShard",
    ),
    Kind(
        word="segments",
        estimator="structune.tagging.segment_tagger:SegmentTagger",
        about="segments of sequences, such as names, from column files with BIO labels",
        task="structune.tagging.task:SEGMENTS",
    ),
    Kind(
        word="rna",
        estimator="structune.rna.folder:RNAFolder",
        about="secondary structures of RNA, from dot-bracket, CT, BPSEQ or Stockholm files",
        task="structune.rna.task:TASK",
        own=("fold", "consensus", "score"),
        shard="structune.rna.structure.shard:RNAShard",
    ),
    Kind(
        word="ranking",
        estimator="structune.ranking.ranker:Ranker",
        about="orders of the documents of queries, from LETOR files",
        task="structune.ranking.task:TASK",
        own=("rank",),
        shard="structune.ranking.structure.ranking:RankingShard",
    ),
    Kind(
        word="alignment",
        estimator="structune.alignment.aligner:SequenceAligner",
        about="alignments of two proteins, from FASTA, A2M, Clustal or Stockholm files",
        task="structune.alignment.task:TASK",
        own=("align",),
        shard="structune.alignment.structure.alignment:AlignmentShard",
    ),
    Kind(
        word="genes",
        estimator="structune.genes.eukaryotes.gene_finder:GeneFinder",
        about="genes with introns, from GenBank or GFF3",
        task="structune.genes.task:GENES",
        own=("genes",),
        shard="structune.genes.eukaryotes.structure.shard:ExonShard",
    ),
    Kind(
        word="prokaryotic-genes",
        estimator="structune.genes.prokaryotes.prokaryotic_gene_finder:ProkaryoticGeneFinder",
        about="genes of bacteria and archaea, from GenBank or GFF3",
        task="structune.genes.task:PROKARYOTIC_GENES",
        shard="structune.genes.prokaryotes.structure.candidates:OrfShard",
    ),
    Kind(
        word="metagenomes",
        about="genes of contigs of many prokaryotes (predict alone)",
        task="structune.genes.task:METAGENOMES",
        estimator="structune.genes.prokaryotes.metagenomes.metagenome_finder:MetagenomeFinder",
    ),
    Kind(
        word="classifier",
        estimator="structune.flat.classifier:Classifier",
        about="classes of rows of features, from tables or SVMlight files",
        task="structune.flat.task:CLASSIFIER",
        shard="structune.flat.structure.shard:FlatShard",
    ),
    Kind(
        word="regressor",
        estimator="structune.flat.regressor:Regressor",
        about="numbers from rows of features, from tables or SVMlight files",
        task="structune.flat.task:REGRESSOR",
        shard="structune.flat.structure.shard:FlatShard",
    ),
    Kind(word="tree", estimator="structune.trees.multitask:MultitaskEstimator"),
)


def kinds() -> dict[str, Kind]:
    """All kinds by their words: ours, and then those of installed packages."""
    return {kind.word: kind for kind in (*_OURS, *_installed())}


def find_kind(word: str) -> Kind | None:
    """The kind that is called so; other packages are asked only if it is none of ours."""
    return next((kind for kind in every_kind() if word == kind.word), None)


def kind_of_place(estimator: str) -> Kind:
    """The kind whose estimator is at a place, ``"package.module:Class"``."""
    return next(kind for kind in every_kind() if kind.estimator == estimator)


def kind_of(estimator: Any) -> Kind:
    """The kind of an estimator, or of the class that it derives from.

    Raises
    ------
    DataError
        A class that no kind names.
    """
    # users derive from our estimators: the nearest class that a kind names counts
    for cls in type(estimator).__mro__:
        for kind in every_kind():
            if kind.is_of(cls):
                return kind
    raise DataError(
        f"{type(estimator).__name__} is the estimator of no kind: expected one that an installed package "
        f"declares by an entry point of the group {ENTRY_POINTS!r}"
    )


def every_kind() -> Iterator[Kind]:
    """Ours, and then those of installed packages, which are looked for when it comes to them."""
    yield from _OURS
    yield from _installed()


@cache
def _installed() -> tuple[Kind, ...]:
    """Those of other packages; what cannot be used is told, and does not harm the rest."""
    from importlib.metadata import entry_points  # here, because most commands are ours

    # the first of two with one word or command counts, in the order of the entry points
    found, taken = list[Kind](), {kind.word for kind in _OURS}
    commands = _COMMANDS | {name for kind in _OURS for name in kind.own}
    for point in entry_points(group=ENTRY_POINTS):
        try:
            kind = point.load()
        except Exception as error:  # whatever it is, ours can be used
            _warn(point, f"{type(error).__name__}: {error}")
            continue
        if not isinstance(kind, Kind):
            _warn(point, f"found {type(kind).__name__}, expected a Kind")
        elif kind.word in taken:
            _warn(point, f"{kind.word} is another kind already")
        elif names := commands.intersection(kind.own):
            _warn(point, f"{', '.join(sorted(names))} is another command already")
        else:
            found.append(kind)
            taken.add(kind.word)
            commands |= {*kind.own}
    return tuple(found)


def _warn(point: Any, why: str) -> None:
    warnings.warn(f"the kind {point.name!r} of {point.value} is left out: {why}", stacklevel=2)
