"""Where compiled kernels are kept, and that nothing there stops an import."""

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import structune
from structune.kernels import jit as module
from structune.kernels import loading
from structune.tagging.kernels import linear_domain as kernels

SOURCES = Path(kernels.__file__).parent


@pytest.fixture
def cache(monkeypatch):
    """Sets where the folders are; the process has found its own before."""
    monkeypatch.setattr(module, "cache_folder", module.cache_folder.__wrapped__)
    return lambda setting: monkeypatch.setenv("STRUCTUNE_CACHE", str(setting))


def test_the_folder_moves(cache, tmp_path, monkeypatch):
    cache(tmp_path / "new" / "place")
    folder = module.cache_folder(SOURCES)
    assert folder.parent == tmp_path / "new" / "place" / "kernels"
    assert list(folder.iterdir()) == []
    monkeypatch.chdir(tmp_path)
    cache("cache")  # does not move with the process
    assert module.cache_folder(SOURCES).is_relative_to(tmp_path)
    monkeypatch.delenv("STRUCTUNE_CACHE")
    monkeypatch.setattr(module.platformdirs, "user_cache_dir", lambda name, appauthor: str(tmp_path / name))
    assert module.cache_folder(SOURCES).is_relative_to(tmp_path / "structune")


def test_nothing_is_kept_where_it_is_turned_off_or_cannot_be_written(cache, tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError("read-only file system")

    cache("OFF")
    assert module.cache_folder(SOURCES) is None
    (tmp_path / "file").write_text("")
    cache(tmp_path / "file" / "below")
    assert module.cache_folder(SOURCES) is None
    cache(tmp_path)
    monkeypatch.setattr(module.tempfile, "TemporaryFile", refuse)
    assert module.cache_folder(SOURCES) is None


def test_the_fingerprint_changes_with_any_source_and_version(tmp_path, monkeypatch):
    """Those of the ground and of the kernel's own room, and no others."""
    ground, room, other = (tmp_path / name for name in ("ground", "room", "other"))
    for folder in (ground, room, other):
        folder.mkdir()
        (folder / "a.py").write_text("x = 1")
    monkeypatch.setattr(module, "_GROUND", ground)
    seen = [module._fingerprint(room)]
    (other / "a.py").write_text("x = 2")
    assert module._fingerprint(room) == seen[0]
    for folder in (ground, room):
        (folder / "a.py").write_text("x = 2")
        seen.append(module._fingerprint(room))
    (room / "b.py").write_text("")
    monkeypatch.setattr(module.numba, "__version__", "0.0.1")
    seen.append(module._fingerprint(room))
    monkeypatch.setattr(module.np, "__version__", "0.0.1")
    seen.append(module._fingerprint(room))
    assert len(set(seen)) == 5


def test_kernels_call_those_of_their_room_and_of_the_ground():
    """Else the fingerprint would miss what they call."""
    package = Path(structune.__file__).parent
    for source in package.glob("**/kernels/*.py"):
        home = ".".join(["structune", *source.parent.relative_to(package).parts])
        for module_name in re.findall(r"^from (structune\S+) import", source.read_text(), re.MULTILINE):
            assert f"{module_name}.".startswith((f"{home}.", "structune.kernels.")), (source, module_name)


def plus_one(x):
    return x + 1


def test_kernels_compile_with_and_without_a_folder(monkeypatch, tmp_path):
    before = module.numba.config.CACHE_DIR
    for folder in (None, tmp_path):
        monkeypatch.setattr(module, "cache_folder", lambda _, folder=folder: folder)
        assert module.kernel(plus_one)(1) == 2
    assert before == module.numba.config.CACHE_DIR
    assert list(tmp_path.rglob("*.nbi"))


SCRIPT = """
import sys
from structune.flat.kernels import classes
from structune.kernels.vectors import lanes_for
import numpy as np

for kind in sys.argv[1:]:
    p, log_z = np.zeros((1, 2), kind), np.empty(1, kind)
    classes.softmax(p, log_z, lanes_for(p.dtype.type, 2))
    print(p[0, 0].real, sum(classes.softmax.stats.cache_hits.values()))
"""


def start(setting, *kinds):
    """A process that runs a kernel for numbers of these kinds, and tells what was loaded."""
    environment = {**os.environ, "STRUCTUNE_CACHE": str(setting)}
    command, pipe = [sys.executable, "-c", SCRIPT, *kinds], subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)


def test_kernels_are_loaded_and_then_compile_for_other_types(tmp_path):
    """Loading skips what numba prepares to compile with; a type that was not kept needs it all the same."""
    for kinds, expected in ((["float64"], "0.5 0\n"), (["float64", "complex128"], "0.5 1\n0.5 1\n")):
        assert start(tmp_path, *kinds).communicate()[0] == expected


def test_the_same_source_in_two_places_is_compiled_once(monkeypatch, tmp_path):
    """Another checkout, or a release that is installed again, has files of another path and date."""
    monkeypatch.setattr(module, "cache_folder", lambda _: tmp_path / "cache")
    for place, hits in (("first", 0), ("second", 1)):
        source = tmp_path / place / "plus.py"
        source.parent.mkdir()
        source.write_text("def plus_two(x):\n    return x + 2\n")
        os.utime(source, (hits, hits))
        compiled = module.kernel(runpy.run_path(str(source))["plus_two"])
        assert compiled(1) == 3
        assert sum(compiled.stats.cache_hits.values()) == hits


MOVED = b"cstructune.no_module\nNoType\n."  # a pickle of a type that stands elsewhere today


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("nbi", lambda whole: whole[: len(whole) // 2]),
        ("nbc", lambda whole: whole[:-9] + b"?" + whole[-8:]),
        ("nbi", lambda _: loading._checksum(MOVED) + MOVED),
        ("nbc", lambda _: loading._checksum(MOVED) + MOVED),
    ],
)
def test_files_of_no_use_are_compiled_anew(monkeypatch, tmp_path, kind, change):
    monkeypatch.setattr(module, "cache_folder", lambda _: tmp_path)
    assert module.kernel(plus_one)(1) == 2
    [path] = tmp_path.rglob(f"*.{kind}")
    whole = path.read_bytes()
    path.write_bytes(change(whole))
    for hits in (0, 1):
        again = module.kernel(plus_one)
        assert again(1) == 2
        assert sum(again.stats.cache_hits.values()) == hits


def test_a_disk_that_is_full(monkeypatch, tmp_path):
    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "cache_folder", lambda _: tmp_path)
    monkeypatch.setattr(loading._Files, "_write", refuse)
    assert module.kernel(plus_one)(1) == 2


@pytest.mark.parametrize(
    "changed",
    [
        lambda patch: patch.setattr(loading, "rtsys", None),  # fails as a kernel is loaded
        lambda patch: patch.setitem(sys.modules, loading.__name__, None),  # and as it is made
    ],
)
def test_a_numba_that_has_changed_inside_keeps_kernels_in_its_own_way(monkeypatch, tmp_path, changed):
    monkeypatch.setattr(module, "cache_folder", lambda _: tmp_path)
    changed(monkeypatch)
    for hits in (0, 1):
        again = module.kernel(plus_one)
        assert again(1) == 2
        assert sum(again.stats.cache_hits.values()) == hits
    assert list(tmp_path.rglob("*.nbi"))


def test_processes_that_start_together_on_an_empty_folder(tmp_path):
    for process in [start(tmp_path / "cache", "float64") for _ in range(2)]:
        out, error = process.communicate()
        assert (process.returncode, out[:3], error) == (0, "0.5", "")
    assert len(list((tmp_path / "cache").rglob("*softmax*.nbi"))) == 1
