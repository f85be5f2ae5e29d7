"""Related tasks along a tree, each around the weights of its parent (Görnitz et al. 2011).

Organisms of a taxonomy, say. Begin with `MultitaskEstimator`, which takes any estimator that learns tasks.

- ``multitask``: the estimator
- ``task_tree``: trees, and their files
- ``tree_fit``: fits from the root to the leaves, how near each is to its parent, and what the estimator does
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
