"""Whether the workers of a Dask cluster have the versions that this process has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from distributed import Client, get_worker
from distributed.versions import get_versions

from structune.errors import DataError

_PACKAGES = ("structune", "numba", "numpy")  # results depend on them, and what can be sent


class OtherVersionsError(Exception):
    """A worker that joined later was given work, and has other versions."""


def check_versions(client: Client) -> None:
    """Refuse workers on which the same work may have other results, or cannot be read, and such a scheduler.

    Raises
    ------
    DataError
        Names all that have other versions.
    """
    found = client.get_versions(packages=_PACKAGES)
    own, others = _versions(found["client"]), defaultdict(list)
    for where, told in {"the scheduler": found["scheduler"], **found["workers"]}.items():
        for name, version in _versions(told).items():
            if version != own[name]:
                others[f"{name} {version}", f"{own[name]} as here"].append(where)
    if others:
        told = "; ".join(
            f"found {there} on {', '.join(places)}, expected {here}"
            for (there, here), places in others.items()
        )
        raise DataError(f"{client.scheduler.address}: {told}")


@cache
def own_versions() -> dict[str, str]:
    """Of this process."""
    return _versions(get_versions(_PACKAGES))


def check_worker(expected: Mapping[str, str]) -> None:
    """Refuse, on a worker, work of a process that has other versions.

    Raises
    ------
    OtherVersionsError
    """
    own = own_versions()
    if own != expected:
        told = ", ".join(
            f"{name} {own[name]}, expected {version} as here"
            for name, version in expected.items()
            if own[name] != version
        )
        raise OtherVersionsError(f"found a worker at {get_worker().address} with {told}")


def _versions(told: Mapping[str, Any]) -> dict[str, str]:
    packages = told["packages"]
    python = ".".join(packages["python"].split(".")[:2])  # the third number changes no results
    return {"python": python} | {name: packages.get(name) or "missing" for name in _PACKAGES}
