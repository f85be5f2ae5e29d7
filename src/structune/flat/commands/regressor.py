"""The command of regressors."""

from __future__ import annotations

from structune.cli import options as opt
from structune.cli.settings import Sharding, spread
from structune.flat.commands.options import TrainFiles


@spread
def shard(train: TrainFiles, sharding: Sharding, quiet: opt.Quiet = False) -> None:
    """Encode a table that is larger than memory as a folder that Regressor.fit_shards can read.

    The files are read three times, some megabytes at a time. What lies in the folder is mapped into memory
    when it is needed.

    \b
    Example:
      structune shard regressor train.svm shards/
    """
    from structune.flat.commands.sharding import run
    from structune.flat.regressor import Regressor

    run(train, Regressor(), sharding, quiet)


def warm() -> None:
    """Compile the kernels of regressors."""
    import numpy as np

    from structune.flat.regressor import Regressor

    X = np.random.default_rng(0).normal(size=(40, 2))
    Regressor(tuning=None, n_jobs=1).fit(X, X[:, 0])
