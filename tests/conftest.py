"""What all tests share; this file also lets them import `laws` and the problems beside it."""

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
