"""Dask: the same results as threads, from processes that may be killed."""

import gc
import math
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import alignments
import gene_graphs
import orf_graphs
from maxima import enumerated
from structune import MultitaskEstimator, SequenceTagger, write_shards
from structune.errors import ClusterError, DataError
from structune.learning.losses import LogLoss
from structune.learning.margin_losses import MarginLoss, RampLoss
from structune.learning.risk import Risk
from structune.learning.solvers.l2 import fit_l2
from structune.learning.tuning import ImplicitTuner
from structune.running.checkpoints import Checkpoint
from structune.running.executors import make_executor
from structune.running.monitor import Monitor
from structune.structure import split_evenly
from tiny import hmm_tuning_problem, small

distributed = pytest.importorskip("distributed")
import dask  # noqa: E402

from structune.running import Run, dask_executor  # noqa: E402
from structune.running.dask_executor import DaskExecutor  # noqa: E402

pytestmark = pytest.mark.slow  # processes take seconds to start


def new_cluster(n_workers=2):
    return distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None)


@pytest.fixture(scope="module")
def client():
    with new_cluster() as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="module")
def executor(client):
    return DaskExecutor(client)


def pieces(shard, n=5):
    return [shard.take(piece) for piece in split_evenly(shard.sizes(), n)]


def times(a, b, factor):
    return factor * a * b


def fail_at_two(k):
    if k == 2:
        raise KeyError("shard 2")
    return k


@pytest.mark.parametrize("n", [0, 1, 5])
def test_calls(executor, n):
    items = executor.place([np.full(3, float(k)) for k in range(n)])
    other, factor = list(range(n)), np.full(3, 2.0)
    expected = [2.0 * k * k for k in range(n)]
    assert [found[0] for found in executor.map(times, items, other, shared=(factor,))] == expected
    kept = executor.keep(times, items, other, shared=(factor,))
    assert [found[0] for found in executor.map(times, kept, other, shared=(1,))] == [
        e * k for k, e in enumerate(expected)
    ]
    if n:
        assert executor.sum(times, items, other, shared=(factor,))[1] == sum(expected)


@pytest.mark.parametrize("which", [[0, 0, 1], [5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 3, 4, 5]])
def test_parts_of_blocks(executor, monkeypatch, which):
    """Of what has been placed together any items may be used, in any order."""
    monkeypatch.setattr(dask_executor, "_BLOCKS_PER_WORKER", 1)
    numbers = [np.full(1, float(k)) for k in range(6)]
    placed = executor.place(numbers)
    assert len({id(part.block) for part in placed}) == 2
    kept = executor.keep(times, placed, [1] * 6, shared=(1,))
    for parts in (placed, kept):
        chosen, expected = [parts[k] for k in which], [float(k) for k in which]
        other = [placed[k] for k in which]
        assert [found[0] for found in executor.map(times, chosen, [2] * len(which), shared=(1,))] == [
            2 * k for k in expected
        ]
        assert executor.sum(times, chosen, other, shared=(1,))[0] == sum(k * k for k in expected)


def test_large_values_come_unharmed(executor):
    w = np.random.default_rng(0).normal(size=300_000)
    assert_array_equal(executor.sum(times, [1.0, 2.0], [1.0, 1.0], shared=(w,)), 3 * w)


def test_errors_reach_the_caller_and_leave_the_executor_usable(executor):
    with pytest.raises(KeyError, match="shard 2"):
        list(executor.map(fail_at_two, range(5)))
    assert list(executor.map(fail_at_two, [0, 1])) == [0, 1]


def test_what_is_placed_again_stays_and_goes_with_its_owner(executor):
    _, shard = small("chain")
    first, again = executor.place([shard]), executor.place([shard])
    assert first == again
    n = len(executor._placed)
    del shard
    gc.collect()
    assert len(executor._placed) == n - 1


def both(executor, structure, loss, shards):
    return [Risk(structure, loss, shards, where) for where in (None, executor)]


def of_kind(kind):
    """A structure and a shard."""
    rng = np.random.default_rng(0)
    if kind in ("partial", "classes"):
        return small(kind)
    if kind == "rna":
        problem = enumerated("rna")
    elif kind == "alignment":
        problem = alignments.problem_of([("HEAG", "PAW"), ("WGH", "HEA"), ("K", "")], rng)
    elif kind == "genes":
        exons = gene_graphs.exon_weights("both", (4, 6), True, (0, 1), True)
        problem = gene_graphs.problem(rng, ["CCATGGTCAGCTAACC"] * 3, exons)
    else:
        texts = [orf_graphs.gene_text(rng, 40) for _ in range(3)]
        problem = orf_graphs.problem(rng, texts, orf_graphs.RULES[0])
    return problem.structure, problem.shard


@pytest.mark.parametrize("kind", ["partial", "classes", "rna", "alignment", "genes", "orfs"])
def test_risks_of_every_structure(executor, kind):
    structure, shard = of_kind(kind)
    w, v = np.random.default_rng(1).normal(size=(2, structure.n_weights))
    one, other = both(executor, structure, LogLoss(), pieces(shard, 3))
    assert_allclose(other.value(w), one.value(w), rtol=1e-12)
    for found, expected in zip(other.value_and_gradient(w), one.value_and_gradient(w), strict=True):
        assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    if "hessian" in structure.capabilities:
        assert_allclose(other.linearize(w)(v), one.linearize(w)(v), atol=1e-9)
        assert_allclose(other.variance(w), one.variance(w), atol=1e-9)
    if "dense_hessian" in structure.capabilities:
        assert_allclose(other.hessian_matrix(w), one.hessian_matrix(w), atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "loss"), [("chain", MarginLoss("slack")), ("rna", MarginLoss()), ("ranking", RampLoss())]
)
def test_fits_of_losses_with_kinks(executor, kind, loss):
    """With the outputs that the bundle keeps where decoding is costly."""
    problem = enumerated(kind)
    risks = both(executor, problem.structure, loss, pieces(problem.shard, 3))
    precision = np.ones(problem.w.size)
    one, other = (fit_l2(risk, precision, tolerance=1e-4) for risk in risks)
    assert other.objective == pytest.approx(one.objective, rel=1e-3)
    assert risks[0].task_cost(one.w) == pytest.approx(risks[1].task_cost(one.w))


def until(found):
    """Wait for what other threads and processes do."""
    for _ in range(6000):
        if found():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come to that")


def test_a_connection_ends_with_its_last_user(client):
    """Fits of one address share one, and none remains."""
    address, scheduler = client.scheduler_info()["address"], client.cluster.scheduler
    one, other = (make_executor(1, address.replace("tcp", "dask")) for _ in range(2))
    assert one is other
    own = one.client.id
    assert own in scheduler.clients
    del one, other
    gc.collect()
    until(lambda: own not in scheduler.clients)
    known = set(scheduler.clients)
    SequenceTagger(tuning=None, run=Run(address.replace("tcp", "dask"), max_iterations=2)).fit(X, Y)
    gc.collect()
    until(lambda: set(scheduler.clients) <= known)


def test_a_local_cluster_ends_when_another_has_taken_its_place():
    one = make_executor(1, "dask").client
    assert make_executor(1, "dask").client is one
    other = make_executor(2, "dask").client
    gc.collect()
    until(lambda: one.status == one.cluster.status.name == "closed")
    assert other.status == "running"


def versions(**others):
    own = {"python": "3.11.7.final.0", "structune": "1.0", "numba": "0.60", "numpy": "2.1"}
    return {"packages": own | others}


def test_other_versions_are_refused_before_work_is_sent(client, monkeypatch):
    told = {
        "client": versions(),
        "scheduler": versions(python="3.11.9.final.0"),  # the same for what is sent
        "workers": {"tcp://a": versions(numpy="2.2"), "tcp://b": versions(numpy="2.2", numba=None)},
    }
    monkeypatch.setattr(client, "get_versions", lambda packages: told)
    monkeypatch.setattr(client, "map", lambda *_, **__: pytest.fail("sent"))
    with pytest.raises(DataError) as raised:
        SequenceTagger(tuning=None, run=Run(client)).fit(X, Y)
    assert "numpy 2.2 on tcp://a, tcp://b, but 2.1 here" in str(raised.value)
    assert "numba missing on tcp://b, but 0.60 here" in str(raised.value)
    assert "python" not in str(raised.value)
    told["scheduler"] = versions(python="3.12.1.final.0")
    told["workers"] = {}
    with pytest.raises(DataError, match=r"python 3\.12 on the scheduler, but 3\.11 here"):
        DaskExecutor(client)


def test_a_worker_of_another_version_that_joins_later(tmp_path):
    """It computes nothing, and ends what would have been given to it."""
    other = tmp_path / "numpy-99.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: numpy\nVersion: 99.0\n")
    path = os.pathsep.join([str(tmp_path), *sys.path])
    with no_nannies(protocol="tcp") as cluster, distributed.Client(cluster) as client:
        executor = DaskExecutor(client)
        assert list(executor.map(math.sqrt, [4.0])) == [2.0]
        without_workers(cluster)
        joins = process_of(
            "dask_worker", client.scheduler.address, "--no-nanny", env={**os.environ, "PYTHONPATH": path}
        )
        with joins, pytest.raises(ClusterError) as raised:
            list(executor.map(math.sqrt, [4.0]))
        told = f"has numpy 99.0, but {np.__version__} here. Start the fit again"
        assert "the worker at tcp://" in str(raised.value)
        assert told in str(raised.value)


KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # which Windows takes for the same


def enduring():
    """The setting with which a scheduler lets a fit go on however many workers die."""
    return dask.config.set({"distributed.scheduler.allowed-failures": 100})


class Killer(Monitor):
    """Kills a worker process of a cluster at every `period`-th check, `n` times."""

    def __init__(self, cluster, period, n):
        super().__init__()
        self.cluster, self.period, self.left, self.checks = cluster, period, n, 0

    def check(self):
        self.checks += 1
        if self.left and self.checks % self.period == 0:
            worker = self.cluster.workers.get((self.left - 1) % 2)
            if worker is not None and worker.pid is not None:  # it may be between two lives
                self.left -= 1
                os.kill(worker.pid, KILL)


@pytest.fixture(scope="module")
def mortal():
    """Workers that are killed, and come back."""
    with enduring(), new_cluster() as cluster, distributed.Client(cluster) as client:
        yield cluster, client


def undisturbed_and_disturbed(work, mortal, period):
    """What `work` gives on threads, and on processes that are killed."""
    cluster, client = mortal
    killer = Killer(cluster, period, 2)
    found = work(None, Monitor()), work(DaskExecutor(client), killer)
    assert not killer.left
    return found


def test_tuning_survives(mortal):
    def tune(executor, monitor):
        return ImplicitTuner().tune(hmm_tuning_problem(executor=executor, cv=2), monitor)

    one, other = undisturbed_and_disturbed(tune, mortal, 4)
    assert other.status == one.status
    assert_allclose(other.w, one.w, atol=1e-9)
    assert_allclose(other.log_precision, one.log_precision, atol=1e-9)


def test_a_bundle_survives(mortal):
    problem = enumerated("rna")

    def fit(executor, monitor):
        risk = Risk(problem.structure, MarginLoss(), pieces(problem.shard, 3), executor)
        return fit_l2(risk, np.ones(problem.w.size), tolerance=1e-6, monitor=monitor)

    one, other = undisturbed_and_disturbed(fit, mortal, 5)
    assert other.status == one.status == "converged"
    assert other.objective == pytest.approx(one.objective, rel=1e-4)


def dies(number, factor, deaths, path):
    """Kills its worker, until so many have died."""
    with open(path, "ab") as file:
        file.write(b".")
    if os.path.getsize(path) <= deaths:
        os.kill(os.getpid(), KILL)
    return number * factor


def test_a_task_with_which_too_many_workers_die(tmp_path):
    """The scheduler gives it up; the error names the setting."""
    strictly = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    given_up = pytest.raises(ClusterError, match=r"died with the same task .*allowed-failures.*checkpoint=")
    with strictly, new_cluster(1) as cluster, distributed.Client(cluster) as client, given_up:
        DaskExecutor(client).sum(dies, [1.0], shared=(1.0, 100, str(tmp_path / "deaths")))


def test_a_local_cluster_allows_deaths_that_its_scheduler_would_not(tmp_path, monkeypatch):
    """One death shows it, where Dask's setting is 0 while the cluster starts: each takes seconds."""
    monkeypatch.setattr(dask_executor, "_GLANCE", 0.1)  # for workers that died while they started
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        executor = make_executor(1, "dask")
    numbers = executor.place([np.full(1, float(k)) for k in range(3)])
    kept = executor.keep(dies, numbers, shared=(2.0, 1, str(tmp_path / "deaths")))
    assert executor.sum(times, kept, [1.0] * 3, shared=(1.0,))[0] == 6.0


def go_on(checkpoint, executor):
    return SequenceTagger(tuning=None, run=Run(executor, checkpoint=checkpoint, tolerance=1e-9))


class Late(Checkpoint):
    """Calls something once there is a state, and keeps no file before the work ends."""

    def __init__(self, path, call):
        super().__init__(path, 1e9)
        self.call = call

    def keep(self, key, state):
        super().keep(key, state)
        self.call()


def test_a_cluster_whose_workers_do_not_come_back(tmp_path, monkeypatch):
    """Told, and ended with a checkpoint, with which a fit on threads goes on."""
    monkeypatch.setattr(dask_executor, "_GLANCE", 0.05)
    monkeypatch.setattr(dask_executor, "_TOLD", 0.1)
    monkeypatch.setattr(dask_executor, "_PATIENCE", 1.0)
    path = tmp_path / "checkpoint"
    with no_nannies() as cluster, distributed.Client(cluster) as client:
        leave = Late(path, lambda: without_workers(cluster))
        with (
            pytest.warns(RuntimeWarning, match="there is no worker; waiting up to 1 s for one"),
            pytest.raises(ClusterError, match=r"there was no worker for 1 s\. .*same checkpoint="),
        ):
            go_on(leave, client).fit(X, Y)
    goes_on_here(path)


def without_workers(cluster):
    cluster.scale(0)
    until(lambda: not cluster.scheduler.workers)


def no_nannies(**settings):
    return distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=None, **settings)


def goes_on_here(path):
    assert path.exists()
    assert_allclose(go_on(path, None).fit(X, Y).coef_, go_on(None, None).fit(X, Y).coef_, atol=1e-6)
    assert not path.exists()


@contextmanager
def process_of(*arguments, env=None):
    """A process of Dask's command line, which is killed at the end."""
    command = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def scheduler_at(port):
    """A process that listens there."""
    address = "--host", "127.0.0.1", "--port", str(port)
    with process_of("dask_scheduler", *address, "--no-dashboard") as process:
        until(lambda: listens(port))
        yield process


def listens(port):
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def test_a_scheduler_that_dies(tmp_path, monkeypatch):
    """A fit ends with a checkpoint; with the next scheduler at the address it goes on."""
    monkeypatch.setattr(dask_executor, "_ANSWER", 4.0)  # after which a client gives up what died
    path, port = tmp_path / "checkpoint", free_port()
    address = f"tcp://127.0.0.1:{port}"
    with process_of("dask_worker", address, "--no-dashboard"), scheduler_at(port) as scheduler:
        die = Late(path, lambda: (scheduler.kill(), scheduler.wait()))
        with pytest.raises(ClusterError, match=r"lost the connection to the scheduler\. .*checkpoint="):
            go_on(die, f"dask://127.0.0.1:{port}").fit(X, Y)
        assert path.exists()
    with scheduler_at(port), process_of("dask_worker", address, "--no-dashboard"):
        found = go_on(path, f"dask://127.0.0.1:{port}").fit(X, Y)
    assert_allclose(found.coef_, go_on(None, None).fit(X, Y).coef_, atol=1e-6)
    assert not path.exists()


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


X = [[["w=the"], ["w=dog"]], [["w=a"], ["w=cat"]], [["w=dog"]]] * 4
Y = [["DET", "NOUN"], ["DET", "NOUN"], ["NOUN"]] * 4


def test_parts_of_what_is_placed(client, tmp_path, monkeypatch):
    """Held-out splits of a folder, and nodes of a tree, take some shards of the whole."""
    monkeypatch.setattr(dask_executor, "_BLOCKS_PER_WORKER", 1)
    folder = tmp_path / "shards"
    write_shards(SequenceTagger(), folder, X, Y)
    settings = {"tuning": "implicit", "cv": 2}
    one = SequenceTagger(**settings).fit_shards(folder)
    other = SequenceTagger(run=Run(client), **settings).fit_shards(folder)
    assert_allclose(other.coef_, one.coef_, atol=1e-6)
    data, tree = {task: (X[k::4], Y[k::4]) for k, task in enumerate("abcd")}, {"root": list("abcd")}
    models = [MultitaskEstimator(SequenceTagger(), tree, run=Run(at)).fit(data) for at in (None, client)]
    for node, w in models[0].weights_.items():
        assert_allclose(models[1].weights_[node], w, atol=1e-6)


def test_what_is_no_executor(monkeypatch):
    for wrong in ("threads", 3, "tcp://127.0.0.1:1"):
        with pytest.raises(DataError, match="expected None, 'dask', 'dask://host:port'"):
            make_executor(1, wrong)
    monkeypatch.setattr(dask_executor, "_ANSWER", 0.25)
    with pytest.raises(DataError, match=r"no Dask scheduler at tcp:.* after 0\.25 s"):
        make_executor(1, "dask://127.0.0.1:9")
