"""Public names of before are found where they are now, and say so."""

from importlib import import_module

import pytest

import structune.plots
from structune._old_paths import _HOMES
from structune.rna import plot_structure, read_rna


def names_of(home):
    module = import_module(f"structune.{home}")
    return getattr(module, "__all__", [])


@pytest.mark.parametrize("old", _HOMES)
def test_old_modules_have_the_names_of_their_homes(old):
    module = import_module(f"structune.{old}")
    for home in _HOMES[old]:
        for name in names_of(home):
            with pytest.warns(
                DeprecationWarning, match=rf"structune\.{old}\.{name} is structune\.[\w.]+ now"
            ):
                assert callable(getattr(module, name)) or name.isupper()


def test_they_are_the_same_objects():
    with pytest.warns(DeprecationWarning, match="structune.formats.read_rna is structune.rna.read_rna now"):
        from structune.formats import read_rna as old
    assert old is read_rna
    with pytest.warns(DeprecationWarning, match="structune.plots.plot_structure is structune.rna"):
        assert structune.plots.plot_structure is plot_structure


def test_unknown_names():
    for module in (import_module("structune.formats"), structune.plots):
        with pytest.raises(AttributeError, match=f"'{module.__name__}' has no attribute 'nothing'"):
            module.nothing  # noqa: B018
    with pytest.raises(ModuleNotFoundError):
        import_module("structune.nothing")
