"""The verbs of the command line, each written once for all model types (`structune.cli.task`)."""

from __future__ import annotations

import difflib
import json
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structune.cli import terminal
from structune.cli.fields import (
    Option,
    dataclass_options,
    estimator_options,
    given_parameters,
    jobs_option,
    option,
    options_by_name,
    output_option,
    quiet_option,
    values_of,
)
from structune.cli.files import check_apart, check_targets, open_bytes, write_texts
from structune.cli.reports import Results, headline_of, page_at_end, tables_section, write_sections_page
from structune.cli.task import OwnCommand, Rule, Scores, Task
from structune.errors import DataError, StructuneError
from structune.files.provenance import json_keys, model_name
from structune.files.text import without_compression
from structune.kinds import Kind, kind_of_place

if TYPE_CHECKING:
    from structune.files.shards import ShardFolder
    from structune.html_reports import Section

_OTHER_NAMES = {"tuning": "--method", "random_state": "--seed", "n_jobs": "--jobs"}
_HOLDS_NOTHING_OUT, _NOTHING = ("--method direct",), "it does not use held-out data"
_RULES = (
    Rule("--cv", forbids=_HOLDS_NOTHING_OUT, because=_NOTHING),
    Rule("--seed", forbids=_HOLDS_NOTHING_OUT, unless=("--constraints", "--most-pairs"), because=_NOTHING),
    Rule("--validation-sets", needs=("--constraints",)),
    Rule("--gamma", needs=("--constraints",)),
    Rule("--tree", forbids=("--test",), because="evaluate each task with --task after training"),
    Rule("--tree", forbids=("--constraints", "--l1")),
)
_PANELS = ("Data", "Model", "Tuning", "Prediction", "Evaluation", "Shards", "Running", "Output", "Help")
_PATH = click.Path(path_type=Path)
VERBS = {
    "train": "Train a model. The regularization is tuned unless you give it.",
    "tune": "Train a model, with options for how the regularization is tuned.",
    "predict": "Predict with a trained model.",
    "evaluate": "Compare predictions of a model with known outputs.",
    "shard": "Encode training data as a folder of shards, which train and tune read piece by piece.",
}
# messages of estimators: "penalty=0.0: expected None or finite numbers > 0"
_PARAMETER = re.compile(r"^(\w+)=(.*?): expected (?:None or )?")


def _take_settings(ctx: click.Context, _: click.Parameter, path: Path | None) -> None:
    """Use the settings of a file as defaults of the current command."""
    if path is None:
        return
    import yaml

    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a YAML file ({' '.join(str(error).split())})") from None
    if not isinstance(found, dict):
        raise DataError(f"{path}: each line must be an option and its value, such as 'max-seconds: 60'")
    options = {each.opts[0]: each for each in ctx.command.params if isinstance(each, click.Option)}
    # click takes what is in the map for options that the command line does not give
    ctx.default_map = {}
    for name, value in found.items():
        option = options.get(f"--{name}")
        if option is None or option.name == "config":
            near = difflib.get_close_matches(f"--{name}", options, 1)
            raise DataError(
                f"{path}: {ctx.command_path} has no option --{name}."
                + (f" Did you mean {near[0].removeprefix('--')!r}?" if near else "")
            )
        if isinstance(value, dict):
            value = [f"{group}={number}" for group, number in value.items()]
        elif option.multiple and not isinstance(value, list):
            value = [value]
        if isinstance(value, list) and not option.multiple:
            raise DataError(f"{path}: {name} takes one value, not a list.")
        ctx.default_map[str(option.name)] = value


@dataclass(frozen=True)
class Training:
    """Where and how long training runs, what it shows, and where the results go."""

    model: Path = option(MISSING, "--model", "-m", help="File to save the model in.", panel="Output")
    report: Path | None = option(
        None,
        help="Write a report to this .html file: training progress, penalties, and errors on "
        "the --test data.",
        panel="Output",
    )
    plot: Path | None = option(
        None,
        help="Plot the course of tuning to this file, such as tuning.png, and the penalties to a second "
        "file, here tuning-precisions.png.",
        panel="Output",
    )
    tree: Path | None = option(
        None,
        help="Train a model for each node of this tree of related tasks; its weights are pulled toward those "
        "of its parent. The file is in Newick format, or .json with nested objects that have names as keys. "
        "Name each TRAIN file after its leaf, or write NAME=FILE. After Ctrl-C no model is saved; continue "
        "with --resume.",
        panel="Model",
    )
    jobs: int = jobs_option()
    executor: str | None = option(
        None,
        help="Where to compute: dask starts --jobs processes on this machine, dask://HOST:PORT uses a Dask "
        "cluster. By default threads are used. Needs structune[dask].",
        panel="Running",
    )
    max_seconds: float | None = option(
        None, min=0.0, help="Time limit of training. The best model so far is saved.", panel="Running"
    )
    resume: bool = option(
        False,
        help="Continue training that was interrupted, from MODEL.checkpoint, which is written every minute.",
        panel="Running",
    )
    verbose: bool = option(False, "--verbose", "-v", help="Print a line for each iteration.", panel="Running")
    quiet: bool = quiet_option()
    config: Path | None = option(
        None,
        help="YAML file with options, one per line, such as 'max-seconds: 60', as on pages of --report. "
        "Options on the command line take precedence.",
        is_eager=True,
        expose_value=False,
        callback=_take_settings,
        panel="Running",
    )

    def parameters(self) -> dict[str, Any]:
        """Parameters of every estimator; warns of a checkpoint that is not used, or is missing."""
        from structune.running.checkpoints import Checkpoint
        from structune.running.executors import Run

        path = self.model.with_name(f"{self.model.name}.checkpoint")
        if path.exists() and not self.resume:
            terminal.say(f"{path} exists and will be overwritten; to continue from it, use --resume")
        if self.resume and not path.exists():
            terminal.say(f"{path} does not exist; training starts from the beginning")
        kept = Checkpoint(path, resume=self.resume, lasting=True)
        return {
            "run": Run(self.executor, self.max_seconds, kept),
            "n_jobs": self.jobs,
            "verbose": 0 if self.quiet else 2 if self.verbose else 1,
        }


@dataclass(frozen=True)
class Constraining:
    """The fields of a `ValidationConstraints`, as options."""

    n_sets: int = option(
        3, "--validation-sets", min=1, help="Number of validation sets for --constraints.", panel="Model"
    )
    gamma: float = option(
        0.01,
        help="Largest amount by which, in each validation set, the summed score of the best outputs may "
        "exceed that of the true outputs.",
        panel="Model",
    )


@dataclass(frozen=True)
class Dealing:
    """How examples are distributed to shards."""

    folds: int = option(5, min=2, help="Number of random folds. Tuning holds out whole folds.")
    seed: int = option(0, min=0, help="Random seed of the folds.")
    quiet: bool = quiet_option()


@dataclass(frozen=True)
class Telling:
    """How the result of an evaluation is written."""

    report: Path | None = option(None, help="Write a report to this .html file: scores and errors.")
    json: bool = option(False, help="Write JSON instead of tables.")


@dataclass(frozen=True)
class Writing:
    """Where predictions go."""

    output: str = output_option()
    report: Path | None = option(
        None,
        help="Write a report to this .html file: a summary, a table of the predictions, and a link that "
        "saves the output.",
        panel="Output",
    )


class Command(click.Command):
    """A command whose help has panels, with examples at the end."""

    def __init__(self, name: str, examples: Iterable[str] = (), **options: Any) -> None:
        super().__init__(name, **options)
        self.examples = tuple(examples)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx  # the parser of click leaves some without
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The options of each panel below its name."""
        panels: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                panels.setdefault(getattr(parameter, "panel", "Help"), []).append(record)
        for name in sorted(panels, key=_PANELS.index):
            with formatter.section(name):
                formatter.write_dl(panels[name])
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


# --- train and tune ---------------------------------------------------------------------------------------


def _learning_params(verb: str, task: Task) -> list[click.Parameter]:
    tunes = verb == "tune"
    left_out = {*([] if tunes else ["plot"]), *(["tree"] if tunes or not task.has_trees else [])}
    panels = {
        "Model": [*task.space, *task.parameters, *(() if tunes else task.penalties)],
        "Tuning": task.tuning if tunes else (),
    }
    files = task.files + (" Or one folder that structune shard wrote." if task.has_shards else "")
    test = "File or folder to evaluate the trained model on; may be given several times."
    training = [each for each in dataclass_options(Training) if each.name not in left_out]
    outputs = [each for each in training if each.panel == "Output"]
    return [
        *(_files("TRAIN...", files), *outputs),  # first, as pages list options in this order
        *([_method(task)] if tunes else []),
        *_reading_options(task, task.training_options or task.learning_options, verb),
        Option(["--test"], multiple=True, metavar="FILE", help=test, panel="Data"),
        *(_test_option(name) for name in _beside(task)),
        *estimator_options(task.estimator, panels, _OTHER_NAMES),
        *(dataclass_options(Constraining) if "constraints" in task.parameters else ()),
        *(each for each in training if each not in outputs),
    ]


def _reading_options(task: Task, options: type, verb: str) -> Iterator[click.Option]:
    """Those of reading to learn, which the verb has."""
    for each in dataclass_options(options):
        if verb in task.only.get(str(each.name), (verb,)):
            yield each


def _method(task: Task) -> click.Option:
    told = {
        "implicit": "lowers the loss on held-out examples along its gradient",
        "majorize": "integrates the penalties out; needs no held-out examples, but may use them in the "
        "last step",
        "direct": "minimizes the objective of majorize, with all weights counted, in one run (a baseline)",
        "grid": "tries values that all groups share, and keeps the best on held-out examples",
    }
    text = " ".join(f"{name}: {told[name]}." for name in task.methods)
    return Option(
        ["--method", "tuning"],
        type=click.Choice(task.methods),
        default=task.methods[0],
        show_default=True,
        help=f"Method that chooses the regularization strength of each group of weights. {text}",
        panel="Tuning",
    )


def _test_option(name: str) -> click.Option:
    """Of files that lie beside those of --test."""
    flag = f"--{name.replace('_', '-')}"
    names, text = [f"--test-{flag[2:]}", f"test_{name}"], f"Like {flag}, for the files of --test."
    return Option(names, multiple=True, type=_PATH, metavar="FILE", help=text, panel="Data")


def _beside(task: Task) -> list[str]:
    """Options of reading that name files, one beside each of the others."""
    return [each.name for each in fields(task.reading_options) if each.type.startswith("tuple[Path")]


def _learn(task: Task, values: dict[str, Any]) -> int:
    """Fit, save and report; returns the exit code, 130 after Ctrl-C."""
    training, files, test = values_of(Training, values), values["files"], values["test"]
    learning: Any = values_of(task.training_options or task.learning_options, values)
    tuning = values.get("tuning", "auto" if task.methods else None)
    model = _estimator(task, training.parameters() | {"tuning": tuning})
    # All that can be refused is refused before the first file is read, and files before the fit: a training
    # may take hours.
    plot, page = training.plot, training.report
    check_targets([training.model], [plot], page)
    if training.tree is not None:
        return _learn_tree(task, training.tree, files, learning, model, training)
    beside = {name: values[f"test_{name}"] for name in _beside(task)}
    reading: Any = values_of(task.reading_options, {**values, **beside})  # of --test: as TRAIN, but for these
    read = [*files, *test, *_paths(learning), *_paths(reading)]
    check_apart(read, [training.model, page, plot])
    task.prepare(model, learning)
    folder = _shards(task, files, bool(test))
    examples = task.read(files, learning, model) if folder is None else task.read_shards(folder)
    known = list(task.read_known(test, reading, model, examples.header)) if test else None
    start = time.perf_counter()
    with terminal.short_warnings(*examples.heard):
        if folder is None:
            model.fit(*examples.data, **examples.options)
        else:
            model.fit_shards(folder.path)
    seconds = time.perf_counter() - start
    # the model is saved first: whatever fails below, what was learned is kept
    check_begun(model)
    save(model, training.model, examples.header)
    told = [*examples.told, *(examples.told_after() if examples.told_after else [])]
    record = terminal.record_table("Training", [*told, *_record(model, seconds, training.model)])
    sizes = model.group_sizes_.tolist()
    terminal.print_tables(
        terminal.precisions_table(model.group_names_, sizes, model.penalty_.tolist()), record
    )
    scores = None
    if known is not None:
        # --test is evaluated with the options of `evaluate` that training has as well
        same = {each.name for each in fields(task.scoring_options)} & {"jobs", "quiet"}
        scores = task.score(model, known, task.scoring_options(**{name: values[name] for name in same}))
        terminal.print_tables(*scores.tables())
    if plot is not None:
        from structune.plots import plot_penalties, plot_tuning

        if model.history_:
            plot_tuning(model.history_, model.group_names_, plot)
        beside_it = plot.with_stem(f"{plot.stem}-precisions")
        plot_penalties(model.penalty_, model.group_names_, beside_it)
    if page is not None:
        from structune.html_reports.training import training_sections

        sections = [tables_section("Training", record), *training_sections(model)]
        headline = headline_of(scores.tables()[0]) if scores else f"Training: {model.status_}"
        write_sections_page(page, [*sections, *(_evaluation_sections(scores) if scores else ())], headline)
    return terminal.INTERRUPTED if model.status_ == "interrupted" else 0


def _learn_tree(
    task: Task, tree: Path, files: Sequence[str], learning: Any, model: Any, training: Training
) -> int:
    """Fit each node of a tree, save and report; nothing is saved after Ctrl-C."""
    from structune.cli.tree import MOST_SHOWN, fit_tree, nodes_table, path_of, read_tree

    check_apart([tree, *map(path_of, files), *_paths(learning)], [training.model, training.report])
    task.prepare(model, learning)
    start = time.perf_counter()
    found, told, header = fit_tree(task, read_tree(tree), files, _beside(task), learning, model)
    check_begun(found.model_)
    save(found, training.model, header)
    rows = [
        *told,
        ("weights of a node", f"{found.model_.coef_.size:,}"),
        ("passes over the data", f"{found.model_.passes_:.1f}"),
        ("seconds", f"{time.perf_counter() - start:.1f}"),
        ("saved", str(training.model)),
    ]
    record = terminal.record_table("Training", rows)
    terminal.print_tables(nodes_table(found, MOST_SHOWN), record)
    if training.report is not None:
        nodes = tables_section("Nodes of the tree", nodes_table(found))
        write_sections_page(training.report, [tables_section("Training", record), nodes])
    return 0


def _estimator(task: Task, parameters: Mapping[str, Any]) -> Any:
    """The estimator with the parameters that were given."""
    names = [*task.space, *task.parameters, *task.penalties, *task.tuning]
    given = {name: value for name, value in given_parameters().items() if name in names}
    for name, value in given.items():
        if value and isinstance(value, tuple) and isinstance(value[0], tuple):  # numbers by group
            numbers = dict(value)
            if len(numbers) < len(value):
                raise DataError(f"--{name} is given twice for the same group of weights. Give it once.")
            given[name] = numbers[None] if {*numbers} == {None} else numbers
    if given.get("constraints") is not None:
        from structune.learning.constraints import ValidationConstraints

        asked = given_parameters()
        if found := {each.name: asked[each.name] for each in fields(Constraining) if each.name in asked}:
            given["constraints"] = ValidationConstraints(**found)
    model = kind_of_place(task.estimator).estimator_class(**given, **parameters)
    try:
        model._check_ranges()
    except DataError as error:

        def as_option(found: re.Match[str]) -> str:
            """A parameter in a message as the option that it is."""
            return f"{_OTHER_NAMES.get(found[1], '--' + found[1].replace('_', '-'))} {found[2]}: expected "

        raise DataError(_PARAMETER.sub(as_option, str(error))) from None
    return model


def _paths(options: Any) -> Iterator[Path]:
    """The files that options name."""
    for value in vars(options).values():
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Path) or (isinstance(each, str) and Path(each).is_file()):  # as --center may
                yield Path(each)


def _shards(task: Task, files: Sequence[str], has_test: bool) -> ShardFolder | None:
    """The folder of shards, if training data are one; refuses other files and options of shard."""
    from structune.files.shards import is_shard_folder, open_shards

    path = next(filter(is_shard_folder, files), None)
    if path is None:
        return None
    if len(files) > 1:
        raise DataError(f"{path}: a folder of shards cannot be combined with other files. Give it alone.")
    # what `shard` has encoded cannot change any more, not even to the same value
    decided = {*task.space, *(each.name for each in fields(task.learning_options))}
    if has_test:  # whose files are read so
        decided -= {each.name for each in fields(task.reading_options)} - {*_beside(task)}
    given = given_parameters()
    for name, flag in options_by_name().items():
        if name in decided and name in given:
            raise DataError(f"{path}: {flag} cannot change a folder of shards. Give it to structune shard.")
    return open_shards(path)


def check_begun(model: Any) -> None:
    """Refuse to replace a model by one whose training stopped before its first step."""
    from structune.running.monitor import STOPPED

    if model.status_ in STOPPED and not model.coef_.any():
        raise StructuneError("stopped before the first result; no model was saved")


def save(model: Any, path: Path, header: Mapping[str, Any] | None = None) -> None:
    """Save the model, in a temporary folder if that fails; then remove the checkpoint of a completed fit."""
    more = {} if header is None else {"extra": header}
    # A folder for temporary files may lie on another disk, which has room.
    try:
        model.save(path, **more)
    except OSError as error:
        other = Path(tempfile.mkdtemp(prefix="structune-")) / path.name
        model.save(other, **more)
        raise StructuneError(
            f"{path}: {error.strerror or error}. The model was saved as {other} instead"
        ) from None
    if model.run is not None and model.run.checkpoint.is_done:
        model.run.checkpoint.remove()


def _record(model: Any, seconds: float, path: Path) -> Iterator[tuple[str, str]]:
    from structune.plots.learning import chosen_step

    yield "weights", f"{model.coef_.size:,}"
    yield "status", model.status_
    yield "passes over the data", f"{model.passes_:.1f}"
    yield "seconds", f"{seconds:.1f}"
    for record in model.history_[:1]:
        if record["stage"] == "auto":
            how = record["tuning"] and f"tuned by {record['tuning']}"
            yield "regularization", f"{how or 'not tuned'}: {record['reason']}"
    steps = [record for record in model.history_ if "heldout_loss" in record]
    if steps:
        chosen, first = (steps[k]["heldout_loss"] for k in (chosen_step(steps), 0))
        yield "held-out loss", f"{chosen:.6g}, from {first:.6g}"
    if getattr(model, "constraints", None) is not None:
        values = ", ".join(f"{value:.3g}" for value in model.constraint_values_)
        yield "constraints", f"{values}; limit {model._asked_constraints().gamma:g}"
    yield "saved", str(path)


# --- evaluate, predict, shard -----------------------------------------------------------------------------


def _evaluate(task: Task, values: dict[str, Any]) -> int:
    reading: Any = values_of(task.reading_options, values)
    scoring: Any = values_of(task.scoring_options, values)
    telling, path, files = values_of(Telling, values), values["model"], values["files"]
    check_targets([], [*_paths(scoring)], telling.report)
    check_apart([path, *files, *_paths(reading)], [telling.report, *_paths(scoring)])
    model = task.open(path, scoring)
    known = task.read_known(files, reading, model, getattr(model, "extra_", {}))
    scores = task.score(model, known, scoring)
    if telling.json:
        from structune.files.models import kind_in_file

        # what is evaluated may also be the predictions of another program, which no model made
        is_model = not Path(path).exists() or (Path(path).is_file() and kind_in_file(path) is not None)
        made = json_keys(model_name(path) if is_model else "")
        click.echo(json.dumps({**scores.as_dict(), **made}, indent=2))
    else:
        terminal.print_tables(*scores.tables())
    if telling.report is not None:
        headline = headline_of(scores.tables()[0])
        write_sections_page(telling.report, _evaluation_sections(scores), headline)
    return 0


def _evaluation_sections(evaluation: Scores) -> Iterator[Section]:
    """Sections about the accuracy of predictions."""
    yield tables_section("Scores", *evaluation.tables())
    yield from evaluation.sections()


def _predict(task: Task, values: dict[str, Any]) -> int:
    predicting: Any = values_of(task.predicting_options, values)
    writing, path, files = values_of(Writing, values), values["model"], values["files"] or ("-",)
    output, page = writing.output, writing.report
    target = None if output == "-" else Path(output)
    if page is not None:
        check_targets([target], [], page)
    check_apart([path, *files, *_paths(predicting)], [target, page])
    model = task.open(path, predicting)
    # nothing is predicted before it is asked for, so that memory is bounded and output comes at once
    found = None
    if page is None:
        texts = task.predict(model, files, predicting)
    else:
        texts, found = task.predict_and_report(model, files, predicting)
        found.results = Results(model_name(path))
        texts = found.results.kept(found.name if target is None else without_compression(target.name), texts)
    first = next(texts)  # what is wrong there is told before the output is opened
    with page_at_end(page, found, target), open_bytes(output) as out:
        write_texts(out, chain([first], texts))
    return 0


def _shard(task: Task, values: dict[str, Any]) -> int:
    from structune.files.shards import ShardWriter

    dealing, start = values_of(Dealing, values), time.perf_counter()
    model = _estimator(task, {"random_state": dealing.seed})
    writer = ShardWriter(values["folder"], dealing.folds, dealing.seed)
    learning: Any = values_of(task.learning_options, values)
    task.prepare(model, learning)
    written, told = task.shard(values["files"], learning, model, writer, dealing.quiet)
    rows = [
        *told,
        ("weights", f"{written.model._structure.n_weights:,}"),
        ("shards", f"{len(written.fold)} in {written.path}, {written.n_bytes / 1e6:,.1f} MB"),
        ("seconds", f"{time.perf_counter() - start:.1f}"),
    ]
    terminal.print_tables(terminal.record_table("Shards", rows))
    return 0


# --- what all have ----------------------------------------------------------------------------------------


def command_of(verb: str, kind: Kind) -> Command | None:
    """The command of a verb for a kind, if it has one."""
    task = kind.make_task()
    if task is None or not task.has(verb):
        return None
    how = "train or tune wrote" if task.has("train") else "save() in Python wrote"
    others = task.evaluates_others if verb == "evaluate" else ""
    told = f"Model file of type {kind.word} that {how}{others}."
    model = click.Argument(["model"], metavar="MODEL", help=told)
    rules: Sequence[Rule] = task.rules
    about: Iterable[str]
    params: list[click.Parameter]
    work: Callable[[Task, dict[str, Any]], int]
    if verb in task.own or (verb == "predict" and type(task).predict is Task.predict):
        own = task.own[verb if verb in task.own else next(iter(task.own))]
        about, rules, work = own.about, (*own.rules, *rules), partial(_do_own, own)
        options = [each for cls in own.options for each in dataclass_options(cls)]
        panels = {"Model": [*task.space, *task.parameters, *task.penalties] if own.learns else []}
        of_estimator = estimator_options(task.estimator, panels, _OTHER_NAMES)
        params = [_files(own.metavar, own.inputs), *options, *of_estimator]
        if verb == "predict":
            params = [model, *(each for each in params if each.name != "model")]
    elif verb in ("train", "tune"):
        how = "Tunes the regularization." if verb == "tune" else _regularized(task)
        told = "Ctrl-C stops early: the best model so far is saved, and the exit code is 130."
        about = [f"Train a model {task.learns}. {how}".strip(), task.about, told]
        params, work, rules = _learning_params(verb, task), _learn, (*_RULES, *rules)
    elif verb == "evaluate":
        about, work = [VERBS[verb], task.evaluates], _evaluate
        params = [
            *(model, _files("FILE...", task.files)),
            *dataclass_options(task.reading_options),
            *dataclass_options(task.scoring_options, "Evaluation"),
            *dataclass_options(Telling, "Output"),
        ]
    elif verb == "shard":
        told = "The files are read in pieces of a few megabytes."
        about = [VERBS[verb], f"{told} Training maps the folder into memory."]
        work = _shard
        dealing = [*dataclass_options(Dealing, "Shards")]
        told = "New or empty folder for the shards."
        params = [
            _files("TRAIN...", task.files),
            click.Argument(["folder"], type=_PATH, metavar="FOLDER", help=told),
            *_reading_options(task, task.learning_options, verb),
            *estimator_options(task.estimator, {"Model": task.space}, _OTHER_NAMES),
            *dealing,
        ]
        flags = {each.opts[0] for each in dealing}  # no options of tuning, but called so
        rules = [rule for rule in rules if rule.option not in flags]
    else:
        about, work = task.predicts, _predict
        reports = type(task).predict_and_report is not Task.predict_and_report
        params = [
            *(model, _files("[FILE...]", f"{task.inputs} Use - for standard input.")),
            *dataclass_options(task.predicting_options, "Prediction"),
            *(each for each in dataclass_options(Writing) if each.name != "report" or reports),
        ]
    return _command(verb, kind, task, about, params, work, rules)


def _regularized(task: Task) -> str:
    """When `train` tunes."""
    asked = {"penalty": "--penalty", "l1": "a number for --l1", "constraints": "--constraints"}
    asked |= {"loss": "a --loss other than log"} if task.methods[:1] == ("implicit",) else {}
    found = [text for name, text in asked.items() if name in task.penalties + task.parameters]
    listed = " or ".join(filter(None, (", ".join(found[:-1]), *found[-1:])))
    return f"Tunes the regularization unless you give {listed}." if task.methods else ""


def _files(metavar: str, help: str) -> click.Argument:
    required = not metavar.startswith("[")
    return click.Argument(["files"], nargs=-1, required=required, metavar=metavar, help=help)


def _do_own(own: OwnCommand, task: Task, values: dict[str, Any]) -> int:
    given = values["files"] or ("-",)
    if given.count("-") > 1:
        raise DataError("standard input (-) can be given only once")
    model = [_estimator(task, {"n_jobs": values["jobs"]})] if own.learns else []
    return own.work(given, *model, *(values_of(cls, values) for cls in own.options))


def _command(
    verb: str,
    kind: Kind,
    task: Task,
    paragraphs: Iterable[str],
    params: list[click.Parameter],
    work: Callable[[Task, dict[str, Any]], int],
    rules: Sequence[Rule],
) -> Command:
    def run(**values: Any) -> None:
        options, asked = options_by_name(), given_parameters()
        everything = {flag: str(values[name]) for name, flag in options.items() if name in values}
        given = {flag: everything[flag] for name, flag in options.items() if name in asked}
        for rule in rules:
            rule.check(given, everything)
        jobs = values.get("jobs")
        if jobs is not None and jobs < 1 and jobs != -1:
            from structune.running.executors import usable_cores

            if jobs == 0 or jobs < -usable_cores():
                cores = usable_cores()
                raise DataError(f"--jobs {jobs}: give a number of threads, or -1 for all {cores} cores.")
        raise click.exceptions.Exit(work(task, values))

    text = "\n\n".join(filter(None, paragraphs))
    examples = [line for line in task.examples if line.split()[1] == verb]
    name = kind.word if verb in VERBS else verb
    return Command(name, examples, params=params, help=text, callback=run)
