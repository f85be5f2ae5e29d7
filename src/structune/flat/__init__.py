"""Classification and regression from rows of features, with the interface of scikit-learn.

Start with `Classifier` (logistic regression) or `Regressor` (ridge regression). Both tune one penalty for
each group of features.

- ``classifier``, ``regressor``: the estimators; ``flat_estimator``: what they share; ``feature_estimator``:
  what rankings share with them; ``rotation``: fewer features where these are many and examples few
- ``structure/``: matrices of features, classes, numbers; ``kernels/``: the softmax
- ``data``: sets of the UCI repository; ``svmlight``: files in blocks
- ``task``, ``tables``, ``scores``: the command line; ``report``: pages of predictions
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
