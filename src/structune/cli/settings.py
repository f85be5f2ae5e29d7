"""Options that belong together, and how commands get them.

Nothing heavy is imported here, so that ``--help`` comes at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, get_type_hints

import typer

from structune.cli import options as opt
from structune.errors import DataError

_HOLDOUT = 0.2
_HOLD_NOTHING_OUT = ("majorize", "direct")


def spread(function: Callable[..., None]) -> Callable[..., None]:
    """A command whose parameters of types like `Tuning` are spread into the options that they hold."""
    hints, parameters = get_type_hints(function, include_extras=True), list[inspect.Parameter]()
    together: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if is_dataclass(hints[name]):
            together[name] = hints[name]
            types = get_type_hints(hints[name], include_extras=True)
            parameters += [_parameter(f.name, types[f.name], _default(f)) for f in fields(hints[name])]
        else:
            parameters.append(_parameter(name, hints[name], parameter.default))

    @wraps(function)
    def command(**given: Any) -> None:
        for name, options in together.items():
            given[name] = options(**{f.name: given.pop(f.name) for f in fields(options)})
        function(**given)

    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _default(field: Any) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return inspect.Parameter.empty if field.default is MISSING else field.default


def check_held_out(method: str, given: Mapping[str, object]) -> None:
    """Refuse options of the held-out part with a method that has none."""
    for option, value in given.items():
        if value is not None and method in _HOLD_NOTHING_OUT:
            raise DataError(f"{option} has no effect with --method {method}, which holds nothing out")


@dataclass(frozen=True)
class Results:
    """Where what a training learns goes."""

    model: opt.ModelOption
    report: opt.Report = None


@dataclass(frozen=True)
class Running:
    """Where and how long a training works, and what it shows."""

    jobs: opt.Jobs = -1
    executor: opt.ExecutorOption = None
    max_seconds: opt.MaxSeconds = None
    resume: opt.Resume = False
    verbose: opt.Verbose = False
    quiet: opt.Quiet = False

    def parameters(self, results: Results) -> dict[str, Any]:
        """Of every estimator; tells of a checkpoint that nothing goes on from, and of one that is missing."""
        from structune.running.checkpoints import Checkpoint

        path = results.model.with_name(f"{results.model.name}.checkpoint")
        if path.exists() and not self.resume:
            typer.echo(f"structune: {path} will be written over: --resume goes on from there", err=True)
        if self.resume and not path.exists():
            typer.echo(f"structune: {path} does not exist: training starts from the beginning", err=True)
        return {
            "checkpoint": Checkpoint(path, resume=self.resume, lasting=True),
            "n_jobs": self.jobs,
            "executor": self.executor,
            "max_seconds": self.max_seconds,
            "verbose": 0 if self.quiet else 2 if self.verbose else 1,
        }


@dataclass(frozen=True)
class Tuning:
    """How precisions are chosen."""

    method: opt.MethodOption = opt.Method.implicit
    holdout: opt.Holdout = None
    folds: opt.Folds = None
    plot: opt.TuningPlot = None
    seed: opt.Seed = None

    def parameters(self, held_to: HeldTo | None = None) -> dict[str, Any]:
        """Of every estimator."""
        if self.holdout is not None and self.folds is not None:
            raise DataError("--holdout cannot be combined with --folds")
        held_out = {"--holdout": self.holdout, "--folds": self.folds}
        if held_to is None or held_to.constraints is None:  # validation sets are random parts, too
            held_out["--seed"] = self.seed
        check_held_out(self.method.value, held_out)
        return {
            "tuning": self.method.value,
            "holdout": _HOLDOUT if self.holdout is None else self.holdout,
            "folds": self.folds,
            "random_state": self.seed or 0,
        }


@dataclass(frozen=True)
class HeldTo:
    """What a model is held to while it learns."""

    constraints: opt.ConstraintsOption = None
    validation_sets: opt.ValidationSets = 3
    gamma: opt.Bound = 0.01

    def parameters(self) -> dict[str, Any]:
        """Of estimators with constraints."""
        for option, is_given in (
            ("--validation-sets", self.validation_sets != HeldTo.validation_sets),
            ("--gamma", self.gamma != HeldTo.gamma),
        ):
            if is_given and self.constraints is None:
                raise DataError(f"found {option}, expected it with --constraints only")
        return {
            "constraints": self.constraints and self.constraints.value,
            "validation_sets": self.validation_sets,
            "gamma": self.gamma,
        }


@dataclass(frozen=True)
class Sharding:
    """Where shards go, and how examples are dealt to them."""

    folder: opt.ShardFolder
    folds: opt.ShardFolds = 5
    seed: opt.ShardSeed = 0


@dataclass(frozen=True)
class Telling:
    """What an evaluation is told as."""

    report: opt.EvaluationReport = None
    json: opt.Json = False
