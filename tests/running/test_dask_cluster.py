"""Connections: threads that need the same one share it, and wait for no other."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

from structune.running import dask_cluster
from structune.running.dask_cluster import connect


class FakeClient:
    """Of a scheduler that answers."""

    status, cluster = "running", None

    def __init__(self, address, timeout):
        self.address = address

    def close(self):
        pass


class FakeExecutor:
    """Connects elsewhere while it waits for its own worker."""

    meanwhile = None

    def __init__(self, client):
        self.client, self.results = client, SimpleNamespace(is_lost=False)
        if client.address == "tcp://slow:1":
            self.meanwhile()


@pytest.fixture(autouse=True)
def fakes(monkeypatch):
    monkeypatch.setattr(dask_cluster, "Client", FakeClient)
    monkeypatch.setattr(dask_cluster, "DaskExecutor", FakeExecutor)


def test_nobody_waits_for_another_cluster(monkeypatch):
    with ThreadPoolExecutor() as threads:

        def connect_elsewhere(self):
            self.other = threads.submit(connect, "dask://fast:1", 1).result(timeout=10)

        monkeypatch.setattr(FakeExecutor, "meanwhile", connect_elsewhere)
        slow = connect("dask://slow:1", 1)
    assert slow.other.client.address == "tcp://fast:1"


def test_threads_share_a_connection(monkeypatch):
    """Also while it is made."""
    with ThreadPoolExecutor() as threads:

        def connect_to_the_same(self):
            again.append(threads.submit(connect, "dask://slow:1", 1))
            with pytest.raises(TimeoutError):
                again[0].result(timeout=0.1)

        again = []
        monkeypatch.setattr(FakeExecutor, "meanwhile", connect_to_the_same)
        first = connect("dask://slow:1", 1)
        assert again[0].result(timeout=10) is first
    assert len(again) == 1
