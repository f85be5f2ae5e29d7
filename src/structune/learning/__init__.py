"""Training and tuning of the weights, for all structures.

Start with `structune.learning.estimator`, the base class of all estimators; or with `Risk` and `fit_l2`, to
fit a structure of your own.

- ``losses``, ``margin_losses``, ``constraints``: losses to minimize, and constraints
- ``risk``: a loss summed over shards, and parallel fits; ``penalties``: grouped L2 penalties, also with
  hyperparameters integrated out
- ``solvers/``: fits, paths of l1 penalties and linear systems; ``tuning/``: choice of the precisions
- ``estimator``: base class of estimators; ``parameters``: scikit-learn's protocol, and ranges of numbers;
  ``fitting``: one fit
- ``blending``: mean of the weights of several models
- ``bootstrap``: whether one set of predictions is better than another
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
