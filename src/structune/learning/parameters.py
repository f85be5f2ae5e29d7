"""Parameters of estimators: dataclass fields with scikit-learn's protocol, and their allowed ranges.

Loaded models predict without scikit-learn, whose import takes longer than most predictions.
"""

from __future__ import annotations

import inspect
import math
import re
from collections import ChainMap
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

import numpy as np

from structune.errors import DataError
from structune.files.docstrings import with_inherited
from structune.running.executors import PreparedRun, Run, make_executor

T = TypeVar("T")
TOLERANCE = 1e-4  # of a fit, relative to where it starts: at w = 0; solvers and tuners agree on it
_KEPT_BY_CLONES = ("_metadata_request", "_sklearn_output_config")  # what scikit-learn was asked for
_LONGEST = 300  # letters, of a parameter that is told
# between a fit and the one that goes on from its checkpoint
_MAY_CHANGE = ("n_jobs", "run", "verbose", "warm_start")
_ADDRESS, _LONGEST_TOLD = re.compile(" at 0x[0-9A-Fa-f]+"), 200  # letters, of a setting in a checkpoint


# --- numbers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """Allowed numbers of a parameter, from `least` to `most`; each fit checks them, as in scikit-learn."""

    least: float = 0.0
    most: float = math.inf
    open: bool = False  # whether the ends are left out
    whole: bool = False  # whole numbers only
    optional: bool = False  # None is allowed, too

    def __contains__(self, value: Any) -> bool:
        if value is None:
            return self.optional
        kinds = (int, np.integer) if self.whole else (int, float, np.integer, np.floating)
        if isinstance(value, bool) or not isinstance(value, kinds):
            return False
        number = float(value)
        return self.least < number < self.most if self.open else self.least <= number <= self.most

    def __str__(self) -> str:
        kind = "whole " if self.whole else "finite " if self.open and self.most == math.inf else ""
        if self.most < math.inf:
            before, amid = ("between", "and") if self.open else ("from", "to")
            where = f"{before} {self.least} {amid} {self.most}"
        else:
            where = f"{'>' if self.open else '>='} {self.least}"
        return f"{'None or ' if self.optional else ''}a {kind}number {where}"


def check_ranges(owner: Any, ranges: Mapping[str, Range]) -> None:
    """Raise a `DataError` for the first attribute outside its range; those that are not there are skipped."""
    for name, allowed in ranges.items():
        if hasattr(owner, name):
            check_number(name, getattr(owner, name), allowed)


def check_number(name: str, value: Any, allowed: Range) -> None:
    """Raise a `DataError` for a parameter or an argument outside its range."""
    if value not in allowed:
        raise DataError(f"{name}={value!r}: expected {allowed}")


class _Parts(Range):
    """What is held out: a share of the examples, or a number of folds."""

    def __contains__(self, value: Any) -> bool:
        return value in Range(2, whole=True, optional=self.optional) or value in Range(0, 1, open=True)

    def __str__(self) -> str:
        return "a share between 0 and 1, or a whole number >= 2 of folds"


class _Splits(_Parts):
    """The same, or splits as scikit-learn has them."""

    def __contains__(self, value: Any) -> bool:
        is_splitter = hasattr(value, "split") and not isinstance(value, str | bytes | type)
        return is_splitter or isinstance(value, list | tuple) or super().__contains__(value)


PARTS, SPLITS = _Parts(), _Splits(optional=True)
_OF_RUNS = {
    "max_seconds": Range(optional=True),
    "max_iterations": Range(1, whole=True),
    "tolerance": Range(optional=True),
}


# --- scikit-learn's protocol ------------------------------------------------------------------------------


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parameters(cls: type[T]) -> type[T]:
    """Class decorator: the constructor takes the annotated fields as keyword arguments.

    Fields with ``init=False`` are not arguments. The docstring gets entries of base classes that it lacks.
    """
    made = dataclass(kw_only=True, eq=False, repr=False)(cls)
    if made.__doc__:  # python -OO has none
        names = [each.name for each in fields(made) if each.init]  # type: ignore[arg-type]
        made.__doc__ = with_inherited(made.__doc__, [base.__doc__ for base in made.__mro__[1:]], names)
    return made


class Parameters:
    """An estimator by scikit-learn's protocol: it can be cloned, searched over, and put into pipelines."""

    _shared: ClassVar[tuple[str, ...]] = ()  # parameters that clones have in common
    _ranges: ClassVar[Mapping[str, Range]] = {}  # of a class's own numbers, beside those of its bases

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with `deep`, also those of nested estimators, as ``name__parameter``."""
        found = {}
        for name in self._parameter_names():
            found[name] = value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, and return the estimator.

        Raises
        ------
        DataError
            There is no parameter of this name.
        """
        valid = list(self._parameter_names())
        parts = [(*given.partition("__"), value) for given, value in params.items()]
        for name, *_ in parts:
            if name not in valid:
                raise DataError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {valid!r}."
                )
        for name, is_inner, inner, value in sorted(parts, key=lambda part: part[1]):
            if is_inner:  # of new estimators, where both are given
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self

    @classmethod
    def _parameter_names(cls) -> tuple[str, ...]:
        return _names_of(cls.__init__)

    def __repr__(self) -> str:
        """What was asked for."""
        defaults, told = inspect.signature(type(self)).parameters, []
        for name, value in self.get_params(deep=False).items():
            default, text = defaults[name].default, repr(value)
            if value is not default and not (type(value) is type(default) and bool(value == default)):
                told.append(f"{name}={text if len(text) <= _LONGEST else f'{text:.{_LONGEST}}...'}")
        return f"{type(self).__name__}({', '.join(told)})"

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    def __sklearn_clone__(self) -> Self:
        given = self.get_params(deep=False)
        for name in given.keys() - set(self._shared):
            if hasattr(given[name], "get_params"):
                from sklearn.base import clone

                given[name] = clone(given[name], safe=False)
            else:
                given[name] = deepcopy(given[name])
        other = type(self)(**given)
        for name in _KEPT_BY_CLONES:
            if hasattr(self, name):
                setattr(other, name, deepcopy(getattr(self, name)))
        return other

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator.__sklearn_tags__(self)

    def _check_ranges(self) -> None:
        """Raise a `DataError` for a number that a parameter cannot be: for `fit`, not for constructors."""
        check_ranges(self, ChainMap(*(vars(cls).get("_ranges", {}) for cls in type(self).__mro__)))

    def _check_fitted(self, attribute: str = "coef_") -> None:
        if not hasattr(self, attribute):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. "
                "Call 'fit' with appropriate arguments before using this estimator."
            )

    # --- metadata: scikit-learn is imported when requests are made ----------------------------------------

    def set_fit_request(self, **requests: Any) -> Self:
        """Choose which arguments of `fit`, such as ``groups``, meta-estimators pass on."""
        return self._request("fit", requests)

    def set_predict_request(self, **requests: Any) -> Self:
        """Choose which arguments of `predict` meta-estimators pass on."""
        return self._request("predict", requests)

    def set_score_request(self, **requests: Any) -> Self:
        """Choose which arguments of `score` meta-estimators pass on."""
        return self._request("score", requests)

    def get_metadata_routing(self) -> Any:
        """Return the metadata requests, for scikit-learn."""
        return self._get_metadata_request()

    def _request(self, method: str, requests: dict[str, Any]) -> Self:
        from sklearn.utils._metadata_requests import RequestMethod

        known = sorted(self._get_class_level_metadata_request_values(method))
        return RequestMethod(method, known).__get__(self, type(self))(**requests)  # type: ignore[no-any-return]

    def _get_metadata_request(self) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_metadata_request(self)

    @classmethod
    def _get_class_level_metadata_request_values(cls, *method: Any, **options: Any) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_class_level_metadata_request_values.__func__(cls, *method, **options)


@cache
def _names_of(constructor: Callable[..., None]) -> tuple[str, ...]:
    own = list(inspect.signature(constructor).parameters.values())[1:]
    if any(each.kind == each.VAR_POSITIONAL for each in own):
        raise TypeError("found a constructor of an estimator with *args, expected parameters with names")
    return tuple(sorted(each.name for each in own if each.kind != each.VAR_KEYWORD))


# --- of fits ----------------------------------------------------------------------------------------------


@parameters
class FitsOnExecutor(Parameters):
    """An estimator whose `fit` can work on a cluster, and go on where it was stopped, as `run` says."""

    n_jobs: int | None = -1
    run: Run | None = None

    _tolerance: ClassVar[float] = TOLERANCE  # of a fit, where `run` has none
    _listener: ClassVar[Any] = None  # of an instance, while it is fitted: is called with the monitor

    @property
    def _fit_tolerance(self) -> float:
        """That of `run`, or what is usual for the class."""
        given = None if self.run is None else self.run.tolerance
        return self._tolerance if given is None else given

    def _check_ranges(self) -> None:
        super()._check_ranges()
        if not isinstance(self.run, Run | None):
            raise DataError(f"run={self.run!r}: expected None or a structune.running.Run")
        check_ranges(self.run, _OF_RUNS)

    def _prepared_run(self, verbose: int, **chosen: Any) -> PreparedRun:
        """How a fit runs, as the parameters say, and what was `chosen` in the place of some."""
        run, kept, work = self.run or Run(), None, dict[str, Any]()
        if run.checkpoint is not None:
            from structune.running.checkpoints import Checkpoint

            kept = run.checkpoint if isinstance(run.checkpoint, Checkpoint) else Checkpoint(run.checkpoint)
            given = (self.get_params() | chosen).items()
            told = {name: _as_told(value) for name, value in given if name.split("__")[-1] not in _MAY_CHANGE}
            # of `run` the tolerance is the only part that changes what is learned
            work = {"class": type(self).__name__, **told, "tolerance": self._fit_tolerance}
        return PreparedRun(
            make_executor(self.n_jobs, run.executor),
            run.max_seconds,
            kept,
            run.max_iterations,
            self._fit_tolerance,
            verbose,
            work,
            self._listener,
        )


def _as_told(value: Any) -> Any:
    """A setting as every process would tell it."""
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, Parameters):
        return type(value).__name__  # its parameters are told beside it
    from structune.running.checkpoints import digest

    text = repr(value)
    if _ADDRESS.search(text):
        text = _ADDRESS.sub("", f"{text} {getattr(value, '__dict__', '')}")
    return text if len(text) <= _LONGEST_TOLD else f"{text:.{_LONGEST_TOLD}}... {digest(text)}"
