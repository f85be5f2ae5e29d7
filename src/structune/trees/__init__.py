"""Related tasks along a tree, such as organisms of a taxonomy (Görnitz et al. 2011).

Begin with `MultitaskEstimator`, which fits an estimator for every node, regularized toward its parent.

- ``multitask``: the estimator
- ``task_tree``: trees, and their files
- ``tree_fit``: fits from the root to the leaves, and the choice of the regularization toward parents
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
