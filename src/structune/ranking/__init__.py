"""Learning to rank: order the documents of each query.

`Ranker` trains a linear score of documents to maximize the NDCG of whole rankings. On the command line, start
with ``structune tune ranking`` and ``structune rank``.

- ``ranker``: the estimator; ``first_weights``: initial weights of its fits
- ``structure/``: the structured model, its shards and inference; ``kernels/``: orders with penalties
- ``letor``: LETOR files; ``metrics``: NDCG
- ``data``: OHSUMED; ``task``, ``scores``: the command line; ``report``: pages of predictions
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
