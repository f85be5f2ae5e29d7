"""Description of a model type for the command line: its options, and how files are read and written.

Each model type has one `Task`, in a module that is imported when its name is typed. The module imports
nothing heavy before a method is called, so that ``--help`` comes at once. The verbs (`structune.cli.verbs`)
do the rest: options, checks, progress, reports and the model file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from structune.errors import DataError
from structune.files.text import plural

if TYPE_CHECKING:
    from rich.table import Table

    from structune.cli.reports import Predictions
    from structune.files.shards import ShardFolder, ShardWriter
    from structune.html_reports import Section


@dataclass(frozen=True)
class NoOptions:
    """No options."""


@dataclass(frozen=True)
class Rule:
    """A rule for an option: which others it needs, and which cannot be combined with it.

    An option is given as ``--name``, or as ``--name value`` if the rule is for one of its values.
    """

    option: str
    forbids: tuple[str, ...] = ()  # options that cannot be combined with it
    needs: tuple[str, ...] = ()  # at least one of these is needed (of those that the command has)
    unless: tuple[str, ...] = ()  # options that switch the rule off
    because: str = ""  # reason, a clause at the end of the message

    def check(self, given: Mapping[str, str], values: Mapping[str, str]) -> None:
        """Raise a `DataError` if options break the rule; `given` are those set, `values` those of all."""
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
    """Training data that have been read."""

    data: tuple[Any, ...]  # positional arguments of ``fit``
    told: list[tuple[str, str]]  # rows about the data for the table that training prints
    options: Mapping[str, Any] = field(default_factory=dict)  # keyword arguments of ``fit``, such as groups
    header: Mapping[str, Any] | None = None  # extra data to save in the model file
    heard: tuple[type[Warning], ...] = ()  # warnings that `told` reports already
    told_after: Callable[[], list[tuple[str, str]]] | None = None  # more rows, once the model is fitted


class Scores(Protocol):
    """Scores of predictions: as tables for the terminal, as JSON, and as sections of a report."""

    def tables(self) -> list[Table]:
        """The scores as tables for the terminal."""
        ...

    def as_dict(self) -> Mapping[str, Any]:
        """The scores as values that JSON can hold."""
        ...

    def sections(self) -> Iterable[Section]:
        """The errors, as sections of a report."""
        ...


@dataclass(frozen=True)
class OwnCommand:
    """A command that only one model type has, such as ``fold``."""

    about: tuple[str, ...]  # paragraphs of its help; the first fits on one line
    inputs: str  # help of its files; without files it reads standard input
    # dataclasses of `structune.cli.fields.option`; a field ``model`` is the argument MODEL of ``predict``
    options: tuple[type, ...]
    work: Callable[..., int]  # called with files and an instance of each of `options`; returns the exit code
    rules: tuple[Rule, ...] = ()
    metavar: str = "[FILE...]"  # without brackets, at least one file is required
    learns: bool = False  # has parameters of the estimator as options; `work` gets it after the files


class Task:
    """Base class of the command-line descriptions of model types.

    Attributes
    ----------
    estimator : str
        Class of the estimator, as ``"package.module:Class"``.
    learns : str
        Purpose of a model, a phrase that follows "Train a model": ``"to fold RNA"``.
    about : str
        Paragraphs of the help of ``train`` and ``tune``.
    files : str
        Help of the argument TRAIN; a sentence about folders of shards is added.
    inputs : str
        Help of the files to predict.
    parts : str
        Labeled parts of an example, such as ``"tokens"``; ``"examples"`` if there are none.
    reading_options : dataclass
        Options of all verbs for reading files with known outputs. A field of type ``tuple[Path, ...]`` names
        an extra file for each input file, such as its sequences.
    learning_options : dataclass
        Options for reading training files: a class that derives from `reading_options`.
    training_options : dataclass
        Options that change the model but not its shards: a class that derives from `learning_options`, which
        is the default.
    only : mapping of str to tuple of str
        Verbs that offer a field of `training_options`. Fields that are not named are offered by all verbs
        that train.
    has_trees : bool
        Whether ``train --tree`` is offered.
    predicting_options : dataclass
        Options of ``predict``.
    scoring_options : dataclass
        Options of ``evaluate``, in addition to those for reading.
    space : tuple of str
        Parameters of the estimator that define outputs and features; ``shard`` offers them, too.
    parameters : tuple of str
        Other parameters of the estimator that ``train`` and ``tune`` offer.
    penalties : tuple of str
        Parameters that only ``train`` offers.
    tuning : tuple of str
        Parameters that only ``tune`` offers.
    methods : tuple of str
        Tuning methods, the default first; empty if models of this type cannot be tuned.
    rules : tuple of Rule
        Rules for the options of all verbs.
    own : mapping of str to OwnCommand
        Commands that only this model type has. ``predict`` does what the first does, if `predict` is not
        defined.
    has_shards : bool
        Whether examples can be written to folders of shards.
    examples : tuple of str
        Example command lines for the help of their verbs.
    evaluates_others : str
        What the argument MODEL of ``evaluate`` may be besides a model file; the end of a sentence.
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
    evaluates_others: ClassVar[str] = ""
    predicts: ClassVar[tuple[str, ...]] = ()

    # --- learning -----------------------------------------------------------------------------------------

    def prepare(self, model: Any, learning: Any) -> None:
        """Change an estimator by options that are not parameters of the estimator."""

    def read(self, files: Sequence[str], learning: Any, model: Any) -> Examples:
        """Read the training data of `model`."""
        raise NotImplementedError

    def read_shards(self, folder: ShardFolder) -> Examples:
        """Rows about a folder of shards, and the extra data that it keeps for the model file."""
        told = plural(len(folder), "example")
        if self.parts != "examples":
            told += f", {sum(folder.n_parts):,} {self.parts}"
        return Examples((), [("data", told)], header=folder.model.extra_)

    def shard(self, files: Sequence[str], learning: Any, model: Any, writer: ShardWriter, quiet: bool) -> Any:
        """Encode the examples of files block by block; returns the folder and rows about it."""
        raise NotImplementedError

    # --- use ----------------------------------------------------------------------------------------------

    def open(self, path: str, options: Any) -> Any:
        """Load a model file; its class must be that of the model type."""
        from structune.files.models import check_class, load
        from structune.kinds import kind_of_place

        cls = kind_of_place(self.estimator).estimator_class
        return check_class(load(path), cls, path, cls.__name__)

    def read_known(self, files: Sequence[str], reading: Any, model: Any, header: Any) -> Iterable[Any]:
        """Read examples with known outputs for `score`, possibly while it runs."""
        raise NotImplementedError

    def score(self, model: Any, known: Any, scoring: Any) -> Scores:
        """Compare predictions with known outputs."""
        raise NotImplementedError

    def predict(self, model: Any, files: Sequence[str], predicting: Any) -> Iterator[str]:
        """Predict, and yield the output text block by block."""
        raise NotImplementedError

    def predict_and_report(
        self, model: Any, files: Sequence[str], predicting: Any
    ) -> tuple[Iterator[str], Predictions]:
        """As `predict`, with an object that collects the predictions while the texts are written."""
        raise NotImplementedError

    def warm(self) -> None:
        """Train and predict something small, so that kernels are compiled."""

    # --- help ---------------------------------------------------------------------------------------------

    @classmethod
    def has(cls, verb: str) -> bool:
        """Whether a verb is offered: whether its method is defined."""
        # a verb that is not written is not offered, in place of an error when it is called
        if verb == "tune" and not cls.methods:
            return False
        if verb == "shard" and not cls.has_shards:
            return False
        name = {"train": "read", "tune": "read", "evaluate": "score", "shard": "shard"}.get(verb, "predict")
        is_written = getattr(cls, name) is not getattr(Task, name)
        return verb in cls.own or is_written or (verb == "predict" and bool(cls.own))
