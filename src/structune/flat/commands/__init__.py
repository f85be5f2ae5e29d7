"""The commands of classifiers and regressors."""

from __future__ import annotations

from structune.cli import options as opt
from structune.cli.settings import Sharding, spread
from structune.flat.commands.options import TrainFiles


@spread
def shard(train: TrainFiles, sharding: Sharding, quiet: opt.Quiet = False) -> None:
    """Encode a table that is larger than memory as a folder that fit_shards can read.

    The files are read twice, some megabytes at a time. What lies in the folder is mapped into memory
    when it is needed; Classifier.fit_shards or Regressor.fit_shards learns from it in Python.

    \b
    Example:
      structune shard classifier train.svm shards/
      structune shard regressor train.svm shards/
    """
    from structune.cli.dispatch import asked_kind
    from structune.flat.commands.sharding import run

    run(train, asked_kind().estimator_class(), sharding, quiet)


def warm() -> None:
    """Compile the kernels of classifiers and regressors."""
    from structune.flat.commands.warming import run

    run()
