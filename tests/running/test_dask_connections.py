"""Connections, which threads share without waiting for others, and waiting, which leaves nothing behind."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

from structune.running import dask_executor
from structune.running.dask_executor import DaskExecutor, connect


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
        self.client, self.is_lost = client, False
        if client.address == "tcp://slow:1":
            self.meanwhile()


@pytest.fixture
def fakes(monkeypatch):
    monkeypatch.setattr(dask_executor, "Client", FakeClient)
    monkeypatch.setattr(dask_executor, "DaskExecutor", FakeExecutor)


def test_nobody_waits_for_another_cluster(fakes, monkeypatch):
    with ThreadPoolExecutor() as threads:

        def connect_elsewhere(self):
            self.other = threads.submit(connect, "dask://fast:1", 1).result(timeout=10)

        monkeypatch.setattr(FakeExecutor, "meanwhile", connect_elsewhere)
        slow = connect("dask://slow:1", 1)
    assert slow.other.client.address == "tcp://fast:1"


def test_threads_share_a_connection(fakes, monkeypatch):
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


def test_what_is_waited_for_is_cancelled(monkeypatch):
    """As by Ctrl-C, which comes while it waits."""
    monkeypatch.setattr(dask_executor, "_GLANCE", 0.01)
    loop, began, cancelled = asyncio.new_event_loop(), threading.Event(), threading.Event()

    async def gather(future, asynchronous):
        began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    def nthreads():
        if began.is_set():
            raise KeyboardInterrupt
        return {"worker": 1}

    client = SimpleNamespace(cluster=None, status="running", gather=gather, nthreads=nthreads)
    client.loop = SimpleNamespace(asyncio_loop=loop)
    executor = object.__new__(DaskExecutor)
    executor.client, executor.address = client, "tcp://here:1"
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            executor._wait_for(None)
        assert cancelled.wait(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
