"""What the verbs of the command line ask of a kind: its nouns.

A kind has one `Task`, in a module of its own that is imported when the kind's word is typed. Nothing heavy is
imported there before a method is called, so that ``--help`` comes at once. The verbs (`structune.cli.verbs`)
do the rest: options, checks, progress, pages, and the model's file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from structune.errors import DataError

if TYPE_CHECKING:
    from rich.table import Table

    from structune.files.shards import ShardFolder, ShardWriter
    from structune.html_reports import Section


@dataclass(frozen=True)
class NoOptions:
    """Files are read in one way only."""


@dataclass(frozen=True)
class Rule:
    """Options that need each other, or cannot be combined: ``--name``, or ``--name value`` for a value."""

    option: str
    forbids: tuple[str, ...] = ()  # what cannot be combined with it
    needs: tuple[str, ...] = ()  # of these at least one, of those that the command has
    unless: tuple[str, ...] = ()  # options with which the rule does not hold
    because: str = ""  # a clause that ends the message

    def check(self, given: Mapping[str, str], values: Mapping[str, str]) -> None:
        """Raise a `DataError` if the options that were given break the rule; `values` are those of all."""
        if self.option.partition(" ")[0] not in given or not _holds(self.option, values):
            return
        if any(_holds(other, values if " " in other else given) for other in self.unless):
            return
        # "--name value" holds if the option has this value, by default too; "--name" if it was given
        end = f": {self.because}." if self.because else "."
        for other in self.forbids:
            if _holds(other, values if " " in other else given):
                raise DataError(f"{self.option} cannot be combined with {other}{end}")
        possible = [other for other in self.needs if other.partition(" ")[0] in values]
        if possible and not any(_holds(other, values if " " in other else given) for other in possible):
            raise DataError(f"{self.option} needs {' or '.join(possible)}{end}")


def _holds(option: str, values: Mapping[str, str]) -> bool:
    # options that a command does not have are not among the values, so rules of all verbs can name them
    name, has_value, value = option.partition(" ")
    return name in values and (not has_value or values[name] == value)


@dataclass(frozen=True)
class Examples:
    """What a model learns from, once it has been read."""

    data: tuple[Any, ...]  # the arguments of ``fit``
    told: list[tuple[str, str]]  # what was read, as the table of the training tells it
    options: Mapping[str, Any] = field(default_factory=dict)  # arguments of ``fit`` by name, such as groups
    header: Mapping[str, Any] | None = None  # what the model's file keeps beside the model
    heard: tuple[type[Warning], ...] = ()  # warnings that `told` tells already
    told_after: Callable[[], list[tuple[str, str]]] | None = None  # more of it, once the model is fitted


class Scores(Protocol):
    """How good predictions are: as tables of the terminal, as JSON, and as sections of a page."""

    def tables(self) -> list[Table]: ...
    def as_dict(self) -> Mapping[str, Any]: ...
    def sections(self) -> Iterable[Section]: ...


@dataclass(frozen=True)
class OwnCommand:
    """A command that one kind alone has, such as ``fold``."""

    about: tuple[str, ...]  # paragraphs of its help, the first in one line
    inputs: str  # the help of its files; none given are standard input
    # dataclasses made by `structune.cli.fields.option`; one called ``model`` is MODEL of ``predict``
    options: tuple[type, ...]
    work: Callable[..., int]  # of the files and an instance of each of `options`; returns the exit code
    rules: tuple[Rule, ...] = ()
    metavar: str = "[FILE...]"  # without brackets at least one file is required


class Task:
    """The nouns of one kind.

    Attributes
    ----------
    estimator : str
        Its class, as ``"package.module:Class"``.
    learns : str
        What a model learns, after "Learn": ``"to fold RNA"``.
    about : str
        Paragraphs of the help of ``train`` and ``tune``.
    files : str
        The help of the argument TRAIN, which a folder of shards is added to.
    inputs : str
        The help of the files that are predicted.
    parts : str
        What the examples of a shard are made of, such as ``"tokens"``; ``"examples"`` where they have no
        parts.
    reading_options : dataclass
        How files with known outputs are read, by all verbs. What lies beside each file, such as its
        sequences, is a field of the type ``tuple[Path, ...]``.
    learning_options : dataclass
        These, and how files are read to learn from: a class that derives from `reading_options`.
    training_options : dataclass
        These, and what changes the model but not its shards: a class that derives from `learning_options`,
        which it is by default.
    only : mapping of str to tuple of str
        The verbs that have a field of `training_options`; of those that are not named, all that learn.
    has_trees : bool
        Whether ``train --tree`` is offered.
    predicting_options : dataclass
        What ``predict`` reads and writes.
    scoring_options : dataclass
        Of ``evaluate``, beside those of reading.
    space : tuple of str
        Parameters of the estimator that say which outputs and features there are: ``shard`` has them, too.
    parameters : tuple of str
        Other parameters that ``train`` and ``tune`` have.
    penalties : tuple of str
        Those of ``train`` alone.
    tuning : tuple of str
        Those of ``tune`` alone.
    methods : tuple of str
        How precisions can be chosen, first the default; none if the kind cannot tune.
    rules : tuple of Rule
        Of the options of all verbs.
    own : mapping of str to OwnCommand
        Commands that this kind alone has. The first is what ``predict`` does, if `predict` is not written.
    has_shards : bool
        Whether folders can hold its examples.
    examples : tuple of str
        Command lines, which the help of their verbs shows.
    evaluates : str
        Paragraphs of the help of ``evaluate``.
    predicts : tuple of str
        Paragraphs of the help of ``predict``.
    """

    estimator: ClassVar[str]
    learns: ClassVar[str]
    about: ClassVar[str] = ""
    files: ClassVar[str]
    inputs: ClassVar[str] = ""
    parts: ClassVar[str]
    reading_options: ClassVar[type] = NoOptions
    learning_options: ClassVar[type] = NoOptions
    training_options: ClassVar[type | None] = None
    only: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})
    has_trees: ClassVar[bool] = False
    predicting_options: ClassVar[type] = NoOptions
    scoring_options: ClassVar[type] = NoOptions
    space: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[tuple[str, ...]] = ("loss",)
    penalties: ClassVar[tuple[str, ...]] = ("penalty",)
    tuning: ClassVar[tuple[str, ...]] = ("groups", "cv", "random_state")
    methods: ClassVar[tuple[str, ...]] = ("implicit", "majorize", "direct", "grid")
    rules: ClassVar[tuple[Rule, ...]] = ()
    own: ClassVar[Mapping[str, OwnCommand]] = MappingProxyType({})
    has_shards: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ()
    evaluates: ClassVar[str] = ""
    predicts: ClassVar[tuple[str, ...]] = ()

    # --- learning -----------------------------------------------------------------------------------------

    def prepare(self, model: Any, learning: Any) -> None:
        """Change an estimator by options that are not parameters of it."""

    def read(self, files: Sequence[str], learning: Any, model: Any) -> Examples:
        """Read all that `model` is to learn from."""
        raise NotImplementedError

    def read_shards(self, folder: ShardFolder) -> Examples:
        """What is told of a folder of shards; the model's file keeps what the folder keeps."""
        told = f"{len(folder):,} examples"
        if self.parts != "examples":
            told += f", {sum(folder.n_parts):,} {self.parts}"
        return Examples((), [("data", told)], header=folder.model.extra_)

    def shard(self, files: Sequence[str], learning: Any, model: Any, writer: ShardWriter, quiet: bool) -> Any:
        """Encode the examples of files block by block; returns the folder and rows that tell of it."""
        raise NotImplementedError

    # --- use ----------------------------------------------------------------------------------------------

    def open(self, path: str, options: Any) -> Any:
        """The model of a file; its class is that of the kind."""
        from structune.files.models import check_class, load
        from structune.kinds import kind_of_place

        cls = kind_of_place(self.estimator).estimator_class
        return check_class(load(path), cls, path, cls.__name__)

    def read_known(self, files: Sequence[str], reading: Any, model: Any, header: Any) -> Iterable[Any]:
        """Examples with known outputs, as `score` takes them: they may be read while it goes on."""
        raise NotImplementedError

    def score(self, model: Any, known: Any, scoring: Any) -> Scores:
        """Compare predictions with what is known."""
        raise NotImplementedError

    def predict(self, model: Any, files: Sequence[str], predicting: Any) -> Iterator[str]:
        """The text of predictions, block by block."""
        raise NotImplementedError

    def warm(self) -> None:
        """Learn and predict something small, for the kernels to be compiled."""

    # --- help ---------------------------------------------------------------------------------------------

    @classmethod
    def has(cls, verb: str) -> bool:
        """Whether a verb can be used: its method is written."""
        # a verb that is not written is not offered, in place of an error when it is called
        if verb == "tune" and not cls.methods:
            return False
        if verb == "shard" and not cls.has_shards:
            return False
        name = {"train": "read", "tune": "read", "evaluate": "score", "shard": "shard"}.get(verb, "predict")
        is_written = getattr(cls, name) is not getattr(Task, name)
        return verb in cls.own or is_written or (verb == "predict" and bool(cls.own))
