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
from structune.running.executors import Executor, make_executor

T = TypeVar("T")
_KEPT_BY_CLONES = ("_metadata_request", "_sklearn_output_config")  # what scikit-learn was asked for
_LONGEST = 300  # letters, of a parameter that is told
_HEADING = re.compile(r"^(\w[\w ]*)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?P<names>\w[^:\n]*?)(?: : .*)?$(?:\n(?:[ \t].*)?$)*", re.MULTILINE)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def parameters(cls: type[T]) -> type[T]:
    """The class with a constructor that takes its annotated fields by name, and keeps them as they are.

    Fields that are no parameters are ``field(init=False)``. What its docstring says nothing of, among
    parameters and attributes, is told as a base class tells it.
    """
    doc = inspect.cleandoc(cls.__dict__.get("__doc__") or "")  # before dataclass writes one
    made = dataclass(kw_only=True, eq=False, repr=False)(cls)
    _document(made, doc)
    return made


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


# --- documentation ----------------------------------------------------------------------------------------


def _document(cls: Any, doc: str) -> None:
    """Complete a docstring by what base classes tell, and give the signature its order."""
    parameters = inspect.signature(cls.__init__).parameters
    told = {title: _entries(doc, title) for title in ("Parameters", "Attributes")}
    for base in cls.__mro__[1:]:
        for title, own in told.items():
            for names, text in _entries(inspect.cleandoc(base.__doc__ or ""), title).items():
                is_new = {name for known in own for name in known}.isdisjoint(names)
                if is_new and (title == "Attributes" or parameters.keys() >= set(names)):
                    own[names] = text
    sections = {title: "\n".join(entries.values()) for title, entries in told.items() if entries}
    sections |= {title: body for title, body in _sections(doc).items() if title not in told}
    parts = [f"{title}\n{'-' * len(title)}\n{body}" for title, body in sections.items()]
    cls.__doc__ = "\n\n".join([_HEADING.split(doc)[0].strip(), *parts]) + "\n"
    by_position = [name for name, each in parameters.items() if each.kind != each.KEYWORD_ONLY]
    order = dict.fromkeys(
        [*by_position, *(name for names in told["Parameters"] for name in names), *parameters]
    )
    ordered = [parameters[name] for name in order if name in parameters]
    cls.__init__.__signature__ = inspect.Signature(ordered, return_annotation=None)


def _entries(doc: str, title: str) -> dict[tuple[str, ...], str]:
    """What a section documents, by its names, of which there are several for some."""
    found = _ENTRY.finditer(_sections(doc).get(title, ""))
    return {tuple(re.split(", *", match["names"])): match[0].strip() for match in found}


def _sections(doc: str) -> dict[str, str]:
    _, *parts = _HEADING.split(doc)
    return {title: body.strip() for title, body in zip(parts[::2], parts[1::2], strict=True)}


# --- of fits ----------------------------------------------------------------------------------------------


@parameters
class FitsOnExecutor(Parameters):
    """An estimator whose `fit` can work on a cluster, and go on where it was stopped.

    Parameters
    ----------
    n_jobs : int, optional
        Threads; -1 takes all cores. The result does not depend on it.
    executor : None, str, distributed.Client, or Executor
        Where `fit` works: None for threads; "dask" for `n_jobs` processes of this machine; a Dask cluster,
        by its client or as "dask://host:port" (needs ``structune[dask]``).
    checkpoint : path or Checkpoint, optional
        A file for the state of `fit`, written every minute. If it is there, of the same work, `fit` goes on
        from it; when the work is done it is removed.
    """

    n_jobs: int | None = -1
    executor: Any = None
    checkpoint: Any = None

    _shared: ClassVar[tuple[str, ...]] = ("executor",)  # a connection to a cluster cannot be copied

    def _executor(self) -> Executor:
        return make_executor(self.n_jobs, self.executor)
