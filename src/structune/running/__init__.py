"""Where and how long work runs.

- ``executors``: threads, and ``Run``, what a fit is told of all this; ``blas``: threads of linear algebra
- ``dask_executor``: a Dask cluster
- ``memory``: how much there is, batches of items, and work on items as they come
- ``monitor``: Ctrl-C, time budgets, records; ``progress``: bars, how far within one long example
- ``checkpoints``: work that goes on
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
