"""The command of classifiers."""

from __future__ import annotations

from structune.cli import options as opt
from structune.cli.settings import Sharding, spread
from structune.flat.commands.options import TrainFiles


@spread
def shard(train: TrainFiles, sharding: Sharding, quiet: opt.Quiet = False) -> None:
    """Encode a table that is larger than memory as a folder that Classifier.fit_shards can read.

    The files are read three times, some megabytes at a time. What lies in the folder is mapped into memory
    when it is needed.

    \b
    Example:
      structune shard classifier train.svm shards/
    """
    from structune.flat.classifier import Classifier
    from structune.flat.commands.sharding import run

    run(train, Classifier(), sharding, quiet)


def warm() -> None:
    """Compile the kernels of classifiers."""
    import numpy as np

    from structune.flat.classifier import Classifier

    X = np.random.default_rng(0).normal(size=(40, 2))
    Classifier(tuning=None, n_jobs=1).fit(X, X[:, 0] > 0.0)
