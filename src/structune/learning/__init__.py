"""How weights and their regularisation are learned, whatever the structure.

Begin with `structune.learning.estimator`, what all estimators do; or with `Risk` and `fit_l2`, to fit a
structure of your own.

- ``losses``, ``margin_losses``, ``constraints``: what is minimised, and what is held to
- ``risk``: a loss summed over shards, and fits side by side; ``penalties``: grouped L2, and what integrates
  hyperparameters out
- ``solvers/``: fits, paths of l1 penalties and linear systems; ``tuning/``: choice of the precisions
- ``estimator``: what all estimators do; ``parameters``: scikit-learn's protocol, and ranges of numbers;
  ``fitting``: one fit
- ``blending``: the mean of the weights of several models
- ``bootstrap``: whether one set of predictions is better than another
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
