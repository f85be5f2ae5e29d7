"""Training with the classes of python-crfsuite: examples are appended, parameters are set by name."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from structune import __version__
from structune.compat.crf import CRF, CompatibilityWarning
from structune.compat.pycrfsuite._logparser import TrainLogParser
from structune.compat.tagger import JOIN, as_labels, as_plain, tokens_of
from structune.errors import DataError, StructuneError, warn
from structune.running.monitor import Monitor
from structune.structure import FloatArray
from structune.tagging.crfsuite import write_crfsuite
from structune.tagging.features.attributes import KnownRows, entered_rows, table_of_rows
from structune.tagging.features.strings import Names
from structune.tagging.tagger import SequenceTagger

CRFSUITE_VERSION = f"0.12.2 (structune {__version__})"
_NONE = -1  # the group that no example has
_MOST = 2**31 - 1
_ALIASES = {"averaged-perceptron": "ap", "passive-aggressive": "pa"}


class CRFSuiteError(StructuneError):
    """Is never raised: errors are `DataError`, a `ValueError`. It is here for ``except`` clauses."""


class _Parameter(NamedTuple):
    kind: type
    value: Any  # by default
    help: str
    name: str  # in `CRF`


_FEATURES = {
    "feature.minfreq": _Parameter(float, 0.0, "Smallest frequency of a feature.", "min_freq"),
    "feature.possible_states": _Parameter(
        bool, False, "Give weights to attributes and labels that never occur together.", "all_possible_states"
    ),
    "feature.possible_transitions": _Parameter(
        bool, False, "Give weights to transitions that do not occur.", "all_possible_transitions"
    ),
}


def _idle(values: Mapping[str, Any]) -> dict[str, _Parameter]:
    """Settings of solvers that structune does not have, with their defaults."""
    told, other = "No effect: a setting of a solver that structune does not have.", {"type": "pa_type"}
    return {
        name: _Parameter(type(value), value, told, other.get(name, name.replace(".", "_")))
        for name, value in values.items()
    }


_C2 = _Parameter(float, 1.0, "Strength of the L2 penalty, c2 * |w|^2.", "c2")
_EPOCHS = _idle({"max_iterations": 100, "epsilon": 0.0})
_PARAMETERS: Mapping[str, Mapping[str, _Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": _Parameter(float, 0.0, "Strength of the L1 penalty, c1 * |w|.", "c1"),
        "c2": _C2,
        "max_iterations": _Parameter(int, _MOST, "Largest number of iterations.", "max_iterations"),
        **_idle({"num_memories": 6, "epsilon": 1e-5, "period": 10, "delta": 1e-5}),
        **_idle({"linesearch": "MoreThuente", "max_linesearch": 20}),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": _Parameter(int, 1000, "Largest number of iterations.", "max_iterations"),
        **_idle({"period": 10, "delta": 1e-6, "calibration.eta": 0.1, "calibration.rate": 2.0}),
        **_idle({"calibration.samples": 1000.0, "calibration.candidates": 10, "calibration.max_trials": 20}),
    },
    "ap": {**_FEATURES, **_EPOCHS},
    "pa": {
        **_FEATURES,
        **_idle({"type": 1}),
        "c": _Parameter(float, 1.0, "Inverse of the L2 penalty of the margin loss.", "c"),
        **_idle({"error_sensitive": True, "averaging": True}),
        **_EPOCHS,
    },
    "arow": {**_FEATURES, **_idle({"variance": 1.0, "gamma": 1.0}), **_EPOCHS},
}


class _Example(NamedTuple):
    rows: KnownRows  # attributes, numbered as in the trainer
    labels: list[Any]
    group: int


class BaseTrainer:
    """Trains a model from examples that are appended; `message` receives the lines of the log.

    Parameters
    ----------
    algorithm : {"lbfgs", "l2sgd", "ap", "pa", "arow"}, optional
        Training algorithm; see `structune.compat.CRF`. "lbfgs" by default.
    params : dict, optional
        Training parameters by name.
    verbose : bool
        Print the log.
    """

    verbose: bool = True
    _examples: list[_Example]
    _names: Names

    def __new__(cls, *_: Any, **__: Any) -> BaseTrainer:  # subclasses may not call __init__
        self = super().__new__(cls)
        self._examples, self._names = [], Names()
        self.select("lbfgs")
        return self

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        self.set_params(params or {})
        self.verbose = verbose

    # --- examples and parameters --------------------------------------------------------------------------

    def append(self, xseq: Any, yseq: Any, group: int = 0) -> None:
        """Append a sequence of tokens and its labels; `group` is a number that `train` can hold out."""
        tokens, (labels,) = tokens_of(xseq), as_labels([yseq])
        if len(tokens) != len(labels):
            raise DataError(f"the sequence has {len(tokens):,} tokens, but yseq has {len(labels):,} labels")
        if wrong := [label for label in labels if not isinstance(label, str)]:
            raise DataError(f"the label {wrong[0]!r} is not a string")
        try:
            rows = entered_rows([tokens], self._names, JOIN, as_plain)
        except DataError as error:
            raise DataError(str(error).removeprefix("sequence 0, ")) from None
        self._examples.append(_Example(rows, labels, int(group)))

    def clear(self) -> None:
        """Remove all examples."""
        self._examples, self._names = [], Names()

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Select the training algorithm, and reset the parameters to its defaults."""
        name = _ALIASES.get(algorithm.lower(), algorithm.lower())
        if name not in _PARAMETERS or type != "crf1d":
            known = f"expected one of {', '.join(_PARAMETERS)}, and type 'crf1d'"
            raise DataError(f"algorithm={algorithm!r}, type={type!r}: {known}")
        self._algorithm, self._values = name, {key: each.value for key, each in _PARAMETERS[name].items()}

    def params(self) -> list[str]:
        """Return the names of the parameters of the selected algorithm."""
        return list(self._values)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters by name."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Return all parameters and their values."""
        return dict(self._values)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; `DataError` for an unknown name or a wrong value."""
        kind = self._parameter(name).kind
        try:
            self._values[name] = kind(int(value)) if kind is bool else kind(value)
        except (TypeError, ValueError):
            raise DataError(f"{name}={value!r}: expected a value of type {kind.__name__}") from None

    def get(self, name: str) -> Any:
        """Return the value of a parameter."""
        self._parameter(name)
        return self._values[name]

    def help(self, name: str) -> str:
        """Return the description of a parameter."""
        return self._parameter(name).help

    def _parameter(self, name: str) -> _Parameter:
        if name not in self._values:
            told = f"{self._algorithm!r} has no parameter {name!r}. It has {', '.join(self.params())}"
            raise DataError(told)
        return _PARAMETERS[self._algorithm][name]

    # --- training -----------------------------------------------------------------------------------------

    def train(
        self,
        model: str | os.PathLike[str],
        holdout: int = _NONE,
        *,
        format: Literal["structune", "crfsuite"] = "structune",
    ) -> None:
        """Train, and save the model.

        Parameters
        ----------
        model : path
            File of the model; "" for none.
        holdout : int
            Group of examples that are not trained on. The log scores them after each iteration (with
            "lbfgs" and "l2sgd"), and at the end.
        format : {"structune", "crfsuite"}
            Format of the file. `Tagger` opens both, CRFsuite only its own.

        Raises
        ------
        DataError
            An example or parameter cannot be used.
        """
        if format not in ("structune", "crfsuite"):
            raise DataError(f"format={format!r}: expected one of 'structune', 'crfsuite'")
        path = os.fsdecode(model)
        self._before_train()
        tagger = self._fitted(holdout)
        if tagger is not None and path:
            (write_crfsuite if format == "crfsuite" else SequenceTagger.save)(tagger, path)

    def message(self, message: str) -> None:
        """Receive a line of the log, or a part of one."""
        if self.verbose:
            print(message, end="")

    def _before_train(self) -> None:
        """What subclasses do before a training."""

    def _fitted(self, holdout: int) -> SequenceTagger | None:
        """The fitted tagger, and the log while it is fitted; None without examples."""
        crf, start = self._crf(), time.perf_counter()
        whole = [each for each in self._examples if each.labels]
        held = [each for each in whole if each.group == holdout]
        examples = [each for each in whole if each.group != holdout]
        tell, tagger = _Log(self.message, held, self._names), crf._tagger()
        tell.begin(self._values, holdout)
        if not examples:
            tell.features(0, start)
            tell.nothing()
            warn("there are no examples to train on, so no model is written", CompatibilityWarning)
            return None
        table = table_of_rows([each.rows for each in examples], self._names)
        encoded = crf._encoded(tagger, table, [each.labels for each in examples])
        tell.chain = encoded.structure
        tell.features(encoded.structure.n_weights, start)
        tell.settings(self._algorithm, self._values)
        vars(tagger)["_listener"] = tell.iteration
        try:
            tagger._fit_encoded(encoded)
        finally:
            del vars(tagger)["_listener"]
        tell.end(tagger)
        return tagger

    def _crf(self) -> CRF:
        """The estimator with the parameters that were changed."""
        known = _PARAMETERS[self._algorithm]
        given = {known[key].name: v for key, v in self._values.items() if v != known[key].value}
        if given.get("max_iterations") == 0:  # no limit
            del given["max_iterations"]
        if self._algorithm == "l2sgd":
            given.setdefault("max_iterations", self._values["max_iterations"])
        return CRF(self._algorithm, **given)


class Trainer(BaseTrainer):
    """A trainer that calls a method for each event of the log, with its text; the methods print it.

    The methods are ``on_start``, ``on_featgen_progress`` (also with the percentage), ``on_featgen_end``,
    ``on_prepared``, ``on_prepare_error``, ``on_iteration`` (also with a dict of the numbers in the log),
    ``on_optimization_end`` and ``on_end``.

    Attributes
    ----------
    logparser : TrainLogParser
        What the log of the last training says, such as ``logparser.last_iteration["loss"]``.
    """

    logparser: Any = None

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Receive a line of the log, and call the method of the event that it ends."""
        event = self.logparser.feed(message)
        if not self.verbose or event is None:
            return
        more = {
            "featgen_progress": self.logparser.featgen_percent,
            "iteration": self.logparser.last_iteration,
        }
        given = (self.logparser.last_log, *([more[event]] if event in more else []))
        getattr(self, f"on_{event}")(*given)

    def _print(self, log: str, *_: Any) -> None:
        """Print a part of the log."""
        print(log, end="")

    on_start = on_featgen_progress = on_featgen_end = on_prepared = on_prepare_error = _print
    on_iteration = on_optimization_end = on_end = _print


# --- the log ----------------------------------------------------------------------------------------------

_SETTINGS = {"period": "stop", "max_linesearch": "linesearch.max_iterations"}
_TITLES = dict.fromkeys(("lbfgs", "l2sgd"), "L-BFGS optimization")


class _Log:
    """Writes the log in the form of CRFsuite, which parsers of it read."""

    def __init__(self, message: Any, held: list[_Example], names: Names) -> None:
        self._message, self._held, self._names, self._shard = message, held, names, None
        self.chain: Any = None  # once it is known
        self._start = self._before = time.perf_counter()
        self._n, self._loss, self._is_scored, self._title = 0, 0.0, False, ""

    def _tell(self, *lines: str) -> None:
        for line in lines:
            self._message(f"{line}\n")

    def begin(self, values: Mapping[str, Any], holdout: int) -> None:
        if holdout != _NONE:
            self._tell(f"Holdout group: {holdout + 1}", "")
        self._tell("Feature generation", "type: CRF1d")
        self._tell(*(f"{name}: {_written(values[name])}" for name in _FEATURES))

    def features(self, n: int, start: float) -> None:
        for k in range(11):  # in the parts that CRFsuite writes
            self._message(str(k))
            for _ in range(4 * (k < 10)):
                self._message(".")
        self._tell("", f"Number of features: {n}", f"Seconds required: {time.perf_counter() - start:.3f}", "")

    def nothing(self) -> None:
        self._tell("L-BFGS terminated with error code (-1020): no examples")
        self._tell("Total seconds required for training: 0.000", "", "Storing the model")
        self._tell("Number of active features: 0 (0)", "Seconds required: 0.000", "")

    def settings(self, algorithm: str, values: Mapping[str, Any]) -> None:
        self._title = _TITLES.get(algorithm, "Bundle method, margin loss")
        self._tell(self._title)
        for name in (name for name in values if name not in _FEATURES):
            self._tell(f"{_SETTINGS.get(name, name)}: {_written(values[name])}")
        self._tell("")
        self._start = self._before = time.perf_counter()

    def iteration(self, monitor: Monitor) -> None:
        """The lines of an iteration: one evaluation of the objective, or one round."""
        told = monitor.history[-1]
        if "objective" in told and told.get("evaluation") is not None:
            self._tell_iteration(told["objective"], monitor.weights, told.get("gradient"))

    def _tell_iteration(self, loss: float, w: FloatArray | None, gradient: float | None = None) -> None:
        self._n, self._loss, now = self._n + 1, loss, time.perf_counter()
        self._tell(f"***** Iteration #{self._n} *****", f"Loss: {loss:.6f}")
        if w is not None:
            self._tell(f"Feature norm: {np.linalg.norm(w):.6f}")
        if gradient is not None:
            self._tell(f"Error norm: {gradient:.6f}")
        if w is not None:
            self._tell(f"Active features: {np.count_nonzero(w)}")
        self._tell(f"Seconds required for this iteration: {now - self._before:.3f}")
        if w is not None and self._held:
            self._tell(*self._scores(w))
            self._is_scored = True
        self._tell("")
        self._before = time.perf_counter()

    def _scores(self, w: FloatArray) -> Iterator[str]:
        """Scores of the examples that are held out, as CRFsuite writes them."""
        if self._shard is None:
            table = table_of_rows([each.rows for each in self._held], self._names)
            self._shard = self.chain.encode(table)
        names, true = self.chain.labels, [label for each in self._held for label in each.labels]
        predicted = [names[y] for y in self.chain.best(w, self._shard)[0].tolist()]
        right = [a == b for a, b in zip(true, predicted, strict=True)]
        yield "Performance by label (#match, #model, #ref) (precision, recall, F1):"
        n_true, n_predicted = Counter(true), Counter(predicted)
        n_right = Counter(a for a, is_right in zip(true, right, strict=True) if is_right)
        f1 = list[FloatArray]()
        for name in [*names, *sorted({*true} - {*names})]:
            n = n_right[name], n_predicted[name], n_true[name]
            p, r = (n[0] / k if k else 0.0 for k in n[1:])
            f1.append(np.array([p, r, 2.0 * p * r / (p + r) if p + r else 0.0]))
            shown = ", ".join(f"{value:.4f}" for value in f1[-1]) if any(n) else "******, ******, ******"
            yield f"    {name}: ({n[0]}, {n[1]}, {n[2]}) ({shown})"
        yield "Macro-average precision, recall, F1: ({:.6f}, {:.6f}, {:.6f})".format(*np.mean(f1, axis=0))
        ends = np.cumsum([len(each.labels) for each in self._held])
        whole = [all(part) for part in np.split(np.array(right), ends[:-1])]
        for what, all_right in (("Item", right), ("Instance", whole)):
            n_all, n_wholly = len(all_right), sum(map(int, all_right))
            yield f"{what} accuracy: {n_wholly} / {n_all} ({n_wholly / n_all:.4f})"

    def end(self, tagger: SequenceTagger) -> None:
        seconds, n = time.perf_counter() - self._start, len(tagger.coef_)
        if self._held and not self._is_scored:  # the solver does not show its weights
            self._tell_iteration(self._loss, tagger.coef_)
        ends = {
            "converged": "resulted in convergence",
            "iterations": "terminated with the maximum number of iterations",
        }
        self._tell(f"{self._title.split(' ')[0]} {ends.get(tagger.status_, f'ended: {tagger.status_}')}")
        self._tell(f"Total seconds required for training: {seconds:.3f}", "", "Storing the model")
        self._tell(f"Number of active features: {np.count_nonzero(tagger.coef_)} ({n})")
        self._tell(f"Number of active attributes: {len(tagger.chain_.attributes)}")
        self._tell(f"Number of active labels: {len(tagger.classes_)}")
        self._tell(f"Seconds required: {0.0:.3f}", "")


def _written(value: Any) -> str:
    """A parameter as CRFsuite writes it."""
    return f"{value:f}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)
