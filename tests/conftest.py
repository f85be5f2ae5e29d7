"""What all tests share; this file also lets them import `laws` and the problems beside it."""

import gzip
import hashlib

import pytest
from hypothesis import HealthCheck, settings

from structune.files import data_sets

settings.register_profile(
    "structune",
    max_examples=40,  # each costs a fit or an enumeration; tests that are cheap, or need more, say so
    deadline=None,  # the first example may compile kernels
    suppress_health_check=[HealthCheck.too_slow],  # so do machines differ, and what they run besides
)
settings.load_profile("structune")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """A kind whose kernels take long to compile is tested by one worker, or two would compile the same."""
    from xdist.scheduler import LoadScopeScheduling

    class ByKind(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            room = nodeid.split("/")[1]
            return room if room in ("tagging", "rna", "alignment", "genes") else nodeid.split("::")[0]

    return ByKind(config, log)


def _no_download(file, url):
    raise OSError("tests do not download")


def _skipping(item):
    """Tests of real data skip where a file is missing; where it is another one than expected they fail."""
    if item.get_closest_marker("data") is None:
        return (yield)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_sets, "_download", _no_download)
        try:
            return (yield)
        except data_sets.DatasetUnavailable as error:
            if "is not in the data folder" not in str(error):
                raise
            pytest.skip(str(error))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """Of fixtures, too."""
    return (yield from _skipping(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    return (yield from _skipping(item))


@pytest.fixture
def put_data(monkeypatch, tmp_path):
    """Writes a file of the data folder, compressed if its name says so; it passes for the one expected."""
    monkeypatch.setenv("STRUCTUNE_DATA", str(tmp_path))

    def put(path, content):
        content = content.encode() if isinstance(content, str) else content
        if path.endswith(".gz") and not path.endswith(".tar.gz"):
            content = gzip.compress(content)
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
        monkeypatch.setitem(data_sets.CHECKSUMS, path, hashlib.sha256(content).hexdigest())

    return put
