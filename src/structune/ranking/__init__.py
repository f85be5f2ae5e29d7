"""Rankings of the documents of queries.

A linear score of each document, learned from the NDCG of whole rankings. Begin with `Ranker`; on the command
line with ``structune tune ranking``, ``structune rank``.

- ``ranker``: the estimator; ``first_weights``: the weights with which its fits begin
- ``structure/``: the model, its shards, its answers; ``kernels/``: orders with penalties
- ``letor``: LETOR files; ``metrics``: NDCG
- ``data``: OHSUMED; ``task``, ``scores``: the command line
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
