"""A fit on a Dask cluster whose workers are killed: the part `cluster` of chaos.py."""

from __future__ import annotations

import logging
import os
import signal
import time
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import numpy as np

WORKERS = 2
DEATHS, QUICK_DEATHS = 100, 8
SEQUENCES, LENGTH, ATTRIBUTES = 300, 20, 200
PAUSE = 0.3  # seconds, on average, between looks for processes to kill


def cluster(quick: bool) -> dict[str, Any]:
    """The same fit on threads, on a cluster, and on one whose workers are killed."""
    n = QUICK_DEATHS if quick else DEATHS
    undisturbed, seconds, _ = fit_beside(0)
    disturbed, longer, killer = fit_beside(n)
    if killer.deaths < n:
        raise RuntimeError(f"the fit ended after {killer.deaths} deaths, expected {n}")
    np.testing.assert_array_equal(disturbed.coef_, undisturbed.coef_)
    return {
        "workers": WORKERS,
        "deaths": killer.deaths,
        "weights": undisturbed.coef_.size,
        "weights with other bits": int((disturbed.coef_ != undisturbed.coef_).sum()),
        "passes": disturbed.passes_,
        "seconds": {"undisturbed": seconds, "disturbed": longer},
    }


def fit_beside(n_deaths: int) -> tuple[Any, float, Killer]:
    """A tagger that is fitted while so many workers die, its seconds, and who killed them."""
    import dask
    from distributed import Client, LocalCluster

    from structune import SequenceTagger
    from structune.running import Run
    from structune.running.dask_executor import ALLOWED_FAILURES

    x, y = examples()
    with (
        dask.config.set({ALLOWED_FAILURES: DEATHS}),  # shards live as long as a fit: each death may be theirs
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, dashboard_address=None, silence_logs=logging.CRITICAL
        ) as workers,
        Client(workers) as client,
        Killer(workers, n_deaths).at_work() as killer,
    ):
        start = time.perf_counter()
        # hardly a penalty, and a tight end: some hundred evaluations
        tagger = SequenceTagger(penalty=1e-4, run=Run(client, tolerance=1e-9))
        return tagger.fit(x, y), time.perf_counter() - start, killer


def examples() -> tuple[Any, Any]:
    """Sentences of a hidden Markov model."""
    from structune.tagging.data.hmm import simulate_hmm

    hidden, observed = simulate_hmm(SEQUENCES, ATTRIBUTES // 2, ATTRIBUTES, LENGTH, random_state=0)
    x = [[[f"{j}={v}" for j, v in enumerate(row)] for row in rows] for rows in observed.tolist()]
    return x, [["ab"[state] for state in states] for states in hidden.tolist()]


class Killer:
    """Kills processes of a local cluster that have something to do, up to a number; `deaths` counts them."""

    def __init__(self, workers: Any, n: int) -> None:
        self.deaths = 0
        self._workers, self._n, self._stopped = workers, n, Event()

    @contextmanager
    def at_work(self) -> Any:
        thread = Thread(target=self._kill)
        thread.start()
        try:
            yield self
        finally:
            self._stopped.set()
            thread.join()

    def _kill(self) -> None:
        rng = np.random.default_rng(0)
        killed = set()  # processes: the scheduler may list them for a while
        while self.deaths < self._n and not self._stopped.wait(rng.exponential(PAUSE)):
            for worker in self._workers.scheduler.workers.copy().values():
                if worker.processing and worker.pid not in killed and self.deaths < self._n:
                    os.kill(worker.pid, signal.SIGKILL)
                    killed.add(worker.pid)
                    self.deaths += 1
