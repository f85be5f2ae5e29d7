"""Parameters of estimators: the fields of a dataclass, by scikit-learn's protocol.

Models that are there predict without scikit-learn: it takes longer to import than most predictions do.
"""

from __future__ import annotations

import inspect
import re
from collections import ChainMap
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from structune.errors import DataError
from structune.learning.ranges import Range, check_ranges
from structune.learning.routing import Routed
from structune.running.run import PreparedRun, Run

T = TypeVar("T")
_KEPT_BY_CLONES = ("_metadata_request", "_sklearn_output_config")  # what scikit-learn was asked for
_LONGEST = 300  # letters, of a parameter that is told
_OF_RUNS = {"max_seconds": Range(optional=True), "max_iterations": Range(1, whole=True)}
# between a fit and the one that goes on from its checkpoint
_MAY_CHANGE = ("n_jobs", "run", "verbose", "warm_start")
_ADDRESS, _LONGEST_TOLD = re.compile(" at 0x[0-9A-Fa-f]+"), 200  # letters, of a setting in a checkpoint


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parameters(cls: type[T]) -> type[T]:
    """The class with a constructor that takes its annotated fields by name, and keeps them as they are.

    Fields that are no parameters are ``field(init=False)``.
    """
    return dataclass(kw_only=True, eq=False, repr=False)(cls)


class Parameters(Routed):
    """An estimator by scikit-learn's protocol: it can be cloned, searched over, and put into pipelines."""

    _shared: ClassVar[tuple[str, ...]] = ()  # parameters that clones have in common
    _ranges: ClassVar[Mapping[str, Range]] = {}  # of a class's own numbers, beside those of its bases

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with `deep` those of estimators among them, as ``name__parameter``."""
        found = {}
        for name in self._parameter_names():
            found[name] = value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change parameters.

        Raises
        ------
        DataError
            There is no such parameter.
        """
        valid = list(self._parameter_names())
        for given in params:
            name = given.partition("__")[0]
            if name not in valid:
                raise DataError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {valid!r}."
                )
        for given in sorted(params, key=lambda given: "__" in given):  # of new estimators, where both are
            name, is_inner, inner = given.partition("__")
            if is_inner:
                getattr(self, name).set_params(**{inner: params[given]})
            else:
                setattr(self, name, params[given])
        return self

    @classmethod
    def _parameter_names(cls) -> tuple[str, ...]:
        return _names_of(cls.__init__)

    def __repr__(self) -> str:
        """What was asked for."""
        defaults = inspect.signature(type(self)).parameters
        given = self.get_params(deep=False).items()
        told = [f"{name}={_short(value)}" for name, value in given if not _is(value, defaults[name].default)]
        return f"{type(self).__name__}({', '.join(told)})"

    def _repr_html_(self) -> str:
        from sklearn.utils import estimator_html_repr

        return str(estimator_html_repr(self))

    def __sklearn_clone__(self) -> Self:
        given = self.get_params(deep=False).items()
        other = type(self)(**{
            name: value if name in self._shared else _cloned(value) for name, value in given
        })  # fmt: skip
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

            name = type(self).__name__
            raise NotFittedError(
                f"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments before using "
                "this estimator."
            )


@cache
def _names_of(constructor: Callable[..., None]) -> tuple[str, ...]:
    own = list(inspect.signature(constructor).parameters.values())[1:]
    if any(each.kind == each.VAR_POSITIONAL for each in own):
        raise TypeError("found a constructor of an estimator with *args, expected parameters with names")
    return tuple(sorted(each.name for each in own if each.kind != each.VAR_KEYWORD))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text:.{_LONGEST}}..."


def _is(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _cloned(value: Any) -> Any:
    if not hasattr(value, "get_params"):
        return deepcopy(value)
    from sklearn.base import clone

    return clone(value, safe=False)


# --- of fits ----------------------------------------------------------------------------------------------


@parameters
class FitsOnExecutor(Parameters):
    """An estimator whose `fit` can work on a cluster, and go on where it was stopped.

    Parameters
    ----------
    n_jobs : int, optional
        Threads; -1 takes all cores. The result does not depend on it.
    run : Run, optional
        Where `fit` computes, for how long, and in which file it keeps its state: see `structune.running.Run`.
    """

    n_jobs: int | None = -1
    run: Run | None = None

    _shared: ClassVar[tuple[str, ...]] = ("run",)  # a connection to a cluster cannot be copied

    def _check_ranges(self) -> None:
        super()._check_ranges()
        if not isinstance(self.run, Run | None):
            raise DataError(f"run={self.run!r}: expected None or a structune.running.Run")
        check_ranges(self.run, _OF_RUNS)

    def _prepared_run(self, verbose: int) -> PreparedRun:
        """How a fit runs, as the parameters say."""
        run = self.run or Run()
        settings = {} if run.checkpoint is None else self.get_params()
        work = {
            name: _as_told(v) for name, v in settings.items() if name.rpartition("__")[2] not in _MAY_CHANGE
        }
        return run.prepared(self.n_jobs, verbose, {"class": type(self).__name__, **work})


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
