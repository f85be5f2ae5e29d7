"""The table of model types: those of structune and those of installed packages.

A `Kind` describes one type. Its `word` names it on the command line, in model files and in folders of shards.
Packages add types by entry points of the group ``structune.kinds``; `docs/extending.md` shows an example.
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
    """Description of a type of model.

    Classes are given as ``"package.module:Class"`` and imported when they are needed.

    Attributes
    ----------
    word : str
        Name of the type in commands and files, such as ``"rna"``.
    estimator : str
        Class of the models; `structune.load` returns an instance of it.
    about : str
        What is predicted, from which files: a phrase for the help.
    task : str, optional
        `structune.cli.task.Task` for the command line, as ``"package.module:object"``.
    own : tuple of str
        Commands that only this type has, such as ``fold``.
    shard : str, optional
        Class of the shards, if examples can be written to folders of shards.
    """

    word: str
    estimator: str
    about: str = ""
    task: str | None = None
    own: tuple[str, ...] = ()
    shard: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.own, tuple):
            raise DataError(f"kind {self.word!r}: own must be a tuple of command names, not {self.own!r}")
        for place in (self.estimator, self.shard, self.task):
            if place is not None and place.count(":") != 1:
                raise DataError(f"kind {self.word!r}: {place!r} must have the form 'package.module:Class'")
        if self.own and self.task is None:
            raise DataError(f"kind {self.word!r}: the commands {self.own} in own need a task")

    @property
    def estimator_class(self) -> Any:
        return self._found(self.estimator)

    @property
    def shard_class(self) -> Any:
        if self.shard is None:
            raise ModelFileError(f"models of type {self.word!r} cannot use folders of shards")
        return self._found(self.shard)

    def _found(self, place: str) -> Any:
        module, _, name = place.partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise ModelFileError(
                f"cannot import {place}, which the model type {self.word!r} needs: {error}"
            ) from error

    def make_task(self) -> Any:
        """The task for the command line; None without one, or if another package's cannot be imported."""
        if self.task is None:
            return None
        # a broken package must not take our commands with it
        try:
            return self._found(self.task)
        except Exception as error:  # whatever it is, ours can be used
            if self.task.startswith("structune."):
                raise
            told = f"skipped {self.task}: {type(error).__name__}: {error}"
            warnings.warn(f"{told}. The type {self.word!r} has no commands.", stacklevel=2)
            return None

    def has(self, verb: str) -> bool:
        """Whether the command line has this verb for the type."""
        task = self.make_task()
        return task is not None and task.has(verb)

    def is_of(self, cls: type) -> bool:
        """Whether `cls` is the estimator; another package may name it by any module that exports it."""
        if self.estimator == f"{cls.__module__}:{cls.__qualname__}":
            return True
        # A package may name its class by a shorter path, such as "package:Class": import it and compare.
        # structune's own classes are compared by path only, so that no other type is imported.
        packages = {self.estimator.partition(":")[0].partition(".")[0], cls.__module__.partition(".")[0]}
        return len(packages) == 1 and packages != {"structune"} and self.estimator_class is cls


_OURS = (
    Kind(
        word="tagging",
        estimator="structune.tagging.tagger:SequenceTagger",
        about="a label for each token of a sequence, from column files",
        task="structune.tagging.task:TASK",
        own=("weights", "explain", "review"),
        shard="structune.tagging.structure.shard:ChainShard",
    ),
    Kind(
        word="segments",
        estimator="structune.tagging.segment_tagger:SegmentTagger",
        about="labeled segments, such as names, from column files with BIO labels",
        task="structune.tagging.task:SEGMENTS",
    ),
    Kind(
        word="rna",
        estimator="structune.rna.folder:RNAFolder",
        about="secondary structures of RNA, from dot-bracket, CT, BPSEQ or Stockholm files",
        task="structune.rna.task:TASK",
        own=("fold", "consensus", "score", "energy"),
        shard="structune.rna.structure.shard:RNAShard",
    ),
    Kind(
        word="ranking",
        estimator="structune.ranking.ranker:Ranker",
        about="order of the documents of each query, from LETOR files",
        task="structune.ranking.task:TASK",
        own=("rank",),
        shard="structune.ranking.structure.ranking:RankingShard",
    ),
    Kind(
        word="alignment",
        estimator="structune.alignment.aligner:SequenceAligner",
        about="alignments of proteins or nucleotides, from FASTA, A2M, Clustal or Stockholm files",
        task="structune.alignment.task:TASK",
        own=("align",),
        shard="structune.alignment.structure.alignment:AlignmentShard",
    ),
    Kind(
        word="genes",
        estimator="structune.genes.eukaryotes.gene_finder:GeneFinder",
        about="genes with introns (eukaryotes), from GenBank or GFF3 files",
        task="structune.genes.task:GENES",
        own=("genes",),
        shard="structune.genes.eukaryotes.structure.shard:ExonShard",
    ),
    Kind(
        word="prokaryotic-genes",
        estimator="structune.genes.prokaryotes.prokaryotic_gene_finder:ProkaryoticGeneFinder",
        about="genes of bacteria and archaea, from GenBank or GFF3 files",
        task="structune.genes.task:PROKARYOTIC_GENES",
        shard="structune.genes.prokaryotes.structure.candidates:OrfShard",
    ),
    Kind(
        word="metagenomes",
        about="genes in contigs of unknown bacteria and archaea (only predict)",
        task="structune.genes.task:METAGENOMES",
        estimator="structune.genes.prokaryotes.metagenomes.metagenome_finder:MetagenomeFinder",
    ),
    Kind(
        word="classifier",
        estimator="structune.flat.classifier:Classifier",
        about="classes of table rows, from CSV tables or SVMlight files",
        task="structune.flat.task:CLASSIFIER",
        shard="structune.flat.structure.shard:FlatShard",
    ),
    Kind(
        word="regressor",
        estimator="structune.flat.regressor:Regressor",
        about="numbers for table rows, from CSV tables or SVMlight files",
        task="structune.flat.task:REGRESSOR",
        shard="structune.flat.structure.shard:FlatShard",
    ),
    Kind(word="tree", estimator="structune.trees.multitask:MultitaskEstimator"),
)


def kinds() -> dict[str, Kind]:
    """All model types by name: those of structune first, then those of installed packages."""
    return {kind.word: kind for kind in (*_OURS, *_installed())}


def find_kind(word: str) -> Kind | None:
    """The model type of this name, or None; other packages are searched only if structune has none."""
    return next((kind for kind in every_kind() if word == kind.word), None)


def kind_of_place(estimator: str) -> Kind:
    """The model type whose estimator is ``"package.module:Class"``."""
    return next(kind for kind in every_kind() if kind.estimator == estimator)


def kind_of(estimator: Any) -> Kind:
    """The model type of an estimator, or of the nearest class that it derives from.

    Raises
    ------
    DataError
        No model type has this class as its estimator.
    """
    # users derive from our estimators, so all bases are looked at, nearest first
    for cls in type(estimator).__mro__:
        for kind in every_kind():
            if kind.is_of(cls):
                return kind
    raise DataError(
        f"{type(estimator).__name__} belongs to no model type; an installed package must declare it by an "
        f"entry point of the group {ENTRY_POINTS!r}"
    )


def every_kind() -> Iterator[Kind]:
    """Model types of structune, then those of installed packages, which are loaded only when reached."""
    yield from _OURS
    yield from _installed()


@cache
def _installed() -> tuple[Kind, ...]:
    """Model types of other packages; a warning names each that cannot be used."""
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
            _warn(point, f"it is of type {type(kind).__name__}, not Kind")
        elif kind.word in taken:
            _warn(point, f"the model type {kind.word} exists already")
        elif names := commands.intersection(kind.own):
            _warn(point, f"these commands exist already: {', '.join(sorted(names))}")
        else:
            found.append(kind)
            taken.add(kind.word)
            commands |= {*kind.own}
    return tuple(found)


def _warn(point: Any, why: str) -> None:
    warnings.warn(f"skipped the model type {point.name!r} of {point.value}: {why}", stacklevel=2)
