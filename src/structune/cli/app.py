"""The commands and their help; the work is done in the modules that they import when they run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import structune
from structune.cli import options as opt
from structune.errors import StructuneError


class _Commands(TyperGroup):
    """Tells wrong input in one line on stderr, and ends with exit code 2."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except OSError as error:
            self._fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except StructuneError as error:
            self._fail(str(error))

    def _fail(self, message: str) -> None:
        typer.echo(f"structune: {message}", err=True)
        raise typer.Exit(2)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"structune {structune.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Sequence taggers (CRFs) that tune their own regularisation.

    `tune` learns a tagger and its regularisation from a column file, `train` with a regularisation that
    you give, `predict` labels new text, and `evaluate` says how well.

    Results go to standard output, progress and errors to standard error.
    """


@app.command()
def train(
    train: opt.TrainFile,
    model: opt.ModelOption,
    columns: opt.Columns = None,
    templates: opt.Templates = None,
    penalty: Annotated[float, typer.Option(help="Precision of the Gaussian prior of all weights.")] = 1.0,
    forbidden: opt.Forbidden = None,
    states: opt.StatesOption = opt.States.seen,
    test: opt.TestFile = None,
    jobs: opt.Jobs = -1,
    max_seconds: opt.MaxSeconds = None,
    verbose: opt.Verbose = False,
    quiet: opt.Quiet = False,
) -> None:
    """Learn a tagger, with a regularisation that you give.

    Ctrl-C ends training early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune train train.txt --model chunker.structune --penalty 2 --test test.txt
    """
    from structune.cli.training import Request, run

    settings = {"penalty": penalty, **_common(forbidden, states, jobs, max_seconds, verbose, quiet)}
    raise typer.Exit(run(Request(train, model, columns, templates, test), settings))


@app.command()
def tune(
    train: opt.TrainFile,
    model: opt.ModelOption,
    method: Annotated[
        opt.Method,
        typer.Option(
            help="implicit: descend the held-out loss along its gradient in the precisions. majorize: no "
            "held-out data, the precisions are integrated out. direct: the same objective at once (a "
            "baseline). grid: try 2^-10 .. 2^10, one for all (a baseline)."
        ),
    ] = opt.Method.implicit,
    groups: Annotated[
        opt.Groups,
        typer.Option(help="Weights that share a precision: those of one template, all, or none."),
    ] = opt.Groups.template,
    holdout: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Share of the sentences to hold out.")
    ] = 0.2,
    folds: Annotated[
        int | None,
        typer.Option(min=2, help="Hold out each of this many folds in turn instead.", show_default=False),
    ] = None,
    columns: opt.Columns = None,
    templates: opt.Templates = None,
    forbidden: opt.Forbidden = None,
    states: opt.StatesOption = opt.States.seen,
    test: opt.TestFile = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the course of tuning to this file, and the precisions to NAME-precisions beside it.",
            show_default=False,
        ),
    ] = None,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = -1,
    max_seconds: opt.MaxSeconds = None,
    verbose: opt.Verbose = False,
    quiet: opt.Quiet = False,
) -> None:
    """Learn a tagger, and its regularisation with it.

    Every group of weights has a precision (the inverse variance of its Gaussian prior), learned from TRAIN.

    Ctrl-C ends tuning early: the best model so far is saved, and the exit code is 130.

    \b
    Example:
      structune tune train.txt --model chunker.structune --test test.txt --plot tuning.png
    """
    from structune.cli.training import Request, run

    settings = {
        "tuning": method.value,
        "groups": groups.value,
        "holdout": holdout,
        "folds": folds,
        "random_state": seed,
        **_common(forbidden, states, jobs, max_seconds, verbose, quiet),
    }
    raise typer.Exit(run(Request(train, model, columns, templates, test, plot), settings))


@app.command()
def predict(
    model: opt.ModelArgument,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Column file, or - for standard input.")],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write, or - for standard output.")
    ] = "-",
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Add a column: the probability of each predicted label.")
    ] = False,
    nbest: Annotated[
        int | None,
        typer.Option(
            min=1, help="Write each sentence with its most probable labellings.", show_default=False
        ),
    ] = None,
) -> None:
    """Label the tokens of a column file.

    The output has the columns of FILE and one more, the predicted label, separated by single spaces. FILE
    has the input columns that the model was trained with; it may have a label column or others after these.

    With --nbest K each sentence is written up to K times, the most probable labelling first, each
    after a line such as

    \b
      # sentence 1 rank 2 probability 0.012345

    \b
    Example:
      structune predict chunker.structune new.txt --marginals > labelled.txt
    """
    from structune.cli.prediction import run

    run(model, file, output, marginals, nbest)


@app.command()
def evaluate(
    model: opt.ModelArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Column file with labels.")],
    json: Annotated[bool, typer.Option("--json", help="Write JSON instead of tables.")] = False,
) -> None:
    """Compare predictions with the labels of a column file.

    Shows precision, recall and F1 of every label over tokens and, if labels are BIO or BIOES, of every
    segment type, as conlleval counts them.

    \b
    Example:
      structune evaluate chunker.structune test.txt
    """
    from structune.cli.evaluation import run

    run(model, file, json)


def _common(
    forbidden: opt.Scheme | None,
    states: opt.States,
    jobs: int,
    max_seconds: float | None,
    verbose: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Settings of `SequenceTagger` that train and tune share."""
    return {
        "forbidden": forbidden and forbidden.value,
        "states": states.value,
        "n_jobs": jobs,
        "max_seconds": max_seconds,
        "verbose": 0 if quiet else 2 if verbose else 1,
    }
