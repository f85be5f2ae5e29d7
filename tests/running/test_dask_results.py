"""Waiting for results: what ends it leaves nothing behind."""

import asyncio
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("distributed")

from structune.running import dask_results
from structune.running.dask_results import Results


def test_what_is_waited_for_is_cancelled(monkeypatch):
    """As by Ctrl-C, which comes while it waits."""
    monkeypatch.setattr(dask_results, "_GLANCE", 0.01)
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

    scheduler = SimpleNamespace(address="tcp://here:1")
    client = SimpleNamespace(
        scheduler=scheduler, cluster=None, status="running", gather=gather, nthreads=nthreads
    )
    client.loop = SimpleNamespace(asyncio_loop=loop)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            Results(client).wait_for(None)
        assert cancelled.wait(10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
